"""People's answers beside those of models: stored like them, graded like them, reported with who answered."""

import json
import shlex

import numpy as np
import pytest

from core.condition import without
from core.content import Modality
from evaluation.exam import holding
from evaluation.exam.grading import NothingAnswered, grade_exam
from evaluation.exam.holding import WrongExamState, close_exam, get_exam
from evaluation.exam.results import exam_results
from evaluation.imports import NameTaken
from evaluation.metrics import crossed_error, mean_of, standard_error
from evaluation.report.page import page
from evaluation.run import evaluated_models, report_release
from evaluation.solve import Showing
from interplay.cli import app as root
from warehouse.people import NotAllowed
from warehouse.tables import ItemDraft, Run

RIGHT, WRONG = {"chosen": (1,)}, {"chosen": (0,)}


def close(bench, name="spring"):
    with bench.database.session() as session:
        close_exam(session, name, "mara", clock=bench.clock)


def graded(bench, name="spring"):
    close(bench, name)
    return grade_exam(bench.workspace, name, "mara", bench.clock)


def name_of(asked):
    """The bench writes an item's name into its prompt."""
    return asked.prompt[0].text.partition(":")[0]


class TestStored:
    @pytest.fixture
    def sat(self, bench):
        """Jo, an expert, was right, wrong, could not tell, was too late, and left the last one."""
        for number in range(5):
            bench.ask(f"zoo-{number}")
        bench.release()
        bench.person("jo")
        seat = bench.exam("jo", conditions=("without_audio",), limit_s=60, asks_confidence=True)[1]["jo"]
        for seconds, sheet in ((7, RIGHT), (8, WRONG), (9, {"cannot_tell": True}), (99, RIGHT)):
            bench.answer(seat, bench.next(seat), seconds, confidence=100, **sheet)
        bench.next(seat)
        return bench

    def test_each_is_a_response_of_a_person_with_what_a_model_would_have_been_shown(self, sat, stored):
        assert graded(sat).graded == 4
        rows = {row["state"]: row for row in stored() if row["answer"] != "A"}
        assert {row["state"] for row in stored()} == {"ok", "abstained", "timed_out"}, "what was left is not stored"
        one = rows["ok"]
        revision = next(revision for item, revision in sat.items.values() if item.name == one["item_name"])
        showing = Showing(revision.as_question(), without(Modality.AUDIO))
        assert showing.columns.items() <= one.items()
        assert (one["model"], one["answer"], one["latency_s"], one["purpose"]) == (
            "human/expert", "B", 7.0, "exam spring",
        )  # fmt: skip
        assert json.loads(one["parameters"]) == {"is_human": True, "limit_s": 60}
        assert [part["modality"] for part in json.loads(one["sent"])] == ["image"]
        assert rows["abstained"]["answer"] is None and rows["timed_out"]["answer"] is None
        points = {row["response_key"]: row["points"] for row in stored("grade", "response_key")}
        assert points[one["key"]] == 1.0 and points[rows["abstained"]["key"]] == 0.0
        told = {row["response_key"]: row for row in stored("sitting", "response_key")}
        assert (told[one["key"]]["confidence"], told[one["key"]]["seen_s"]) == (1.0, 7.0)
        assert "jo" not in json.dumps([*stored(), *stored("sitting", "response_key")], default=str)

    def test_a_second_call_stores_nothing_more(self, sat, stored):
        graded(sat)
        rows = stored(), stored("sitting", "response_key")
        assert grade_exam(sat.workspace, "spring", "mara", sat.clock).graded == 0
        assert (stored(), stored("sitting", "response_key")) == rows

    def test_until_it_is_closed_nobody_looks_at_an_answer(self, sat, stored):
        with pytest.raises(WrongExamState):
            grade_exam(sat.workspace, "spring", "mara")
        assert stored() == []

    def test_only_maintainers_grade(self, sat):
        close(sat)
        with pytest.raises(NotAllowed):
            grade_exam(sat.workspace, "spring", "jo")

    def test_a_model_that_is_called_as_people_are_stands_in_the_way(self, sat, project):
        from warehouse.workspace import open_workspace

        close(sat)
        with (project.root / "interplay.toml").open("a") as file:
            file.write('\n[models."human/expert"]\nprovider = "mockllm/model"\n')
        with open_workspace(project.root) as workspace, pytest.raises(NameTaken):
            grade_exam(workspace, "spring", "mara")

    def test_nothing_answered_is_nothing_to_grade(self, bench):
        bench.ask("zoo")
        bench.release()
        bench.exam()
        close(bench)
        with pytest.raises(NothingAnswered):
            grade_exam(bench.workspace, "spring", "mara")


class TestReported:
    @pytest.fixture
    def compared(self, bench, respond):
        """Two experts right in all they see, one of the crowd never; a model that was right in the countings only."""
        for number in range(4):
            bench.ask(f"count-{number}", "counting")
            bench.ask(f"where-{number}", "relative_position")
        bench.ask("unasked", "puzzle")
        bench.release()
        for name, kind in (("ada-lovelace", "expert"), ("bo", "expert"), ("cy", "crowd")):
            user = bench.person(name, kind)
            with bench.database.session() as session:
                session.add(ItemDraft(author=user.id, item_id=bench.items["unasked"][0].id, saved_by=user.id))
        _, seats = bench.exam(
            "ada-lovelace", "bo", "cy", size=9, conditions=("full", "without_audio"), asks_confidence=True
        )
        for name, seat in seats.items():
            bench.sit(seat, lambda _, name=name: {**(WRONG if name == "cy" else RIGHT), "confidence": 75})
        rows = [
            {
                "key": f"m-{item.name}",
                "request_key": item.name,
                "purpose": "evaluation", "revision_id": revision.id, "item_name": item.name, "model": "keen",
                "answer": "Answer: B" if item.name.startswith("count") else "Answer: A",
            }
            for item, revision in bench.items.values()
        ]  # fmt: skip
        respond(*rows)
        with bench.database.session() as session:
            session.add(Run(
                command="evaluation run", settings={"release": "zoo 1.0.0", "models": [{"name": "keen"}]},
                fingerprint="0" * 64, host="t", process_id=1, started_at=bench.clock(),
            ))  # fmt: skip
        graded(bench)
        return bench

    def test_they_stand_in_the_release_s_report_by_profile_and_one_by_one(self, compared):
        report = report_release(compared.workspace, "zoo", "1.0.0")
        assert report.people == ("human/crowd", "human/expert")
        board = {row.label: row.cells[0].text for row in report.table("leaderboard").rows}
        assert board["human/expert"] == "person" and board["keen"] == "1"
        single = report.table("single_people")
        assert [row.label for row in single.rows] == [
            "human/crowd, person 1", "human/expert, person 1", "human/expert, person 2",
        ]  # fmt: skip
        assert [[cell.points for cell in row.cells] for row in single.rows] == [[0, 0, 0], [100] * 3, [100] * 3]
        assert [[cell.answered for cell in row.cells] for row in single.rows] == [[8, 4, 4]] * 3

    def test_by_ability_over_the_questions_that_people_answered(self, compared):
        table = report_release(compared.workspace, "zoo", "1.0.0").table("people")
        rows = {row.label: row.cells for row in table.rows}
        titles = [column.title for column in table.columns]
        keen, expert = rows["keen"], rows["human/expert"]
        assert "Spatial" in titles and titles[-2:] == ["Overall", "Ahead"]
        assert keen[titles.index("Spatial")].points == 0 and expert[titles.index("Spatial")].points == 100
        assert keen[-2].items == 8, "the question that no person was asked counts for nobody"
        assert keen[-1].points == 50 and expert[-2].people == 2 and keen[-2].people == 0
        written = page(report_release(compared.workspace, "zoo", "1.0.0"))
        assert 'id="people"' in written and "by 2 people" in written and "ada-lovelace" not in written

    def test_time_and_confidence_of_the_exam(self, compared):
        with compared.database.reading() as session:
            found = exam_results(session, compared.workspace.facts, get_exam(session, "spring"))
        crowd, expert = found.groups
        assert (expert.name, expert.people, expert.answered, expert.left) == ("human/expert", 2, 16, 0)
        assert (expert.taken.median_s, expert.seen.median_s) == (5, 5)
        assert (expert.confidence, expert.points, expert.brier) == (75, 100, 0.0625)
        assert (crowd.points, crowd.brier) == (0, 0.5625)
        sure = {one.confidence: one for one in expert.sure}
        assert (sure[75].answers, sure[75].points, sure[50].answers, sure[50].points) == (16, 100, 0, None)

    def test_no_model_s_resumption_asks_people(self, compared):
        with compared.database.reading() as session:
            assert evaluated_models(session, "zoo 1.0.0") == ["human/crowd", "human/expert", "keen"]
        report = report_release(compared.workspace, "zoo", "1.0.0")
        calls = {row.label: row.cells[0].value for row in report.table("costs").rows}
        assert calls == {"keen": 9, "all": 9}, "people's answers are no calls"


class TestIntervals:
    def test_the_answers_of_one_person_are_no_independent_evidence(self):
        """Four people answer the same 25 items; two know all, two know nothing."""
        items, people = np.tile(np.arange(25), 4), np.repeat(np.arange(4), 25)
        values = (people < 2).astype(float)
        plain, crossed = mean_of(values, items), mean_of(values, items, people)
        assert crossed.high - crossed.low > 2 * (plain.high - plain.low)
        assert crossed_error(values, items, people) == pytest.approx(standard_error(values, people))

    def test_where_both_vary_the_error_is_that_of_both(self):
        rng = np.random.default_rng(3)
        able, easy = rng.normal(0, 0.1, 40), rng.normal(0, 0.1, 40)
        items, people = np.tile(np.arange(40), 40), np.repeat(np.arange(40), 40)
        values = 0.5 + able[people] + easy[items]
        expected = np.sqrt(able.var(ddof=1) / 40 + easy.var(ddof=1) / 40)
        assert crossed_error(values, items, people) == pytest.approx(expected, rel=0.02)

    def test_one_person_says_nothing_of_others(self):
        values, items = np.array([0.0, 1, 1, 1]), np.arange(4)
        assert mean_of(values, items, np.zeros(4, dtype=int)) == mean_of(values, items)
        assert crossed_error(values, items, np.zeros(4, dtype=int)) is None


class TestCommandLine:
    def test_an_exam_from_its_making_to_its_grades(self, bench, call_command):
        for number in range(3):
            bench.ask(f"zoo-{number}", "counting" if number else "puzzle")
        bench.release()
        bench.person("jo")

        def call(line, code=0):
            act = "" if line.startswith("show") else " --by mara"
            return call_command(root, [*shlex.split(f"exam {line}{act}"), "--project", str(bench.workspace.project.root)], code)  # fmt: skip

        assert "counting, audio+image: 1 of 2" in call("create spring --release zoo 1.0.0 --size 2 --limit-s 600")
        (invited,) = call("invite spring jo --json")
        assert invited == {"person": "jo", "profile": "expert", "questions": 2, "missing": {}}
        assert "spring is open" in call("open spring")
        with bench.database.reading() as session:
            seat = holding.progress_of(session, get_exam(session, "spring"))[0].seat
        bench.clock.now = seat.invited_at
        asked = bench.next(seat)
        bench.answer(seat, asked, 4, chosen=(1,), confidence=50)
        shown = call("show spring --json")
        assert shown["people"][0]["done"] == 1 and "answer" not in json.dumps(shown)
        assert shown["groups"] == [] and shown["tables"] == []
        assert "close it first" in call("grade spring", 2)
        assert "exam grade" in call("close spring")
        assert "graded 1" in call("grade spring") and "all graded before" in call("grade spring")
        assert "sure of 50%, right in 100%; Brier score 0.250" in call("show spring")
        assert call("show --json")[0]["finished"] == 0
        call("create draft --size 1 --condition text_only --no-confidence")
        assert "draft is gone" in call("discard draft")
        assert "unknown exam 'draft'" in call("show draft", 2)
