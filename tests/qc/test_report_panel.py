"""The report after a panel has judged: its numbers are those of the verdicts and of the responses."""

import json

import pytest
from sqlmodel import select
from typer.testing import CliRunner

from core.question import choice_label
from interplay.cli import app as root
from qc.decoys import estimate_decoys
from qc.gates import Thresholds
from qc.ground_truth import Family, TruthClass
from qc.panel import Votes
from qc.report.answers import answer_table, read_answers
from qc.report.build import item_history, qc_report
from qc.report.document import QcReport
from qc.report.page import page, write_report
from qc.report.terminal import answer_rows, history_lines, report_lines
from qc.report.why import condition_words
from qc.rounds import run_round1, run_round2
from warehouse.analytics import analysis
from warehouse.items import current_revision, get_item
from warehouse.tables import Item

CLASSES = (TruthClass.SOUND, TruthClass.REDUNDANT, TruthClass.MIS_KEYED, TruthClass.IMPOSSIBLE)


@pytest.fixture(scope="module")
def items(make_items, told):
    return [*make_items(8, 1, *CLASSES), told, *make_items(1, 2, families=[Family.STEPS])]


@pytest.fixture(scope="module")
def judged(shared_bench, items, make_panel):
    assert shared_bench.bring(items).refused == []
    panel = make_panel()
    run_round1(shared_bench.workspace, panel)
    run_round2(shared_bench.workspace, panel)
    return shared_bench


@pytest.fixture(scope="module")
def report(judged) -> QcReport:
    return qc_report(judged.workspace)


def stored(bench) -> dict[str, dict]:
    """Every response by its key, straight from the facts."""
    with analysis(bench.workspace.facts, ["response"]) as connection:
        rows = connection.sql("FROM response").to_arrow_table().to_pylist()
    return {row["key"]: row for row in rows}


def of_class(report, items, truth, family=None):
    names = [item.name for item in items if item.truth is truth and family in (None, item.family)]
    return next(item for item in report.items if item.name in names)


class TestVotes:
    def test_they_are_those_of_the_verdicts(self, judged, report):
        for item in report.items:
            shown = [
                [gate.votes.model_dump(mode="json") for gate in verdict.gates]
                for story in item.rounds
                for verdict in story.verdicts
            ]
            assert shown == [verdict.evidence["votes"] for verdict in judged.verdicts(item.name)]

    def test_each_stands_on_responses_that_are_in_the_facts(self, judged, report):
        known = stored(judged)
        document = json.loads(report.model_dump_json())
        keys = [
            key
            for item in document["items"]
            for story in item["rounds"]
            for verdict in story["verdicts"]
            for gate in verdict["gates"]
            for key in gate["votes"]["responses"]
        ]
        assert len(keys) > 100
        assert set(keys) <= known.keys()
        told = {answer["key"]: answer for item in document["items"] for answer in item["answers"]}
        assert set(keys) <= told.keys() <= known.keys()
        for key, answer in told.items():
            for name in ("model", "family", "condition", "rotation", "state", "answer", "error"):
                assert answer[name] == known[key][name]
        assert {item["lost"] for item in document["items"]} == {0}

    def test_a_choice_is_told_in_the_author_s_place(self, report, items):
        """With everything given, every family finds what a sound item's key says, wherever the choices were turned to."""
        item = of_class(report, items, TruthClass.SOUND, Family.SUM)
        (key,) = item.correct
        full = [cell for cell in item.table if cell.condition == "full"]
        assert len(full) == 4
        assert {mark for cell in full for mark in cell.marks} == {choice_label(key)}
        assert all((cell.right, cell.valid) == (len(cell.marks), len(cell.marks)) for cell in full)
        rotations = {answer.rotation for answer in item.answers if answer.condition == "full"}
        assert len(rotations) > 1

    def test_the_table_counts_what_the_shares_say(self, report):
        """Four families with equally many answers: the share of a choice is the share of its marks."""
        seen = 0
        for item in report.items:
            for gate in [gate for story in item.rounds for verdict in story.verdicts for gate in verdict.gates]:
                cells = [cell for cell in item.table if cell.condition == gate.votes.condition]
                if gate.votes.shares and len({cell.valid for cell in cells}) == 1:
                    marks = [mark for cell in cells for mark in cell.marks]
                    shares = [marks.count(choice_label(place)) / len(marks) for place in range(len(item.choices))]
                    assert gate.votes.shares == pytest.approx(shares)
                    seen += 1
        assert seen


class TestWhy:
    def test_a_redundant_item_is_rejected_for_both_gates(self, report, items):
        item = of_class(report, items, TruthClass.REDUNDANT)
        verdict = item.in_round(2).by_check
        assert [why.en for why in verdict.why] == [
            "100% right without audio (>= 60%), and 100% in the open probe: solved",
            "100% right without image (>= 60%), and 100% in the open probe: solved",
        ]
        assert verdict.why[0].zh == "去除音频：答对 100%（>= 60%），开放作答复核答对 100%：可解"
        assert [gate.says for gate in verdict.gates] == ["pass", "stop", "probe", "stop", "probe"]
        assert item.why == verdict.why

    def test_conditions_stand_in_the_order_asked(self, report, items):
        """Cheap gates first: the table of answers reads like the table of votes."""
        item = of_class(report, items, TruthClass.REDUNDANT)
        asked = [gate.votes.condition for story in item.rounds for gate in story.by_check.gates]
        assert list(dict.fromkeys(cell.condition for cell in item.table)) == asked
        assert asked[:2] == ["full", "text_only"]

    def test_a_wrong_key_is_named(self, report, items):
        item = of_class(report, items, TruthClass.MIS_KEYED)
        verdict = item.in_round(1).by_check
        (full,) = verdict.gates
        place = max(range(4), key=lambda place: full.votes.shares[place])
        assert [why.en for why in verdict.why] == [
            f"100% for choice {choice_label(place)} with everything given (>= 70%), which is not the key: returned"
        ]

    def test_what_passes_tells_every_condition(self, report, items):
        item = of_class(report, items, TruthClass.SOUND)
        said = [why.en for why in item.in_round(2).by_check.why]
        assert len(said) == 3
        assert all("(<= 40%)" in one and one.endswith(": passes") for one in said)

    def test_steps_have_shares_under_each_condition(self, report, items):
        item = next(one for one in report.items if one.kind == "multi_step")
        gates = {gate.votes.condition: gate.votes.step_shares for gate in item.in_round(2).by_check.gates}
        assert {len(shares) for shares in gates.values()} == {len(item.steps)}
        marks = {(cell.condition, cell.model): cell.text for cell in item.table}
        for condition, shares in gates.items():
            for place, share in enumerate(shares):
                told = [text[place] == "✓" for (name, _), text in marks.items() if name == condition]
                assert share == pytest.approx(sum(told) / len(told))


class TestDecoys:
    def test_they_are_estimated_from_the_conditions_in_which_something_is_missing(self, judged, report):
        with judged.workspace.database.reading() as session:
            names = list(session.exec(select(Item.name).order_by(Item.name)))
        votes = []
        for name in names:
            ablations = [one for one in judged.verdicts(name) if one.round == 2]
            if ablations:
                told = [Votes.model_validate(one) for one in ablations[-1].evidence["votes"]]
                votes.append([one for one in told if one.condition in ("text_only", "without_audio", "without_image")])
        share = Thresholds().flagged
        wanted = {one.condition: one for one in estimate_decoys(votes, [share])}
        assert {one.condition: one.used for one in report.decoys.conditions} == wanted
        in_choices = [of_item for of_item in votes if any(one.key for one in of_item)]
        assert len(in_choices) < len(votes)
        assert (report.decoys.share, report.decoys.items) == (share, len(in_choices))

    def test_the_items_behind_a_count_are_named(self, report, items):
        any_of_them = next(one for one in report.decoys.conditions if one.condition == "any")
        solvable = {item.name for item in items if item.truth is TruthClass.REDUNDANT} | {
            item.name for item in items if item.truth is TruthClass.LEAKED
        }
        assert set(any_of_them.flagged) == solvable
        assert len(any_of_them.flagged) == any_of_them.used.flagged
        assert not any_of_them.is_above


class TestOutput:
    def test_the_page_and_the_data_say_the_same(self, report, tmp_path):
        file = write_report(report, tmp_path / "out", "en")
        assert QcReport.model_validate_json((tmp_path / "out" / "qc.json").read_text()) == report
        text = file.read_text()
        assert all(answer.key in text for item in report.items for answer in item.answers)
        assert all(f'"name":"{item.name}"' in text for item in report.items)

    def test_the_same_report_gives_the_same_bytes(self, judged, report):
        assert page(qc_report(judged.workspace), "zh") == page(report, "zh")

    def test_lines_for_a_terminal(self, report, items):
        lines = "\n".join(report_lines(report))
        assert "flagged by luck at share 0.6" in lines
        assert "redundant_modality (either modality alone answers the question)" in lines
        assert "100% right without audio (>= 60%), and 100% in the open probe: solved" in lines

    def test_one_item_s_story(self, judged, report, items):
        item = of_class(report, items, TruthClass.REDUNDANT)
        history = item_history(judged.workspace, item.name)
        assert history.item == item
        header, rows = answer_rows(history.item)
        assert header == ["condition", "m0", "m1", "m2", "m3"]
        assert [row[0] for row in rows][:1] == ["full"]
        assert "  round 2: rejected" in history_lines(history)

    def test_the_commands(self, judged, report, items, tmp_path):
        def call(*arguments: str) -> str:
            done = CliRunner().invoke(root, ["qc", *arguments, "--project", str(judged.workspace.project.root)])
            assert done.exit_code == 0, done.output
            return done.stdout

        assert json.loads(call("report", "--json")) == json.loads(report.model_dump_json())
        assert f"page: {tmp_path / 'out' / 'qc.html'}" in call(
            "report", "--output", str(tmp_path / "out"), "--language", "zh"
        )
        assert '<html lang="zh">' in (tmp_path / "out" / "qc.html").read_text()
        name = of_class(report, items, TruthClass.REDUNDANT).name
        assert json.loads(call("show", name, "--json"))["item"]["name"] == name
        assert "without_audio_open" in call("show", name)


class TestTwins:
    def test_only_questionings_that_all_members_share_count(self, judged, report, items):
        one = of_class(report, items, TruthClass.SOUND, Family.SUM)
        workspace = judged.workspace
        with workspace.database.session() as session:
            for name in (one.name, of_class(report, items, TruthClass.REDUNDANT).name):
                get_item(session, name).twin_group = "pair"
        (group,) = qc_report(workspace).twins
        full = next(score for score in group.scores if score.condition == "full")
        assert (group.name, len(group.members), full.accuracy) == ("pair", 2, 1.0)
        assert full.right == full.asked > 0
        text_only = next(score for score in group.scores if score.condition == "text_only")
        members = [item for item in report.items if item.name in group.members]
        right = [
            {
                (answer.model, answer.rotation): answer.right
                for answer in item.answers
                if answer.condition == "text_only"
            }
            for item in members
        ]
        shared = right[0].keys() & right[1].keys()
        assert (text_only.asked, text_only.right) == (
            len(shared),
            sum(bool(right[0][place] and right[1][place]) for place in shared),
        )
        with workspace.database.session() as session:
            for member in group.members:
                get_item(session, member).twin_group = None


def test_lost_responses_are_left_out_and_silent_ones_are_question_marks(judged, report, items):
    item = of_class(report, items, TruthClass.SOUND)
    with judged.workspace.database.reading() as session:
        question = current_revision(session, get_item(session, item.name)).as_question()
    keys = [answer.key for answer in item.answers]
    found = read_answers(judged.workspace.facts, {item.name: [*keys, "no such key"]}, {item.name: question})
    assert found == {item.name: list(item.answers)}
    silent = [answer.model_copy(update={"right": None, "picked": (), "steps": ()}) for answer in item.answers]
    assert {mark for cell in answer_table(silent) for mark in cell.marks} == {"?"}
    assert {cell.valid for cell in answer_table(silent)} == {0}
    # What says nothing is not counted as wrong.
    (first, *others) = [answer for answer in item.answers if (answer.condition, answer.model) == ("full", "m0")]
    half = answer_table([first.model_copy(update={"rotation": 9, "right": None}), first, *others])
    _, ((_, told),) = answer_rows(item.model_copy(update={"table": half}))
    assert told.endswith(f" ? ({len(others) + 1}/{len(others) + 1})")


def test_conditions_have_words_in_both_languages():
    assert (condition_words("without_audio").en, condition_words("without_audio").zh) == ("without audio", "去除音频")
    assert condition_words("donor_for_image").en == "with another item's image"
    assert condition_words("text_only_open").zh == "仅有文字，开放作答复核"
    assert condition_words("something_new").en == "something new"
