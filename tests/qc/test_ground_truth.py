import hashlib
import re
from collections import Counter

import numpy as np
import pytest
import yaml
from scipy.stats import binom, chi2_contingency, chisquare

from annotation_ui.item_files import Record, parse_record
from core.condition import FULL, TEXT_ONLY, Condition, without
from core.content import MediaPart, MediaRef, Modality, parse_prompt
from core.question import AnswerKey, Choice, Question, QuestionKind, Step
from core.taxonomy import load_taxonomy
from evaluation.models.sim.grammar import Hearing, Sight, read
from evaluation.models.sim.member import Knobs, Member, Perceiver, SeenMedia
from evaluation.prompts import render
from interplay.demo_media import collect, gallery, materials
from qc.ground_truth import DEFAULT_MIX, Family, Materials, TooFewMaterials, TruthClass, generate, write_items

SEED = 20
SOUND_ONLY = {TruthClass.SOUND: 1.0}
CHOICES = (Family.SUM, Family.PHOTO)


@pytest.fixture(scope="module")
def media(tmp_path_factory):
    return collect(tmp_path_factory.mktemp("media"))


@pytest.fixture(scope="module")
def made_from(media):
    return materials(media)


@pytest.fixture(scope="module")
def perceiver(media):
    return Perceiver(gallery(media))


@pytest.fixture(scope="module")
def mixed(made_from):
    return generate(60, SEED, made_from)


@pytest.fixture(scope="module")
def sound(made_from):
    """Many sound items; pictures only, for they are quicker to draw and look at than films."""
    return generate(96, SEED, made_from, mix=SOUND_ONLY, families=CHOICES, sights=[Sight.DOTS])


def as_question(item):
    refs = {
        name: MediaRef(
            sha256=hashlib.sha256(file.data).hexdigest(),
            media_type=file.media_type,
            modality=Modality(name.split("_")[0]),
            byte_count=len(file.data),
        )
        for name, file in item.media.items()
    }
    return Question(
        prompt=parse_prompt(item.prompt, refs),
        kind=item.kind,
        choices=tuple(Choice(text=choice) for choice in item.choices),
        answer=AnswerKey(correct=("ABCD".index(item.answer),)) if item.answer else AnswerKey(),
        steps=tuple(
            Step(
                ask=step.ask,
                points=step.points,
                answer=AnswerKey(accepted=(step.answer, *step.accepted), grader=step.grader),
            )
            for step in item.steps
        ),
        required=frozenset(item.required),
        task_type=item.task_type,
        language=item.language,
    )


def grade(item, condition, perceiver, knobs):
    """Whether the answer, or that of each step, is what the key says."""
    question = condition.apply(as_question(item))
    parts = []
    for message in render(question):
        for part in message.parts:
            if isinstance(part, MediaPart):
                data = item.media[part.name].data
                parts.append(SeenMedia(modality=part.media.modality, media_type=part.media.media_type, data=data))
            else:
                parts.append(part.text)
    text = Member(knobs, perceiver).answer(parts).text
    if item.choices:
        return [text in (f"Answer: {item.answer}", f"答案：{item.answer}")]
    answers = [re.fullmatch(r"(?:Step |步骤)\d(?:: |：)(.+)", line)[1] for line in text.splitlines()]
    return [answer in (step.answer, *step.accepted) for step, answer in zip(item.steps, answers, strict=True)]


def right(items, condition, perceiver, knobs):
    """How many items are right in full; a function of the item gives each its own condition."""
    return sum(
        all(grade(item, condition(item) if callable(condition) else condition, perceiver, knobs)) for item in items
    )


def without_sight(item):
    return without(item.required[0])


def within(count, total, probability):
    return binom.ppf(0.0005, total, probability) <= count <= binom.ppf(0.9995, total, probability)


def of(items, truth, *, steps=False):
    chosen = [item for item in items if item.truth is truth and (item.family is Family.STEPS) == steps]
    assert chosen
    return chosen


class TestTheLaw:
    """A sound item is right with everything and right by chance without any one modality."""

    @pytest.mark.parametrize(
        "knobs", [Knobs(seed=1), Knobs(seed=2, shared_prior=0.5, own_prior=0.5), Knobs(seed=3, position_bias=1)]
    )
    def test_over_many_items(self, sound, perceiver, knobs):
        assert right(sound, FULL, perceiver, knobs) == len(sound)
        for condition in (without(Modality.AUDIO), without(Modality.IMAGE), TEXT_ONLY):
            assert within(right(sound, condition, perceiver, knobs), len(sound), 1 / 4)

    def test_films_and_both_languages(self, made_from, perceiver):
        items = generate(8, SEED, made_from, mix=SOUND_ONLY, families=CHOICES, sights=[Sight.FLASHES])
        assert {item.language for item in items} == {"en", "zh"}
        assert {item.required[0] for item in items} == {Modality.VIDEO}
        assert right(items, FULL, perceiver, Knobs()) == len(items)
        for condition in (without(Modality.AUDIO), without(Modality.VIDEO)):
            wins = sum(right(items, condition, perceiver, Knobs(seed=seed)) for seed in range(8))
            assert within(wins, 8 * len(items), 1 / 4)

    def test_what_is_seen_and_what_is_heard_are_uniform_and_independent(self, made_from):
        from qc.ground_truth_facts import Design, draw

        pairs = Counter()
        for index in range(1600):
            design = Design(TruthClass.SOUND, Family.SUM, "en", list(Sight)[index % 2], 0)
            facts = draw(design, made_from, np.random.default_rng([SEED, index]))
            pairs[facts.seen % 4, facts.heard % 4] += 1
        table = np.array([[pairs[seen, heard] for heard in range(4)] for seen in range(4)])
        assert chi2_contingency(table).pvalue > 0.001
        assert chisquare(table.sum(axis=0)).pvalue > 0.001
        assert chisquare(table.sum(axis=1)).pvalue > 0.001

    def test_steps(self, made_from, perceiver):
        items = generate(16, SEED, made_from, mix=SOUND_ONLY, families=[Family.STEPS])
        assert {item.language for item in items} == {"en", "zh"}
        for item in items:
            assert grade(item, FULL, perceiver, Knobs()) == [True, True, True]
            # Of the first two steps, one asks what is heard and one what is seen.
            assert True in grade(item, without(Modality.AUDIO), perceiver, Knobs())[:2]
            assert True in grade(item, without_sight(item), perceiver, Knobs())[:2]
        for condition in (without(Modality.AUDIO), without_sight, TEXT_ONLY):
            last = sum(
                grade(item, condition(item) if callable(condition) else condition, perceiver, Knobs(seed=4))[2]
                for item in items
            )
            assert last <= binom.ppf(0.9995, len(items), 1 / 4)

    def test_a_sound_track_gives_the_recording_away(self, made_from, perceiver):
        arguments = {"mix": SOUND_ONLY, "families": CHOICES, "sights": [Sight.FLASHES]}
        tracked, muted = (generate(4, 3, made_from, soundtrack=track, **arguments) for track in (True, False))
        assert right(tracked, without(Modality.AUDIO), perceiver, Knobs()) == 4
        assert right(muted, without(Modality.AUDIO), perceiver, Knobs()) < 4
        assert [item.prompt for item in tracked] == [item.prompt for item in muted]


class TestClasses:
    def test_redundant_items_are_answered_by_either(self, mixed, perceiver):
        items = of(mixed, TruthClass.REDUNDANT)
        for condition in (FULL, without(Modality.AUDIO), without_sight):
            assert right(items, condition, perceiver, Knobs()) == len(items)
        assert all(item.not_needed == set(item.required) for item in items)
        assert right(items, TEXT_ONLY, perceiver, Knobs()) < len(items)

    def test_leaked_items_are_answered_by_their_text(self, mixed, perceiver):
        items = of(mixed, TruthClass.LEAKED)
        for condition in (FULL, without(Modality.AUDIO), without_sight, TEXT_ONLY):
            assert right(items, condition, perceiver, Knobs()) == len(items)

    def test_in_steps_only_the_last_one_leaks(self, mixed, perceiver):
        items = of(mixed, TruthClass.LEAKED, steps=True)
        firsts = [grade(item, TEXT_ONLY, perceiver, Knobs(seed=seed)) for item in items for seed in range(10)]
        assert all(last for *_, last in firsts)
        # Of ten numbers, or a dozen photos, one is guessed.
        assert sum(first for first, *_ in firsts) <= binom.ppf(0.9995, len(firsts), 1 / 10)

    def test_partial_items_need_one_modality(self, mixed, perceiver):
        for item in of(mixed, TruthClass.PARTIAL):
            (unneeded,) = item.not_needed
            (needed,) = set(item.required) - {unneeded}
            assert grade(item, without(unneeded), perceiver, Knobs()) == [True]
            guesses = [grade(item, without(needed), perceiver, Knobs(seed=seed)) == [True] for seed in range(40)]
            assert within(sum(guesses), 40, 1 / 4)

    def test_mis_keyed_items_have_a_wrong_key_that_all_agree_on_missing(self, mixed, perceiver):
        for item in of(mixed, TruthClass.MIS_KEYED):
            assert grade(item, FULL, perceiver, Knobs()) == [False]
        for item in of(mixed, TruthClass.MIS_KEYED, steps=True):
            assert grade(item, FULL, perceiver, Knobs()) == [True, True, False]

    def test_impossible_items_are_guessed_with_everything(self, mixed, perceiver):
        items = of(mixed, TruthClass.IMPOSSIBLE)
        wins = sum(right(items, FULL, perceiver, Knobs(seed=seed)) for seed in range(10))
        assert within(wins, 10 * len(items), 1 / 4)

    def test_captions_say_what_the_media_hold(self, mixed, perceiver):
        for item in [*of(mixed, TruthClass.SOUND), *of(mixed, TruthClass.SOUND, steps=True)]:
            question = as_question(item)
            shas = {part.media.modality: part.media.sha256 for part in question.media}
            words = {
                modality: {shas[modality]: item.media[f"{modality.value}_1"].caption} for modality in item.required
            }
            assert grade(item, Condition(name="captions", words=words), perceiver, Knobs()) == [True] * max(
                1, len(item.steps)
            )


class TestGenerate:
    def test_the_mix_is_kept_and_names_are_unique(self, mixed):
        counts = Counter(item.truth for item in mixed)
        assert counts == {truth: 60 * share for truth, share in DEFAULT_MIX.items()}
        assert len({item.name for item in mixed}) == 60
        assert not any(item.truth.value in item.name for item in mixed)

    def test_every_kind_of_item_is_there(self, mixed):
        sound_ones = {
            (item.family, item.language, item.required[0]) for item in mixed if item.truth is TruthClass.SOUND
        }
        assert len(sound_ones) == 3 * 2 * 2
        heard = {term for item in mixed for term in read(item.media["audio_1"].caption).counts}
        assert heard == set(Hearing)

    def test_keys_are_balanced(self, sound):
        assert Counter(item.answer for item in sound) == dict.fromkeys("ABCD", len(sound) / 4)

    def test_choices_are_distinct_and_steps_sum_to_ten(self, mixed):
        for item in mixed:
            if item.kind is QuestionKind.CHOICE:
                assert len(set(item.choices)) == 4
            else:
                assert [step.points for step in item.steps] == [3, 3, 4]

    def test_task_types_are_known(self, mixed):
        assert {load_taxonomy().get(item.task_type).id for item in mixed} == {
            "counting",
            "relative_position",
            "event_ordering",
            "multi_step_reasoning",
        }

    def test_the_same_arguments_give_the_same_bytes(self, made_from):
        first, again, other = (generate(6, seed, made_from) for seed in (1, 1, 2))
        assert first == again
        assert first != other

    def test_media_are_small(self, mixed):
        assert max(len(file.data) for item in mixed for file in item.media.values()) < 150_000

    @pytest.mark.parametrize(
        ("photo_count", "digit_count", "said"), [(3, 9, "3 photos are too few"), (5, 8, "recording of the digit 8")]
    )
    def test_too_few_materials_are_named(self, made_from, photo_count, digit_count, said):
        few = Materials(
            photos=made_from.photos[:photo_count],
            digits={digit: made_from.digits[digit] for digit in range(digit_count)},
        )
        with pytest.raises(TooFewMaterials, match=said):
            generate(4, 0, few)


class TestWriteItems:
    def test_items_are_records_that_can_be_imported(self, mixed, tmp_path):
        file = write_items(mixed, tmp_path)
        records = yaml.safe_load(file.read_text(encoding="utf-8"))
        for item, data in zip(mixed, records, strict=True):
            written = parse_record(Record(item.name, data))
            assert (written.name, written.prompt, written.language) == (item.name, item.prompt, item.language)
            assert written.choices == list(item.choices)
            assert (written.answer or None) == item.answer
            assert set(written.required) == set(item.required)
            for placeholder, path in written.media.items():
                assert (tmp_path / path).read_bytes() == item.media[placeholder].data
            assert [step.answer for step in written.steps] == [step.answer for step in item.steps]

    def test_the_truth_stands_apart(self, mixed, tmp_path):
        file = write_items(mixed, tmp_path)
        truths = yaml.safe_load((tmp_path / "truth.yaml").read_text(encoding="utf-8"))
        assert {name: truth["truth"] for name, truth in truths.items()} == {item.name: item.truth for item in mixed}
        assert not any(
            truth.value in file.read_text(encoding="utf-8") for truth in (TruthClass.LEAKED, TruthClass.SOUND)
        )
