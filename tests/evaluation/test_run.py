import pytest
from sqlmodel import select

from core.condition import FULL
from core.errors import UnknownName
from evaluation.asking import Asker
from evaluation.conditions import STANDARD
from evaluation.models.catalogue import Price, find_models
from evaluation.run import Order, count_pending, evaluate, forget, release_revisions, report_release
from evaluation.solve import plan
from warehouse.release.tombstones import MediaWithdrawn
from warehouse.tables import Material, MaterialState, RevisionMedia, Run, RunStatus

NAMES = ["full", "without_audio", "without_image", "without_video", "text_only"]


def models(zoo, *names):
    return find_models(names or ["keen"], zoo.project.settings.models)


def points(zoo, *names):
    report = report_release(zoo, "zoo", "1.0.0", names or None)
    return {(cell.model, cell.condition): cell.points for cell in report.cells}


def order(zoo, *names, conditions=("full",), **more):
    return Order(models(zoo, *names), conditions, **more)


def test_conditions_are_found_by_name():
    assert tuple(STANDARD) == (
        "full", "without_image", "without_audio", "without_video", "without_visual", "text_only", "options_only",
    )  # fmt: skip
    with pytest.raises(UnknownName, match="unknown condition 'withot_audio'; did you mean 'without_audio'"):
        Order([], ["full", "withot_audio"])


def test_a_release_is_asked_graded_and_reported(zoo):
    done = evaluate(zoo, "zoo", "1.0.0", order(zoo, "keen", "deaf", conditions=NAMES))
    # No item holds a video, so nothing can be asked without it.
    assert (done.solved.asked, done.solved.failures) == (4 * 4 * 2, {})
    assert (done.graded.graded, done.graded.ungraded) == (32, 0)
    found = points(zoo)
    assert set(found) == {(m, c) for m in ("keen", "deaf") for c in NAMES if c != "without_video"}
    assert found["keen", "full"] == 100.0
    assert found["deaf", "full"] < 100


def test_a_second_call_does_nothing(zoo):
    both = order(zoo, conditions=["full", "text_only"])
    evaluate(zoo, "zoo", "1.0.0", both)
    before = points(zoo)
    done = evaluate(zoo, "zoo", "1.0.0", both)
    assert (done.solved.asked, done.solved.reused, done.solved.known) == (0, 0, 8)
    assert (done.graded.graded, done.graded.known) == (0, 8)
    assert points(zoo) == before


def test_what_is_missing_is_counted_and_asked(zoo):
    both = order(zoo, conditions=["full", "text_only"])
    assert count_pending(zoo, "zoo", "1.0.0", both).questions == 8
    evaluate(zoo, "zoo", "1.0.0", order(zoo))
    assert count_pending(zoo, "zoo", "1.0.0", both).questions == 4
    assert evaluate(zoo, "zoo", "1.0.0", both).solved.asked == 4
    assert count_pending(zoo, "zoo", "1.0.0", both).questions == 0


def test_it_leaves_a_run_without_secrets(zoo):
    evaluate(zoo, "zoo", "1.0.0", order(zoo))
    with zoo.database.reading() as session:
        run = session.exec(select(Run).where(Run.command == "evaluation run")).one()
    assert (run.status, run.summary) == (
        RunStatus.FINISHED,
        {"asked": 4, "failures": {}, "left": 0, "cost_usd": None, "graded": 4, "missing": {}},
    )
    assert (run.settings["release"], run.settings["conditions"]) == ("zoo 1.0.0", ["full"])
    (model,) = run.settings["models"]
    assert (model["name"], model["arguments"]["seed"]) == ("keen", 1)
    assert "sk-secret-2" not in str(run.settings)


def test_the_release_gives_its_items_in_order(zoo, sound_items):
    assert [name for name, _ in release_revisions(zoo, "zoo", "1.0.0")] == [item.name for item in sound_items]
    with pytest.raises(UnknownName, match=r"unknown release 'zoo 1.0.1'; did you mean 'zoo 1.0.0'"):
        release_revisions(zoo, "zoo", "1.0.1")


def test_a_release_that_shows_what_was_withdrawn_is_put_to_no_model(zoo):
    with zoo.database.session() as session:
        material = session.exec(select(Material).join(RevisionMedia)).first()
        material.state = MaterialState.WITHDRAWN
    for ask in (evaluate, count_pending):
        with pytest.raises(MediaWithdrawn, match=r"zoo 1\.0\.0 shows 1 media that were withdrawn"):
            ask(zoo, "zoo", "1.0.0", order(zoo, "keen"))
    assert points(zoo) == {}


def test_a_model_that_cannot_be_used_stops_it_before_anything_is_asked(zoo):
    unusable = find_models(["nonsense/x"], {})
    with pytest.raises(UnknownName, match="unknown provider 'nonsense'"):
        evaluate(zoo, "zoo", "1.0.0", Order([*models(zoo), *unusable], ["full"]))
    assert points(zoo) == {}
    with zoo.database.reading() as session:
        run = session.exec(select(Run).where(Run.command == "evaluation run")).one()
    assert run.status is RunStatus.FAILED


def test_a_report_shows_the_evaluated_models_and_not_the_panel(zoo):
    questions = dict(release_revisions(zoo, "zoo", "1.0.0"))
    evaluate(zoo, "zoo", "1.0.0", order(zoo, "keen"))
    asker = Asker(zoo.facts, zoo.blobs, zoo.project.root, "qc round 1", "r")
    asker.ask(plan(models(zoo, "deaf"), questions.items(), [FULL]))
    assert set(points(zoo)) == {("keen", "full")}
    assert set(points(zoo, "deaf")) == {("deaf", "full")}


def test_replicates_are_asked_apart_and_counted_together(zoo):
    done = evaluate(zoo, "zoo", "1.0.0", order(zoo, replicates=3))
    assert done.solved.asked == 12
    (cell,) = report_release(zoo, "zoo", "1.0.0").cells
    assert (cell.answered, cell.items) == (12, 4)


def test_a_placebo_shows_another_item_s_media(zoo):
    evaluate(zoo, "zoo", "1.0.0", order(zoo, conditions=["full", "donor_for_audio"]))
    found = points(zoo)
    assert found["keen", "full"] == 100.0
    assert found["keen", "donor_for_audio"] < 100.0


def test_a_budget_leaves_questions_unasked(zoo):
    (keen,) = models(zoo)
    dear = keen.model_copy(update={"price": Price(input=1000, output=1000)})
    done = evaluate(zoo, "zoo", "1.0.0", Order([dear], ["full"], budget_usd=1.0))
    assert 0 < done.solved.asked < 4 == done.solved.asked + done.solved.left


def test_a_forgotten_model_is_in_no_report_until_it_is_asked_again(zoo):
    evaluate(zoo, "zoo", "1.0.0", order(zoo, "keen", "deaf"))
    forget(zoo, "zoo", "1.0.0", ["deaf"])
    assert {model for model, _ in points(zoo)} == {"keen"}
    with pytest.raises(UnknownName, match="unknown model of that release's reports 'deaf'"):
        forget(zoo, "zoo", "1.0.0", ["deaf"])
    done = evaluate(zoo, "zoo", "1.0.0", order(zoo, "deaf"))
    assert done.solved.asked == 0
    assert {model for model, _ in points(zoo)} == {"keen", "deaf"}


def test_settings_under_which_nothing_was_answered_are_no_model_beside_those_that_work(zoo, scripted):
    broken, _ = scripted(lambda text, count: ValueError("wrong address"), name="mended")
    working, _ = scripted("Answer: A", name="mended")
    evaluate(zoo, "zoo", "1.0.0", Order([broken], ["full"]))
    assert set(points(zoo)) == {("mended", "full")}
    assert points(zoo)["mended", "full"] is None
    evaluate(zoo, "zoo", "1.0.0", Order([working], ["full"]))
    assert set(points(zoo)) == {("mended", "full")}
    assert points(zoo)["mended", "full"] is not None
