"""Tags by an embedder that sees mean colours and reads their names, and by people."""

from io import BytesIO
from pathlib import Path

import pytest
import yaml
from PIL import Image
from sqlmodel import select

from curation.embedding import BadEmbedder
from curation.tagging.tags import FACETS, Tag
from curation.tagging.vocabulary import BadVocabulary, VocabularyExists, load_vocabulary, read_vocabulary
from warehouse import events
from warehouse.tables import MaterialTag, MaterialWork

pytestmark = pytest.mark.usefixtures("fake_embedder")

COLOURS = """\
facets:
  subject:
    templates: ["a {} thing", "{}"]
    top: 2
    threshold: 0.2
    values:
      - {id: red, names: {en: red, zh: 红}}
      - {id: green, names: {en: green, zh: 绿}}
      - {id: navy, names: {en: navy, zh: 蓝}, prompts: [blue]}
"""


@pytest.fixture
def words(project, signed_on):
    """The project's own vocabulary."""
    signed_on(project, "mei", "ann")
    file = project / "vocabulary.yaml"
    file.write_text(COLOURS)
    return file


def coloured(colour) -> bytes:
    buffer = BytesIO()
    Image.new("RGB", (20, 20), colour).save(buffer, "PNG")
    return buffer.getvalue()


def shown() -> int:
    """How many pictures the model was shown."""
    import fake_embedder

    return sum(fake_embedder.SHOWN)


def said(call, project, material) -> dict[str, tuple[bool, float | None]]:
    return {one["tag"]: (one["counts"], one["score"]) for one in call("tags", material.id, project=project)}


def test_scores_are_the_softmax_over_a_facet_at_the_models_scale(call, library, project, words):
    # Its direction is (1, 1, 0) / sqrt(2): the model's scale is 10, and exp(7.0711) = 1177.4.
    yellow = library.add(coloured((250, 250, 0)))
    blue = library.add(coloured((0, 0, 250)))
    found = call("tag", project=project)
    assert found["embedded"]["counts"]["done"] == found["tagged"]["counts"]["done"] == 2
    # 1177.4 / (1177.4 + 1177.4 + 1) for both; and exp(10) / (exp(10) + 2) for the other picture.
    assert said(call, project, yellow) == {"subject:green": (True, 0.4998), "subject:red": (True, 0.4998)}
    assert said(call, project, blue) == {"subject:navy": (True, 0.9999)}
    assert found["maker"].startswith("clip-zero-shot@1 fake:colours@1 vocabulary:")
    (row,) = call("tags", blue.id, project=project)
    assert (row["author"], row["maker"]) == ("clip-zero-shot@1", found["maker"])
    library_tags = {one["tag"]: (one["zh"], one["materials"]) for one in call("tags", project=project)}
    assert library_tags == {"subject:green": ("绿", 1), "subject:navy": ("蓝", 1), "subject:red": ("红", 1)}


def test_top_and_threshold_bound_what_is_said(call, library, project, words):
    words.write_text(COLOURS.replace("top: 2", "top: 1"))
    yellow = library.add(coloured((250, 240, 0)))
    call("tag", project=project)
    assert list(said(call, project, yellow)) == ["subject:red"]
    words.write_text(COLOURS.replace("threshold: 0.2", "threshold: 0.9"))
    call("tag", project=project)
    assert said(call, project, yellow) == {}


def test_another_vocabulary_replaces_the_tags_and_looks_at_no_picture_again(call, library, project, words):
    blue = library.add(coloured((0, 0, 250)))
    call("tag", project=project)
    assert call("tag", project=project)["tagged"]["counts"] == {"done": 0, "known": 1, "failed": 0}
    words.write_text("# a comment changes nothing\n" + COLOURS)
    assert call("tag", project=project)["tagged"]["counts"]["done"] == 0
    before = shown()
    words.write_text(COLOURS.replace("navy", "sky"))
    assert call("tag", project=project)["tagged"]["counts"]["done"] == 1
    assert list(said(call, project, blue)) == ["subject:sky"]
    # And back: what was marked as done before was replaced meanwhile.
    words.write_text(COLOURS)
    assert call("tag", project=project)["tagged"]["counts"]["done"] == 1
    assert list(said(call, project, blue)) == ["subject:navy"]
    assert shown() == before == 1


def test_people_win_and_both_are_kept_also_when_the_model_is_asked_again(call, library, project, words):
    blue = library.add(coloured((0, 0, 250)))
    call("tag", project=project)
    answer = call("tag-set", blue.id, "subject:sea", "calm", "--new", "--by", "mei", project=project)
    assert answer["not_in_vocabulary"] == ["subject:sea"]
    changed = answer["changed"]
    assert changed == ["subject:sea", "calm"]
    right = {"subject:navy": (False, 0.9999), "subject:sea": (True, None), "calm": (True, None)}
    assert said(call, project, blue) == right
    call("tag", "--again", project=project)
    assert said(call, project, blue) == right
    assert call("tag-set", blue.id, "calm", "--by", "ann", project=project)["changed"] == []
    with library.workspace.database.reading() as session:
        told = events.history(session, "material", blue.id)
    assert [(one.actor, one.action, one.detail["value"]) for one in told] == [
        ("mei", "tag", "sea"),
        ("mei", "tag", "calm"),
    ]


def test_a_person_can_say_that_a_machine_tag_is_wrong(call, library, project, words):
    yellow = library.add(coloured((250, 250, 0)))
    call("tag", project=project)
    call("tag-set", yellow.id, "subject:red", "--wrong", "--by", "mei", project=project)
    rows = call("tags", yellow.id, project=project)
    counting = {(one["tag"], one["author"]) for one in rows if one["counts"]}
    assert counting == {("subject:green", "clip-zero-shot@1")}
    assert {(one["tag"], one["author"], one["holds"]) for one in rows} == {
        ("subject:red", "clip-zero-shot@1", True),
        ("subject:red", "mei", False),
        ("subject:green", "clip-zero-shot@1", True),
    }


def test_what_could_not_be_embedded_fails_to_be_tagged_with_the_reason(call, library, project, words):
    library.add(coloured("black"))
    found = call("tag", project=project, exit_code=2)
    assert found["embedded"]["counts"]["failed"] == found["tagged"]["counts"]["failed"] == 1
    assert "no vector" in next(iter(found["tagged"]["failures"].values()))
    with library.workspace.database.reading() as session:
        assert not session.exec(select(MaterialTag)).all()


def test_stopped_in_the_middle_the_next_call_does_the_rest(call, library, project, words, monkeypatch):
    import curation.tagging.zero_shot as module

    for place in range(5):
        library.add(coloured((250, 10 * place, 0)))
    monkeypatch.setattr(module, "BATCH", 2)
    store, calls = module.store_machine_tags, []

    def stop_at_the_fourth(*arguments):
        calls.append(arguments)
        if len(calls) == 4:
            raise KeyboardInterrupt
        store(*arguments)

    monkeypatch.setattr(module, "store_machine_tags", stop_at_the_fourth)
    with pytest.raises((KeyboardInterrupt, SystemExit, AssertionError)):
        call("tag", project=project)
    with library.workspace.database.reading() as session:
        tagged = set(session.exec(select(MaterialTag.material_id)))
        marked = set(session.exec(select(MaterialWork.material_id).where(MaterialWork.work == "tag")))
    assert len(tagged) == 2 and tagged == marked
    monkeypatch.setattr(module, "store_machine_tags", store)
    assert call("tag", project=project)["tagged"]["counts"] == {"done": 3, "known": 2, "failed": 0}


def test_only_the_named_materials_are_tagged(call, library, project, words):
    blue, red = library.add(coloured((0, 0, 250))), library.add(coloured((250, 0, 0)))
    assert call("tag", blue.id, "--dry-run", project=project)["tagged"]["counts"]["done"] == 1
    assert call("tag", blue.id, project=project)["embedded"]["counts"]["done"] == 1
    assert said(call, project, blue) and not said(call, project, red)


def test_a_model_that_takes_no_pictures_cannot_tag(call, library, project, words, monkeypatch):
    library.add(coloured("red"))
    monkeypatch.setenv("INTERPLAY_CLIP_MODEL", "fake:blind")
    with pytest.raises(BadEmbedder):
        call("tag", project=project)


def test_the_shipped_vocabulary_has_every_facet_in_both_languages(project):
    shipped = load_vocabulary(project)
    assert [name for name, _ in shipped.ordered()] == [facet for facet in FACETS if facet != "free"]
    assert len(shipped.names()) > 120
    # Chinese names are Chinese, and tell values of a facet apart as English ones do.
    for name, facet in shipped.ordered():
        chinese = [value.names.zh for value in facet.values]
        assert all("\u4e00" <= text[0] <= "\u9fff" for text in chinese)
        assert len({*chinese}) == len({value.names.en for value in facet.values}) == len(facet.values), name
    assert shipped.find("厨房") == shipped.find("Kitchen") == [Tag("scene", "kitchen")]


def test_the_vocabulary_is_copied_once_and_then_the_projects_own(call, project):
    shown_before = call("vocabulary", project=project)
    assert shown_before["file"] is None
    written = call("vocabulary", "--write", project=project)
    assert written["file"] == str(project / "vocabulary.yaml")
    assert written["sha256"] == shown_before["sha256"]
    with pytest.raises(VocabularyExists):
        call("vocabulary", "--write", project=project)


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ("subject:", "mood:", "no facet 'mood'"),
        ("id: green", "id: red", "red stand there twice"),
        ("a {} thing", "a thing", "needs {} once"),
        ("id: navy", "id: Navy Blue", "id"),
        ("threshold: 0.2", "threshold: 2", "threshold"),
        ("zh: 红", "fr: rouge", "names.fr: no such field"),
        ("facets:", "facets: [", "cannot be read"),
    ],
)
def test_a_vocabulary_that_cannot_be_used_says_where(words, before, after, said):
    assert before in COLOURS
    words.write_text(COLOURS.replace(before, after, 1))
    with pytest.raises(BadVocabulary, match=r"vocabulary\.yaml") as caught:
        read_vocabulary(words)
    assert said in str(caught.value) and "\n" not in str(caught.value)


def test_the_file_that_ships_reads_as_it_is_written(project):
    import curation.tagging

    (place,) = curation.tagging.__path__
    with Path(place, "vocabulary.yaml").open(encoding="utf-8") as stream:
        raw = yaml.safe_load(stream)
    assert {name: len(facet["values"]) for name, facet in raw["facets"].items()} == {
        name: len(facet.values) for name, facet in load_vocabulary(project).ordered()
    }
