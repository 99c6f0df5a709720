import pytest

from core.condition import FULL
from evaluation.models.catalogue import BadModelSettings, find_models
from evaluation.models.spending import NoPrice
from evaluation.solve import plan

PRICE = {"input": 1_000_000, "output": 2_000_000}  # the scripted models use 7 tokens in and 2 out: 11 dollars a call


@pytest.fixture
def items(put, questions):
    return [put(f"item-{number}", questions.choice(f"Which colour is number {number}?")) for number in range(6)]


def test_a_call_costs_its_tokens_at_the_model_s_price(items, scripted, asker, stored):
    model, _ = scripted("Answer: A", price=PRICE)
    done = asker().ask(plan([model], items[:2], [FULL]))
    assert [row["cost_usd"] for row in stored()] == [11.0, 11.0]
    assert (done.cost_usd, done.left) == (22.0, 0)


def test_without_a_price_the_cost_is_unknown_not_zero(items, scripted, asker, stored):
    done = asker().ask(plan([scripted("Answer: A")[0]], items[:1], [FULL]))
    assert stored()[0]["cost_usd"] is None and done.cost_usd is None


@pytest.mark.parametrize(("budget", "calls"), [(0.0, 0), (10.0, 1), (11.0, 1), (33.0, 3), (34.0, 3), (1000.0, 6)])
@pytest.mark.parametrize("concurrency", [1, 16])
def test_a_budget_stops_the_asking(items, scripted, asker, stored, budget, calls, concurrency):
    # Only the very first call, whose cost nobody knows yet, may pass the budget.
    model, script = scripted("Answer: A", price=PRICE)
    done = asker(budget_usd=budget, concurrency=concurrency).ask(plan([model], items, [FULL]))
    assert len(script.asked) == len(stored()) == done.asked == calls
    assert done.left == 6 - calls


def test_what_the_budget_left_is_asked_by_the_next_call(items, scripted, asker, stored):
    model, script = scripted("Answer: A", price=PRICE)
    asker(budget_usd=22.0).ask(plan([model], items, [FULL]))
    done = asker(budget_usd=1000.0).ask(plan([model], items, [FULL]))
    assert (done.asked, done.known, done.left) == (4, 2, 0)
    assert len(script.asked) == len(stored()) == 6


def test_two_models_share_one_budget(items, scripted, asker):
    models = [scripted("Answer: A", price=PRICE)[0] for _ in range(2)]
    done = asker(budget_usd=55.0).ask(plan(models, items, [FULL]))
    # The first call of each goes out before anybody knows what it costs.
    assert done.asked in (5, 6)
    assert (done.cost_usd, done.left) == (11.0 * done.asked, 12 - done.asked)


def test_a_budget_needs_prices(items, scripted, asker):
    model, script = scripted("Answer: A", name="ada")
    with pytest.raises(NoPrice, match=r"the price of model 'ada' is not known; add .* price = "):
        asker(budget_usd=5.0).ask(plan([model], items, [FULL]))
    assert script.asked == []


def test_an_endpoint_that_counts_no_tokens_ends_the_spending(items, scripted, asker, stored):
    # Its answers cost money that nobody can count.
    model, script = scripted("Answer: A", price=PRICE, name="mute")
    script.counts_tokens = False
    done = asker(budget_usd=100.0).ask(plan([model], items, [FULL]))
    assert (len(script.asked), done.left) == (1, 5)


def test_failed_calls_do_not_end_it(items, scripted, asker):
    model, script = scripted(lambda text, count: ValueError("no") if count < 4 else "Answer: A", price=PRICE)
    done = asker(budget_usd=100.0).ask(plan([model], items, [FULL]))
    assert (len(script.asked), done.left, done.failures) == (6, 0, {"api_error": 3})


def test_a_price_is_checked():
    with pytest.raises(BadModelSettings, match=r"price\.output"):
        find_models(["m"], {"m": {"provider": "a/b", "price": {"input": 1}}})


class TestReplicates:
    def test_each_is_asked_with_a_seed_of_its_own(self, items, scripted, asker, stored):
        seeds = []
        model, script = scripted(
            lambda text, count: seeds.append(script.now.seed) or "Answer: A", generate={"seed": 40}
        )
        asker(concurrency=1).ask(plan([model], items[:1], [FULL], replicates=3))
        assert seeds == [40, 41, 42]
        assert sorted(row["replicate"] for row in stored()) == [0, 1, 2]

    def test_more_replicates_ask_only_the_new_ones(self, items, scripted, asker):
        model, script = scripted("Answer: A")
        asker().ask(plan([model], items[:1], [FULL]))
        done = asker().ask(plan([model], items[:1], [FULL], replicates=3))
        assert (done.known, done.asked, len(script.asked)) == (1, 2, 3)


def test_attempts_are_counted(items, scripted, asker, stored):
    def reply(text, count):
        return RuntimeError("busy") if count < 3 else "Answer: A"

    asker(concurrency=1).ask(plan([scripted(reply)[0]], items[:2], [FULL]))
    assert sorted(row["attempts"] for row in stored()) == [1, 3]
