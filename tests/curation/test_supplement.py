"""The four rules, each on candidates of which the right choice is plain."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.content import Modality
from curation.questions.scores import Scores
from curation.questions.supplement import Candidate, Target, combination, judge_subset, select_supplement

IMAGE, AUDIO = Modality.IMAGE, Modality.AUDIO


def candidate(number, task="counting", modalities=(IMAGE,), types=(), subset="s", **more):
    return Candidate(f"id{number}", f"q{number}", "set", subset, task, frozenset(modalities), frozenset(types), **more)


def select(candidates, target=None, scores=None, floor=2, size=100):
    return select_supplement(
        candidates, target or Target(), scores or {}, floor=floor, size=size, rng=np.random.default_rng(0)
    )


def points(means, count=200, seed=1):
    rng = np.random.default_rng(seed)
    return (rng.random((len(means), count)) < np.array(means)[:, None]).astype(float)


def test_quality_drops_what_has_a_problem():
    found = select([candidate(1, problems=("blurred",)), candidate(2)])
    assert found.dropped == {"id1": ("quality", "blurred")}
    assert [choice.candidate.id for choice in found.chosen] == ["id2"]


def test_comprehensiveness_fills_what_is_lacking():
    target = Target(cells={("counting", "image"): 2, ("counting", "audio"): 1, ("ocr", "image"): 0})
    candidates = [
        *(candidate(number) for number in range(5)),
        *(candidate(number, modalities=(AUDIO,)) for number in range(5, 10)),
    ]
    found = select(candidates, target)
    assert [(choice.rule, choice.candidate.cell) for choice in found.chosen] == [
        ("comprehensiveness", ("counting", "audio"))
    ]
    assert found.cells[("counting", "audio")] == (1, 2)
    assert found.open_cells == {("ocr", "image"): 2}


def test_diversity_prefers_and_then_adds_what_nothing_shows():
    target = Target(cells={("counting", "image"): 1}, material_types={"photo": 9})
    candidates = [
        candidate(1, types=("photo",)),
        candidate(2, types=("chart",)),
        candidate(3, task="ocr", types=("photo",)),
        candidate(4, types=("map",)),
    ]
    found = select(candidates, target)
    assert {choice.candidate.id: choice.rule for choice in found.chosen} in (
        {"id3": "comprehensiveness", "id2": "comprehensiveness", "id4": "diversity"},
        {"id3": "comprehensiveness", "id4": "comprehensiveness", "id2": "diversity"},
    )
    assert found.material_types == {"chart": (0, 1), "map": (0, 1), "photo": (9, 10)}


def test_discrimination_drops_subsets_that_are_too_hard_or_flat():
    assert not judge_subset("hard", points([0.24, 0.25, 0.26]), 0.25).kept
    assert judge_subset("hard", points([0.24, 0.25, 0.60]), 0.25).kept
    flat = points([0.7])
    assert not judge_subset("flat", np.repeat(flat, 4, axis=0), 0.25).kept
    few = judge_subset("few", points([0.1, 0.9], 5), None)
    assert few.kept
    assert few.why.startswith("not judged")


def test_spread_is_without_the_noise_of_the_questions():
    rng = np.random.default_rng(3)
    truth = np.linspace(0.3, 0.8, 12)
    found = [judge_subset("s", (rng.random((12, 100)) < truth[:, None]).astype(float), None).spread for _ in range(50)]
    assert np.mean(found) == pytest.approx(np.std(truth, ddof=1), abs=0.005)


@pytest.mark.parametrize(("models", "questions"), [(2, 40), (3, 30), (6, 25)])
def test_the_noise_is_that_of_the_analysis_of_variance(models, questions):
    scores = np.random.default_rng(models).random((models, questions)) + np.linspace(0, 1, models)[:, None]
    rest = scores - scores.mean(axis=0) - scores.mean(axis=1)[:, None] + scores.mean()
    mean_square = (rest**2).sum() / ((models - 1) * (questions - 1))
    variance = scores.mean(axis=1).var(ddof=1) - mean_square / questions
    assert judge_subset("s", scores, None).spread == pytest.approx(variance**0.5)


def share_dropped(truth, questions, repeats=200):
    rng = np.random.default_rng(5)
    verdicts = [
        judge_subset("s", (rng.random((len(truth), questions)) < np.array(truth)[:, None]).astype(float), None)
        for _ in range(repeats)
    ]
    return np.mean([not verdict.kept for verdict in verdicts])


def test_a_subset_is_dropped_only_where_the_scores_show_that_it_is_flat():
    # By the bound, at most 5 of 100 subsets are dropped whose models really differ by two points and more.
    assert share_dropped([0.55, 0.57, 0.59, 0.61, 0.63], 2000) <= 0.08
    # A hundred questions cannot show that two equal models are equal; ten thousand can.
    assert share_dropped([0.6, 0.6], 100) <= 0.1
    assert share_dropped([0.6] * 8, 10_000, repeats=20) >= 0.9


def test_scores_that_cannot_be_compared_do_not_count():
    scores = points([0.3, 0.9], 40)
    alone = np.full((1, 40), np.nan)
    alone[0, 3] = 1.0
    found = judge_subset("s", np.vstack([scores, alone]), None)
    assert found == judge_subset("s", scores, None)
    assert not judge_subset("s", np.vstack([scores, np.full((1, 40), np.nan)]), 0.95).kept
    apart = np.full((2, 40), np.nan)
    apart[0, :20], apart[1, 20:] = 0.0, 1.0
    assert judge_subset("s", apart, None).why == "not judged: 2 models on 0 questions"


def test_a_blunt_subset_is_dropped_whole_and_said():
    hard = Scores(("a", "b"), tuple(f"q{n}" for n in range(20)), points([0.2, 0.25], 20))
    candidates = [candidate(n, subset="hard", chance=0.25) for n in range(20)] + [candidate(99, subset="other")]
    found = select(candidates, scores={"hard": hard})
    assert found.counts() == {"added_by_comprehensiveness": 1, "dropped_by_discrimination": 20}
    assert {verdict.subset: verdict.kept for verdict in found.subsets} == {"hard": False, "other": True}


@given(
    st.lists(st.tuples(st.sampled_from("abc"), st.sets(st.sampled_from([IMAGE, AUDIO]), min_size=1)), max_size=30),
    st.integers(0, 4),
    st.integers(0, 12),
)
def test_never_more_than_asked_and_never_twice(kinds, floor, size):
    candidates = [candidate(n, task, tuple(kinds_of)) for n, (task, kinds_of) in enumerate(kinds)]
    found = select(candidates, floor=floor, size=size)
    ids = [choice.candidate.id for choice in found.chosen]
    assert len(ids) == len(set(ids)) <= size
    available = {cell: sum(one.cell == cell for one in candidates) for cell in {one.cell for one in candidates}}
    if size >= len(candidates):
        assert all(found.cells[cell][1] == min(floor, count) for cell, count in available.items())


def test_combination():
    assert combination([IMAGE, AUDIO]) == "audio+image"
    assert combination([]) == "text"
