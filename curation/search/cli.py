"""`interplay material search`."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from core.content import Modality
from core.errors import InterplayError, MissingExtra
from curation.embedding import CLIP, TEXT, Embedder, clip_embedder, text_embedder
from curation.materials import HANDLE, find_material
from curation.models import UnusableModel
from curation.search.choices import embedders_held, unknown_choices
from curation.search.search import Found, Hit, Query, facet_counts, open_picture, search
from curation.tagging.tags import Tag
from curation.tagging.vocabulary import load_vocabulary
from warehouse.command_line import JsonOption, ProjectOption, show, show_table
from warehouse.tables import MaterialState
from warehouse.workspace import Workspace, open_workspace


def search_command(
    words: Annotated[str, typer.Argument(help='Words that occur; "in quotes" beside one another, begin* begins.')] = "",
    said: Annotated[str, typer.Option(help="Words that occur in speech.")] = "",
    meaning: Annotated[str, typer.Option(help="What it shows or tells, in your own words.")] = "",
    picture: Annotated[Path | None, typer.Option(help="A picture that it looks like.")] = None,
    like: Annotated[str | None, typer.Option(help="A material that it is like: its id or sha256.")] = None,
    modality: Annotated[list[Modality] | None, typer.Option(help="One of these modalities.")] = None,
    tag: Annotated[
        list[str] | None, typer.Option(help="With all of these tags, as 'theme:nature' or 'nature'.")
    ] = None,
    licence: Annotated[list[str] | None, typer.Option(help="Under one of these licences.")] = None,
    source: Annotated[list[str] | None, typer.Option(help="From one of these sources.")] = None,
    dialect: Annotated[list[str] | None, typer.Option(help="In one of these dialects.")] = None,
    language: Annotated[list[str] | None, typer.Option(help="Spoken in one of these languages.")] = None,
    audio_type: Annotated[list[str] | None, typer.Option(help="speech, environment or music.")] = None,
    shortest_s: Annotated[float | None, typer.Option(min=0, help="Lasts at least so long, in seconds.")] = None,
    longest_s: Annotated[float | None, typer.Option(min=0, help="Lasts at most so long, in seconds.")] = None,
    unused: Annotated[bool, typer.Option("--unused", help="Only what no item shows.")] = False,
    state: Annotated[MaterialState | None, typer.Option(help="Other than kept ones.")] = None,
    facets: Annotated[bool, typer.Option("--facets", help="Count what can be chosen instead of listing.")] = False,
    limit: Annotated[int, typer.Option(min=1, max=1000, help="How many to list.")] = 20,
    offset: Annotated[int, typer.Option(min=0, help="How many to leave out before them.")] = 0,
    as_json: JsonOption = False,
    project: ProjectOption = None,
) -> None:
    """Look for materials by words, meaning, example and facets; whatever is given must all hold.

    Example: interplay material search "door bell" --modality audio --unused
    """
    with open_workspace(project) as workspace:
        query = Query(
            words=words,
            said=said,
            meaning=meaning,
            picture=open_picture(picture) if picture else None,
            like=_media_of(workspace, like) if like else None,
            state=state or MaterialState.KEPT,
            modalities=modality or (),
            tags=_tags(workspace, tag or ()),
            licences=licence or (),
            sources=source or (),
            dialects=dialect or (),
            languages=language or (),
            audio_types=audio_type or (),
            shortest_s=shortest_s,
            longest_s=longest_s,
            unused=unused,
        )
        if facets:
            _show_facets(facet_counts(workspace, query), as_json)
            return
        found = search(workspace, query, _embedders(workspace, query), limit, offset)
        for line in unknown_choices(workspace, query):
            typer.echo(line, err=True)
    _show_found(found, as_json)


def _embedders(workspace: Workspace, query: Query) -> list[Embedder]:
    """Those that can be had: without one of the two its vectors alone are not compared, and that is said.

    Only what the search needs is looked for: of a material the models whose vectors it has, and of a picture the one
    that takes pictures. A model is loaded where there are words or a picture to give it.
    """
    if not (query.meaning or query.picture is not None or query.like):
        return []
    is_put = bool(query.meaning) or query.picture is not None
    held = embedders_held(workspace, None if is_put else query.like)
    found: list[Embedder] = []
    missing: list[InterplayError] = []
    for kind, make in ((CLIP, clip_embedder), (TEXT, text_embedder)):
        takes_it = kind == CLIP or query.meaning or query.like
        if not takes_it or not held - {one.fingerprint for one in found}:
            continue
        try:
            embedder = make(workspace.project)
            if embedder.fingerprint in held and is_put:  # for the fingerprint, too, a hub may be asked
                embedder.load()
            found.append(embedder)
        except (UnusableModel, MissingExtra) as error:
            typer.echo(f"{kind} vectors are not compared: {error}", err=True)
            missing.append(error)
    if missing and not found:
        raise missing[0]
    return found


def _tags(workspace: Workspace, texts: Sequence[str]) -> list[Tag]:
    if not texts:
        return []
    vocabulary = load_vocabulary(workspace.project.root)
    return [vocabulary.meant(text) for text in texts]


def _media_of(workspace: Workspace, name: str) -> str:
    with workspace.database.reading() as session:
        return find_material(session, name).media_ref.sha256


def _show_found(found: Found, as_json: bool) -> None:
    document = {"total": found.total, "hits": [_document(hit) for hit in found.hits]}
    if as_json:
        show(document, (), True)
        return
    header = ("sha256", "modality", "length", "uses", "score", "origin", "words")
    cells = [
        (hit.sha256[:HANDLE], hit.modality, _length(hit), hit.uses, _score(hit), hit.origin, hit.snippet)
        for hit in found.hits
    ]
    if cells:
        show_table(document, header, cells, False)
    show(document, [f"{len(found.hits)} of {found.total}"], False)


def _document(hit: Hit) -> dict[str, Any]:
    return vars(hit) | {"scores": dict(hit.scores)}


def _length(hit: Hit) -> str:
    return f"{hit.duration_s:.1f} s" if hit.duration_s else ""


def _score(hit: Hit) -> str:
    return " ".join(f"{name.partition(':')[0]} {value:.3f}" for name, value in hit.scores.items())


def _show_facets(counts: dict[str, list[tuple[str, int]]], as_json: bool) -> None:
    lines = [
        f"{kind}: " + ", ".join(f"{value} ({number})" for value, number in found) for kind, found in counts.items()
    ]
    show({kind: dict(found) for kind, found in counts.items()}, lines or ["nothing to choose by"], as_json)
