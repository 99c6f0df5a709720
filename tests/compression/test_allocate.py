import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from compression.allocate import allocate, neyman_measure, share_out
from compression.importers.base import BadPool

pytestmark = pytest.mark.filterwarnings("error")


def numbers(*values):
    return np.array(values, dtype=np.int64)


class TestByHand:
    @pytest.mark.parametrize(
        ("sizes", "total", "draws"),
        [
            ((50, 30, 20), 10, [5, 3, 2]),
            # 10 of 100 are 4.7, 3.4, 1.9 with at least two: the last is 2, the others share 8 as 47 : 34, 4.64 and 3.36.
            ((47, 34, 19), 10, [5, 3, 2]),
            # Shares 3.5, 3.5: the first of equal remainders.
            ((35, 35), 7, [4, 3]),
            # Two of the small one; 8 are left.
            ((97, 3), 10, [8, 2]),
            ((97, 1), 10, [9, 1]),
            # Two each do not fit, one each does.
            ((100, 10, 10), 4, [2, 1, 1]),
            ((100, 10, 10), 3, [1, 1, 1]),
            ((100, 10, 10), 2, [2, 0, 0]),
            ((5, 4), 9, [5, 4]),
            ((1,), 1, [1]),
        ],
    )
    def test_in_proportion_to_size(self, sizes, total, draws):
        assert allocate(numbers(*sizes), total).tolist() == draws

    def test_in_proportion_to_a_measure_up_to_what_there_is(self):
        # 9 : 1 of 20 would be 18 and 2, but the first holds 12.
        assert allocate(numbers(12, 50), 20, np.array([9.0, 1.0])).tolist() == [12, 8]

    def test_a_measure_of_nothing_still_gives_two(self):
        assert allocate(numbers(40, 40), 20, np.array([1.0, 0.0])).tolist() == [18, 2]

    def test_an_extension_keeps_what_there_is(self):
        assert allocate(numbers(50, 50), 10, at_least=numbers(8, 0)).tolist() == [8, 2]
        assert allocate(numbers(50, 50), 9, at_least=numbers(8, 0)).tolist() == [8, 1]

    @pytest.mark.parametrize(("total", "have"), [(11, (0, 0)), (5, (3, 3)), (-1, (0, 0))])
    def test_what_cannot_be_is_refused(self, total, have):
        with pytest.raises(BadPool, match=f"{total} draws are fewer than the .* or more than the 10 units"):
            allocate(numbers(6, 4), total, at_least=numbers(*have))

    def test_neyman_by_hand(self):
        # W S: 100 x 0.5, 300 x 0.1 with floor 0: 50 : 30.
        sizes, variances = numbers(100, 300), np.array([0.25, 0.01])
        assert neyman_measure(sizes, variances, floor=0).tolist() == pytest.approx([50, 30])
        assert allocate(sizes, 80, neyman_measure(sizes, variances, floor=0)).tolist() == [50, 30]
        # Pooled variance (100 x 0.25 + 300 x 0.01) / 400 = 0.07; half its root is 0.1323.
        assert neyman_measure(sizes, variances).tolist() == pytest.approx([50, 300 * 0.07**0.5 / 2])

    def test_neyman_without_any_variance_is_in_proportion(self):
        assert neyman_measure(numbers(3, 9), np.zeros(2)).tolist() == [3, 9]

    def test_neyman_beats_proportional_where_its_variances_are_the_truth(self):
        # Cochran 1977, 5.5: the least variance for the draws, here over every allocation of 12.
        sizes, deviations = np.array([40.0, 60.0]), np.array([0.5, 0.1])

        def variance(first):
            draws = np.array([first, 12 - first])
            return float(np.sum(sizes**2 * deviations**2 / draws))

        chosen = allocate(numbers(40, 60), 12, neyman_measure(numbers(40, 60), deviations**2, 0))
        assert chosen[0] == min(range(2, 11), key=variance)


@st.composite
def problems(draw):
    sizes = np.array(draw(st.lists(st.integers(1, 60), min_size=1, max_size=12)))
    have = np.array([draw(st.integers(0, int(size))) for size in sizes])
    total = draw(st.integers(int(have.sum()), int(sizes.sum())))
    measure = np.array([draw(st.floats(0, 1000)) for _ in sizes])
    return sizes, have, total, measure


@given(problems(), st.booleans())
def test_laws_of_allocation(problem, with_measure):
    sizes, have, total, measure = problem
    draws = allocate(sizes, total, measure if with_measure else None, have)
    assert draws.dtype == np.int64
    assert draws.sum() == total
    assert (draws >= have).all()
    assert (draws <= sizes).all()
    for least in (2, 1):
        if np.maximum(np.minimum(sizes, least), have).sum() <= total:
            assert (draws >= np.minimum(sizes, least)).all()
            break


@given(problems())
def test_larger_strata_get_no_less(problem):
    sizes, _, total, _ = problem
    draws = allocate(sizes, total)
    order = np.argsort(sizes, kind="stable")
    assert (np.diff(draws[order])[np.diff(sizes[order]) > 0] >= 0).all()


@given(problems(), st.data())
def test_an_extension_draws_no_fewer_of_any(problem, data):
    sizes, _, total, _ = problem
    draws = allocate(sizes, total)
    more = allocate(sizes, data.draw(st.integers(total, int(sizes.sum()))), at_least=draws)
    assert (more >= draws).all()


class TestFloors:
    def test_without_needs_it_is_in_proportion(self):
        assert share_out(numbers(50, 30, 20), 10, []).tolist() == [5, 3, 2]

    def test_by_hand(self):
        small = np.array([True, False, False])
        # 5 of the small one; the other 15 in proportion 60 : 30.
        assert share_out(numbers(10, 60, 30), 20, [(small, 5)]).tolist() == [5, 10, 5]
        # All of what there is meets a need for more.
        assert share_out(numbers(10, 60, 30), 40, [(small, 99)]).tolist() == [10, 20, 10]

    def test_labels_that_overlap_share_their_draws(self):
        first, second = np.array([True, True, False]), np.array([False, True, True])
        # Only with nearly all in the cell of both do 12 meet both needs.
        draws = share_out(numbers(20, 20, 20), 12, [(first, 10), (second, 10)])
        assert draws.tolist() == [2, 8, 2]
        assert share_out(numbers(20, 20, 20), 11, [(first, 10), (second, 10)]).tolist() == [1, 9, 1]
        with pytest.raises(BadPool, match=r"10 questions do not meet all floors.*3 kinds"):
            share_out(numbers(20, 20, 20), 10, [(first, 10), (second, 10)])

    def test_a_need_of_many_small_cells_survives_rounding(self):
        cells = numbers(*[3] * 9, 973)
        members = np.arange(10) < 9
        draws = share_out(cells, 30, [(members, 14)])
        assert (draws[:9].sum(), draws.sum(), draws.min()) == (18, 30, 2)
        assert share_out(cells, 24, [(members, 14)])[:9].sum() >= 14

    @pytest.mark.parametrize("needs", [[(numbers(1, 0) > 0, 8), (numbers(0, 1) > 0, 8)], []])
    def test_what_cannot_be_met_is_refused(self, needs):
        with pytest.raises(BadPool, match="lower the floors or keep more"):
            share_out(numbers(20, 20), 15 if needs else 1, needs)

    def test_hundreds_of_cells(self):
        rng = np.random.default_rng(0)
        cells = rng.integers(1, 60, 200)
        needs = [(np.arange(200) % 20 == one, 25) for one in range(20)]
        needs += [(np.arange(200) // 20 == one, 55) for one in range(10)]
        draws = share_out(cells, 800, needs)
        assert draws.sum() == 800
        assert all(draws[members].sum() >= need for members, need in needs)

    @given(st.data())
    def test_needs_are_met_exactly_or_refused_and_refused_only_if_they_cannot_be(self, data):
        cells = np.array(data.draw(st.lists(st.integers(1, 4), min_size=1, max_size=4)))
        total = data.draw(st.integers(1, int(cells.sum())))
        masks = st.lists(st.booleans(), min_size=len(cells), max_size=len(cells)).map(np.array).filter(np.any)
        needs = data.draw(st.lists(st.tuples(masks, st.integers(1, 10)), max_size=3))

        def meets(draws):
            return all(draws[members].sum() >= min(need, cells[members].sum()) for members, need in needs)

        every = np.stack(np.meshgrid(*[range(1, size + 1) for size in cells]), axis=-1).reshape(-1, len(cells))
        possible = [draws for draws in every if draws.sum() == total and meets(draws)]
        if not possible:
            with pytest.raises(BadPool):
                share_out(cells, total, needs)
            return
        draws = share_out(cells, total, needs)
        assert any((draws == one).all() for one in possible)
        if any((one >= np.minimum(cells, 2)).all() for one in possible):
            assert (draws >= np.minimum(cells, 2)).all()

    @given(problems())
    def test_without_needs_it_is_as_near_to_proportion_as_allocation(self, problem):
        cells, _, total, _ = problem
        assume(np.minimum(cells, 2).sum() <= total)
        shares = total * cells / cells.sum()
        found, expected = share_out(cells, total, []), allocate(cells, total)
        assert np.abs(found - shares).sum() <= np.abs(expected - shares).sum() + 1e-6
