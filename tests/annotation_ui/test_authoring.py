import io
import wave
from collections import Counter

import numpy as np
import pytest
import yaml
from PIL import Image
from sqlmodel import select

from annotation_ui.authoring import check_question, import_items, other_questions
from annotation_ui.item_files import UnreadableItemFile
from warehouse import events
from warehouse.items import current_revision, get_item
from warehouse.lifecycle import Action, Advance, advance
from warehouse.tables import Item, ItemRevision, Run


def png(shade: int) -> bytes:
    buffer = io.BytesIO()
    Image.new("RGB", (8, 6), (shade % 256, shade // 256, 40)).save(buffer, "PNG")
    return buffer.getvalue()


@pytest.fixture
def write(tmp_path, library):
    """Write an item file of records zoo-1, zoo-2, ..., each with media of its `seed`; gives its path."""

    def make(*changes: dict):
        records = []
        for number, change in enumerate(changes, start=1):
            seed = sum(map(ord, change.get("seed", change.get("name", f"zoo-{number}"))))
            record = {
                "name": f"zoo-{number}",
                "task_type": "counting",
                "language": "en",
                "kind": "choice",
                "prompt": f"See <image_1>, hear <audio_1>. How many birds are on page {number}?",
                "media": {"image_1": library.add(png(seed)).sha256, "audio_1": library.add(tone(seed)).sha256},
                "choices": ["two birds", "three birds", "four birds"],
                "answer": "B",
                "required": ["image", "audio"],
            }
            records.append({key: value for key, value in (record | change).items() if key != "seed"})
        (tmp_path / "items.yaml").write_text(yaml.safe_dump(records, sort_keys=False), encoding="utf-8")
        return tmp_path / "items.yaml"

    return make


def tone(pitch_hz: int) -> bytes:
    buffer = io.BytesIO()
    with wave.open(buffer, "wb") as out:
        out.setnchannels(1)
        out.setsampwidth(2)
        out.setframerate(8000)
        out.writeframes((9000 * np.sin(2 * np.pi * pitch_hz * np.arange(400) / 8000)).astype("<i2").tobytes())
    return buffer.getvalue()


def counts(report) -> dict[str, int]:
    return {name: len(names) for name, names in vars(report).items() if names}


def items(workspace) -> dict[str, tuple[str, int]]:
    """State and number of revisions by name."""
    with workspace.database.reading() as session:
        written = Counter(session.exec(select(ItemRevision.item_id)))
        return {item.name: (item.state.value, written[item.id]) for item in session.exec(select(Item))}


def move(workspace, name: str, *actions: Action) -> None:
    with workspace.database.session() as session:
        item = get_item(session, name)
        for action in actions:
            item = advance(session, item.id, item.version, Advance(action, "test", ("ambiguous",)))


class TestImport:
    def test_new_names_become_submitted_items(self, workspace, write):
        report = import_items(workspace, write({}, {"twin_group": "pair"}), "mei")
        assert counts(report) == {"created": 2}
        assert items(workspace) == {"zoo-1": ("submitted", 1), "zoo-2": ("submitted", 1)}
        with workspace.database.reading() as session:
            item = get_item(session, "zoo-2")
            revision = current_revision(session, item)
            told = [event.action for event in events.history(session, "item", item.id)]
            run = session.exec(select(Run).where(Run.command == "item import")).one()
        assert (item.twin_group, item.created_by, revision.author, revision.run_id) == ("pair", "mei", "mei", run.id)
        assert told == ["create", "submit"]
        assert run.summary["created"] == 2

    def test_or_drafts_where_that_is_wanted(self, workspace, write):
        import_items(workspace, write({}), "mei", submit=False)
        assert items(workspace) == {"zoo-1": ("draft", 1)}

    def test_the_same_file_again_is_nothing(self, workspace, write):
        file = write({}, {"evidence": {"audio_1": {"start_s": 0.02}}})
        import_items(workspace, file, "mei")
        before = items(workspace)
        report = import_items(workspace, file, "mei")
        assert counts(report) == {"unchanged": 2}
        assert items(workspace) == before

    @pytest.mark.parametrize(
        ("actions", "state"),
        [
            ((Action.REJECT,), "rejected"),
            ((Action.RETURN,), "returned"),
            ((Action.PASS_ROUND1, Action.PASS_ROUND2, Action.ACCEPT), "accepted"),
            ((Action.PASS_ROUND1, Action.PASS_ROUND2, Action.ACCEPT, Action.RETIRE), "retired"),
        ],
    )
    def test_and_stays_nothing_wherever_the_items_are_by_then(self, workspace, write, actions, state):
        file = write({})
        import_items(workspace, file, "mei")
        move(workspace, "zoo-1", *actions)
        assert counts(import_items(workspace, file, "mei")) == {"unchanged": 1}
        assert items(workspace) == {"zoo-1": (state, 1)}

    @pytest.mark.parametrize("actions", [(), (Action.PASS_ROUND1,), (Action.RETURN,)])
    def test_a_changed_question_is_a_new_revision_that_starts_again(self, workspace, write, actions):
        import_items(workspace, write({}), "mei")
        move(workspace, "zoo-1", *actions)
        report = import_items(workspace, write({"answer": "C"}), "bo")
        assert counts(report) == {"revised": 1}
        assert items(workspace) == {"zoo-1": ("submitted", 2)}
        with workspace.database.reading() as session:
            revision = current_revision(session, get_item(session, "zoo-1"))
        assert (revision.number, revision.author, revision.as_question().answer.correct) == (2, "bo", (2,))

    def test_a_rejected_item_takes_no_new_question(self, workspace, write):
        import_items(workspace, write({}), "mei")
        move(workspace, "zoo-1", Action.REJECT)
        report = import_items(workspace, write({"answer": "C"}), "mei")
        assert counts(report) == {"refused": 1}
        assert "item 'zoo-1' is rejected: cannot revise; possible: reopen" in report.refused[0]
        assert items(workspace) == {"zoo-1": ("rejected", 1)}

    def test_a_bad_record_stops_no_other(self, workspace, write):
        report = import_items(workspace, write({}, {"answer": "Z"}, {}), "mei")
        assert report.created == ["zoo-1", "zoo-3"]
        assert report.refused == [
            "items.yaml item 2 (zoo-2): answer 'Z' is neither a letter (A, B, C) nor the text of a choice"
        ]

    def test_a_name_that_stands_twice_in_a_file_is_refused_the_second_time(self, workspace, write):
        report = import_items(workspace, write({"name": "zoo"}, {"name": "zoo", "answer": "C"}), "mei")
        assert report.created == ["zoo"]
        assert report.refused == [
            "items.yaml item 2 (zoo): the name 'zoo' is that of items.yaml item 1 (zoo) too; rename one of them"
        ]
        with workspace.database.reading() as session:
            assert current_revision(session, get_item(session, "zoo")).as_question().answer.correct == (1,)

    def test_a_file_that_cannot_be_read_leaves_no_run(self, workspace, tmp_path):
        (tmp_path / "bad.yaml").write_text("name: x")
        with pytest.raises(UnreadableItemFile):
            import_items(workspace, tmp_path / "bad.yaml", "mei")
        with workspace.database.reading() as session:
            assert session.exec(select(Run).where(Run.command == "item import")).all() == []

    def test_a_dry_run_says_the_same_and_writes_nothing(self, workspace, write):
        import_items(workspace, write({}), "mei")
        before = items(workspace)
        file = write({"answer": "C"}, {}, {"answer": "Z"}, {"prompt": "Answer: B. <image_1> <audio_1>"})
        dry = import_items(workspace, file, "mei", dry_run=True)
        assert items(workspace) == before
        with workspace.database.reading() as session:
            assert len(session.exec(select(Run).where(Run.command == "item import")).all()) == 1
        assert vars(import_items(workspace, file, "mei")) == vars(dry)
        assert counts(dry) == {"created": 2, "revised": 1, "refused": 1, "drafts": 1}


class TestFindings:
    LEAKY = {"prompt": "See <image_1>, hear <audio_1>. Answer: B"}  # noqa: RUF012

    def test_errors_keep_a_new_item_a_draft(self, workspace, write):
        report = import_items(workspace, write(self.LEAKY), "mei")
        assert report.drafts == ["items.yaml item 1 (zoo-1): answer_leaked: the prompt announces the answer 'B'"]
        assert items(workspace) == {"zoo-1": ("draft", 1)}
        assert counts(import_items(workspace, write({}), "mei")) == {"revised": 1}
        assert items(workspace) == {"zoo-1": ("submitted", 2)}

    def test_and_an_item_under_review_keeps_the_question_it_has(self, workspace, write):
        import_items(workspace, write({}), "mei")
        report = import_items(workspace, write(self.LEAKY), "mei")
        assert report.refused == [
            "items.yaml item 1 (zoo-1): item 'zoo-1' is submitted and keeps its question; "
            "answer_leaked: the prompt announces the answer 'B'"
        ]
        assert items(workspace) == {"zoo-1": ("submitted", 1)}

    def test_warnings_are_told_and_stop_nothing(self, workspace, write):
        report = import_items(workspace, write({"prompt": "<image_1> <audio_1> Are there three birds?"}), "mei")
        assert counts(report) == {"created": 1, "warnings": 1}
        assert report.warnings[0].startswith("items.yaml item 1 (zoo-1): answer_leaked: the prompt holds the answer")
        assert items(workspace) == {"zoo-1": ("submitted", 1)}

    def test_a_copy_inside_one_file_is_found(self, workspace, write):
        same = {"prompt": "How many? <image_1> <audio_1>", "seed": "same"}
        report = import_items(workspace, write(same, same), "mei")
        assert items(workspace) == {"zoo-1": ("submitted", 1), "zoo-2": ("draft", 1)}
        assert "duplicate_question: item 'zoo-1' asks the same about the same media" in report.drafts[0]

    def test_what_a_second_import_does_not_change_is_said(self, workspace, write):
        import_items(workspace, write({"twin_group": "a", "evidence": {"x": 1}}), "mei")
        report = import_items(workspace, write({"twin_group": "b", "evidence": {"x": 2}}), "mei")
        assert counts(report) == {"unchanged": 1, "warnings": 2}
        assert "its twin group stays a" in report.warnings[0]
        assert "its evidence has changed and its question has not" in report.warnings[1]

    def test_evidence_outside_of_its_medium_keeps_an_item_a_draft_until_it_is_mended(self, workspace, write):
        report = import_items(workspace, write({"evidence": {"audio_1": {"start_s": 1.5}}}), "mei")
        assert "evidence_outside: the evidence in audio_1 goes beyond its end" in report.drafts[0]
        assert items(workspace) == {"zoo-1": ("draft", 1)}
        import_items(workspace, write({"evidence": {"audio_1": {"start_s": 0.02}}}), "mei")
        assert items(workspace) == {"zoo-1": ("submitted", 2)}

    def test_questions_are_checked_against_the_others(self, workspace, write):
        import_items(workspace, write({}, {}), "mei")
        with workspace.database.reading() as session:
            others = other_questions(session)
            question = current_revision(session, get_item(session, "zoo-1")).as_question()
        assert check_question(question, {}, "zoo-1", others) == []
        (finding,) = check_question(question, {}, "new", others)
        assert (finding.code, finding.severity) == ("duplicate_question", "error")
