"""The library page, a material's tags, and look-alikes: views and services first, then in Streamlit's test runner."""

import threading

import numpy as np
import pytest
from sqlmodel import select

from annotation_ui import finding, library
from annotation_ui.finding import PAGE_SIZE, MaterialQuery, every_match, find_materials
from annotation_ui.library import MaterialChanged, MaterialWithdrawn, NothingDecided, ReasonNeeded, Ruling
from annotation_ui.media_links import MediaLinks
from annotation_ui.permissions import NotAllowed
from annotation_ui.tag_words import TagUnreadable, known_names, meant, tag_choice, tag_names
from annotation_ui.views.look_alikes import evidence_words, look_alikes
from annotation_ui.views.material import material_detail
from annotation_ui.views.material_tags import tag_lines
from annotation_ui.views.materials import facets, material_columns, material_rows, materials_page
from annotation_ui.words import words_in
from core.content import Modality
from curation.search.index import IndexBusy
from curation.search.search import NoVectors
from curation.tagging.tags import Tag, store_machine_tags
from curation.tagging.vocabulary import FILE, BadVocabulary
from warehouse import events
from warehouse.database import Database
from warehouse.people import Role
from warehouse.tables import DuplicateLink, Material, MaterialState, MaterialTag, Segment

EN, ZH = words_in("en"), words_in("zh")
ATTACK = "<script>alert(1)</script>[x](javascript:alert(3)) :red[**b**] $x$ {0}"


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)])
def library_studio(studio, request):
    """The studio on each database."""
    if request.param == "sqlite":
        yield studio
        return
    opened = Database(request.getfixturevalue("postgres_url"))
    object.__setattr__(studio.workspace, "database", opened)
    yield studio
    opened.close()


@pytest.fixture
def seeder(library_studio, seed):
    return seed.Seeder(library_studio.workspace)


@pytest.fixture
def database(library_studio):
    return library_studio.workspace.database


@pytest.fixture
def auth(library_studio, clock, database):
    from argon2 import PasswordHasher

    from annotation_ui.auth import Auth

    return Auth(database, library_studio.key, clock, PasswordHasher(time_cost=1, memory_cost=8, parallelism=1))


@pytest.fixture
def who(principal_of):
    return principal_of(Role.ANNOTATOR)


@pytest.fixture
def links(studio):
    return MediaLinks(studio.key, studio.clock)


@pytest.fixture
def names(studio):
    return tag_names(studio.workspace.project.root)


def link(database, seeder, one, other, method="image_hash@2", **evidence):
    with database.session() as session:
        first, second = sorted([one.id, other.id])
        ends = {"first_id": first, "second_id": second, "run_id": seeder.run_id}
        session.add(DuplicateLink(method=method, distance=0.01, evidence=evidence, **ends))


def by_model(database, seeder, row, scores, model="clip@1"):
    with database.session() as session:
        store_machine_tags(session, row.id, scores, model, seeder.run_id)
        events.record(session, "run:x", "material", row.id, "tag")


class TestFinding:
    def titles(self, studio, who, links, **query):
        found = materials_page(studio.workspace, who, MaterialQuery(**query), links, EN)
        return sorted(card.title for card in found.cards)

    def test_everything_that_a_material_holds_can_be_asked_for(self, studio, database, seeder, who, links):
        bell, _ = seeder.sound(1, origin="bell.wav", author="王小明")
        seeder.sound(2, origin="horn.wav")
        shown = seeder.picture(1, origin="red.png", tags=["theme:nature"])
        seeder.item("used", seeder.draft("See <image_1>", {"image_1": shown}, "mei"))
        with database.session() as session:
            session.get(Material, bell.id).audio_type = "speech"
            heard = {"material_id": bell.id, "made_by": "w@1", "run_id": seeder.run_id}
            session.add(Segment(start_s=0, end_s=1, text="钟声响了两次", language="zh", **heard))
        offered = facets(studio.workspace, EN)
        assert offered.languages == [("zh", "Chinese", 1)]
        assert offered.audio_types == [("speech", "Speech", 1)]
        assert offered.tags == [("theme:nature", "Theme: nature", 1)]
        assert facets(studio.workspace, ZH).tags == [("theme:nature", "主题：自然", 1)]
        args = (studio, who, links)
        assert self.titles(*args, text="钟声") == self.titles(*args, text="王小") == ["bell.wav"]
        assert self.titles(*args, text="声钟") == []
        assert self.titles(*args, text="hor") == ["horn.wav"]
        assert self.titles(*args, language="zh") == self.titles(*args, audio_type="speech") == ["bell.wav"]
        assert self.titles(*args, tag="theme:nature") == ["red.png"]
        assert self.titles(*args, unused=True) == ["bell.wav", "horn.wav"]
        assert self.titles(*args, length="10s") == ["bell.wav", "horn.wav"]
        assert self.titles(*args, length="longer") == self.titles(*args, length="nonsense", dialect="x") == []
        (card,) = materials_page(studio.workspace, who, MaterialQuery(text="钟声"), links, EN).cards
        assert "钟声响了两次" in card.snippet

    def test_while_the_index_is_behind_the_tables_are_asked(self, studio, database, seeder, who, links, monkeypatch):
        monkeypatch.setattr(finding, "MANY", 2)
        bell, _ = seeder.sound(1, origin="bell_100%.wav", author="王小明", licence="CC0-1.0")
        seeder.sound(2, origin="horn.wav")
        shown = seeder.picture(1, origin="red.png", tags=["theme:nature"])
        seeder.item("used", seeder.draft("See <image_1>", {"image_1": shown}, "mei"))
        with database.session() as session:
            heard = {"material_id": bell.id, "made_by": "w@1", "run_id": seeder.run_id}
            session.add(Segment(start_s=0, end_s=1, text="钟声响了两次", language="zh", **heard))
            for author, holds in (("a@1", True), ("b@1", True), ("mei", False)):
                tag = {"material_id": bell.id, "facet": "free", "value": "loud" if holds else "soft"}
                session.add(MaterialTag(by_person=author == "mei", holds=holds, author=author, **tag))
        args = (studio, who, links)
        assert finding.is_behind(studio.workspace)
        assert self.titles(*args, text="王小 bell") == self.titles(*args, text="100%") == ["bell_100%.wav"]
        assert self.titles(*args, text="nature") == self.titles(*args, tag="theme:nature") == ["red.png"]
        assert self.titles(*args, unused=True) == self.titles(*args, length="10s") == ["bell_100%.wav", "horn.wav"]
        assert self.titles(*args, licence="CC0-1.0", modality=Modality.AUDIO) == ["bell_100%.wav"]
        assert self.titles(*args, like=bell.id) == self.titles(*args, text="钟声") == []
        assert self.titles(*args, length="longer") == self.titles(*args, state=MaterialState.DROPPED) == []
        found = find_materials(studio.workspace, MaterialQuery(page=9))
        assert (found.total, found.page, found.is_plain) == (3, 1, True)
        assert every_match(studio.workspace, MaterialQuery()) == list(found.ids)
        assert facets(studio.workspace, EN).licences == [("CC-BY-4.0", "CC-BY-4.0", 2), ("CC0-1.0", "CC0-1.0", 1)]
        assert [(value, count) for value, _, count in facets(studio.workspace, EN).tags] == [("loud", 1), ("nature", 1)]
        assert finding.follow(studio.workspace) == 3
        assert not finding.is_behind(studio.workspace)
        assert self.titles(*args, text="钟声") == ["bell_100%.wav"]

    def test_without_vectors_meaning_is_said_not_to_be_compared(self, studio, seeder, who):
        row, _ = seeder.picture(1, origin="red door.png")
        asked = find_materials(studio.workspace, MaterialQuery(text="door", by_meaning=True))
        assert list(asked.ids) == [row.id] and isinstance(asked.unmeant, NoVectors)
        alike = find_materials(studio.workspace, MaterialQuery(like=row.id))
        assert not alike.ids and isinstance(alike.unmeant, NoVectors)

    def test_an_example_is_compared_by_its_vector_without_a_model(self, studio, seeder):
        rows = [seeder.picture(number) for number in range(3)]
        with studio.workspace.facts.writer("embedding", seeder.run_id) as writer:
            for (_, media), angle in zip(rows, (0.0, 1.5, 0.1), strict=True):
                vector = [float(np.cos(angle)), float(np.sin(angle))]
                told = {"embedder": "gone@1", "vector": vector, "recorded_at": seeder.clock().isoformat()}
                writer.add({"subject": media.sha256, **told})
        found = find_materials(studio.workspace, MaterialQuery(like=rows[0][0].id))
        assert list(found.ids) == [rows[0][0].id, rows[2][0].id, rows[1][0].id]
        assert find_materials(studio.workspace, MaterialQuery(like="nothing")).ids == []

    @pytest.mark.parametrize("text", ['"', "* *", "NEAR(a b)", "said : x", "a OR b", ATTACK, "\x00", "{0}", "-"])
    def test_no_text_breaks_the_search(self, studio, seeder, who, links, text):
        seeder.picture(1, origin="plain.png")
        assert self.titles(studio, who, links, text=text) == (["plain.png"] if text == "\x00" else [])

    def test_a_saved_table_holds_all_that_fits(self, studio, database, seeder, who, names, principal_of):
        row, _ = seeder.picture(1, origin="=1+1.png", tags=["theme:nature", "door"], licence="CC0-1.0")
        for number in range(PAGE_SIZE):
            seeder.sound(number, origin=f"{number}.wav", licence=None)
        every = list(material_rows(studio.workspace, who, MaterialQuery(), EN))
        assert len(every) == PAGE_SIZE + 1 == len(every_match(studio.workspace, MaterialQuery()))
        told = next(dict(zip(material_columns(EN), cells, strict=True)) for cells in every if "=1+1" in cells[0])
        assert (told["Licence"], told["Tags"], told["sha256"]) == ("CC0-1.0", "Theme: nature, door", row.sha256)
        (one,) = material_rows(studio.workspace, who, MaterialQuery(text="door"), EN)
        assert one[-1] == row.sha256
        with pytest.raises(NotAllowed):
            next(material_rows(studio.workspace, principal_of(Role.PARTICIPANT), MaterialQuery(), EN))


class TestTags:
    def say(self, database, who, row, text, holds=True, names=None):
        with database.session() as session:
            return library.say_tag(session, who, row.id, meant(names or {}, text), holds)

    def lines(self, database, row, names):
        with database.reading() as session:
            return {line.name: line for line in tag_lines(session, row.id, names, EN)}

    def test_who_said_what_stands_beside_each_tag(self, database, seeder, who, names):
        row, _ = seeder.picture(1, tags=["theme:animals"])
        by_model(database, seeder, row, {Tag("theme", "nature"): 0.75, Tag("scene", "forest"): 0.5})
        lines = self.lines(database, row, names)
        assert lines["animals"].counts and lines["animals"].said == ["Came with the file"]
        assert not lines["nature"].counts and lines["nature"].state == "people say another"
        assert lines["nature"].said == ["clip@1, 75.0% sure"]
        (scene,) = (line for line in lines.values() if line.facet == "Scene")
        assert scene.counts
        assert self.say(database, who, row, f"scene:{scene.tag.value}", holds=False)
        line = self.lines(database, row, names)[scene.name]
        assert (line.counts, line.state) == (False, "said to be wrong")
        assert line.said == ["Annotator: this is wrong", "clip@1, 50.0% sure"]

    def test_the_last_word_counts_and_twice_is_once(self, studio, database, seeder, who, names):
        row, _ = seeder.picture(1, origin="a.png")
        assert self.say(database, who, row, "自然", names=names)
        assert not self.say(database, who, row, "theme:nature", names=names)
        assert list(find_materials(studio.workspace, MaterialQuery(tag="theme:nature")).ids) == [row.id]
        assert self.say(database, who, row, "NATURE", holds=False, names=names)
        assert not find_materials(studio.workspace, MaterialQuery(tag="theme:nature")).ids
        with database.reading() as session:
            (held,) = session.exec(select(MaterialTag)).all()
        assert (held.facet, held.value, held.holds, held.author) == ("theme", "nature", False, who.user_id)

    def test_what_is_no_tag_or_nobodys_to_say_is_refused(self, database, seeder, who, principal_of):
        row, _ = seeder.picture(1)
        gone, _ = seeder.picture(2, state=MaterialState.WITHDRAWN)
        for text in ("", " \x00 ", "x" * 129):
            with pytest.raises(TagUnreadable):
                meant({}, text)
        with pytest.raises(NotAllowed):
            self.say(database, principal_of(Role.PARTICIPANT), row, "a")
        with pytest.raises(MaterialWithdrawn):
            self.say(database, who, gone, "a")

    def test_a_broken_vocabulary_leaves_ids_to_read(self, studio, names):
        assert "自然" in tag_choice(EN, names, Tag("theme", "nature"))
        (studio.workspace.project.root / FILE).write_text("facets: []")
        with pytest.raises(BadVocabulary):
            tag_names(studio.workspace.project.root)
        assert known_names(studio.workspace.project.root) == {}


class TestLookAlikes:
    def see(self, database, who, links, **asked):
        with database.reading() as session:
            return look_alikes(session, who, links, EN, {}, **asked)

    def test_a_group_stands_side_by_side_until_it_is_decided(self, database, seeder, who, links):
        one, two, three, alone = (seeder.picture(number)[0] for number in range(4))
        link(database, seeder, one, two, box=[0.1, 0.1, 0.9, 0.9], turning="mirrored")
        link(database, seeder, two, three, method="same_bytes@1")
        (group,) = self.see(database, who, links).groups
        assert [(side.letter, side.card.id) for side in group.sides] == [("A", one.id), ("B", two.id), ("C", three.id)]
        assert group.evidence[0] == "A and B are the same picture. A is mirrored. A is a part of B."
        assert group.evidence[1] == "B and C are the same; only the data about them differ."
        with database.session() as session:
            library.decide_together(session, who, [Ruling(one.id, 1, False), Ruling(three.id, 1, False)], "copies")
        assert not self.see(database, who, links).groups
        assert self.see(database, who, links, every=True).total == 1
        assert self.see(database, who, links, around=two.id).groups[0].sides[0].card.id == two.id
        assert not self.see(database, who, links, around=alone.id).groups

    def test_a_stale_ruling_undoes_its_companions(self, database, seeder, who, principal_of):
        one, two = (seeder.picture(number)[0] for number in range(2))
        with database.session() as session:
            library.decide_material(session, principal_of(Role.REVIEWER), two.id, 1, False, "meanwhile")
        rulings = [Ruling(one.id, 1, False), Ruling(two.id, 1, True)]
        with pytest.raises(MaterialChanged), database.session() as session:
            library.decide_together(session, who, rulings, "x")
        for bad, mistake in ((([], "x"), NothingDecided), ((rulings[:1], " "), ReasonNeeded)):
            with pytest.raises(mistake), database.session() as session:
                library.decide_together(session, who, *bad)
        with database.reading() as session:
            assert session.get(Material, one.id).state == MaterialState.KEPT

    def test_evidence_reads_as_words(self):
        moved = {"offset_s": -12.0, "speed": 0.8, "semitones": -2.0}
        assert evidence_words("audio_hash@2", moved, "A", "B", EN) == (
            "A and B are the same sound. B begins at 0:12 of A. B runs 1.25 times as fast as A. "
            "A sounds 2 semitones higher than B."
        )
        assert evidence_words("image_hash@2", {"box": [-0.2, 0, 1.2, 1]}, "A", "B", ZH) == (
            "A 与 B 是同一张图片。B 是 A 的一部分。"
        )
        assert evidence_words("other@1", {"box": [0.5, 0, 1.5, 1]}, "A", "B", EN).endswith("They overlap in part.")


def shown(app):
    return "\n".join(element.proto.body for element in app.get("html"))


def button(app, label):
    return next(one for one in app.button if one.label == label)


def prepared(app):
    """The page, drawn again once the work behind it has ended."""
    for thread in threading.enumerate():
        if thread.name == "work search index":
            thread.join(30)
    app.run()


class TestPages:
    # Streamlit's runner opens the project anew, from its own settings: SQLite.
    @pytest.fixture
    def library_studio(self, studio):
        return studio

    def test_filters_stand_in_the_address_and_are_cleared_together(self, visit, token, seeder):
        seeder.picture(1, origin="red.png", tags=["theme:nature"])
        seeder.sound(1, origin="bell.wav")
        app = visit("materials", token(), tag="theme:nature", unused="yes", **{"material-search": "red"})
        assert "red.png" in shown(app) and "bell.wav" not in shown(app)
        button(app, "Show everything").click().run()
        assert not dict(app.query_params)
        assert "red.png" in shown(app) and "bell.wav" in shown(app)
        assert app.text_input(key="material-search").value == ""

    def test_a_library_that_grew_is_prepared_behind_the_page(self, visit, token, seeder, monkeypatch):
        from annotation_ui.pages import finding as page

        go_on, follow = threading.Event(), page.follow
        monkeypatch.setattr(finding, "MANY", 0)
        monkeypatch.setattr(page, "follow", lambda workspace: go_on.wait(30) and follow(workspace))
        seeder.picture(1, origin="red.png")
        seeder.sound(1, origin="bell.wav")
        entry = token()
        app = visit("materials", entry, **{"material-search": "red"})
        assert "being prepared for searching" in shown(app) and "by Maintainer" in shown(app)
        assert "red.png" in shown(app) and "bell.wav" not in shown(app)
        go_on.set()
        prepared(app)
        assert "being prepared" not in shown(app) and "red.png" in shown(app)

    def test_an_index_that_cannot_be_made_is_told_and_tried_again(self, visit, token, seeder, monkeypatch):
        from annotation_ui.pages import finding as page

        def fail(_workspace):
            raise IndexBusy("another process is still making the index")

        follow = page.follow
        monkeypatch.setattr(finding, "MANY", 0)
        monkeypatch.setattr(page, "follow", fail)
        seeder.picture(1, origin="red.png")
        app = visit("materials", token())
        prepared(app)
        assert "another process is still making" in shown(app) and "red.png" in shown(app)
        monkeypatch.setattr(page, "follow", follow)
        button(app, "Try again").click().run()
        prepared(app)
        assert "being prepared" not in shown(app)

    def test_meaning_without_a_model_says_how_to_get_it(self, visit, token, seeder):
        row, _ = seeder.picture(1, origin="red.png")
        app = visit("materials", token(), **{"material-search": "red", "by-meaning": "yes"})
        assert "interplay material embed" in shown(app) and "red.png" in shown(app)
        app = visit("materials", token(), like=row.id)
        assert "Most like this first" in shown(app) and "interplay material embed" in shown(app)

    def test_tags_are_added_and_contradicted(self, visit, token, seeder, database):
        row, _ = seeder.picture(1)
        by_model(database, seeder, row, {Tag("theme", "nature"): 0.75})
        app = visit("material", token(), id=row.id)
        assert "clip@1, 75.0% sure" in shown(app)
        button(app, "Wrong").click().run()
        assert "said to be wrong" in shown(app)
        button(app, "Right").click().run()
        assert "said to be wrong" not in shown(app)
        app.selectbox(key=f"new-tag-{row.id}").set_value("theme:animals")
        button(app, "Add the tag").click().run()
        assert "animals" in shown(app)
        button(app, "Add the tag").click().run()
        assert "A tag has 1 to 128 characters" in shown(app)
        with database.reading() as session:
            held = session.exec(select(MaterialTag).where(MaterialTag.by_person)).all()
        assert sorted(tag.value for tag in held) == ["animals", "nature"]

    def test_hostile_words_stay_words(self, visit, token, seeder, database, people):
        row, _ = seeder.sound(1, origin=f"{ATTACK}.wav", tags=[ATTACK])
        other, _ = seeder.sound(2, licence=ATTACK)
        link(database, seeder, row, other, method=f"{ATTACK[:20]}@1", turning=ATTACK)
        with database.session() as session:
            heard = {"material_id": row.id, "made_by": "w@1", "run_id": seeder.run_id}
            session.add(Segment(start_s=0, end_s=1, text=ATTACK, speaker="<b>", **heard))
        for page, query in (
            ("materials", {"material-search": ATTACK}),
            ("material", {"id": row.id}),
            ("look_alikes", {}),
        ):
            app = visit(page, token(), **query)
            assert "<script>" not in shown(app)
        assert "&lt;script&gt;" in shown(app)

    def test_look_alikes_are_decided_side_by_side(self, visit, token, seeder, database):
        one, two = (seeder.picture(number)[0] for number in range(2))
        link(database, seeder, one, two)
        app = visit("look_alikes", token())
        assert "A and B are the same picture." in shown(app)
        button(app, "Decide").click().run()
        assert "for at least one of them" in shown(app)
        app.segmented_control(key=f"ruling-{two.id}-1").set_value("drop")
        app.text_input(key=f"why-{one.id}").input("smaller")
        button(app, "Decide").click().run()
        assert "No group waits for a decision" in shown(app)
        with database.reading() as session:
            row = session.get(Material, two.id)
            assert (row.state, row.drop_measure) == (MaterialState.DROPPED, "smaller")

    def test_a_stale_group_is_not_decided(self, visit, token, seeder, database, principal_of):
        one, two = (seeder.picture(number)[0] for number in range(2))
        link(database, seeder, one, two)
        app = visit("look_alikes", token(), decided="yes")
        with database.session() as session:
            reviewer = principal_of(Role.REVIEWER)
            library.decide_material(session, reviewer, two.id, 1, False, "meanwhile")
            library.decide_material(session, reviewer, two.id, 2, True, "after all")
        app.segmented_control(key=f"ruling-{two.id}-1").set_value("drop")
        app.text_input(key=f"why-{one.id}").input("smaller")
        button(app, "Decide").click().run()
        assert "Somebody changed this material meanwhile" in shown(app)
        with database.reading() as session:
            assert session.get(Material, two.id).state == MaterialState.KEPT

    def test_the_transcript_goes_to_the_player_as_text(self, database, seeder, who, links, clock):
        row, _ = seeder.sound(1)
        with database.session() as session:
            heard = {"material_id": row.id, "made_by": "w@1", "run_id": seeder.run_id}
            session.add(Segment(start_s=1.25, end_s=2, text="hello", **heard))
        with database.reading() as session:
            (line,) = material_detail(session, who, row.id, links, clock(), EN).speech
        assert (line.start_s, line.end_s, line.text) == (1.25, 2.0, "hello")
