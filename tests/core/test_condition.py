import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from core.condition import (
    FULL,
    IN_WORDS,
    OPTIONS_ONLY,
    SENSES,
    TEXT_ONLY,
    Condition,
    MissingReplacement,
    in_words,
    with_donor,
    without,
)
from core.content import MediaPart, MediaRef, Modality, TextPart, parse_prompt
from core.question import AnswerKey, Choice, Question, QuestionKind

IMAGE, AUDIO, VIDEO = SENSES


def ref(modality: str, number: int) -> MediaRef:
    return MediaRef(sha256=f"{number:064x}", media_type="x/y", modality=modality, byte_count=1)


def question(prompt, language: str = "en", kind: str = "choice") -> Question:
    choices = (Choice(text="red"), Choice(text="blue"), Choice(text="green")) if kind == "choice" else ()
    key = AnswerKey(correct=(2,)) if kind == "choice" else AnswerKey(accepted=("green",))
    return Question(prompt=prompt, kind=kind, choices=choices, answer=key, task_type="counting", language=language)


TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="<>"), max_size=8)
PLACED = st.builds("<{}_{}>".format, st.sampled_from(["image", "audio", "video"]), st.integers(1, 3))


@st.composite
def questions(draw):
    text = "".join(draw(st.lists(TEXTS | PLACED, max_size=8)))
    names = dict.fromkeys(re.findall(r"<(\w+_\d)>", text))
    media = {name: ref(name.split("_")[0], place) for place, name in enumerate(names)}
    language, kind = draw(st.sampled_from(["en", "zh-CN", "de"])), draw(st.sampled_from(["choice", "open"]))
    return question(parse_prompt(text, media), language, kind)


@st.composite
def conditions_for(draw, asked: Question):
    """Any treatment of each modality that the question holds."""
    treatments = {m: draw(st.sampled_from(["shown", "hidden", "words", "donor"])) for m in SENSES}
    shas = {m: [part.media.sha256 for part in asked.media if part.media.modality is m] for m in SENSES}
    return Condition(
        name="any",
        hidden=frozenset(m for m in SENSES if treatments[m] == "hidden"),
        words={m: {sha: draw(TEXTS) for sha in shas[m]} for m in SENSES if treatments[m] == "words"},
        donors={m: {sha: ref(m, 99) for sha in shas[m]} for m in SENSES if treatments[m] == "donor"},
    )


@given(st.data(), questions())
def test_apply_is_pure_and_touches_only_the_prompt(data, asked):
    condition = data.draw(conditions_for(asked))
    before, treatment = asked.model_dump_json(), condition.model_dump_json()
    shown = condition.apply(asked)
    assert condition.apply(asked) == shown
    assert (asked.model_dump_json(), condition.model_dump_json()) == (before, treatment)
    untouched = {"choices", "answer", "steps", "kind", "language", "task_type", "required", "asked_in"}
    assert shown.model_dump(include=untouched) == asked.model_dump(include=untouched)
    assert Question.model_validate(shown.model_dump()) == shown


@given(st.data(), questions())
def test_every_media_part_gets_the_treatment_of_its_modality(data, asked):
    condition = data.draw(conditions_for(asked))
    shown = condition.apply(asked)
    kept = {part.name: part.media for part in shown.media}
    for part in asked.media:
        modality, sha256 = part.media.modality, part.media.sha256
        if modality in condition.hidden:
            assert part.name not in kept
        elif modality in condition.words:
            assert part.name not in kept
            assert condition.words[modality][sha256] in shown.prompt_text
        elif modality in condition.donors:
            assert kept[part.name] == condition.donors[modality][sha256]
        else:
            assert kept[part.name] == part.media
    assert not shown.modalities & condition.hidden
    assert not shown.modalities & condition.words.keys()
    assert list(kept) == [part.name for part in asked.media if part.name in kept]


@given(questions())
def test_full_is_identity_and_text_only_leaves_no_media(asked):
    assert FULL.apply(asked) == asked
    assert TEXT_ONLY.apply(asked).media == ()
    assert TEXT_ONLY.apply(TEXT_ONLY.apply(asked)) == TEXT_ONLY.apply(asked)


def test_full_keeps_even_parts_that_could_be_joined():
    asked = question((TextPart(text="a"), TextPart(text="b")))
    assert FULL.apply(asked) == asked


@given(questions(), st.sampled_from(SENSES))
def test_leaving_one_modality_out_leaves_the_others(asked, modality):
    shown = without(modality).apply(asked)
    assert shown.modalities == asked.modalities - {modality}
    kept = [part for part in asked.media if part.media.modality is not modality]
    assert list(shown.media) == kept


@given(st.data(), questions(), st.integers(0, 4))
def test_treating_and_rotating_can_be_done_in_either_order(data, asked, by):
    condition = data.draw(conditions_for(asked))
    assert condition.apply(asked.rotated(by)) == condition.apply(asked).rotated(by)


def test_hidden_media_is_named_in_the_language_of_the_question():
    prompt = parse_prompt("A <image_1> B", {"image_1": ref("image", 1)})
    english, chinese = (without(IMAGE).apply(question(prompt, language)) for language in ("en", "zh-CN"))
    assert english.prompt == (TextPart(text="A [image not provided] B"),)
    assert chinese.prompt == (TextPart(text="A [未提供图片] B"),)


def test_words_stand_in_the_place_of_their_media_as_they_are():
    first, second = ref("audio", 1), ref("audio", 2)
    asked = question(parse_prompt("<audio_1>|<audio_2>", {"audio_1": first, "audio_2": second}))
    said = {first.sha256: "{braces} and <image_1>", second.sha256: "two"}
    shown = in_words("transcript_for_audio", {AUDIO: said}).apply(asked)
    assert shown.prompt_text == ("[audio described in words: {braces} and <image_1>]|[audio described in words: two]")
    assert shown.media == ()


def test_a_donor_stands_under_the_name_of_what_it_replaces():
    asked = question(parse_prompt("<video_1> <image_1>", {"video_1": ref("video", 1), "image_1": ref("image", 2)}))
    shown = with_donor(VIDEO, {ref("video", 1).sha256: ref("video", 7)}).apply(asked)
    assert shown.media == (
        MediaPart(name="video_1", media=ref("video", 7)),
        MediaPart(name="image_1", media=ref("image", 2)),
    )


def test_visual_words_stand_for_pictures_and_films_alone():
    media = {"image_1": ref("image", 1), "video_1": ref("video", 2), "audio_1": ref("audio", 3)}
    asked = question(parse_prompt("<image_1>|<video_1>|<audio_1>", media))
    seen = {IMAGE: {media["image_1"].sha256: "A cat."}, VIDEO: {media["video_1"].sha256: "It runs."}}
    shown = in_words("caption_for_visual", seen).apply(asked)
    assert shown.prompt_text == (
        "[image described in words: A cat.]|[video described in words: It runs.]|<audio_1>"
    )  # fmt: skip
    assert shown.modalities & set(SENSES) == {AUDIO}


@pytest.mark.parametrize("name", IN_WORDS)
def test_words_are_called_by_the_modalities_that_they_stand_for(name):
    modalities = IN_WORDS[name]
    condition = in_words(name, {modality: {"a" * 64: "x"} for modality in modalities})
    assert (condition.name, tuple(condition.words)) == (name, modalities)
    foreign = next(modality for modality in SENSES if modality not in modalities)
    with pytest.raises(ValueError, match=f"no words in the place of {foreign}"):
        in_words(name, {foreign: {}})


def an_image_captioned(sha256: str) -> Condition:
    return in_words("caption_for_image", {IMAGE: {sha256: "a caption"}})


def an_image_replaced(sha256: str) -> Condition:
    return with_donor(IMAGE, {sha256: ref("image", 9)})


@pytest.mark.parametrize("make", [an_image_captioned, an_image_replaced])
def test_media_without_a_replacement_is_never_shown_as_it_is(make):
    asked = question(parse_prompt("<image_1> <image_2>", {"image_1": ref("image", 1), "image_2": ref("image", 2)}))
    with pytest.raises(MissingReplacement, match="<image_2>"):
        make(ref("image", 1).sha256).apply(asked)


def test_options_only_shows_the_choices_alone():
    asked = question(parse_prompt("Look <image_1>", {"image_1": ref("image", 1)}))
    shown = OPTIONS_ONLY.apply(asked)
    assert (shown.prompt, shown.choices, shown.answer) == ((), asked.choices, asked.answer)


def test_opened_the_same_treatment_is_asked_without_choices():
    asked = question(parse_prompt("Look <image_1>", {"image_1": ref("image", 1)}))
    for condition in (FULL, TEXT_ONLY):
        shown = condition.opened().apply(asked)
        assert (shown.kind, shown.choices, shown.answer.accepted) == (QuestionKind.OPEN, (), ("green",))
        assert shown.prompt == condition.apply(asked).prompt
        assert condition.opened().fingerprint != condition.fingerprint


@pytest.mark.parametrize(
    ("treatment", "told"),
    [
        ({"hidden": {IMAGE}, "words": {IMAGE: {}}}, "treats image in two ways"),
        ({"words": {AUDIO: {}}, "donors": {AUDIO: {}}}, "treats audio in two ways"),
        ({"hidden": {Modality.TEXT}}, "text cannot be hidden"),
        ({"donors": {IMAGE: {"a" * 64: ref("audio", 1)}}}, "puts audio in the place of image"),
        ({"name": "Without Audio"}, "name"),
    ],
)
def test_treatments_that_contradict_themselves_are_refused(treatment, told):
    with pytest.raises(ValidationError, match=told):
        Condition(**{"name": "odd"} | treatment)


def test_a_condition_applies_where_it_takes_something_away():
    asked = question(parse_prompt("<image_1>", {"image_1": ref("image", 1)}))
    applies = {condition.name for condition in (FULL, TEXT_ONLY, OPTIONS_ONLY, without(AUDIO), without(IMAGE))}
    assert {c.name for c in (FULL, TEXT_ONLY, OPTIONS_ONLY, without(IMAGE)) if c.applies_to(asked)} == applies - {
        "without_audio"
    }
    assert not without(AUDIO).applies_to(asked)


def test_the_fingerprint_knows_the_words_but_not_their_order():
    one, other = {"a" * 64: "x", "b" * 64: "y"}, {"b" * 64: "y", "a" * 64: "x"}

    def fingerprint(texts):
        return in_words("caption_for_image", {IMAGE: texts}).fingerprint

    assert fingerprint(one) == fingerprint(other)
    assert fingerprint(one) != fingerprint(one | {"a" * 64: "z"})
    assert (
        Condition(name="c", hidden={AUDIO, IMAGE}).fingerprint == Condition(name="c", hidden={IMAGE, AUDIO}).fingerprint
    )
