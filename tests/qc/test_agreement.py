from collections import Counter
from fractions import Fraction
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import cohen_kappa_score

from core.content import TextPart
from core.question import AnswerKey, Question
from evaluation.metrics import RESAMPLES
from qc.agreement import Decided, agreement, alpha, alpha_interval, kappa, read_agreement, round3_decided
from warehouse.items import Draft, create_item, current_revision, get_item, revise_item
from warehouse.lifecycle import Action, Advance, advance
from warehouse.people import Role, add_user, get_user
from warehouse.tables import Decision, Verdict
from warehouse.verdicts import Judgement, record_verdict


def rng():
    return np.random.default_rng(5)


def counts_of(units):
    values = sorted({value for unit in units for value in unit})
    return np.array([[unit.count(value) for value in values] for unit in units], dtype=float)


def units_of(*observers: str):
    """Units from a row of letters for each observer; a dot is a missing one."""
    return [[value for value in unit if value != "."] for unit in zip(*observers, strict=True)]


def alpha_by_definition(units):
    """1 - D_o / D_e, counted pair by pair; None where D_e is 0."""
    paired = [unit for unit in units if len(unit) > 1]
    n = sum(map(len, paired))
    if not n:
        return None
    observed = sum(
        Fraction(sum(one != other for one, other in permutations(unit, 2)), len(unit) - 1) for unit in paired
    )
    totals = Counter(value for unit in paired for value in unit)
    expected = Fraction(sum(totals[one] * totals[other] for one, other in permutations(totals, 2)), n - 1)
    return float(1 - observed / expected) if expected else None


def decided_of(units, items=None):
    """A decision for each value; reviewer by place in its unit."""
    return [
        Decided(items[place] if items else f"i{place:04}", f"r{place:04}", f"rev{who}", value)
        for place, unit in enumerate(units)
        for who, value in enumerate(unit)
    ]


class TestAlpha:
    @pytest.mark.parametrize(
        ("observers", "published"),
        [
            # Krippendorff 2011, examples A (binary), B (nominal) and C (missing data, nominal).
            (("0100000010", "1110010000"), 0.095),
            (("aabbdcccedda", "babbbcccednd".replace("n", "d")), 0.692),
            (("123321412...", "1233224125.3", ".3332342251.", "12332441251."), 0.743),
        ],
    )
    def test_published_examples(self, observers, published):
        assert alpha(counts_of(units_of(*observers))).value == pytest.approx(published, abs=0.0005)

    @given(st.lists(st.lists(st.sampled_from("abc"), max_size=4), min_size=1, max_size=12))
    def test_it_is_the_definition(self, units):
        found = alpha(counts_of(units) if any(units) else np.zeros((len(units), 1)))
        expected = alpha_by_definition(units)
        assert found.value == (None if expected is None else pytest.approx(expected, abs=1e-12))
        assert (found.reason is None) == (expected is not None)

    def test_verdicts_that_all_say_the_same_are_no_perfect_agreement(self):
        found = alpha(np.array([[2.0], [3.0]]))
        assert (found.value, found.text) == (None, "undefined (all verdicts say the same: alpha is 0/0)")

    def test_systematic_disagreement_is_below_zero(self):
        assert alpha(counts_of([["a", "b"]] * 5)).value == pytest.approx(1 - 9 * 10 / 50)


class TestKappa:
    @pytest.mark.parametrize(
        ("both_yes", "only_first", "only_second", "neither", "published"),
        [(20, 5, 10, 15, 0.40), (45, 15, 25, 15, 0.1304), (25, 35, 5, 35, 0.2593)],
    )
    def test_published_examples(self, both_yes, only_first, only_second, neither, published):
        given_ = [("y", "y")] * both_yes + [("y", "n")] * only_first
        given_ += [("n", "y")] * only_second + [("n", "n")] * neither
        assert kappa(given_).value == pytest.approx(published, abs=0.00005)

    @given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("abc")), min_size=1, max_size=30))
    def test_it_is_scikit_learn_s(self, decisions):
        found = kappa(decisions)
        if len({value for pair in decisions for value in pair}) == 1:
            assert found.value is None
            assert found.reason == f"both always decided {decisions[0][0]!r}: kappa is 0/0"
        else:
            first, second = zip(*decisions, strict=True)
            assert found.value == pytest.approx(cohen_kappa_score(first, second), abs=1e-12)

    def test_no_shared_item(self):
        assert kappa([]).text == "undefined (they share no item)"


class TestInterval:
    def test_it_is_the_percentiles_over_items_drawn_whole(self):
        units = [list(unit) for unit in ("ab", "aa", "bb", "ab", "bba", "aa", "bb", "ba")]
        items = ["z", "z", "y", "x", "x", "w", "v", "u"]
        counts = counts_of(units)
        found = alpha_interval(counts, items, rng())
        names, drawn = sorted(set(items)), []
        for weights in rng().multinomial(len(names), [1 / len(names)] * len(names), size=RESAMPLES):
            repeats = [weights[names.index(item)] for item in items]
            drawn.append(alpha(np.repeat(counts, repeats, axis=0)).value)
        defined = [one for one in drawn if one is not None]
        low, high = np.percentile(defined, [2.5, 97.5])
        assert (found.low.value, found.high.value) == (pytest.approx(low), pytest.approx(high))
        assert (found.resamples, found.undefined) == (RESAMPLES, drawn.count(None))
        assert low < alpha(counts).value < high

    def test_few_undefined_resamples_are_counted(self):
        units = [["a", "a"]] * 36 + [["b", "b"], ["b", "b"], ["a", "b"], ["a", "b"]]
        found = alpha_interval(counts_of(units), [str(place) for place in range(40)], rng())
        # Without one of the four items that hold b: (1 - 1/10)^40 = .0148.
        assert 15 <= found.undefined <= 50 and found.low.value < found.high.value
        assert found.text.endswith(f"{found.undefined} of 2000 resamples undefined")

    def test_many_undefined_resamples_leave_no_interval(self):
        units = [["a", "a"]] * 20 + [["a", "b"]]
        found = alpha_interval(counts_of(units), [str(place) for place in range(21)], rng())
        # Without the one item that holds b: (1 - 1/21)^21 = .359.
        assert 650 <= found.undefined <= 790
        assert found.text == f"undefined (alpha is undefined in {found.undefined} of 2000 resamples)"

    def test_one_item_has_no_spread(self):
        found = alpha_interval(counts_of([["a", "b"], ["a", "a"]]), ["x", "x"], rng())
        assert found.text == "undefined (fewer than two items)"

    def test_perfect_agreement_is_not_taken_for_certainty(self):
        found = agreement(decided_of([["a", "a"], ["b", "b"]] * 20), rng()).all_verdicts
        assert found.alpha.value == 1
        assert found.interval.low.reason == "alpha is the same in every resample, which says nothing of its spread"


class TestAgreement:
    def test_a_third_verdict_is_told_apart_from_the_first_two(self):
        # Coins: half the revisions agree at once; the others get a third verdict that sides with one of the first two.
        units = [["a", "a"], ["b", "b"], ["a", "b", "a"], ["b", "a", "b"]] * 25
        found = agreement(decided_of(units), rng())
        assert found.first_two.alpha.value == pytest.approx(1 - 199 * 100 / (200**2 - 2 * 100**2))
        assert found.all_verdicts.alpha.value == pytest.approx(alpha_by_definition(units))
        assert found.all_verdicts.alpha.value > 0.19 and abs(found.first_two.alpha.value) < 0.01
        assert (found.first_two.percent.value, found.all_verdicts.percent.value) == (0.5, 100 / 200)
        assert (found.first_two.verdicts, found.all_verdicts.verdicts, found.all_verdicts.items) == (200, 250, 100)

    def test_pairs_count_what_they_share(self):
        decided = [
            Decided("x", "x1", "ana", "pass"), Decided("x", "x1", "ben", "pass"), Decided("y", "y1", "ben", "pass"),
            Decided("y", "y1", "ana", "return"), Decided("z", "z1", "cleo", "pass"), Decided("z", "z1", "ben", "pass"),
        ]  # fmt: skip
        found = {(one.first, one.second): one for one in agreement(decided, rng()).pairs}
        assert {pair: (one.shared, one.agreeing) for pair, one in found.items()} == {
            ("ana", "ben"): (2, 1), ("ana", "cleo"): (0, 0), ("ben", "cleo"): (1, 1),
        }  # fmt: skip
        assert found["ana", "ben"].kappa.value == 0
        assert found["ana", "cleo"].kappa.reason == "they share no item"
        assert found["ben", "cleo"].kappa.reason == "both always decided 'pass': kappa is 0/0"

    @pytest.mark.parametrize(
        ("decided", "why"),
        [
            ([], "fewer than two reviewers gave verdicts"),
            ([Decided("x", "x1", "ana", "pass")], "fewer than two reviewers gave verdicts"),
            ([Decided("x", "x1", "ana", "pass"), Decided("y", "y1", "ben", "pass")], "no revision has two verdicts"),
        ],
    )
    def test_without_two_verdicts_all_is_undefined(self, decided, why):
        for told in (found := agreement(decided, rng())).all_verdicts, found.first_two:
            assert {told.percent.reason, told.alpha.reason, told.interval.low.reason} == {why}

    @given(st.permutations(range(12)))
    def test_the_order_of_items_does_not_matter(self, order):
        # Thirds, fifths and sixths, whose sums in another order differ in the last digit.
        words = ("ab", "aabc", "bb", "abcc", "aabcde", "aa", "bcdefaa", "ca", "bbcdea", "bc", "aabcdef", "acbb")
        units = [list(word) for word in words]
        one = decided_of(units)
        grouped = [[each for each in one if each.revision == f"r{place:04}"] for place in order]
        assert agreement([each for group in grouped for each in group], rng()) == agreement(one, rng())


@pytest.fixture
def judged(database):
    """Items before round 3, each judged by (reviewer, decision) in turn."""
    with database.session() as session:
        for name in ("rita", "raj", "rosa"):
            add_user(session, name, frozenset({Role.REVIEWER}), actor="test")

    def draft(text: str) -> Draft:
        asked = Question(
            prompt=(TextPart(text=text),), kind="open", answer=AnswerKey(accepted=("3",)),
            task_type="counting", language="en",
        )  # fmt: skip
        return Draft(asked, {}, "mei")

    def make(name: str, *verdicts: tuple[str, str], revise: bool = False):
        with database.session() as session:
            if revise:
                item = get_item(session, name)
                revise_item(session, item, item.version, draft(f"{name} anew"))
            else:
                item, _ = create_item(session, name, draft(name))
                advance(session, item.id, item.version, Advance(Action.SUBMIT, "test"))
            for action in (Action.PASS_ROUND1, Action.PASS_ROUND2):
                advance(session, item.id, item.version, Advance(action, "test"))
            for who, decision in verdicts:
                record_verdict(session, current_revision(session, item), Judgement(3, who, True, Decision(decision)))

    return make


class TestReading:
    def test_all_revisions_with_two_people_count(self, database, judged):
        judged("zoo-1", ("rita", "return"), ("raj", "return"))
        judged("zoo-1", ("rita", "pass"), ("raj", "pass"), revise=True)
        judged("zoo-2", ("rita", "pass"), ("raj", "return"), ("rosa", "return"))
        judged("zoo-3", ("rosa", "pass"))
        with database.reading() as session:
            found = read_agreement(session, rng())
        assert (found.reviewers, found.all_verdicts.items) == (("raj", "rita", "rosa"), 2)
        assert (found.all_verdicts.revisions, found.all_verdicts.verdicts, found.first_two.verdicts) == (3, 7, 6)
        assert found.first_two.alpha.value == pytest.approx(alpha_by_definition([["r", "r"], ["p", "p"], ["p", "r"]]))
        assert [(one.first, one.second, one.shared) for one in found.pairs] == [
            ("raj", "rita", 3), ("raj", "rosa", 1), ("rita", "rosa", 1),
        ]  # fmt: skip

    def test_checks_maintainers_other_rounds_and_a_second_name_do_not_count(self, database, judged):
        judged("zoo-1", ("rita", "pass"))
        with database.session() as session:
            stored = current_revision(session, get_item(session, "zoo-1"))
            record_verdict(session, stored, Judgement(3, "solver@1", False, Decision.RETURN, ("ambiguous",)))
            # The studio calls rita by her id.
            record_verdict(session, stored, Judgement(3, get_user(session, "rita").id, True, Decision.PASS))
            # A maintainer decides between those that two reviewers gave.
            known = {"adjudicates": ["a", "b"]}
            record_verdict(session, stored, Judgement(3, "max", True, Decision.RETURN, ("ambiguous",), known))
            session.add(
                Verdict(
                    revision_id=stored.id, round=2, by_person=True, decider="raj", decision=Decision.PASS,
                    idempotency_key="k", created_at=stored.created_at,
                )
            )  # fmt: skip
        with database.reading() as session:
            assert [(one.item, one.reviewer, one.decision) for one in round3_decided(session)] == [
                ("zoo-1", "rita", "pass")
            ]
