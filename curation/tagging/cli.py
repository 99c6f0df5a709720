"""Commands of `interplay material` about tags: tag, tag-set, tags, vocabulary."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import typer
from sqlmodel import Session, col, func, select

from core.errors import InterplayError
from curation.embedding import clip_embedder
from curation.materials import HANDLE, find_material
from curation.pass_cli import AgainOption, exit_if_all_failed, pass_lines
from curation.passes import Which, works_of
from curation.tagging.tags import FREE, Tag, as_tag, counts, say
from curation.tagging.vocabulary import FILE, Names, Vocabulary, load_vocabulary, write_vocabulary
from curation.tagging.zero_shot import TAG, tag_materials
from warehouse.command_line import ByOption, DryRunOption, JsonOption, ProjectOption, show, show_table
from warehouse.people import actor_named
from warehouse.tables import Material, MaterialTag
from warehouse.workspace import open_workspace


class NotInVocabulary(InterplayError):
    """A tag under a facet that the vocabulary does not have: maybe a slip."""


class NotSaid(InterplayError):
    """A tag is said to be wrong that nobody and no model says."""


ID_HELP = "Material: its id or sha256, or how that begins."


def tag_command(
    material: Annotated[list[str] | None, typer.Argument(metavar="[ID]...", help=f"{ID_HELP} Else all.")] = None,
    again: AgainOption = False,
    dry_run: DryRunOption = False,
    as_json: JsonOption = False,
    project: ProjectOption = None,
) -> None:
    """Let a model tag images and films with the words of the vocabulary; what people say wins over it.

    A second call does what is missing: new materials, and all of them where the model or the vocabulary is another.
    Exit code 2 when all that was tried failed.

    Example: interplay material tag
    """
    with open_workspace(project) as workspace:
        vocabulary = load_vocabulary(workspace.project.root)
        with workspace.database.reading() as session:
            ids = [find_material(session, name).id for name in material] if material else None
        report = tag_materials(
            workspace,
            clip_embedder(workspace.project),
            vocabulary,
            Which(ids, again),
            workers=workspace.project.workers,
            dry_run=dry_run,
        )
    passes = {"embedded": report.embedded, "tagged": report.tagged}
    lines = [line for what, one in passes.items() for line in pass_lines(one, what, dry_run)]
    document = {what: one.document(dry_run) for what, one in passes.items()}
    show({"maker": report.maker, **document}, lines, as_json)
    exit_if_all_failed(passes.values())


def tag_set_command(
    material: Annotated[str, typer.Argument(metavar="ID", help=ID_HELP)],
    tags: Annotated[list[str], typer.Argument(metavar="TAG...", help="Tags, as 'theme:nature'; without facet, free.")],
    by: ByOption,
    wrong: Annotated[bool, typer.Option("--wrong", help="Say that it is wrong, whoever or whatever said it.")] = False,
    new: Annotated[bool, typer.Option("--new", help="Take tags that the vocabulary does not have, too.")] = False,
    as_json: JsonOption = False,
    project: ProjectOption = None,
) -> None:
    """Say what a material is, or is not; that counts more than what a model says, and both are kept.

    Values are ids or names of the vocabulary, in English or Chinese; others are taken with --new.

    Example: interplay material tag-set 4f6b2c theme:nature "after the rain" --by mei
    """
    with open_workspace(project) as workspace, workspace.database.session() as session:
        vocabulary = load_vocabulary(workspace.project.root)
        meant = [vocabulary.meant(text) for text in tags]
        author = actor_named(workspace.database, by)
        found = find_material(session, material)
        _check_meant(session, found, meant, vocabulary, wrong=wrong, new=new)
        changed = [str(tag) for tag in meant if say(session, found, tag, author, holds=not wrong)]
        session.flush()
        document = {"id": found.id, "sha256": found.sha256, "changed": changed, "tags": _tags_document(session, found)}
        unknown = [str(tag) for tag in meant if tag.facet != FREE and tag not in vocabulary.names()]
    verb = "is not" if wrong else "is"
    lines = [f"{found.sha256[:HANDLE]} {verb} {text}, says {author}" for text in changed]
    lines = lines or ["nothing changes: people have said so before"]
    show(
        document | {"not_in_vocabulary": unknown},
        [*lines, *map("{} is not in the vocabulary".format, unknown)],
        as_json,
    )


def _check_meant(
    session: Session, material: Material, meant: Sequence[Tag], vocabulary: Vocabulary, *, wrong: bool, new: bool
) -> None:
    """Stop what is likely a slip: a word that the vocabulary does not have, or a denial of what nobody says.

    Raises:
        NotSaid, NotInVocabulary: See above.
    """
    said = {as_tag(row) for row in session.exec(select(MaterialTag).where(MaterialTag.material_id == material.id))}
    for tag in meant:
        if tag in said:
            continue
        if wrong:
            name = material.sha256[:HANDLE]
            raise NotSaid(
                f"nobody says {str(tag)!r} of {name}, so it cannot be wrong; 'interplay material tags {name}' shows "
                "what is said"
            )
        if not new:
            _check_known(tag, vocabulary)


def _check_known(tag: Tag, vocabulary: Vocabulary) -> None:
    names = vocabulary.names()
    near = vocabulary.nearest(tag)
    # Free tags stand in no vocabulary; only one that looks like a misspelt facet is none.
    if tag in names or (tag.facet == FREE and not (":" in tag.value and near)):
        return
    offered = " or ".join(f"{one} ({names[one].en}, {names[one].zh})" for one in near)
    hint = f"did you mean {offered}?" if near else "'interplay material vocabulary' shows what is;"
    raise NotInVocabulary(f"{str(tag)!r} is not in the vocabulary; {hint} --new takes it all the same")


def tags_command(
    material: Annotated[str | None, typer.Argument(metavar="[ID]", help=f"{ID_HELP} Else the whole library.")] = None,
    as_json: JsonOption = False,
    project: ProjectOption = None,
) -> None:
    """List all that is said of a material, by whom or by which model, and what counts; or how often each tag counts.

    Example: interplay material tags 4f6b2c
    """
    with open_workspace(project) as workspace, workspace.database.reading() as session:
        names = load_vocabulary(workspace.project.root).names()
        if material is None:
            library = _library_document(session, names)
            header = ["tag", "name", "name (zh)", "materials"]
            show_table(library, header, [tuple(one.values()) for one in library], as_json)
            return
        document = _tags_document(session, find_material(session, material))
    header = ["tag", "counts", "score", "said by", "model"]
    rows = [(one["tag"], _stand(one), one["score"], one["author"], one["maker"]) for one in document]
    show_table(document, header, rows, as_json)


def vocabulary_command(
    write: Annotated[bool, typer.Option("--write", help=f"Copy it into the project as {FILE}, to be edited.")] = False,
    as_json: JsonOption = False,
    project: ProjectOption = None,
) -> None:
    """Show the words that materials are tagged with: the project's own, or those that come with Interplay.

    Example: interplay material vocabulary --write
    """
    with open_workspace(project) as workspace:
        root = workspace.project.root
        if write:
            write_vocabulary(root)
        vocabulary = load_vocabulary(root)
    own = root / FILE
    place = str(own) if own.is_file() else None
    document = {"file": place, "sha256": vocabulary.sha256, "facets": vocabulary.model_dump(mode="json")["facets"]}
    show(document, [f"words of {place or 'Interplay'}", *_vocabulary_lines(vocabulary)], as_json)


def _vocabulary_lines(vocabulary: Vocabulary) -> list[str]:
    lines: list[str] = []
    for name, facet in vocabulary.ordered():
        lines.append(f"{name}: {len(facet.values)} values, at most {facet.top} of at least {facet.threshold:g} each")
        lines += [f"  {value.id}: {value.names.en}, {value.names.zh}" for value in facet.values]
    return lines


def _tags_document(session: Session, material: Material) -> list[dict[str, Any]]:
    rows = session.exec(select(MaterialTag).where(MaterialTag.material_id == material.id)).all()
    standing = set(session.exec(select(MaterialTag.id).where(MaterialTag.material_id == material.id, counts())))
    mark = works_of(session, [material.id], TAG).get(material.id)
    order = sorted(rows, key=lambda row: (row.facet, not row.by_person, -(row.score or 0), row.value))
    return [
        {
            "tag": str(as_tag(row)),
            "facet": row.facet,
            "value": row.value,
            "author": row.author,
            "by_person": row.by_person,
            "holds": row.holds,
            "counts": row.id in standing,
            "score": row.score,
            "maker": mark.maker if mark and not row.by_person and row.run_id == mark.run_id else None,
            "created_at": row.created_at.isoformat(),
        }
        for row in order
    ]


def _stand(one: dict[str, Any]) -> str:
    if one["counts"]:
        return "yes"
    return "said to be wrong" if not one["holds"] else "people say otherwise"


def _library_document(session: Session, names: Mapping[Tag, Names]) -> list[dict[str, Any]]:
    materials = func.count(func.distinct(MaterialTag.material_id))
    query = select(MaterialTag.facet, MaterialTag.value, materials).where(counts())
    rows = session.exec(query.group_by(col(MaterialTag.facet), col(MaterialTag.value)))
    held = {Tag(facet, value): count for facet, value, count in rows}
    return [
        {
            "tag": str(tag),
            "en": names[tag].en if tag in names else None,
            "zh": names[tag].zh if tag in names else None,
            "materials": count,
        }
        for tag, count in sorted(held.items(), key=lambda one: (one[0].facet, -one[1], one[0].value))
    ]
