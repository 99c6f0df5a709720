"""The page of quality control in a real browser: numbers lead to items, and an opened item to its responses."""

from dataclasses import asdict

import pytest

from core.content import TextPart
from core.question import AnswerKey, Choice, Question, Step
from qc.gates import Thresholds
from qc.panel import Votes
from qc.report.build import qc_report
from qc.report.page import write_report
from warehouse.items import Draft, create_item
from warehouse.lifecycle import Action, Advance, advance
from warehouse.tables import Decision, Run
from warehouse.verdicts import Judgement, record_verdict, settle_round

pytestmark = pytest.mark.browser

HOSTILE = "</script><img src=x onerror='window.hit = 1'><script>window.hit = 1</script><!-- \u2028 通义"
NOTHING = dict.fromkeys(
    (
        *("condition_fingerprint", "error", "sent", "parameters", "served_model", "tokens_by_modality"),
        *("input_tokens", "output_tokens", "reasoning_tokens", "latency_s", "cost_usd"),
    )
)


def choice_question(text: str, task_type: str) -> Question:
    return Question(
        prompt=(TextPart(text=text),),
        kind="choice",
        choices=tuple(Choice(text=f"{number} birds {HOSTILE if number == 2 else ''}") for number in range(4)),
        answer=AnswerKey(correct=(1,)),
        task_type=task_type,
        language="en",
    )


STEPS = Question(
    prompt=(TextPart(text="Two steps."),),
    kind="multi_step",
    steps=(
        Step(ask="How many?", points=4, answer=AnswerKey(accepted=("3",))),
        Step(ask="And then?", points=6, answer=AnswerKey(accepted=("5",))),
    ),
    task_type="multi_step_reasoning",
    language="en",
)


def key_of(name: str, condition: str, place: int) -> str:
    return f"key-{name}-{condition}-{place}"


def choice_votes(name: str, condition: str, *shares: float) -> dict:
    """Four models, asked once each: the first ones for choice A, the next for B, ..."""
    found = Votes(
        condition=condition,
        key=(1,),
        solved=shares[1],
        shares=shares,
        solved_range=(shares[1], shares[1]),
        share_ranges=tuple((share, share) for share in shares),
        planned=16,
        asked=4,
        valid=4,
        families=4,
        responses=tuple(key_of(name, condition, place) for place in range(4)),
    )
    return found.model_dump(mode="json")


def step_votes(name: str, condition: str, *shares: float) -> dict:
    found = Votes(
        condition=condition,
        solved=min(shares),
        step_shares=shares,
        solved_range=(0.0, 0.0),
        planned=4,
        asked=4,
        valid=4,
        families=4,
        responses=tuple(key_of(name, condition, place) for place in range(4)),
    )
    return found.model_dump(mode="json")


@pytest.fixture
def project(workspace):
    """Three items: one that is rejected for two gates, one that round 2 passes, one with a step that leaks."""
    limits = asdict(Thresholds())
    clear = (0.25, 0.25, 0.25, 0.25)
    stories = {
        "bad": (
            choice_question("How many? " + HOSTILE, "counting"),
            [(1, "pass", (), [choice_votes("bad", "full", 0.0, 0.75, 0.25, 0.0)]),
             (2, "reject", ("unhelpful_modality",), [choice_votes("bad", "without_audio", 0.0, 0.75, 0.0, 0.25)])],
        ),
        "good": (
            choice_question("How many now?", "relative_position"),
            [(1, "pass", (), [choice_votes("good", "full", 0.0, 1.0, 0.0, 0.0)]),
             (2, "pass", (), [choice_votes("good", "without_audio", *clear)])],
        ),
        "steps": (
            STEPS,
            [(1, "pass", (), [step_votes("steps", "full", 1.0, 1.0)]),
             (2, "unknown", ("leaking_step",), [step_votes("steps", "text_only", 0.75, 0.0)])],
        ),
    }  # fmt: skip
    run = Run(command="qc round 2", fingerprint="0" * 64, host="test", process_id=1)
    with workspace.database.session() as session:
        session.add(run)
        for name, (question, judged) in stories.items():
            item, revision = create_item(session, name, Draft(question, {}, "mei"))
            advance(session, item.id, item.version, Advance(Action.SUBMIT, "mei"))
            for number, decision, codes, votes in judged:
                evidence = {"thresholds": limits, "votes": votes}
                if codes == ("leaking_step",):
                    evidence["leaking_steps"] = [1]
                told = Judgement(number, f"check{number}@1", False, Decision(decision), codes, evidence)
                verdict = record_verdict(session, revision, told)
                session.flush()
                settle_round(session, revision, verdict)
    with workspace.facts.writer("response", run.id) as writer:
        for name, (question, judged) in stories.items():
            for _, _, _, votes in judged:
                for one in votes:
                    for place, key in enumerate(one["responses"]):
                        picked = [at for at, share in enumerate(one["shares"]) for _ in range(round(4 * share))]
                        answer = "ABCD"[picked[place]] if picked else "Step 1: 3\nStep 2: 4"
                        writer.add(
                            {
                                **NOTHING, "key": key, "request_key": key, "purpose": "qc", "model": f"m{place}",
                                "family": f"f{place}", "item_name": name, "revision_id": "r", "condition": one["condition"],
                                "kind": question.kind.value, "rotation": 0, "replicate": 0, "state": "ok", "attempts": 1,
                                "answer": HOSTILE if name == "good" else answer,
                                "recorded_at": "2026-01-01T00:00:00+00:00",
                            }
                        )  # fmt: skip
    return workspace


@pytest.fixture
def page_of(chromium, project, tmp_path):
    """The page in a language, with the mistakes of its script and all that it asked for."""
    opened = []

    def show(language: str, width: int = 1440):
        context = chromium.new_context(viewport={"width": width, "height": 900})
        page = context.new_page()
        page.mistakes, page.fetched = [], []
        page.on("pageerror", lambda error: page.mistakes.append(str(error)))
        page.on("request", lambda request: page.fetched.append(request.url))
        page.goto(write_report(qc_report(project), tmp_path / language, language).as_uri())
        opened.append((context, page))
        return page

    yield show
    for context, page in opened:
        assert page.mistakes == []
        assert all(url.startswith("file:") for url in page.fetched)
        assert page.evaluate("window.hit") is None
        context.close()


def names(page) -> list[str]:
    return page.locator("#list tr.line button").all_inner_texts()


def test_filters_and_numbers_choose_items(page_of):
    page = page_of("en")
    assert names(page) == ["bad", "good", "steps"]
    page.select_option("#by-state", "rejected")
    assert names(page) == ["bad"]
    page.locator("#clear").click()
    page.select_option("#by-reason", "leaking_step")
    assert names(page) == ["steps"]
    page.locator("#clear").click()
    page.select_option("#by-task_type", "relative_position")
    assert names(page) == ["good"]
    page.locator("#funnel tbody tr").nth(1).locator("a").first.click()  # entered round 2
    assert names(page) == ["bad", "good", "steps"]
    page.locator("#funnel tbody tr").nth(1).locator("a", has_text="1").nth(0).click()  # passed it
    assert names(page) == ["good"]
    assert "Round 2: ablation study: passed" in page.inner_text("#told")
    page.locator("#decoys tbody a").first.click()
    assert names(page) == ["bad"]
    page.fill("#search", "nothing like it")
    assert names(page) == []


def test_an_opened_item_leads_from_each_number_to_its_responses(page_of):
    page = page_of("en")
    page.locator("#list tr.line button", has_text="bad").click()
    opened = page.locator("tr.opened")
    assert (
        "75% right without audio (>= 60%), but too few answers in the open probe: a person decides"
        in opened.inner_text()
    )
    votes = opened.locator("table.votes").nth(1)
    assert votes.locator("td.reached").inner_text() == "0.75"
    votes.locator("td.reached a").click()
    keys = opened.locator("table.responses code").all_inner_texts()
    assert keys == [key_of("bad", "without_audio", place) for place in range(3)]
    votes.locator("td a", has_text="0.25").click()
    assert opened.locator("table.responses code").all_inner_texts() == [key_of("bad", "without_audio", 3)]
    assert "without audio, choice D" in opened.locator(".behind").inner_text()
    marks = opened.locator("td.marks")
    assert marks.all_inner_texts() == ["B", "B", "B", "C", "B", "B", "B", "D"]
    marks.nth(3).locator("a").click()
    row = opened.locator("table.responses > tbody > tr")
    assert row.count() == 1
    assert row.locator("td").all_inner_texts()[:5] == ["m3", "with everything given", "0", "ok", "C"]
    opened.locator("button", has_text="Show all responses (8)").click()
    assert row.count() == 8
    opened.locator("button", has_text="Show all responses (8)").click()
    assert row.count() == 0
    page.locator("#list tr.line button", has_text="bad").click()
    assert page.locator("tr.opened").count() == 0


def test_why_it_stopped_stands_before_the_votes(page_of):
    page = page_of("zh")
    page.locator("#list tr.line button", has_text="steps").click()
    kinds = page.locator("tr.opened td > *").evaluate_all("all => all.map((one) => one.className || one.tagName)")
    assert kinds[:4] == ["quiet", "prompt", "stopped round1_passed", "H4"]
    assert page.inner_text("tr.opened .stopped") == (
        "第二轮：消融检验, 待定: 某一步骤缺少应需的模态仍可作答\n仅有文字：步骤 1 答对 75%（>= 60%）：由人工判定"
    )


def test_responses_stand_under_their_number_and_nothing_else_moves(page_of):
    """By keyboard, too: the same number once more puts them away."""
    page = page_of("en")
    page.locator("#list tr.line button", has_text="bad").press("Enter")
    opened = page.locator("tr.opened")
    first, last = opened.locator("table.votes td a").first, opened.locator("td.marks a").last
    for number in (last, first, last):
        number.evaluate("one => { one.scrollIntoView({ behavior: 'instant' }); one.focus({ preventScroll: true }); }")
        before = number.bounding_box()["y"]
        number.press("Enter")
        assert number.bounding_box()["y"] == pytest.approx(before, abs=1)
        follows = number.evaluate("one => one.closest('.scroll').nextElementSibling.className")
        assert (follows, opened.locator(".behind").count(), opened.locator("a.chosen").count()) == ("behind", 1, 1)
    last.press("Enter")
    assert (opened.locator(".behind").count(), opened.locator("a.chosen").count()) == (0, 0)


def test_a_filter_does_not_move_the_list(page_of):
    page = page_of("en", 1024)
    before = page.locator("#list").bounding_box()
    page.select_option("#by-state", "rejected")
    assert page.locator("#clear").is_visible()
    after = page.locator("#list").bounding_box()
    assert after["y"] - page.locator("#search").bounding_box()["y"] == before["y"] - page.evaluate(
        "document.getElementById('search').getBoundingClientRect().y"
    )


def test_steps_that_leak_are_marked(page_of):
    page = page_of("en")
    page.locator("#list tr.line button", has_text="steps").click()
    steps = page.locator("tr.opened table.steps")
    assert steps.locator("td.leaks").all_inner_texts() == ["0.75 leaks"]
    assert steps.locator("tr").all_inner_texts() == [
        "Steps\tpoints\tkey\twith everything given\twith the text alone",
        "1. How many?\t4\t3\t1.00\t0.75 leaks",
        "2. And then?\t6\t5\t1.00\t0.00",
    ]


def test_nobody_s_text_is_run_or_becomes_markup(page_of):
    page = page_of("en")
    for name in ("bad", "good"):
        page.locator("#list tr.line button", has_text=name).click()
        page.locator("tr.opened td.marks a").last.click()
    hit = "<img src=x onerror='window.hit = 1'>"
    assert page.locator("tr.opened .prompt").first.inner_text().count(hit) == 1
    assert page.locator("tr.opened .choices").first.inner_text().count(hit) == 1
    assert page.locator("tr.opened .behind").last.inner_text().count(hit) == 1
    assert page.locator("img").count() == 0
    # The list, three items, and the script itself.
    assert page.locator("script").count() == 5


@pytest.mark.parametrize("width", [1440, 1024])
@pytest.mark.parametrize("language", ["en", "zh"])
def test_it_is_readable_in_both_languages_and_widths(page_of, language, width):
    page = page_of(language, width)
    for row in range(3):
        page.locator("#list tr.line button").nth(row).click()
    assert page.evaluate("document.documentElement.scrollWidth") == width
    heads = page.locator("h2").all_inner_texts()
    assert heads[0] == {"en": "Funnel", "zh": "漏斗"}[language]
    read = page.inner_text("main")
    assert "undefined" not in read or language == "en"
    assert ("模态无用" in read, "去除音频：答对 75%（>= 60%）" in read) == (language == "zh",) * 2
