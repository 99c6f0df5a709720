"""What concerns several questions at once: twin groups, an author's keys, near-duplicates in the library."""

import hashlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare

from core.content import MediaRef, parse_prompt
from core.question import AnswerKey, Choice, Question
from qc.checks.key_positions import key_position_balance
from qc.checks.near_duplicates import representatives
from qc.checks.twins import twin_problems
from qc.reasons import REASONS
from warehouse.tables import DuplicateLink


def ref(kind: str, seed: str) -> MediaRef:
    sha256 = hashlib.sha256(f"{kind} {seed}".encode()).hexdigest()
    types = {"image": "image/png", "audio": "audio/wav", "video": "video/mp4"}
    return MediaRef(sha256=sha256, media_type=types[kind], modality=kind, byte_count=9)


def member(image: str, audio: str, key: int, text: str = "Which animal?", choices=("wolf", "fox", "bear")) -> Question:
    return Question(
        prompt=parse_prompt(
            f"{text} <image_1> <audio_1>", {"image_1": ref("image", image), "audio_1": ref("audio", audio)}
        ),
        kind="choice",
        choices=tuple(Choice(text=one) for one in choices),
        answer=AnswerKey(correct=(key,)),
        task_type="human_and_animal_recognition",
        language="en",
    )


def problems(*members: Question) -> list[tuple[str, str]]:
    found = twin_problems(members)
    assert {one.code for one in found} <= REASONS.keys()
    return [(one.severity, one.code) for one in found]


ERROR, WARNING = ("error", "twins_not_counterfactual"), ("warning", "twin_media")


class TestTwins:
    def test_one_modality_changed_and_another_key_is_a_pair(self):
        assert problems(member("x", "a", 0), member("x", "b", 1)) == []
        assert problems(member("x", "a", 0), member("y", "a", 1)) == []

    def test_choices_in_another_order_tell_nothing(self):
        assert problems(member("x", "a", 0), member("x", "b", 0, choices=("fox", "bear", "wolf"))) == []

    def test_the_same_answer_under_another_letter_is_the_same_key(self):
        assert problems(member("x", "a", 0), member("x", "b", 2, choices=("fox", "bear", "wolf"))) == [ERROR]

    @pytest.mark.parametrize(
        "other",
        [member("x", "b", 0), member("x", "b", 1, text="Which one?"), member("x", "b", 1, choices=("fox", "wolf"))],
    )
    def test_the_same_key_or_other_words_can_be_answered_blind(self, other):
        assert problems(member("x", "a", 0), other) == [ERROR]

    def test_both_modalities_changed_is_a_warning_for_each(self):
        assert problems(member("x", "a", 0), member("y", "b", 1)) == [WARNING] * 2
        message = twin_problems([member("x", "a", 0), member("y", "b", 1)])[0].message
        assert message == "member 1 differs from its nearest twin in the media of image and audio, not of one modality"

    def test_nothing_changed_is_a_warning(self):
        assert problems(member("x", "a", 0), member("x", "a", 1)) == [WARNING] * 2
        assert "of nothing" in twin_problems([member("x", "a", 0), member("x", "a", 1)])[0].message

    def test_of_three_each_needs_one_near_twin(self):
        first, heard, seen = member("x", "a", 0), member("x", "b", 1), member("y", "a", 2)
        assert problems(first, heard, seen) == []
        assert problems(first, heard, member("y", "c", 2)) == [WARNING]

    def test_a_single_member_has_no_twin_yet(self):
        assert problems(member("x", "a", 0)) == problems() == []

    def test_open_questions_and_steps_are_compared_too(self):
        first, second = (
            one.model_copy(update={"kind": "open", "choices": (), "answer": AnswerKey(accepted=accepted)})
            for one, accepted in ((member("x", "a", 0), ("3", "three")), (member("x", "b", 0), ("4",)))
        )
        assert problems(first, second) == []
        assert problems(first, second.model_copy(update={"answer": AnswerKey(accepted=("4", "three"))})) == [ERROR]


def keyed(*places: int, size: int = 4) -> list[Question]:
    choices = tuple(f"animal {number}" for number in range(size))
    return [member("x", "a", place, choices=choices) for place in places]


class TestKeyPositions:
    def test_even_places_are_fine_and_one_place_is_not(self):
        assert key_position_balance(keyed(*range(4)) * 5) is None
        finding = key_position_balance(keyed(*[1] * 17, 0, 2, 3))
        assert (finding.code, finding.severity) == ("key_positions", "warning")
        assert finding.message == (
            "of 20 right choices A 1 times where 5.0 are expected, B 17 times where 5.0 are expected, "
            "C 1 times where 5.0 are expected, D 1 times where 5.0 are expected "
            f"(chi-square, p = {chisquare([1, 17, 1, 1]).pvalue:.2g})"
        )

    def test_nothing_is_said_of_fewer_than_twenty(self):
        assert key_position_balance(keyed(*[1] * 19)) is None
        assert key_position_balance(keyed(*[1] * 20)) is not None
        assert key_position_balance([]) is None

    @pytest.mark.parametrize("first", range(10, 31, 2))
    def test_the_warning_comes_where_chi_square_is_significant(self, first):
        rest = (40 - first) // 3
        keys = [0] * first + [1] * rest + [2] * rest + [3] * rest
        assert (key_position_balance(keyed(*keys)) is not None) == (chisquare([first, rest, rest, rest]).pvalue < 0.01)

    def test_many_choices_are_tested_exactly(self):
        # Each of 20 keys in one of 8 places: 2.5 a place are too few for chi-square.
        assert "exact multinomial" in key_position_balance(keyed(*[0] * 20, size=8)).message
        assert key_position_balance(keyed(*[place % 8 for place in range(20)], size=8)) is None

    def test_one_question_with_many_choices_hides_nothing(self):
        assert "A 20 times where 5.1 are expected" in key_position_balance(keyed(*[0] * 20) + keyed(9, size=10)).message

    def test_other_kinds_and_several_right_choices_are_left_out(self):
        several = [one.model_copy(update={"answer": AnswerKey(correct=(0, 1))}) for one in keyed(*[0] * 30)]
        opened = [one.as_open() for one in keyed(*[0] * 30)]
        assert key_position_balance([*several, *opened]) is None

    def test_even_authors_are_seldom_accused(self):
        rng = np.random.default_rng(1)
        accused = sum(key_position_balance(keyed(*rng.integers(0, 4, 30).tolist())) is not None for _ in range(300))
        assert accused <= 9  # P(more than 9 of 300 at a rate of .01) = .001

    @given(st.lists(st.integers(0, 3), min_size=20, max_size=60), st.randoms())
    def test_the_order_of_questions_does_not_matter(self, places, random):
        asked = keyed(*places)
        before = key_position_balance(asked)
        random.shuffle(asked)
        assert key_position_balance(asked) == before


class TestNearDuplicates:
    def link(self, workspace, run_id, *pairs):
        with workspace.database.session() as session:
            for method, (first, second) in enumerate(pairs):
                one, other = sorted([first.id, second.id])
                session.add(
                    DuplicateLink(first_id=one, second_id=other, method=f"m{method}@1", distance=0.1, run_id=run_id)
                )

    def read(self, workspace):
        with workspace.database.reading() as session:
            return representatives(session)

    def test_linked_media_have_one_representative_and_others_none(self, workspace, library):
        materials = [library.add(data) for data in self.pictures(6)]
        run_id = materials[0].run_id
        assert self.read(workspace) == {}
        self.link(workspace, run_id, materials[0:2], materials[1:3], materials[3:5])
        shas = [material.media_ref.sha256 for material in materials]
        assert self.read(workspace) == {
            **dict.fromkeys(shas[:3], min(shas[:3])),
            **dict.fromkeys(shas[3:5], min(shas[3:5])),
        }

    def pictures(self, count):
        from evaluation.models.sim.stimuli import dots_picture

        return [dots_picture(number, np.random.default_rng(number)) for number in range(1, count + 1)]
