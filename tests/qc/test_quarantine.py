"""What an endpoint loses on the way is known before anybody is asked about it."""

from dataclasses import replace

import pytest

from core.content import Modality
from evaluation.canary import CANARIES
from evaluation.models.sim.grammar import Sight
from interplay.demo_media import materials
from qc.ground_truth import Family, GroundTruthItem, TruthClass, generate
from qc.polling import Limit, Poller
from qc.quarantine import quarantine
from qc.rounds import Panel, run_round1, run_round2
from warehouse.analytics import analysis
from warehouse.items import revisions_in
from warehouse.runs import open_run
from warehouse.tables import ItemState

UNDELIVERED = ("unknown", ("undelivered",))


@pytest.fixture
def panel_with(make_panel):
    """A panel of so many families, of which the last has knobs of its own; gives its name, too."""

    def make(families: int, generate: dict | None = None, **knobs) -> tuple[Panel, str]:
        panel = make_panel(families)
        *others, last = panel.models
        odd = last.model_copy(update={"arguments": {**last.arguments, **knobs}, "generate": generate or {}})
        return replace(panel, models=[*others, odd], reviews=False), odd.name

    return make


@pytest.fixture(scope="module")
def seen_item(real_media) -> GroundTruthItem:
    """A picture and a film, and nothing to hear; the film is what is asked about."""
    made_from = materials(real_media)
    mix, families = {TruthClass.PARTIAL: 1.0}, (Family.SUM,)
    (shown,) = generate(1, 51, made_from, mix=mix, families=families, sights=[Sight.DOTS])
    candidates = generate(8, 52, made_from, mix=mix, families=families, sights=[Sight.FLASHES])
    film = next(item for item in candidates if Modality.AUDIO in item.not_needed)
    first, _, asked = film.prompt.split("\n")
    return film.model_copy(
        update={
            "name": "seen",
            "prompt": f"{first}\n<image_1>\n{asked}",
            "media": {"image_1": shown.media["image_1"], "video_1": film.media["video_1"]},
            "required": (Modality.IMAGE, Modality.VIDEO),
        }
    )


def calls(bench) -> dict[str, dict[str, int]]:
    """Responses of each model by purpose."""
    with analysis(bench.workspace.facts, ["response"]) as connection:
        rows = connection.execute("SELECT model, purpose, count(*) FROM response GROUP BY ALL").fetchall()
    found: dict[str, dict[str, int]] = {}
    for model, purpose, count in rows:
        found.setdefault(model, {})[purpose] = count
    return found


def test_a_deaf_member_is_told_of_and_asked_no_question_about_what_sounds(bench, make_items, panel_with):
    items = make_items(2, 53)
    bench.bring(items)
    panel, deaf = panel_with(5, dropped=["audio"])
    first, second = run_round1(bench.workspace, panel), run_round2(bench.workspace, panel)
    for report in (first, second):
        assert report.quarantined == {deaf: ["audio"]}
        assert "audio does not arrive" in "; ".join(report.canaries[deaf])
        assert report.rulings == {item.name: ("pass", ()) for item in items}
    asked = calls(bench)
    assert asked[deaf] == {"canary": len(CANARIES)}
    assert set(asked["m0"]) == {"canary", "qc round 1", "qc round 2"}
    (full,) = bench.verdicts(items[0].name)[0].evidence["votes"]
    assert (full["families"], full["planned"]) == (4, 16)


def test_where_too_few_families_receive_it_an_item_is_undelivered_and_nothing_is_asked(bench, make_items, panel_with):
    items = make_items(2, 54)
    bench.bring(items)
    panel, deaf = panel_with(4, dropped=["audio"])
    report = run_round1(bench.workspace, panel)
    assert report.rulings == {item.name: UNDELIVERED for item in items}
    assert (report.asked, report.left) == (0, [])
    assert set().union(*calls(bench).values()) == {"canary"}
    (verdict,) = bench.verdicts(items[0].name)
    assert verdict.evidence["quarantined"] == {deaf: ["audio"]}
    assert bench.standing()[items[0].name][0] == "submitted"


def test_a_second_run_asks_no_canary_and_adds_no_verdict(bench, make_items, panel_with):
    (item,) = make_items(1, 54)
    bench.bring([item])
    panel, _ = panel_with(4, dropped=["audio"])
    run_round1(bench.workspace, panel)
    before = calls(bench), bench.standing()
    assert run_round1(bench.workspace, panel).rulings == {item.name: UNDELIVERED}
    assert (calls(bench), bench.standing()) == before


def test_once_enough_families_receive_it_the_item_is_judged(bench, make_items, panel_with, make_panel):
    (item,) = make_items(1, 55)
    bench.bring([item])
    run_round1(bench.workspace, panel_with(4, dropped=["audio"])[0])
    assert run_round1(bench.workspace, make_panel()).rulings == {item.name: ("pass", ())}
    assert [verdict.reason_codes for verdict in bench.verdicts(item.name)] == [["undelivered"], []]


def test_what_only_shows_is_untouched_by_a_deaf_endpoint(bench, make_items, panel_with, seen_item):
    (heard,) = make_items(1, 56)
    report = bench.bring([heard, seen_item])
    assert (report.refused, report.drafts) == ([], [])
    panel, deaf = panel_with(4, dropped=["audio"])
    first, second = run_round1(bench.workspace, panel), run_round2(bench.workspace, panel)
    assert first.rulings == {heard.name: UNDELIVERED, "seen": ("pass", ())}
    # The picture is nothing that is asked about: the ablation goes on with all four, the deaf one among them.
    assert second.rulings == {"seen": ("reject", ("unhelpful_modality",))}
    assert calls(bench)[deaf].keys() == {"canary", "qc round 1", "qc round 2"}
    with analysis(bench.workspace.facts, ["response"]) as connection:
        query = "SELECT DISTINCT item_name FROM response WHERE model = ? AND starts_with(purpose, 'qc')"
        assert connection.execute(query, [deaf]).fetchall() == [("seen",)]


@pytest.mark.parametrize("lost", ["image", "video"])
def test_a_blind_endpoint_is_kept_from_what_it_cannot_see(bench, panel_with, seen_item, lost):
    bench.bring([seen_item])
    panel, blind = panel_with(4, dropped=[lost])
    report = run_round1(bench.workspace, panel)
    assert (report.quarantined, report.rulings, report.asked) == ({blind: [lost]}, {"seen": UNDELIVERED}, 0)


def test_a_dead_endpoint_is_kept_from_all_media_and_the_others_go_on(bench, make_items, panel_with):
    (item,) = make_items(1, 57)
    bench.bring([item])
    panel, dead = panel_with(5, generate={"max_retries": 0}, error_rate=1.0)
    report = run_round1(bench.workspace, panel)
    assert report.quarantined == {dead: ["audio", "image", "video"]}
    assert f"canaries without an answer: {len(CANARIES)} api_error" in "; ".join(report.canaries[dead])
    assert report.rulings == {item.name: ("pass", ())}
    assert calls(bench)[dead] == {"canary": len(CANARIES)}


def test_a_panel_of_dead_endpoints_decides_nothing(bench, make_items, make_panel):
    (item,) = make_items(1, 58)
    bench.bring([item])
    report = run_round1(bench.workspace, make_panel(error_rate=1.0, generate={"max_retries": 0}))
    assert (report.rulings, report.asked, report.left) == ({}, 0, [item.name])
    assert report.silent == ["m0", "m1", "m2", "m3"]
    assert bench.verdicts(item.name) == []
    back = run_round1(bench.workspace, make_panel())
    assert (back.left, back.silent, list(back.rulings)) == ([], [], [item.name])


def test_what_was_ruled_before_stays_when_too_few_can_be_asked(bench, make_items, make_panel, panel_with):
    (item,) = make_items(1, 60, TruthClass.IMPOSSIBLE)
    bench.bring([item])
    assert run_round1(bench.workspace, make_panel()).rulings == {item.name: ("unknown", ("unsolved",))}
    deaf, _ = panel_with(4, dropped=["audio"])
    assert run_round1(bench.workspace, deaf).rulings == {}
    assert [verdict.reason_codes for verdict in bench.verdicts(item.name)] == [["unsolved"]]


def test_refusals_are_no_delivery(bench, make_items, make_panel):
    (item,) = make_items(1, 59)
    bench.bring([item])
    report = run_round1(bench.workspace, make_panel(refusal=1.0))
    assert (report.rulings, report.asked) == ({item.name: UNDELIVERED}, 0)


def test_who_may_be_asked_follows_from_what_the_question_holds(bench, make_items, panel_with, seen_item):
    (heard,) = make_items(1, 60)
    bench.bring([heard, seen_item])
    panel, deaf = panel_with(5, dropped=["audio"])
    with open_run(bench.workspace.database, "test", {}) as run:
        poller = Poller(bench.workspace, "test", run.id, panel.limits, Limit())
        found = quarantine(bench.workspace, poller, panel.models)
    assert found.undelivered == {deaf: frozenset({Modality.AUDIO})}
    with bench.workspace.database.reading() as session:
        waiting = {item.name: one.as_question() for item, one in revisions_in(session, ItemState.SUBMITTED)}
    names = {name: [model.name for model in found.usable(panel.models, one)] for name, one in waiting.items()}
    assert names == {heard.name: ["m0", "m1", "m2", "m3"], "seen": ["m0", "m1", "m2", "m3", deaf]}


class TestPlacebo:
    """Another item's media in a modality's place."""

    @pytest.fixture
    def judged(self, bench, make_items, make_panel):
        items = make_items(6, 61, TruthClass.SOUND, TruthClass.REDUNDANT)
        bench.bring(items)
        panel = replace(make_panel(), placebo=True)
        return bench, items, run_round1(bench.workspace, panel), run_round2(bench.workspace, panel)

    def test_the_donors_are_asked_and_stand_in_the_evidence(self, judged):
        bench, items, _, second = judged
        for item in items:
            votes = {one["condition"]: one for one in bench.verdicts(item.name)[1].evidence["votes"]}
            if "without_audio" in votes:  # the text alone was not enough
                assert {"donor_for_audio", "donor_for_image"} <= votes.keys()
                assert votes["donor_for_audio"]["asked"] >= 10
        assert second.rulings

    def test_what_is_sent_is_another_item_s(self, judged):
        bench, items, _, _ = judged
        with bench.workspace.database.reading() as session:
            own = {
                item.name: {part.media.modality: part.media.sha256 for part in one.as_question().media}
                for item, one in revisions_in(session, *ItemState)
            }
        with analysis(bench.workspace.facts, ["response"]) as connection:
            rows = connection.execute(
                "SELECT item_name, condition, sent FROM response WHERE starts_with(condition, 'donor_for_')"
            ).fetchall()
        assert rows
        for name, condition, sent in rows:
            replaced = Modality(condition.removeprefix("donor_for_").removesuffix("_open"))
            (kept,) = own[name].keys() - {replaced}
            assert own[name][replaced] not in sent
            assert own[name][kept] in sent

    def test_by_luck_a_donor_says_the_same_and_rejects_nothing(self, judged):
        bench, items, _, second = judged
        lucky = 0
        for item in items:
            decision, codes = second.rulings[item.name]
            if item.truth is TruthClass.REDUNDANT:
                assert (decision, codes) == ("reject", ("redundant_modality",))
                continue
            votes = {one["condition"]: one["solved"] for one in bench.verdicts(item.name)[1].evidence["votes"]}
            says_the_same = max(votes["donor_for_audio"], votes["donor_for_image"]) >= 0.6
            lucky += says_the_same
            assert (decision, codes) == (("unknown", ("needs_a_person",)) if says_the_same else ("pass", ()))
        assert lucky >= 1
