"""What the pages say, without a browser: home, materials, items, preview."""

import io
from datetime import UTC, datetime, timedelta

import numpy as np
import pandas
import pytest
from PIL import Image
from sqlalchemy import event, insert
from sqlmodel import select

from annotation_ui import library
from annotation_ui.finding import PAGE_SIZE, MaterialQuery, follow
from annotation_ui.media_links import MediaLinks
from annotation_ui.permissions import NotAllowed
from annotation_ui.views import coverage as coverage_view
from annotation_ui.views import home as home_view
from annotation_ui.views.formats import byte_size, duration, source_title
from annotation_ui.views.item import item_detail
from annotation_ui.views.items import ItemQuery, item_choices, item_columns, item_rows, items_page
from annotation_ui.views.material import duplicate_group, material_detail
from annotation_ui.views.materials import facets, materials_page
from annotation_ui.views.preview import condition_for, preview
from annotation_ui.words import words_in
from core.content import Modality
from curation.entries import Claims
from curation.materials import UnknownMaterial
from warehouse.events import history
from warehouse.lifecycle import Action
from warehouse.people import Role
from warehouse.spreadsheets import as_csv
from warehouse.tables import Decision, DuplicateLink, Item, ItemState, Material, MaterialSource, MaterialState, Segment
from warehouse.verdicts import Judgement

EN, ZH = words_in("en"), words_in("zh")
NOW = datetime(2026, 3, 3, 12, 0, tzinfo=UTC)
TEXT = "Look at <image_1> and hear <audio_1>: how many?"


@pytest.fixture
def links(studio):
    return MediaLinks(studio.key, studio.clock)


@pytest.fixture
def who(principal_of):
    return principal_of(Role.ANNOTATOR)


@pytest.fixture
def pair(seeder):
    return {"image_1": seeder.picture(1), "audio_1": seeder.sound(1)}


def passed(number, decider="checks@1", **more):
    return Judgement(number, decider, False, Decision.PASS, **more)


class TestHome:
    def test_an_empty_project_says_so(self, database, who):
        with database.reading() as session:
            assert home_view.home(session, who, NOW, EN).is_empty

    def test_funnel_waiting_and_tasks(self, database, seeder, pair, principal_of, people):
        author = people[Role.ANNOTATOR].id
        seeder.item("a", seeder.draft(TEXT, pair, author))
        seeder.item("b", seeder.draft(TEXT, pair, "annotator"), Action.SUBMIT, passed(1))
        returned = Judgement(2, "omar", True, Decision.RETURN, ("ambiguous",))
        seeder.item("c", seeder.draft(TEXT, pair, author), Action.SUBMIT, passed(1), returned)
        seeder.item("d", seeder.draft(TEXT, pair, people[Role.REVIEWER].id), Action.SUBMIT, passed(1))
        with database.reading() as session:
            annotator = home_view.home(session, principal_of(Role.ANNOTATOR), NOW, EN)
            reviewer = home_view.home(session, principal_of(Role.REVIEWER), NOW, EN)
        funnel = {stage.label: stage.count for stage in annotator.funnel}
        assert funnel == {
            "Materials kept": 2,
            "Draft": 1,
            "Submitted": 0,
            "Round 1 passed": 2,
            "Round 2 passed": 0,
            "Accepted": 0,
            "Released": 0,
        }
        assert {stage.label: stage.count for stage in annotator.aside} == {"Returned": 1}
        assert {task.label: task.count for task in annotator.tasks} == {"Your drafts": 1, "Returned to you": 1}
        # Reviewers judge in round 3, which nothing has reached.
        assert {task.label: task.count for task in reviewer.tasks} == {"Questions to review": 0, "Takes to decide": 0}
        assert {one.label: one.count for one in annotator.waiting} == {
            "Round 2: the ablation study": 2,
            "The author: a new revision": 1,
        }
        assert max(stage.share for stage in annotator.funnel) == 1

    def test_events_name_people_and_things(self, database, seeder, pair, who, people):
        item, _ = seeder.item("bells", seeder.draft(TEXT, pair, people[Role.ANNOTATOR].id), Action.SUBMIT, passed(1))
        with database.reading() as session:
            told = home_view.home(session, who, seeder.clock() + timedelta(minutes=4), EN).happenings
        assert [(one.who, one.what) for one in told] == [
            ("checks@1", "passed bells in round 1"), ("Annotator", "submitted bells"), ("Annotator", "wrote bells")
        ]  # fmt: skip
        assert told[0].when == "5 minutes ago"

    def test_a_participant_sees_none_of_it(self, database, seeder, pair, principal_of):
        seeder.item("a", seeder.draft(TEXT, pair, "annotator"))
        with database.reading() as session:
            seen = home_view.home(session, principal_of(Role.PARTICIPANT), NOW, EN)
        assert not (seen.funnel or seen.tasks or seen.waiting or seen.happenings)

    def test_coverage_counts_task_types_by_modalities_and_language(self, database, seeder, pair):
        film = {"video_1": seeder.film(1)}
        seeder.item("a", seeder.draft(TEXT, pair, "m"))
        seeder.item("b", seeder.draft(TEXT, pair, "m", language="zh"))
        seeder.item("c", seeder.draft("See <video_1>", film, "m", task_type="spot_the_difference"))
        seeder.item("d", seeder.draft("See <video_1>", film, "m", task_type="of our own"))
        rejected = Judgement(1, "checks@1", False, Decision.REJECT, ("ambiguous",))
        seeder.item("e", seeder.draft("See <video_1>", film, "m"), Action.SUBMIT, rejected)
        with database.reading() as session:
            found = coverage_view.questions(session)
        every, chinese = coverage_view.coverage(found, EN), coverage_view.coverage(found, EN, "zh")
        assert set(coverage_view.languages(found)) == {"en", "zh"}
        assert sorted(every.columns) == ["Image + Audio", "Video"]
        counts = {name: dict(zip(every.columns, row, strict=True)) for name, row in every.rows}
        assert counts == {
            "Counting": {"Image + Audio": 2, "Video": 0},
            "Spot the Difference": {"Image + Audio": 0, "Video": 1},
            "of our own": {"Image + Audio": 0, "Video": 1},
        }
        assert every.task_type_count == 44 and len(every.untouched) == 42
        assert chinese.rows == [("Counting", [1])]


class TestMaterials:
    def find(self, studio, who, links, **query):
        return materials_page(studio.workspace, who, MaterialQuery(**query), links, EN)

    def titles(self, *args, **query):
        return sorted(card.title for card in self.find(*args, **query).cards)

    def test_facets_and_search(self, studio, database, seeder, who, links):
        seeder.picture(
            1,
            origin="https://photos.test/a%20b/red-door.png",
            tags=["门", "door"],
            licence="CC0-1.0",
            author="Lena_Vogt",
        )
        seeder.picture(
            2, origin="C:\\media\\blue door.png", tags=["door"], state=MaterialState.DROPPED, drop_reason="blurred"
        )
        sound, _ = seeder.sound(1, origin="bell.wav", licence=None)
        with database.session() as session:
            session.get(Material, sound.id).audio_content = "A bell rings; 钟声响起"
        offered = facets(studio.workspace, EN)
        assert offered.modalities == [("image", "Image", 2), ("audio", "Audio", 1)]
        assert offered.states == [("kept", "Kept", 2), ("dropped", "Dropped", 1)]
        assert sorted(offered.licences) == [("CC-BY-4.0", "CC-BY-4.0", 1), ("CC0-1.0", "CC0-1.0", 1)]
        assert offered.tags == [("door", "door", 2), ("门", "门", 1)]
        args = (studio, who, links)
        assert self.titles(*args) == ["bell.wav", "blue door.png", "red-door.png"]
        assert self.titles(*args, modality=Modality.AUDIO) == ["bell.wav"]
        assert self.titles(*args, state=MaterialState.DROPPED) == ["blue door.png"]
        assert self.titles(*args, licence="CC0-1.0") == ["red-door.png"]
        assert self.titles(*args, tag="门") == ["red-door.png"]
        assert self.titles(*args, tag="doo") == []
        assert self.titles(*args, text="DOOR") == ["blue door.png", "red-door.png"]
        assert self.titles(*args, text="lena_v") == ["red-door.png"]
        assert self.titles(*args, text="钟声") == ["bell.wav"]
        assert self.titles(*args, text="门") == ["red-door.png"]
        assert self.titles(*args, text=sound.sha256[:10].upper()) == ["bell.wav"]
        assert self.titles(*args, modality=Modality.IMAGE, tag="door", text="blue") == ["blue door.png"]

    @pytest.mark.parametrize("text", ["%", "_", "'; DROP TABLE material; --", '"', "\\", "a\x00b"])
    def test_signs_of_sql_are_only_text(self, studio, database, seeder, who, links, text):
        seeder.picture(1, origin="plain.png")
        assert self.titles(studio, who, links, text=text) == []

    def test_a_card_tells_what_matters(self, studio, database, seeder, who, links):
        row, _ = seeder.picture(1, state=MaterialState.DROPPED, drop_reason="blurred", tags=["a"])
        other, _ = seeder.picture(2)
        with database.session() as session:
            first, second = sorted([row.id, other.id])
            session.add(
                DuplicateLink(first_id=first, second_id=second, method="phash@1", distance=2, run_id=seeder.run_id)
            )
        (card,) = self.find(studio, who, links, state=MaterialState.DROPPED).cards
        assert (card.state_label, card.modality_label, card.licence, card.tags) == (
            "Dropped",
            "Image",
            "CC-BY-4.0",
            ["a"],
        )
        assert card.drop_reason == "blurred"
        assert card.has_duplicates
        assert links.grant(card.picture_url.rpartition("/")[2]).variant == "small"
        assert links.grant(card.media_url.rpartition("/")[2]).user_id == who.user_id

    def test_pages_read_their_own_rows_only(self, studio, database, seeder, who, links):
        row, _ = seeder.picture(1)
        copies = 10_000
        with database.session() as session:
            base = row.model_dump(exclude={"id", "sha256"})
            session.execute(insert(Material), [base | {"sha256": f"{place:064x}"} for place in range(copies)])
        follow(studio.workspace)  # makes the index, which reads every row once
        read, statements = [], []
        event.listen(Material, "load", lambda *_: read.append(1))
        event.listen(database.engine, "before_cursor_execute", lambda *args: statements.append(args[2]))
        found = self.find(studio, who, links, page=200)
        assert (found.total, found.page_count, found.page) == (copies + 1, 417, 200)
        assert len(found.cards) == len(read) == PAGE_SIZE
        assert len([one for one in statements if one.startswith("SELECT")]) <= 10
        assert self.find(studio, who, links, page=9999).page == 417
        assert self.find(studio, who, links, page=-3).page == 1

    def test_one_material_with_everything_known(self, studio, database, seeder, who, links, pair, people):
        film, _ = seeder.film(1)
        sound, _ = seeder.sound(5, parent=film.id)
        picture, _ = pair["image_1"]
        seeder.item("bells", seeder.draft(TEXT, pair, "mei"))
        with database.session() as session:
            session.add(
                Segment(
                    material_id=sound.id,
                    start_s=61,
                    end_s=63.5,
                    speaker="A",
                    text="hello",
                    made_by="w@1",
                    run_id=seeder.run_id,
                )
            )
        with database.reading() as session:
            of_sound = material_detail(session, who, sound.id, links, NOW, EN)
            of_film = material_detail(session, who, film.id, links, NOW, EN)
            of_picture = material_detail(session, who, picture.id, links, NOW, EN)
            with pytest.raises(UnknownMaterial):
                material_detail(session, who, "nothing", links, NOW, EN)
        assert [card.id for card in of_sound.relatives] == [film.id]
        assert [card.id for card in of_film.relatives] == [sound.id]
        assert [(line.span, line.speaker, line.text) for line in of_sound.speech] == [("1:01 – 1:04", "A", "hello")]
        assert [(use.name, use.state_label) for use in of_picture.uses] == [("bells", "Draft")]
        assert ("Width and height", "320 × 210 px") in of_picture.facts
        assert ("Sample rate", "16 kHz") in of_sound.facts
        assert of_picture.sources[0].licence == "CC-BY-4.0"

    def test_look_alikes_are_the_whole_connected_group(self, studio, database, seeder):
        ids = [seeder.picture(number)[0].id for number in range(5)]
        with database.session() as session:
            for one, other in ((0, 1), (1, 2), (3, 4)):
                first, second = sorted([ids[one], ids[other]])
                session.add(
                    DuplicateLink(
                        first_id=first, second_id=second, method="phash@1", distance=one, run_id=seeder.run_id
                    )
                )
        with database.reading() as session:
            assert duplicate_group(session, ids[0]) == [ids[1], ids[2]]
            assert duplicate_group(session, ids[3]) == [ids[4]]

    def test_who_may_not_see_the_library_gets_nothing(self, studio, database, principal_of, links):
        with pytest.raises(NotAllowed):
            self.find(studio, principal_of(Role.PARTICIPANT), links)


class TestDeciding:
    def decide(self, database, who, row, version, keep, reason="blurred"):
        with database.session() as session:
            return library.decide_material(session, who, row.id, version, keep, reason)

    def test_a_decision_changes_the_row_and_tells_of_it(self, database, seeder, who, links):
        row, _ = seeder.picture(1)
        after = self.decide(database, who, row, 1, False, "  too dark  ")
        assert (after.state, after.version, after.drop_reason, after.drop_measure) == (
            "dropped",
            2,
            "by_person",
            "too dark",
        )
        after = self.decide(database, who, row, 2, True, "good enough after all")
        assert (after.state, after.version, after.drop_reason) == ("kept", 3, None)
        with database.reading() as session:
            told = history(session, "material", row.id)
            shown = material_detail(session, who, row.id, links, NOW, EN).changes
            happened = home_view.home(session, who, NOW, EN).happenings
        assert [(event.actor, event.detail["reason"], event.detail["version"]) for event in told] == [
            (who.user_id, "too dark", 2), (who.user_id, "good enough after all", 3)
        ]  # fmt: skip
        assert [(change.who, change.what, change.reason) for change in shown] == [
            ("Annotator", "Kept", "good enough after all"), ("Annotator", "Dropped", "too dark")
        ]  # fmt: skip
        assert [one.what for one in happened] == [
            "kept the material street-01.png",
            "dropped the material street-01.png",
        ]

    def test_a_stale_page_overwrites_nothing(self, database, seeder, who, principal_of):
        row, _ = seeder.picture(1)
        reviewer = principal_of(Role.REVIEWER)
        self.decide(database, who, row, 1, False)
        with pytest.raises(library.MaterialChanged):
            self.decide(database, reviewer, row, 1, False, "another reason")
        with database.reading() as session:
            assert session.get(Material, row.id).drop_measure == "blurred"

    def test_the_same_decision_handed_in_twice_is_one(self, database, seeder, who):
        row, _ = seeder.picture(1)
        for _ in range(2):
            assert self.decide(database, who, row, 1, False).version == 2
        with database.reading() as session:
            assert len(history(session, "material", row.id)) == 1

    def test_refusals(self, database, seeder, who, principal_of):
        row, _ = seeder.picture(1)
        withdrawn, _ = seeder.picture(2, state=MaterialState.WITHDRAWN)
        participant = principal_of(Role.PARTICIPANT)
        with pytest.raises(library.ReasonNeeded):
            self.decide(database, who, row, 1, False, "  ")
        with pytest.raises(library.MaterialWithdrawn):
            self.decide(database, who, withdrawn, 1, True)
        with pytest.raises(NotAllowed):
            self.decide(database, participant, row, 1, False)
        with database.reading() as session:
            assert session.get(Material, row.id).version == session.get(Material, withdrawn.id).version == 1


class TestBringingIn:
    def bring(self, studio, who, *files):
        uploads = [library.Upload(name, io.BytesIO(data)) for name, data in files]
        return library.bring_in(studio.workspace, who, uploads, Claims(licence="CC0-1.0", author="Lena"), studio.clock)

    def test_uploads_become_materials_with_their_claims(self, database, studio, who, seed):
        noise = np.random.default_rng(0).integers(0, 255, (300, 400, 3), np.uint8)
        picture = io.BytesIO()
        Image.fromarray(noise).save(picture, "PNG")
        files = [
            ("../../etc/noise.png", picture.getvalue()),
            ("C:\\x\\bell.wav", seed.wav(1)),
            ("bell.wav", seed.wav(2)),
            ("film.mp4", b"no film"),
        ]
        report = self.bring(studio, who, *files)
        assert report.counts["new"] == 3
        assert [one.origin for one in report.rejected] == ["film.mp4"]
        with database.reading() as session:
            sources = session.exec(select(MaterialSource).order_by(MaterialSource.origin)).all()
            rows = session.exec(select(Material)).all()
        assert [(one.origin, one.licence, one.author) for one in sources] == [
            (origin, "CC0-1.0", "Lena") for origin in ("bell.wav", "bell.wav (2)", "noise.png")
        ]
        assert all(studio.workspace.blobs.exists(row.media["sha256"]) for row in rows)
        assert list((studio.workspace.project.root / "cache" / "uploads").iterdir()) == []
        assert self.bring(studio, who, files[0]).counts["known"] == 1

    def test_who_may_not_curate_brings_nothing_in(self, database, studio, principal_of, seed):
        with pytest.raises(NotAllowed):
            self.bring(studio, principal_of(Role.PARTICIPANT), ("bell.wav", seed.wav(1)))
        with database.reading() as session:
            assert session.exec(select(Material)).all() == []


class TestItems:
    def names(self, database, who, **query):
        with database.reading() as session:
            return [row.name for row in items_page(session, who, ItemQuery(**query), NOW, EN).rows]

    def test_list_narrows_and_searches(self, database, seeder, pair, who):
        seeder.item("bells", seeder.draft(TEXT, pair, "annotator"))
        seeder.item(
            "钟声", seeder.draft("请看<image_1>，再听<audio_1>。“共”有几个?", pair, "mei", language="zh"), Action.SUBMIT
        )
        seeder.item(
            "walk",
            seeder.draft(
                "See <video_1>: 50%?", {"video_1": seeder.film(1)}, who.user_id, task_type="spot_the_difference"
            ),
        )
        assert self.names(database, who) == ["walk", "钟声", "bells"]
        assert self.names(database, who, state=ItemState.SUBMITTED) == ["钟声"]
        assert self.names(database, who, task_type="spot_the_difference") == ["walk"]
        assert self.names(database, who, language="zh") == ["钟声"]
        assert self.names(database, who, mine=True) == ["walk", "bells"]
        assert self.names(database, who, text="BELL") == ["bells"]
        assert self.names(database, who, text="再听") == ["钟声"]
        assert self.names(database, who, text="“共”有几个?") == ["钟声"]
        assert self.names(database, who, text="50%") == ["walk"]
        assert self.names(database, who, text="5_%") == []
        with database.reading() as session:
            offered = item_choices(session, who)
        assert offered.states == [(ItemState.DRAFT, 2), (ItemState.SUBMITTED, 1)]
        assert (offered.task_types, offered.languages) == (["counting", "spot_the_difference"], ["en", "zh"])

    def test_a_row_says_what_is_asked(self, database, seeder, pair, who):
        seeder.item("bells", seeder.draft(TEXT + "\n" + "word " * 60, pair, "mei"))
        with database.reading() as session:
            (row,) = items_page(session, who, ItemQuery(), NOW, ZH).rows
        assert row.snippet.startswith("Look at [image_1] and hear [audio_1]: how many? word") and row.snippet.endswith(
            "…"
        )
        assert (row.state_label, row.task_type, row.language, row.modalities) == ("草稿", "计数", "英文", "图片 + 音频")

    def detail(self, database, studio, who, links, name, number=None):
        with database.reading() as session:
            return item_detail(session, who, name, links, studio.workspace.blobs, NOW, EN, number)

    @pytest.mark.parametrize("called", ["user_id", "name"])
    def test_key_and_verdicts_wait_until_a_reviewer_has_judged(
        self, database, studio, seeder, pair, links, principal_of, people, called
    ):
        reviewer = principal_of(Role.REVIEWER)
        notes = {"audio": "the second strike"}
        item, revision = seeder.item(
            "bells", seeder.draft(TEXT, pair, "annotator", notes=notes), Action.SUBMIT, passed(1, evidence={"key": "B"})
        )
        before = self.detail(database, studio, reviewer, links, "bells")
        assert not before.key_visible
        assert not (before.rounds or before.notes or before.accepted)
        assert {option.correct for option in before.options} == {None}
        assert before.question.answer.correct == ()
        for role in (Role.MAINTAINER, Role.ANNOTATOR):  # a maintainer, and the author
            assert self.detail(database, studio, principal_of(role), links, "bells").key_visible
        with database.session() as session:
            seeder.act(
                session,
                session.get(Item, item.id),
                revision,
                "",
                Judgement(2, getattr(reviewer, called), True, Decision.PASS, comment="clear"),
            )
        after = self.detail(database, studio, reviewer, links, "bells")
        assert [option.correct for option in after.options] == [False, True, False, False]
        assert [line.who for line in after.rounds[1] + after.rounds[2]] == ["checks@1", "Reviewer"]
        assert after.rounds[1][0].evidence == [("key", "B")]

    def test_evidence_is_told_in_words(self, database, studio, seeder, pair, links, who):
        votes = [{"condition": "full", "solved": 0.25, "shares": [0.5, 0]}, {"condition": "text_only", "valid": True}]
        evidence = {"votes": votes, "families_at_least": 4, "findings": [], "note": "as seen"}
        seeder.item("bells", seeder.draft(TEXT, pair, "annotator"), Action.SUBMIT, passed(1, evidence=evidence))
        (verdict,) = self.detail(database, studio, who, links, "bells").rounds[1]
        assert dict(verdict.evidence) == {
            "votes": "condition: full; solved: 0.25; shares: 0.5, 0\ncondition: text_only; valid: true",
            "families at least": "4",
            "note": "as seen",
        }

    def test_a_settled_item_shows_its_key_to_all_who_see_items(
        self, database, studio, seeder, pair, links, principal_of
    ):
        rejected = Judgement(1, "checks@1", False, Decision.REJECT, ("answerable_from_text", "of_a_plugin"))
        seeder.item("bells", seeder.draft(TEXT, pair, "mei"), Action.SUBMIT, rejected)
        found = self.detail(database, studio, principal_of(Role.REVIEWER), links, "bells")
        assert found.rounds[1][0].reasons == ["the text alone is enough", "of a plugin"]
        with pytest.raises(NotAllowed):
            self.detail(database, studio, principal_of(Role.PARTICIPANT), links, "bells")

    def test_steps_hide_what_they_accept_with_the_key(self, database, studio, seeder, seed, pair, links, principal_of):
        from core.question import AnswerKey, Step

        steps = [
            Step(ask="First?", points=4, answer=AnswerKey(accepted=("red", "the red one"))),
            Step(
                ask="How many?",
                points=6,
                answer=AnswerKey(accepted=("3",), grader="number", tolerance=0.5),
                rubric="six points",
            ),
        ]
        seeder.item("steps", seeder.draft(TEXT, pair, "annotator", steps=steps), Action.SUBMIT)
        blind = self.detail(database, studio, principal_of(Role.REVIEWER), links, "steps")
        assert [(step.ask, step.points, list(step.accepted), step.rubric) for step in blind.steps] == [
            ("First?", 4, [], ""),
            ("How many?", 6, [], ""),
        ]
        assert "the red one" not in blind.question.model_dump_json()
        seen = self.detail(database, studio, principal_of(Role.ANNOTATOR), links, "steps")
        assert list(seen.steps[1].accepted) == ["3 ± 0.5"]

    def test_old_revisions_can_be_looked_at(self, database, studio, seeder, pair, links, who):
        item, _ = seeder.item("bells", seeder.draft(TEXT, pair, "annotator"))
        seeder.revise(item.id, seeder.draft(TEXT + " Now?", pair, "annotator"))
        current = self.detail(database, studio, who, links, "bells")
        first = self.detail(database, studio, who, links, "bells", 1)
        assert [(line.number, line.is_current, line.is_shown) for line in current.revisions] == [
            (2, True, True),
            (1, False, False),
        ]
        assert [line.is_shown for line in first.revisions] == [False, True]
        assert current.prompt[-1].text.endswith("Now?") and first.prompt[-1].text.endswith("how many?")
        assert self.detail(database, studio, who, links, "bells", 99).revisions == current.revisions

    def test_media_that_is_gone_is_said(self, database, studio, seeder, pair, links, who, tmp_path):
        seeder.item("bells", seeder.draft(TEXT, pair, "annotator"))
        sha256 = pair["audio_1"][1].sha256
        (tmp_path / "project" / "blobs" / sha256[:2] / sha256).unlink()
        blocks = self.detail(database, studio, who, links, "bells").prompt
        assert {block.name: block.missing for block in blocks if block.name} == {"image_1": False, "audio_1": True}


class TestPreview:
    @pytest.fixture
    def question(self, seeder):
        media = {"image_1": seeder.picture(1), "audio_1": seeder.sound(1), "video_1": seeder.film(1)}
        return seeder.draft("A <image_1> b <audio_1> c <video_1> d", media, "m").question

    def shown(self, question, studio, links, hidden=(), options_only=False):
        return preview(question, condition_for(question, hidden, options_only), links, "u", studio.workspace.blobs, EN)

    def test_everything(self, question, studio, links):
        full = self.shown(question, studio, links)
        assert full.condition == "full"
        assert [block.name or block.text for block in full.prompt] == [
            "A ",
            "image_1",
            " b ",
            "audio_1",
            " c ",
            "video_1",
            " d",
        ]
        addresses = [block.url.rpartition("/")[2] for block in full.prompt if block.name]
        # A film's own sound is no part of the question: without it "without audio" is heard by nobody.
        assert [links.grant(address).variant for address in addresses] == ["whole", "whole", "silent"]
        assert [(option.label, option.text, option.correct) for option in full.options][:2] == [
            ("A", "two", None),
            ("B", "three", None),
        ]

    def test_without_one_modality_its_marker_stands_in_its_place(self, question, studio, links):
        shown = self.shown(question, studio, links, {Modality.AUDIO})
        assert shown.condition == "without_audio"
        assert [block.name or block.text for block in shown.prompt] == [
            "A ",
            "image_1",
            " b [audio not provided] c ",
            "video_1",
            " d",
        ]

    def test_conditions_have_the_names_of_evaluation(self, question, studio, links):
        names = [
            self.shown(question, studio, links, hidden, options).condition
            for hidden, options in (
                ({Modality.IMAGE, Modality.VIDEO}, False), ({Modality.IMAGE, Modality.AUDIO, Modality.VIDEO}, False),
                (set(), True), ({Modality.TEXT}, False),
            )
        ]  # fmt: skip
        assert names == ["without_image_video", "text_only", "options_only", "full"]
        assert self.shown(question, studio, links, options_only=True).prompt == []

    def test_leaving_out_what_is_not_there_changes_nothing(self, seeder, studio, links):
        only_image = seeder.draft("A <image_1>", {"image_1": seeder.picture(1)}, "m").question
        assert self.shown(only_image, studio, links, {Modality.AUDIO}).condition == "full"
        assert self.shown(only_image, studio, links, {Modality.IMAGE}).condition == "text_only"

    def test_a_chinese_question_is_marked_in_chinese(self, seeder, studio, links):
        question = seeder.draft(
            "看<image_1>听<audio_1>", {"image_1": seeder.picture(1), "audio_1": seeder.sound(1)}, "m", language="zh"
        ).question
        shown = self.shown(question, studio, links, {Modality.IMAGE})
        assert shown.prompt[0].text == "看[未提供图片]听"


def test_measures_in_words():
    assert [duration(value) for value in (0.04, 9.94, 59.6, 61, 3661)] == ["0.0 s", "9.9 s", "1:00", "1:01", "1:01:01"]
    assert [byte_size(value) for value in (999, 1000, 123_456, 5_000_000_000)] == [
        "999 B",
        "1.0 kB",
        "123 kB",
        "5.0 GB",
    ]
    assert [source_title(value) for value in ("a/b.png", "C:\\x\\y.wav", "https://h.test/p/", "b")] == [
        "b.png",
        "y.wav",
        "p",
        "b",
    ]


def test_reading_never_waits_for_a_writer(database, seeder):
    seeder.picture(1)
    with database.session() as writing:
        writing.exec(select(Material)).all()
        with database.reading() as session:
            assert len(session.exec(select(Material)).all()) == 1


def test_a_reading_session_refuses_to_write(database, seeder):
    row, _ = seeder.picture(1)
    with database.reading() as session:
        session.get(Material, row.id).version = 7
        with pytest.raises(RuntimeError, match="asked to write"):
            session.flush()


def test_saved_items_hold_no_key_and_no_formula(studio, seeder, people, principal_of):
    picture = seeder.picture(1)
    draft = seeder.draft("=HYPERLINK(<image_1>)", {"image_1": picture}, "annotator", choices=("secret-key", "other"))
    seeder.item("first", draft, twin_group="-1+1")
    rows = item_rows(studio.workspace.database, principal_of(Role.REVIEWER), ItemQuery(), EN)
    data = as_csv(item_columns(EN), rows)
    (row,) = pandas.read_csv(io.BytesIO(data)).to_dict("records")
    assert (row["Name"], row["Question"], row["Author"]) == ("first", "'=HYPERLINK(<image_1>)", "Annotator")
    assert row["Twin group"] == "'-1+1"
    assert b"secret-key" not in data
