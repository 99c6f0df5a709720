"""Search over a small library whose right answers are plain to see."""

import shutil
import sqlite3

import numpy as np
import pytest
from PIL import Image
from sqlmodel import func, select

from core.content import MediaRef, Modality
from curation.models import UnusableModel
from curation.search.index import IndexBusy, SearchIndex
from curation.search.search import Hit, NoVectors, Query, facet_counts, search
from curation.search.words import NothingToSearchFor, match_expression, spaced, unspaced
from curation.tagging.tags import Tag, say
from warehouse import events
from warehouse.runs import open_run
from warehouse.tables import (
    Caption,
    CaptionKind,
    CaptionState,
    Consent,
    Contributor,
    Event,
    Item,
    ItemRevision,
    Material,
    MaterialSource,
    MaterialState,
    Recording,
    RevisionMedia,
    Segment,
)


class Shelf:
    """Materials by short names; what is searched lies in the tables, the media need not exist."""

    def __init__(self, workspace, clock) -> None:
        self.workspace, self.clock, self.ids = workspace, clock, {}
        with open_run(workspace.database, "test", {}) as run:
            self.run_id = run.id

    def add(self, name, modality="image", *, duration_s=None, licence=None, source=None, tags=(), **columns):
        self.clock.advance(seconds=1)
        sha256 = f"{len(self.ids) + 1:064x}"
        media = MediaRef(
            sha256=sha256, media_type=f"{modality}/x", modality=modality, byte_count=1, duration_s=duration_s
        )
        with self.workspace.database.session() as session:
            row = Material(
                sha256=sha256, media=media.model_dump(mode="json"), modality=modality, run_id=self.run_id, **columns
            )
            session.add(row)
            session.flush()
            session.add(
                MaterialSource(
                    material_id=row.id, origin=f"{name}.bin", licence=licence, source=source, run_id=self.run_id
                )
            )
            for tag in tags:
                say(session, row, Tag.parse(tag), "people", clock=self.clock)
            events.record(session, "test", "material", row.id, "ingest", self.clock)
        self.ids[name] = row.id
        return row

    def say(self, name, text, language="en"):
        with self.workspace.database.session() as session:
            session.add(
                Segment(
                    material_id=self.ids[name], start_s=0, end_s=1, text=text, language=language, made_by="asr@1",
                    run_id=self.run_id,
                )
            )  # fmt: skip
            events.record(session, "test", "material", self.ids[name], "transcribe", self.clock)

    def vectors(self, embedder, by_name):
        with self.workspace.facts.writer("embedding", self.run_id) as writer:
            for name, vector in by_name.items():
                sha256 = f"{list(self.ids).index(name) + 1:064x}"
                unit = np.array(vector, dtype=float) / np.linalg.norm(vector)
                writer.add(
                    {
                        "subject": sha256,
                        "embedder": embedder,
                        "vector": unit.tolist(),
                        "recorded_at": self.clock().isoformat(),
                    }
                )

    def names(self, query, embedders=(), **page):
        name_of = {id_: name for name, id_ in self.ids.items()}
        return [name_of[hit.material_id] for hit in search(self.workspace, query, embedders, **page).hits]


class Compass:
    """An embedder of two directions: words and colours of red point east, those of blue north."""

    logit_scale = 100.0

    def __init__(self, fingerprint="clip:compass@1"):
        self.fingerprint = fingerprint

    def embed_texts(self, texts):
        rows = [[("red" in text) + 1e-3, ("blue" in text) + 1e-3] for text in texts]
        return self._unit(rows)

    def embed_images(self, images):
        colours = [np.asarray(image.convert("RGB"), dtype=float).mean(axis=(0, 1)) for image in images]
        return self._unit([[red + 1e-3, blue + 1e-3] for red, _, blue in colours])

    @staticmethod
    def _unit(rows):
        vectors = np.array(rows, dtype=np.float32)
        return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


@pytest.fixture
def shelf(workspace, clock):
    return Shelf(workspace, clock)


@pytest.fixture
def colours(shelf):
    shelf.add("rose", tags=["theme:nature", "subject:flower"])
    shelf.add("sea", tags=["theme:nature"])
    shelf.add("dusk", tags=["theme:city"])
    shelf.vectors("clip:compass@1", {"rose": (1, 0), "sea": (0, 1), "dusk": (1, 1)})
    return shelf


class TestWords:
    @pytest.mark.parametrize(
        ("text", "query"),
        [
            ("The dogs were barking", "dog bark"),
            ("今天天气很好，我们去公园。", "天气"),
            ("今天天气很好，我们去公园。", "公园 今天"),
            ("她说：ＨＥＬＬＯ　世界", "hello 世界"),
            ("café crème", "cafe"),
            ("see no evil, hear no evil", '"no evil hear"'),
            ("a doorbell rings", "door*"),
            ("こんにちは世界", "にちは"),
        ],
    )
    def test_found(self, shelf, text, query):
        shelf.add("one", "audio")
        shelf.say("one", text)
        assert shelf.names(Query(words=query)) == shelf.names(Query(said=query)) == ["one"]

    @pytest.mark.parametrize(
        ("text", "query"),
        [
            ("今天天气很好", "气天"),  # a run of characters is a phrase
            ("see no evil, hear no evil", '"evil no hear"'),
            ("a doorbell rings", "door"),
            ("dogs", "dog cat"),  # all words must occur
        ],
    )
    def test_not_found(self, shelf, text, query):
        shelf.add("one", "audio")
        shelf.say("one", text)
        assert shelf.names(Query(words=query)) == []

    @pytest.mark.parametrize("query", ['" OR said:x', "a AND (b", "NEAR(a b)", "x';--", "-a", "{said} : a", "col:a"])
    def test_signs_are_no_commands(self, shelf, query):
        shelf.add("one", "audio")
        shelf.say("one", "nothing of it")
        assert shelf.names(Query(words=query)) == []

    @pytest.mark.parametrize("query", ["?!", "*", '""', "，。"])
    def test_without_a_word(self, shelf, query):
        with pytest.raises(NothingToSearchFor, match="no word"):
            shelf.names(Query(words=query))

    def test_said_told_and_named(self, shelf):
        for name in ("said", "told", "named_rain"):
            shelf.add(name, "audio")
        shelf.say("said", "rain")
        with shelf.workspace.database.session() as session:
            caption = Caption(
                material_id=shelf.ids["told"],
                kind=CaptionKind.TRANSCRIPT,
                language="en",
                text="Rain on a roof.",
                state=CaptionState.PROPOSED,
                author="model",
                by_person=False,
            )
            session.add(caption)
            session.flush()
            events.record(
                session, "model", "caption", caption.id, "propose", shelf.clock, material_id=shelf.ids["told"]
            )
        # Speech counts most, then descriptions, then names.
        assert shelf.names(Query(words="rain")) == ["said", "told", "named_rain"]
        assert shelf.names(Query(said="rain")) == ["said"]

    def test_snippet_is_readable(self, shelf):
        shelf.add("one", "audio")
        shelf.say("one", "今天天气很好，我们 go to the park。")
        (hit,) = search(shelf.workspace, Query(words="天气")).hits
        assert hit.snippet == "今天天气很好，我们 go to the park。"

    def test_spaced_and_back(self):
        assert match_expression('天气 dog* "a b"') == '"天 气" AND "dog"* AND "a b"'
        assert unspaced(spaced("好, ok 的世界")) == "好 , ok 的世界"


class TestFacets:
    def test_each(self, shelf):
        shelf.add("photo", licence="CC0-1.0", source="museum", tags=["theme:nature"])
        shelf.add("clip", "video", duration_s=5.0, licence="CC-BY-4.0", source="street")
        shelf.add("talk", "audio", duration_s=60.0, audio_type="speech")
        shelf.say("talk", "moin", "de")
        shelf.add("gone", state=MaterialState.WITHDRAWN)
        assert shelf.names(Query()) == ["talk", "clip", "photo"]
        assert shelf.names(Query(state=None)) == ["gone", "talk", "clip", "photo"]
        assert shelf.names(Query(modalities=[Modality.IMAGE, Modality.VIDEO])) == ["clip", "photo"]
        assert shelf.names(Query(licences=["CC0-1.0"])) == ["photo"]
        assert shelf.names(Query(sources=["street", "museum"])) == ["clip", "photo"]
        assert shelf.names(Query(shortest_s=5.0, longest_s=59.0)) == ["clip"]
        assert shelf.names(Query(audio_types=["speech"], languages=["de"])) == ["talk"]
        assert shelf.names(Query(tags=[Tag("theme", "nature")])) == shelf.names(Query(tags=[Tag.parse("nature")]))
        assert shelf.names(Query(tags=[Tag("scene", "nature")])) == []
        assert facet_counts(shelf.workspace, Query())["licence"] == [("CC-BY-4.0", 1), ("CC0-1.0", 1)]

    def test_dialect_of_the_take_or_of_who_speaks(self, shelf):
        for name in ("take", "voice"):
            shelf.add(name, "audio")
        with shelf.workspace.database.session() as session:
            speaker = Contributor(pseudonym="p", dialect="Sichuan")
            session.add(speaker)
            session.flush()
            consent = Consent(contributor_id=speaker.id, text_version="1")
            session.add(consent)
            session.flush()
            for name, dialect in (("take", "Wu"), ("voice", None)):
                session.add(
                    Recording(
                        contributor_id=speaker.id, consent_id=consent.id, script="x", sha256="0" * 64,
                        material_id=shelf.ids[name], dialect=dialect,
                    )
                )  # fmt: skip
        assert shelf.names(Query(dialects=["Wu"])) == ["take"]
        assert shelf.names(Query(dialects=["Sichuan"])) == ["voice"]

    def test_unused_follows_the_items(self, shelf):
        shelf.add("free")
        shelf.add("taken")
        assert shelf.names(Query(unused=True)) == ["taken", "free"]
        with shelf.workspace.database.session() as session:
            item = Item(name="q1", created_by="a")
            session.add(item)
            session.flush()
            revision = ItemRevision(item_id=item.id, number=1, content_hash="0" * 64, author="a")
            session.add(revision)
            session.flush()
            item.current_revision_id = revision.id
            media = RevisionMedia(revision_id=revision.id, placeholder="image_1", material_id=shelf.ids["taken"])
            session.add(media)
            events.record(session, "a", "item", item.id, "create", shelf.clock)
        assert shelf.names(Query(unused=True)) == ["free"]
        assert [hit.uses for hit in search(shelf.workspace, Query()).hits] == [1, 0]


class TestMeaning:
    def test_by_text_by_picture_and_by_material(self, colours):
        compass = Compass()
        assert colours.names(Query(meaning="something red"), [compass]) == ["rose", "dusk", "sea"]
        blue = Image.new("RGB", (8, 8), (0, 0, 255))
        assert colours.names(Query(picture=blue), [compass]) == ["sea", "dusk", "rose"]
        assert colours.names(Query(like=f"{2:064x}"), [compass]) == ["sea", "dusk", "rose"]
        (best,) = search(colours.workspace, Query(meaning="something red"), [compass], limit=1).hits
        assert best.scores[compass.fingerprint] == pytest.approx(1.0, abs=1e-5)

    def test_with_facets_and_pages(self, colours):
        query = Query(meaning="red", tags=[Tag("theme", "nature")])
        assert colours.names(query, [Compass()]) == ["rose", "sea"]
        found = search(colours.workspace, query, [Compass()], limit=1, offset=1)
        assert (len(found.hits), found.total) == (1, 2)

    def test_words_bound_what_meaning_ranks(self, colours):
        colours.add("late", tags=["city"])
        query = Query(words="city", meaning="red")
        assert sorted(colours.names(query, [Compass()])) == ["dusk", "late"]

    def test_without_one_of_the_models_the_other_one_answers(self, colours, project, call, monkeypatch):
        def out_of_reach(project):
            raise UnusableModel("connect")

        monkeypatch.setattr("curation.search.cli.clip_embedder", lambda project: Compass())
        monkeypatch.setattr("curation.search.cli.text_embedder", out_of_reach)
        found = call("search", "--like", colours.ids["sea"], project=project)
        assert [hit["origin"] for hit in found["hits"]] == ["sea.bin", "dusk.bin", "rose.bin"]
        monkeypatch.setattr("curation.search.cli.clip_embedder", out_of_reach)
        with pytest.raises(UnusableModel, match="connect"):
            call("search", "--like", colours.ids["sea"], project=project)

    def test_without_vectors_it_says_what_to_do(self, shelf):
        shelf.add("one")
        with pytest.raises(NoVectors, match="interplay material embed"):
            shelf.names(Query(meaning="red"), [Compass()])

    def test_words_and_meaning_are_fused_by_reciprocal_ranks(self, colours):
        for name, times in (("sea", 3), ("dusk", 2), ("rose", 1)):
            colours.say(name, "city " * times + "quiet " * (3 - times))
        assert colours.names(Query(said="city")) == ["sea", "dusk", "rose"]
        # Places: rose 3 and 1, dusk 2 and 2, sea 1 and 3; 2/62 < 1/61 + 1/63, and of equals the newer is first.
        assert colours.names(Query(said="city", meaning="red"), [Compass()]) == ["sea", "rose", "dusk"]

    def test_of_two_models_the_better_place_counts_so_that_having_both_vectors_is_no_merit(self, colours):
        colours.add("song", "audio")
        colours.vectors("text:compass@1", {"song": (1, 0), "sea": (1, 3)})
        # Places: rose 1; dusk 2; sea 3 and 2; song 1.
        models = [Compass(), Compass("text:compass@1")]
        assert colours.names(Query(meaning="red"), models) == ["song", "rose", "dusk", "sea"]


class TestIndex:
    def test_it_follows_the_library(self, colours):
        assert len(colours.names(Query())) == 3
        colours.add("new")
        colours.vectors("clip:compass@1", {"new": (1, 0.1)})
        assert colours.names(Query(meaning="red"), [Compass()])[:2] == ["rose", "new"]
        with colours.workspace.database.session() as session:
            rose = session.exec(select(Material).where(Material.id == colours.ids["rose"])).one()
            rose.state = MaterialState.DROPPED
            events.record(session, "a", "material", rose.id, "overrule", colours.clock)
        assert colours.names(Query(meaning="red"), [Compass()]) == ["new", "dusk", "sea"]

    def test_a_lost_index_is_made_anew(self, colours):
        before = colours.names(Query(meaning="red"), [Compass()])
        for file in (colours.workspace.project.root / "cache" / "search").iterdir():
            file.unlink()
        assert colours.names(Query(meaning="red"), [Compass()]) == before

    def test_compacted_facts_change_nothing(self, colours):
        colours.add("new")
        colours.vectors("clip:compass@1", {"new": (1, 0.1)})
        before = colours.names(Query(meaning="red"), [Compass()])
        folder = colours.workspace.project.search_folder
        (rows,) = folder.glob("*.f32")
        size = rows.stat().st_size
        colours.workspace.facts.compact("embedding")
        assert colours.names(Query(meaning="red"), [Compass()]) == before
        assert rows.stat().st_size == size  # nothing is held twice

    def test_the_latest_vector_counts_whatever_its_file_is_called(self, colours):
        colours.clock.advance(seconds=1)
        colours.vectors("clip:compass@1", {"sea": (1, 0)})
        colours.workspace.facts.compact("embedding")  # its file's name stands behind all that come later
        colours.clock.advance(seconds=1)
        colours.vectors("clip:compass@1", {"rose": (0, 1)})
        right = ["sea", "dusk", "rose"]
        assert colours.names(Query(meaning="red"), [Compass()]) == right
        shutil.rmtree(colours.workspace.project.search_folder)
        assert colours.names(Query(meaning="red"), [Compass()]) == right

    def test_who_began_to_read_sees_one_moment_of_the_vectors(self, colours):
        colours.names(Query())
        index = SearchIndex(colours.workspace.project.search_folder)
        with index.reading() as connection:
            connection.execute("SELECT count(*) FROM doc").fetchone()
            for name in ("one", "two", "three"):
                colours.add(name)
                colours.vectors("clip:compass@1", {name: (1, 0)})
                assert colours.names(Query())[0] == name
            space = index.space(connection, "clip:compass@1")
            assert (len(space.vectors), len(space.docs)) == (3, 3)
            np.testing.assert_allclose(space.vectors[:2], [[1, 0], [0, 1]])

    def test_while_another_process_writes_what_is_known_is_found(self, colours, monkeypatch):
        before = colours.names(Query())
        monkeypatch.setattr("curation.search.index._BUSY_S", 0.0)
        writer = sqlite3.connect(colours.workspace.project.search_folder / "index.sqlite", isolation_level=None)
        writer.execute("BEGIN IMMEDIATE")
        assert colours.names(Query()) == before
        colours.add("new")
        with pytest.raises(IndexBusy, match="search again"):
            colours.names(Query())
        writer.close()
        assert colours.names(Query()) == ["new", *before]

    def test_what_another_process_has_read_meanwhile_is_not_undone(self, colours, monkeypatch):
        colours.names(Query())
        index = SearchIndex(colours.workspace.project.search_folder)
        plain, meanwhile = index._lock, []

        def overtaken(connection):
            if not meanwhile:
                meanwhile.append(colours.add("late"))
                assert "late" in colours.names(Query())
            plain(connection)

        monkeypatch.setattr(index, "_lock", overtaken)
        colours.add("early")
        assert index.refresh(colours.workspace) >= 0
        with index.reading() as connection:
            (mark,) = connection.execute("SELECT value FROM mark WHERE name = 'sequence'").fetchone()
        with colours.workspace.database.reading() as session:
            assert mark == session.exec(select(func.max(Event.sequence))).one()

    def test_hits_say_what_they_are(self, shelf):
        row = shelf.add("clip", "video", duration_s=5.0)
        (hit,) = search(shelf.workspace, Query()).hits
        assert hit == Hit(row.id, row.sha256, row.media["sha256"], "video", 5.0, 0, "clip.bin")
