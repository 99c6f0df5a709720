from collections import Counter
from dataclasses import replace

import pytest
from sqlmodel import select

from core.errors import UnknownName
from core.question import choice_label
from evaluation.models.catalogue import find_models
from qc.ground_truth import Family, TruthClass
from qc.rounds import Panel, PanelTooSmall, run_round1, run_round2
from warehouse.analytics import analysis
from warehouse.items import Draft, get_item, revise_item
from warehouse.tables import ItemState, Material, MaterialState, Run, RunStatus

# What becomes of an item of each class: its state after both rounds, and what each round said.
OUTCOME = {
    TruthClass.SOUND: ("round2_passed", [(1, "pass", ()), (2, "pass", ())]),
    TruthClass.REDUNDANT: ("rejected", [(1, "pass", ()), (2, "reject", ("redundant_modality",))]),
    TruthClass.PARTIAL: ("rejected", [(1, "pass", ()), (2, "reject", ("unhelpful_modality",))]),
    TruthClass.LEAKED: ("rejected", [(1, "pass", ()), (2, "reject", ("answerable_from_text",))]),
    TruthClass.MIS_KEYED: ("returned", [(1, "return", ("suspect_key",))]),
    TruthClass.IMPOSSIBLE: ("submitted", [(1, "unknown", ("unsolved",))]),
}
ANY = (*(truth for truth in TruthClass if truth is not TruthClass.LEAKED),)


def run_both(bench, panel):
    return run_round1(bench.workspace, panel), run_round2(bench.workspace, panel)


def responses(bench) -> int:
    with analysis(bench.workspace.facts, ["response"]) as connection:
        return connection.execute("SELECT count(*) FROM response").fetchone()[0]


def votes_only(panel: Panel) -> Panel:
    """Without reviews, so that calls can be counted by hand."""
    return replace(panel, reviews=False)


def failures(report) -> dict[str, int]:
    return dict(report.spent.failures)


@pytest.fixture(scope="module")
def items(make_items, told):
    return [*make_items(10, 1, *ANY), told, *make_items(2, 2, families=[Family.STEPS])]


@pytest.fixture(scope="module")
def judged(shared_bench, items, make_panel):
    assert shared_bench.bring(items).refused == []
    return shared_bench, run_both(shared_bench, make_panel())


class TestClasses:
    @pytest.mark.parametrize("truth", list(TruthClass))
    def test_each_class_is_recovered(self, judged, items, truth):
        bench, _ = judged
        of_class = [item.name for item in items if item.truth is truth]
        assert of_class
        standing = bench.standing()
        assert {name: standing[name] for name in of_class} == dict.fromkeys(of_class, OUTCOME[truth])

    def test_reports_say_the_same_and_count_the_questions(self, judged, items):
        _, (first, second) = judged
        by_round = {1: first.rulings, 2: second.rulings}
        for item in items:
            for number, decision, codes in OUTCOME[item.truth][1]:
                assert by_round[number][item.name] == (decision, codes)
        assert set(first.rulings) == {item.name for item in items}
        assert (failures(first), failures(second), first.overtaken, first.left) == ({}, {}, [], [])
        assert (first.quarantined, second.quarantined) == ({}, {})
        told = Counter()
        for item in items:
            for verdict in judged[0].verdicts(item.name):
                told[verdict.round] += sum(one["asked"] for one in verdict.evidence["votes"])
        # Of what passes the gate, each family writes a review; one call can answer two conditions (equal requests), and
        # probes turn no choices.
        passed = sum(decision == "pass" for decision, _ in first.rulings.values())
        assert first.asked == told[1] + 4 * passed
        assert 0 < second.asked <= told[2]

    def test_a_question_that_all_answer_rightly_takes_seven_calls_and_one_in_steps_four(self, judged, items):
        bench, _ = judged
        for item in items:
            if item.truth in (TruthClass.MIS_KEYED, TruthClass.IMPOSSIBLE):
                continue
            (full,) = bench.verdicts(item.name)[0].evidence["votes"]
            wanted = (4, 4) if item.family is Family.STEPS else (7, 16)
            assert (full["asked"], full["planned"]) == wanted
            assert full["families"] == 4

    def test_the_evidence_holds_the_shares_between_which_the_full_count_lies(self, judged, items):
        bench, _ = judged
        name = next(item.name for item in items if item.truth is TruthClass.SOUND and item.family is Family.SUM)
        first, second = bench.verdicts(name)
        (full,) = first.evidence["votes"]
        assert (full["condition"], full["solved"], full["solved_range"]) == ("full", 1.0, [0.4375, 1.0])
        ranges = {one["condition"]: one["solved_range"] for one in second.evidence["votes"]}
        assert set(ranges) == {"text_only", "without_audio", "without_image"}
        # A guess by place is exactly chance over all rotations, and a wrong choice is flagged no more often.
        assert all(low <= 0.25 <= high <= 0.4 for low, high in ranges.values())
        assert all(low <= 0.25 <= high < 0.6 for one in second.evidence["votes"] for low, high in one["share_ranges"])

    def test_flagged_items_were_probed_without_options(self, judged, items):
        bench, _ = judged
        name = next(item.name for item in items if item.truth is TruthClass.REDUNDANT)
        solved = {one["condition"]: one["solved"] for one in bench.verdicts(name)[1].evidence["votes"]}
        assert {condition for condition in solved if condition.endswith("_open")} == {
            "without_audio_open",
            "without_image_open",
        }
        assert solved["without_audio_open"] == solved["without_image_open"] == 1.0

    def test_steps_are_counted_one_by_one(self, judged, items):
        bench, _ = judged
        name = next(item.name for item in items if item.family is Family.STEPS)
        votes = {one["condition"]: one for one in bench.verdicts(name)[1].evidence["votes"]}
        assert all(votes[one]["step_shares"][2] < 1 for one in ("without_audio", "without_image"))
        # Of the first two steps one asks what is seen and one what is heard.
        assert [max(votes[one]["step_shares"][:2]) for one in ("without_audio", "without_image")] == [1.0, 1.0]

    def test_a_second_run_asks_nothing_and_adds_no_verdict(self, judged, make_panel):
        bench, _ = judged
        before, answered = bench.standing(), responses(bench)
        for report in run_both(bench, make_panel()):
            assert (report.asked, failures(report)) == (0, {})
        assert (bench.standing(), responses(bench)) == (before, answered)

    def test_each_round_is_a_run_with_its_limits(self, judged):
        bench, _ = judged
        with bench.workspace.database.reading() as session:
            runs = session.exec(select(Run).where(Run.command == "qc round 1")).all()
        assert runs[0].status is RunStatus.FINISHED
        assert runs[0].settings["thresholds"]["flagged"] == 0.6
        assert len(runs[0].settings["models"]) == 4
        assert sum(runs[0].summary["decisions"].values()) == 13


def test_a_leak_that_is_announced_never_reaches_the_panel(bench, make_items, make_panel):
    items = make_items(2, 4, TruthClass.LEAKED)
    report = bench.bring(items)
    assert sorted(report.created) == sorted(item.name for item in items)
    assert len(report.drafts) == 2
    assert all("answer_leaked" in line for line in report.drafts)
    assert {state for state, _ in bench.standing().values()} == {"draft"}
    assert run_round1(bench.workspace, make_panel()).asked == 0


def test_a_step_that_the_text_answers_is_named_and_goes_to_a_person(bench, make_items, make_panel):
    """The prompt tells what the picture shows, so one of the first two steps needs nothing else; the last one still does."""
    items = [
        item.model_copy(update={"prompt": f"{item.prompt} {item.media['image_1'].caption}"})
        for item in make_items(3, 32, families=[Family.STEPS])
    ]
    bench.bring(items)
    run_both(bench, make_panel())
    for item in items:
        first, second = bench.verdicts(item.name)
        assert (second.decision, second.reason_codes[0]) == ("unknown", "leaking_step")
        # The last step may be guessed by luck: of four answers three are right once in twenty times.
        (leaking,) = set(second.evidence["leaking_steps"]) - {3}
        # The person who decides sees what came of the rest.
        text, *ablated = second.evidence["votes"]
        assert [one["condition"] for one in ablated] == ["without_audio", "without_image"]
        assert (text["condition"], text["asked"], text["step_shares"][leaking - 1]) == ("text_only", 4, 1.0)
        assert text["step_shares"][2 - leaking] < 0.6
        assert bench.standing()[item.name][0] == "round1_passed"


def test_the_order_of_items_and_of_choices_changes_no_verdict(bench, new_bench, make_items, told, make_panel):
    items = [*make_items(5, 6, *ANY), told]
    bench.bring(items)
    run_both(bench, make_panel())
    turned = []
    for place, item in enumerate(reversed(items)):
        order = [(at + place + 1) % 4 for at in range(4)]
        key = choice_label(order.index("ABCD".index(item.answer)))
        turned.append(item.model_copy(update={"choices": tuple(item.choices[at] for at in order), "answer": key}))
    other = new_bench("other")
    other.bring(turned)
    run_both(other, make_panel())
    assert other.standing() == bench.standing()
    assert {state for state, _ in bench.standing().values()} >= {"round2_passed", "rejected", "returned", "submitted"}


def test_a_whole_count_says_the_same_at_more_calls(bench, new_bench, make_items, told, make_panel):
    items = [*make_items(5, 6, *ANY), told]
    bench.bring(items)
    stopped = run_both(bench, make_panel())
    whole = new_bench("whole")
    whole.bring(items)
    in_full = run_both(whole, replace(make_panel(), whole=True))
    assert whole.standing() == bench.standing()
    assert [report.asked > early.asked for report, early in zip(in_full, stopped, strict=True)] == [True, True]
    sound = next(item.name for item in items if item.truth is TruthClass.SOUND)
    first, second = whole.verdicts(sound)
    assert [(one["asked"], one["solved"]) for one in first.evidence["votes"]] == [(16, 1.0)]
    # Each family guesses by place, so that over all rotations a guess is exactly chance.
    assert {one["condition"]: (one["asked"], one["shares"]) for one in second.evidence["votes"]} == dict.fromkeys(
        ("text_only", "without_audio", "without_image"), (16, [0.25] * 4)
    )


def test_errors_change_a_verdict_only_to_unknown(bench, new_bench, make_items, told, make_panel):
    items = [*make_items(5, 7, *ANY), told]
    bench.bring(items)
    run_both(bench, make_panel())
    calm = bench.standing()
    shaky = new_bench("shaky")
    shaky.bring(items)
    reports = run_both(shaky, make_panel(error_rate=0.2, generate={"max_retries": 0}))
    failed = sum(report.spent.failures["api_error"] for report in reports)
    assert 0.1 < failed / sum(report.asked for report in reports) < 0.3
    same = 0
    for name, (_, verdicts) in shaky.standing().items():
        without_errors = {number: (decision, codes) for number, decision, codes in calm[name][1]}
        for number, decision, codes in verdicts:
            assert decision == "unknown" or (decision, codes) == without_errors[number]
            same += decision != "unknown"
    assert same >= len(items) / 2  # the panel does not simply give up


def test_with_retries_the_same_errors_change_nothing(bench, new_bench, make_items, make_panel):
    items = make_items(2, 8, TruthClass.SOUND, TruthClass.REDUNDANT)
    bench.bring(items)
    run_both(bench, make_panel())
    shaky = new_bench("shaky")
    shaky.bring(items)
    assert [failures(report) for report in run_both(shaky, make_panel(error_rate=0.2))] == [{}, {}]
    assert shaky.standing() == bench.standing()


def known_of(bench, keys) -> int:
    """How many of these responses had come before the second run."""
    with analysis(bench.workspace.facts, ["response"]) as connection:
        (first,) = connection.execute("SELECT min(run_id) FROM response WHERE purpose = 'qc round 1'").fetchone()
        query = "SELECT count(*) FROM response WHERE run_id = ? AND state = 'ok' AND list_contains(?, key)"
        return connection.execute(query, [first, keys]).fetchone()[0]


def test_what_failed_is_asked_again_and_then_decides(bench, make_items, make_panel):
    """Nearly half of the calls fail for good, so that votes are too few; with patience the same panel decides."""
    items = make_items(4, 9)
    bench.bring(items)
    hasty = votes_only(make_panel(error_rate=0.45, generate={"max_retries": 0}))
    patient = votes_only(make_panel(error_rate=0.45))
    first = run_round1(bench.workspace, hasty)
    assert first.quarantined == {}
    waiting = [name for name, ruling in first.rulings.items() if ruling == ("unknown", ("not_enough_votes",))]
    assert len(waiting) >= 2
    before = {name: bench.verdicts(name)[-1].evidence["votes"][0] for name in waiting}
    again = run_round1(bench.workspace, patient)
    assert again.rulings == dict.fromkeys(waiting, ("pass", ()))
    after = {name: bench.verdicts(name)[-1].evidence["votes"][0] for name in waiting}
    # Seven answers are enough now; those that had come are not asked for again.
    assert {one["asked"] for one in after.values()} == {7}
    assert again.asked == 7 * len(waiting) - sum(known_of(bench, before[name]["responses"][:7]) for name in waiting)
    assert [verdict.reason_codes for verdict in bench.verdicts(waiting[0])] == [["not_enough_votes"], []]
    assert bench.standing()[waiting[0]][0] == "round1_passed"


def test_a_new_revision_starts_again(bench, make_items, make_panel):
    (item,) = make_items(1, 12)
    bench.bring([item])
    run_both(bench, make_panel())
    assert bench.standing()[item.name][0] == "round2_passed"
    changed = item.model_copy(update={"prompt": f"{item.prompt}\nThink well."})
    assert bench.bring([changed]).revised == [item.name]
    assert bench.standing()[item.name] == ("submitted", [])
    first, second = run_both(bench, votes_only(make_panel()))
    assert (first.asked, second.asked > 0) == (7, True)
    assert bench.standing()[item.name] == OUTCOME[TruthClass.SOUND]


def test_an_item_that_somebody_revises_meanwhile_is_left_to_the_next_round(bench, make_items, make_panel, monkeypatch):
    first, second = make_items(2, 13)
    bench.bring([first, second])
    judge = run_round1.__globals__["judge_full"]

    def revise_first(question, votes, limits):
        with bench.workspace.database.session() as session:
            item = get_item(session, first.name)
            if item.state is ItemState.SUBMITTED and item.version == 2:
                asked = question.model_copy(update={"prompt": (*question.prompt[:-1],)})
                revise_item(session, item, item.version, Draft(asked, {}, "ann"))
        return judge(question, votes, limits)

    monkeypatch.setattr("qc.rounds.judge_full", revise_first)
    report = run_round1(bench.workspace, make_panel())
    assert report.overtaken == [first.name]
    assert set(report.rulings) == {second.name}
    assert bench.standing()[first.name] == ("submitted", [])
    assert bench.standing()[second.name][0] == "round1_passed"


class TestAutomaticChecks:
    def test_a_material_that_is_withdrawn_or_damaged_returns_the_item(self, bench, make_items, make_panel):
        withdrawn, damaged, whole = make_items(3, 14)
        bench.bring([withdrawn, damaged, whole])
        with bench.workspace.database.session() as session:
            sha256 = get_sha(bench, withdrawn)
            material = session.exec(select(Material).where(Material.sha256 == sha256)).one()
            material.state = MaterialState.WITHDRAWN
        sha256 = get_sha(bench, damaged)
        (file,) = [one for one in (bench.workspace.project.root / "blobs").rglob(sha256) if one.is_file()]
        file.write_bytes(b"x")
        report = run_round1(bench.workspace, votes_only(make_panel()))
        assert report.rulings[withdrawn.name] == ("return", ("media_unusable",))
        assert report.rulings[damaged.name] == ("return", ("media_unusable",))
        assert report.rulings[whole.name] == ("pass", ())
        assert report.asked == 7
        (finding,) = bench.verdicts(withdrawn.name)[0].evidence["findings"]
        assert finding["message"] == "audio_1: the material is withdrawn"

    def test_two_items_that_ask_the_same_are_both_returned_but_a_draft_returns_nobody(
        self, bench, make_items, make_panel
    ):
        (item,) = make_items(1, 15)
        bench.bring([item])
        copy = item.model_copy(update={"name": "copy"})
        assert "duplicate_question" in bench.bring([copy]).drafts[0]
        report = run_round1(bench.workspace, make_panel())
        assert report.rulings == {item.name: ("pass", ())}


def get_sha(bench, item):
    with bench.workspace.database.reading() as session:
        from warehouse.items import current_revision

        revision = current_revision(session, get_item(session, item.name))
        return {part.name: part.media.sha256 for part in revision.as_question().media}["audio_1"]


class TestPanel:
    def test_it_needs_four_families(self, make_panel):
        with pytest.raises(PanelTooSmall, match=r"the panel has 3 model families \(f0, f1, f2\); the rule needs 4"):
            make_panel(families=3)

    def test_several_models_of_a_family_are_one(self, make_panel):
        models = [model.model_copy(update={"family": "one"}) for model in make_panel().models]
        with pytest.raises(PanelTooSmall, match=r"has 1 model families \(one\)"):
            Panel(models)

    def test_a_mistyped_model_is_named(self):
        with pytest.raises(UnknownName, match="unknown model 'adda'; did you mean 'ada'"):
            find_models(["adda"], {"ada": {"provider": "a/b"}})
