import io
import itertools
import json
from collections import Counter

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given
from PIL import Image
from scipy.stats import binom

from core.content import Modality
from core.media.errors import MediaError
from core.media.video import iter_frames
from evaluation.models.sim import stimuli
from evaluation.models.sim.gallery import Gallery
from evaluation.models.sim.grammar import (
    CAPTIONS,
    HINT,
    PHOTO_CAPTION,
    QUOTE_BEGINS,
    QUOTE_ENDS,
    REVIEW_ASPECTS,
    Ask,
    AskKind,
    Hearing,
    Sight,
    ask_text,
)
from evaluation.models.sim.member import (
    BadKnobs,
    Knobs,
    Member,
    Perceiver,
    SeenMedia,
    SimulatedFailure,
    SimulatedTimeout,
    read_knobs,
)
from interplay.demo_media import collect, digit_clip, digits, gallery, photos

K = 4
SUM = Ask(kind=AskKind.SUM, sight=Sight.DOTS, hearing=Hearing.NUMBER, modulus=K)
TURNED = "\nA. 2\nB. 3\nC. 0\nD. 1\nAnswer with the letter, as 'Answer: X'."
OPTIONS = "\nA. 0\nB. 1\nC. 2\nD. 3\nAnswer with the letter, as 'Answer: X'."


@pytest.fixture(scope="module")
def media(tmp_path_factory):
    return collect(tmp_path_factory.mktemp("media"))


@pytest.fixture(scope="module")
def perceiver(media):
    return Perceiver(gallery(media))


@pytest.fixture(scope="module")
def images():
    rng = np.random.default_rng(1)
    return {count: image(stimuli.dots_picture(count, rng)) for count in range(1, 2 * K + 1)}


@pytest.fixture(scope="module")
def voices(media):
    return {digit: audio(digit_clip([digit], digits(media), seed=digit)) for digit in range(1, 2 * K + 1)}


@pytest.fixture(scope="module")
def grid(media):
    return image(stimuli.grid_picture([photo.path for photo in photos(media)[:4]]))


@pytest.fixture(scope="module")
def printed():
    return image(stimuli.number_picture("5093", np.random.default_rng(2)))


@pytest.fixture(scope="module")
def film():
    return video(stimuli.numbers_video("811", np.random.default_rng(2)))


@pytest.fixture(scope="module")
def code(media):
    return audio(digit_clip([0, 4, 7], digits(media), seed=1))


def as_png(pixels):
    out = io.BytesIO()
    Image.fromarray(pixels).save(out, "PNG")
    return out.getvalue()


def image(data):
    return SeenMedia(modality=Modality.IMAGE, media_type="image/jpeg", data=data)


def audio(data):
    return SeenMedia(modality=Modality.AUDIO, media_type="audio/wav", data=data)


def video(data):
    return SeenMedia(modality=Modality.VIDEO, media_type="video/mp4", data=data)


def question(ask, language="en", options=OPTIONS):
    return ask_text(ask, language) + options


def chosen(reply):
    return "ABCD".index(reply.text.removeprefix("Answer: "))


def guesses(perceiver, knobs, texts, options=OPTIONS):
    """What a member with these knobs answers to questions that it cannot work out."""
    return [chosen(Member(knobs, perceiver).answer([f"{text}{options}"])) for text in texts]


UNKNOWN = [f"How many sisters does person {number} have?" for number in range(400)]


class TestTheLaw:
    """Over all pairs of numbers, each once, a missing modality leaves exactly one in K right."""

    def right(self, perceiver, images, voices, knobs, *, see=True, hear=True):
        member = Member(knobs, perceiver)
        right = 0
        for seen, heard in itertools.product(images, voices):
            parts = [*([images[seen]] if see else []), *([voices[heard]] if hear else []), question(SUM)]
            right += chosen(member.answer(parts)) == (seen + heard) % K
        return right

    @pytest.mark.parametrize("knobs", [Knobs(seed=3), Knobs(seed=4, shared_prior=1), Knobs(seed=5, position_bias=1)])
    def test_all_is_right_with_all_and_one_in_k_without_either(self, perceiver, images, voices, knobs):
        pairs = len(images) * len(voices)
        assert self.right(perceiver, images, voices, knobs) == pairs
        assert self.right(perceiver, images, voices, knobs, hear=False) == pairs / K
        assert self.right(perceiver, images, voices, knobs, see=False) == pairs / K
        assert self.right(perceiver, images, voices, knobs, see=False, hear=False) == pairs / K

    def test_a_left_over_sound_track_answers_what_the_recording_should(self, perceiver, media):
        ask = Ask(kind=AskKind.SUM, sight=Sight.FLASHES, hearing=Hearing.NUMBER, modulus=K)
        member = Member(Knobs(), perceiver)
        with_track, muted = [], []
        for seen, heard in itertools.product((1, 3), range(1, K + 1)):
            rng = np.random.default_rng([seen, heard])
            track = stimuli.spoken([digits(media)[heard]], rng)
            key = (seen + heard) % K
            film = stimuli.flashes_video(seen, np.random.default_rng(0), sound=track)
            with_track.append(chosen(member.answer([video(film), question(ask)])) == key)
            film = stimuli.flashes_video(seen, np.random.default_rng(0))
            muted.append(chosen(member.answer([video(film), question(ask)])) == key)
        assert (sum(with_track), sum(muted)) == (2 * K, 2)

    def test_the_recording_counts_before_the_track(self, perceiver, media, voices):
        ask = Ask(kind=AskKind.HEARD, hearing=Hearing.NUMBER)
        film = stimuli.flashes_video(
            1, np.random.default_rng(0), sound=stimuli.spoken([digits(media)[6]], np.random.default_rng(0))
        )
        assert Member(Knobs(), perceiver).answer([video(film), voices[2], question(ask, options="")]).text == "2"


class TestAnswers:
    def test_a_photo_that_a_voice_points_to(self, perceiver, media, grid, voices):
        ask = Ask(kind=AskKind.POINTED, hearing=Hearing.NUMBER)
        shown = photos(media)[:4]
        options = "\n" + "\n".join(f"{label}. {photo.label_zh}" for label, photo in zip("ABCD", shown, strict=True))
        for place in range(1, 5):
            reply = Member(Knobs(), perceiver).answer([grid, voices[place], question(ask, "zh", options)])
            assert reply.text == f"答案：{'ABCD'[place - 1]}"

    def test_without_options_it_answers_freely(self, perceiver, media, grid, voices):
        ask = Ask(kind=AskKind.POINTED, hearing=Hearing.NUMBER)
        reply = Member(Knobs(), perceiver).answer([voices[3], grid, question(ask, options="")])
        assert reply.text == photos(media)[2].label_en
        reply = Member(Knobs(), perceiver).answer([voices[3], grid, question(ask, options="\nWrite 'Answer: ...'.")])
        assert reply.text == f"Answer: {photos(media)[2].label_en}"

    def test_photos_that_follow_each_other(self, perceiver, media):
        film = video(stimuli.photos_video([photo.path for photo in photos(media)[4:8]]))
        ask = Ask(kind=AskKind.PLACED, place=2)
        assert Member(Knobs(), perceiver).answer([film, question(ask, options="")]).text == photos(media)[5].label_en

    @pytest.mark.parametrize("labels", ["PQRS", "WXYZ"])
    def test_any_labels(self, perceiver, images, voices, labels):
        options = "".join(f"\n{label}. {number}" for label, number in zip(labels, (3, 1, 0, 2), strict=True))
        reply = Member(Knobs(), perceiver).answer([images[2], voices[4], question(SUM, options=options)])
        assert reply.text == f"Answer: {labels[3]}"

    def test_steps(self, perceiver, images, voices):
        asks = [Ask(kind=AskKind.SEEN, sight=Sight.DOTS), Ask(kind=AskKind.HEARD, hearing=Hearing.NUMBER), SUM]
        english = "\n".join(f"Step {place} (3 points): {ask_text(ask, 'en')}" for place, ask in enumerate(asks, 1))
        chinese = "\n".join(f"步骤{place}（3分）：{ask_text(ask, 'zh')}" for place, ask in enumerate(asks, 1))
        member = Member(Knobs(), perceiver)
        assert member.answer([images[5], voices[6], english]).text == "Step 1: 5\nStep 2: 6\nStep 3: 3"
        assert member.answer([images[5], voices[6], chinese]).text == "步骤1：5\n步骤2：6\n步骤3：3"
        strict = Member(Knobs(strict_steps=True), perceiver)
        assert strict.answer([images[5], english]).text == "Step 1: 5\nStep 2: cannot tell\nStep 3: cannot tell"
        assert strict.answer([images[5], voices[6], english]) == member.answer([images[5], voices[6], english])

    def test_either_is_enough_when_both_give_the_same(self, perceiver, images, voices):
        ask = Ask(kind=AskKind.SAME, sight=Sight.DOTS, hearing=Hearing.NUMBER)
        member = Member(Knobs(), perceiver)
        assert {member.answer([part, question(ask)]).text for part in (images[3], voices[3])} == {"Answer: D"}

    @pytest.mark.parametrize("language", ["en", "zh"])
    def test_hints_are_read(self, perceiver, language):
        for place, option in enumerate("0123"):
            text = question(SUM, language, options="\n" + HINT[language].format(answer=option) + OPTIONS)
            assert Member(Knobs(), perceiver).answer([text]).text[-1] == "ABCD"[place]

    @pytest.mark.parametrize("language", ["en", "zh"])
    def test_captions_stand_in_for_media(self, perceiver, images, language):
        said = CAPTIONS[Hearing.NUMBER][language].format(count=7)
        text = f"[audio described in words: {said}]\n{question(SUM, language, '')}"
        assert Member(Knobs(), perceiver).answer([images[3], text]).text == "2"
        shown = PHOTO_CAPTION[language].format(place=3, label="a bee")
        ask = Ask(kind=AskKind.POINTED, hearing=Hearing.BEEPS)
        heard = CAPTIONS[Hearing.BEEPS][language].format(count=3)
        assert (
            Member(Knobs(), perceiver).answer([f"[{shown}] [{heard}]\n{question(ask, language, '')}"]).text == "a bee"
        )

    @pytest.mark.parametrize(
        ("language", "seen", "heard"),
        [
            (
                "en",
                "Describe this image in words for somebody who cannot see it: all of it.",
                "Put this recording into words for somebody who cannot hear it.",
            ),
            ("zh", "请为看不到这张图片的人用文字描述它：全部。", "请为听不到这段录音的人把它写成文字。"),
        ],
    )
    def test_a_description_stands_in_for_what_it_describes(
        self, perceiver, images, voices, grid, language, seen, heard
    ):
        member = Member(Knobs(), perceiver)
        caption, transcript = member.answer([images[5], seen]).text, member.answer([voices[2], heard]).text
        for parts in ([images[5], f"[{transcript}]"], [f"[{caption}]", voices[2]], [f"[{caption}] [{transcript}]"]):
            assert member.answer([*parts, question(SUM, language)]).text[-1] == "D"
        placed = Ask(kind=AskKind.PLACED, place=3)
        words = member.answer([grid, seen]).text
        there, told = (member.answer([part, question(placed, language, "")]).text for part in (grid, f"[{words}]"))
        assert there == told

    def test_media_that_hold_something_else_do_not_help(self, perceiver, grid, media):
        beeps = audio(stimuli.wav(stimuli.beeps(3, np.random.default_rng(0))))
        ask = Ask(kind=AskKind.POINTED, hearing=Hearing.NUMBER)
        options = "".join(f"\n{label}. {photo.label_en}" for label, photo in zip("ABCD", photos(media), strict=False))
        picks = Counter(
            Member(Knobs(seed=seed), perceiver).answer([grid, beeps, question(ask, options=options)]).text
            for seed in range(80)
        )
        assert len(picks) == 4

    def test_broken_media_are_an_error(self, perceiver):
        with pytest.raises(MediaError):
            Member(Knobs(), perceiver).answer([image(b"broken"), question(SUM)])


class TestCanaries:
    def test_report_in_the_order_received(self, perceiver, printed, code, film):
        member = Member(Knobs(), perceiver)
        for language, nothing in (("en", "none"), ("zh", "无")):
            text = ask_text(Ask(kind=AskKind.REPORT), language)
            assert member.answer([text, printed, code]).text == "5093, 047"
            assert member.answer([text, code, printed, film]).text == "047, 5093, 811"
            assert member.answer([text]).text == nothing

    def test_a_part_that_is_lost_is_missing_from_the_report(self, perceiver, printed, code, film):
        parts = [ask_text(Ask(kind=AskKind.REPORT), "en"), film, printed, code]
        for dropped, left in (("audio", "811, 5093"), ("image", "811, 047"), ("video", "5093, 047")):
            assert Member(Knobs(dropped={dropped}), perceiver).answer(parts).text == left

    def test_a_medium_without_a_number_has_its_entry(self, perceiver, images, code):
        beeps = audio(stimuli.wav(stimuli.beeps(3, np.random.default_rng(0))))
        flashes = video(stimuli.flashes_video(2, np.random.default_rng(0)))
        text = ask_text(Ask(kind=AskKind.REPORT), "en")
        assert (
            Member(Knobs(), perceiver).answer([text, images[5], code, beeps, flashes]).text == "none, 047, none, none"
        )

    @pytest.mark.parametrize("language", ["en", "zh"])
    def test_each_number_can_be_asked_for_alone(self, perceiver, printed, code, film, language):
        parts = [film, code, printed]
        for kind, answer in ((AskKind.PRINTED, "5093"), (AskKind.SHOWN, "811"), (AskKind.SPOKEN, "047")):
            assert Member(Knobs(), perceiver).answer([*parts, ask_text(Ask(kind=kind), language)]).text == answer

    def test_several_numbers_in_one_question(self, perceiver, printed, code, film):
        text = "What number is printed in the image, which digits are spoken, and which digits does the video show?"
        assert Member(Knobs(), perceiver).answer([printed, film, code, text]).text == "5093, 047, 811"

    def test_a_wrong_figure_is_the_same_in_every_call(self, perceiver, printed, film):
        wrong = Member(Knobs(perception=0), perceiver)
        text = ask_text(Ask(kind=AskKind.REPORT), "en")
        read, shown = wrong.answer([printed, film, text]).text.split(", ")
        assert all(seen != there for seen, there in zip(read + shown, "5093811", strict=True))
        assert wrong.answer([film, printed, text]).text == f"{shown}, {read}"

    def test_frames_are_a_video_and_pictures_are_pictures(self, perceiver, film):
        frames = tuple(as_png(pixels) for _, pixels in iter_frames(film.data, at_hz=2))
        listed = SeenMedia(modality=Modality.VIDEO, media_type="image/*", frames=frames)
        text = ask_text(Ask(kind=AskKind.REPORT), "en")
        assert Member(Knobs(), perceiver).answer([listed, text]).text == "811"
        assert Member(Knobs(dropped={"video"}), perceiver).answer([listed, text]).text == "none"
        entries = Member(Knobs(), perceiver).answer([*map(image, frames), text]).text.split(", ")
        assert len(entries) == len(frames)
        assert set(entries) == {"none", "8", "1"}

    @pytest.mark.parametrize(
        "note",
        [
            "[The next {} pictures are frames of <video_1>, shown at 0, 1 s.]\n",
            "[以下 {} 张图片是 <video_1> 的画面，依次取自第 0、1 秒。]\n",
        ],
    )
    def test_pictures_that_are_announced_as_frames_are_a_video(self, perceiver, film, printed, note):
        frames = [image(as_png(pixels)) for _, pixels in iter_frames(film.data, at_hz=2)]
        parts = [printed, note.format(len(frames)), *frames, printed, ask_text(Ask(kind=AskKind.REPORT), "en")]
        assert Member(Knobs(), perceiver).answer(parts).text == "5093, 811, 5093"
        # They are pictures all the same: an endpoint that loses pictures loses them.
        assert Member(Knobs(dropped={"image"}), perceiver).answer(parts).text in {"none", "无"}

    def test_a_film_with_sound_has_an_entry_for_each(self, perceiver, media):
        sound = stimuli.spoken([digits(media)[digit] for digit in (2, 6)], np.random.default_rng(0))
        film = video(stimuli.numbers_video("35", np.random.default_rng(0), sound))
        assert Member(Knobs(), perceiver).answer([film, ask_text(Ask(kind=AskKind.REPORT), "en")]).text == "35, 26"

    def test_other_words_and_a_dropping_endpoint(self, perceiver, media, images):
        code = audio(digit_clip([9, 2], digits(media), seed=1))
        text = "How many dots are in the image, and which digits do you hear? Answer none for what is not there."
        assert Member(Knobs(), perceiver).answer([text, images[6], code]).text == "6, 92"
        assert Member(Knobs(dropped={"audio"}), perceiver).answer([text, images[6], code]).text == "6, none"
        assert Member(Knobs(dropped={"image"}), perceiver).answer([text, images[6], code]).text == "none, 92"


class TestReviews:
    """A question under review is judged by what was received, and not answered."""

    def reviewed(self, text: str, language="en") -> str:
        asked = ask_text(Ask(kind=AskKind.REVIEW, nonce="0" * 16), language)
        return f"{QUOTE_BEGINS.format(marker='1' * 16)}\n{text}\n{QUOTE_ENDS.format(marker='1' * 16)}\n{asked}"

    @pytest.mark.parametrize("language", ["en", "zh"])
    def test_all_is_well_with_what_can_be_worked_out(self, perceiver, images, voices, language):
        text = self.reviewed(question(SUM, language) + HINT[language].format(answer="7"), language)
        reply = json.loads(Member(Knobs(), perceiver).answer([images[5], voices[2], text]).text)
        assert reply == {"nonce": "0" * 16, **dict.fromkeys(REVIEW_ASPECTS, True), "why": {}}

    def test_what_nothing_holds_cannot_be_answered(self, perceiver, images, voices):
        unknown = self.reviewed(UNKNOWN[0] + OPTIONS)
        for member, parts in (
            (Member(Knobs(), perceiver), [images[5], voices[2], unknown]),
            (Member(Knobs(), perceiver), [images[5], self.reviewed(question(SUM))]),
            (Member(Knobs(dropped={"audio"}), perceiver), [images[5], voices[2], self.reviewed(question(SUM))]),
        ):
            reply = json.loads(member.answer(parts).text)
            assert [aspect for aspect in REVIEW_ASPECTS if not reply[aspect]] == ["answerable"]
            assert reply["why"].keys() == {"answerable"}

    def test_the_words_are_in_the_language_of_the_question(self, perceiver):
        text = Member(Knobs(), perceiver).answer([self.reviewed("小明有几个姐妹？", "zh")]).text
        assert "素材中没有题目所问的信息。" in text

    def test_members_refuse_and_are_cut_off_as_ever(self, perceiver):
        text = self.reviewed(UNKNOWN[0])
        assert Member(Knobs(refusal=1), perceiver).answer([text]).stop == "content_filter"
        cut = Member(Knobs(truncation=1), perceiver).answer([text])
        assert cut.stop == "max_tokens"
        assert not cut.text.endswith("}")


class TestKnobs:
    def test_perception_is_the_share_of_right_percepts(self, perceiver, images, voices):
        for ask, parts in (
            (Ask(kind=AskKind.SEEN, sight=Sight.DOTS), images),
            (Ask(kind=AskKind.HEARD, hearing=Hearing.NUMBER), voices),
        ):
            text = question(ask, options="")
            right = [
                Member(Knobs(seed=seed, perception=0.8), perceiver).answer([part, text]).text == str(number)
                for number, part in parts.items()
                for seed in range(60)
            ]
            assert binom.ppf(0.0005, len(right), 0.8) <= sum(right) <= binom.ppf(0.9995, len(right), 0.8)

    def test_a_wrong_percept_is_the_same_whatever_is_asked_and_in_whatever_order(self, perceiver, images, voices):
        wrong = Member(Knobs(perception=0), perceiver)
        dots = int(wrong.answer([images[4], question(Ask(kind=AskKind.SEEN, sight=Sight.DOTS), options="")]).text)
        said = int(
            wrong.answer([voices[4], question(Ask(kind=AskKind.HEARD, hearing=Hearing.NUMBER), options="")]).text
        )
        assert dots in (3, 5)
        assert said != 4
        for turned in (OPTIONS, "\nA. 1\nB. 2\nC. 3\nD. 0"):
            label = wrong.answer([images[4], voices[4], question(SUM, options=turned)]).text[-1]
            assert f"{label}. {(dots + said) % K}" in turned

    def test_a_photo_is_taken_for_another_one(self, perceiver, media, grid):
        text = question(Ask(kind=AskKind.PLACED, place=1), options="")
        taken_for = {Member(Knobs(seed=seed, perception=0), perceiver).answer([grid, text]).text for seed in range(40)}
        labels = {photo.label_en for photo in photos(media)}
        assert taken_for < labels
        assert photos(media)[0].label_en not in taken_for
        assert len(taken_for) > 5

    def test_guesses_without_a_prior_are_even_over_places(self, perceiver):
        counts = Counter(guesses(perceiver, Knobs(seed=1), UNKNOWN))
        low, high = binom.ppf([0.0005, 0.9995], len(UNKNOWN), 1 / K)
        assert all(low <= counts[place] <= high for place in range(K))

    def test_a_shared_prior_is_shared_by_all_and_by_text(self, perceiver):
        first = guesses(perceiver, Knobs(seed=1, shared_prior=1), UNKNOWN[:60])
        assert first == guesses(perceiver, Knobs(seed=2, shared_prior=1), UNKNOWN[:60])
        assert first == [
            (place + 2) % K for place in guesses(perceiver, Knobs(seed=1, shared_prior=1), UNKNOWN[:60], TURNED)
        ]
        assert len(set(first)) == K

    def test_an_own_prior_is_by_text_and_of_one_member(self, perceiver):
        first = guesses(perceiver, Knobs(seed=1, own_prior=1), UNKNOWN[:60])
        assert first == [
            (place + 2) % K for place in guesses(perceiver, Knobs(seed=1, own_prior=1), UNKNOWN[:60], TURNED)
        ]
        agreed = sum(
            a == b for a, b in zip(first, guesses(perceiver, Knobs(seed=2, own_prior=1), UNKNOWN[:60]), strict=True)
        )
        assert agreed <= binom.ppf(0.9995, 60, 1 / K)

    def test_the_strength_of_a_prior_is_how_often_it_is_followed(self, perceiver):
        full = guesses(perceiver, Knobs(seed=1, shared_prior=1), UNKNOWN)
        half = guesses(perceiver, Knobs(seed=1, shared_prior=0.5), UNKNOWN)
        expected = 0.5 + 0.5 / K
        agreed = sum(a == b for a, b in zip(full, half, strict=True))
        assert binom.ppf(0.0005, len(full), expected) <= agreed <= binom.ppf(0.9995, len(full), expected)

    def test_position_bias_is_a_favourite_place(self, perceiver):
        counts = Counter(guesses(perceiver, Knobs(seed=1, position_bias=0.6), UNKNOWN))
        expected = 0.6 + 0.4 / K
        low, high = binom.ppf([0.0005, 0.9995], len(UNKNOWN), expected)
        assert low <= counts.most_common(1)[0][1] <= high

    def test_refusals_and_truncations_say_so(self, perceiver, images, voices):
        parts = [images[1], voices[2], question(SUM)]
        refused = Member(Knobs(refusal=1), perceiver).answer(parts)
        assert (refused.stop, "Answer" in refused.text) == ("content_filter", False)
        cut = Member(Knobs(truncation=1), perceiver).answer(parts)
        assert (cut.stop, cut.text) == ("max_tokens", "Answ")
        stops = Counter(Member(Knobs(seed=2, refusal=0.2), perceiver).answer([text]).stop for text in UNKNOWN)
        assert binom.ppf(0.0005, 400, 0.2) <= stops["content_filter"] <= binom.ppf(0.9995, 400, 0.2)

    def test_errors_come_at_their_rate_and_of_the_kinds_asked_for(self, perceiver):
        failures = Counter()
        for text in UNKNOWN:
            try:
                Member(Knobs(seed=3, error_rate=0.2, errors=("429", "timeout")), perceiver).answer([text])
            except SimulatedTimeout:
                failures["timeout"] += 1
            except SimulatedFailure as failure:
                failures[failure.status_code] += 1
        assert set(failures) == {429, "timeout"}
        assert binom.ppf(0.0005, 400, 0.2) <= failures.total() <= binom.ppf(0.9995, 400, 0.2)

    def test_another_attempt_may_succeed_and_answers_as_if_nothing_had_been(self, perceiver, images, voices):
        shaky, steady = (Member(Knobs(seed=3, error_rate=rate), perceiver) for rate in (0.5, 0.0))
        parts = [images[1], question(SUM)]
        replies, failed = [], 0
        for attempt in range(30):
            try:
                replies.append(shaky.answer(parts, attempt=attempt))
            except SimulatedFailure:
                failed += 1
        assert failed > 5
        assert len(replies) > 5
        assert set(replies) == {steady.answer(parts)}

    def test_dropped_parts_are_as_if_never_sent(self, perceiver, images, voices):
        parts = [images[1], voices[2], question(SUM)]
        for dropped, kept in (("audio", [parts[0], parts[2]]), ("image", parts[1:])):
            for seed in range(10):
                dropping = Member(Knobs(seed=seed, dropped={dropped}), perceiver)
                assert dropping.answer(parts) == Member(Knobs(seed=seed), perceiver).answer(kept)

    @pytest.mark.parametrize(
        ("kind", "error", "status"),
        [
            ("429", Exception, 429),
            ("500", Exception, 500),
            ("timeout", TimeoutError, None),
            ("hang", TimeoutError, None),
            ("cut", ConnectionError, None),
            ("garbage", ValueError, None),
        ],
    )
    def test_each_failure_is_the_error_that_a_real_client_raises(self, perceiver, kind, error, status):
        with pytest.raises(SimulatedFailure) as raised:
            Member(Knobs(error_rate=1, errors=kind), perceiver).answer(["Hello"])
        assert isinstance(raised.value, error)
        assert (raised.value.kind, raised.value.status_code) == (kind, status)

    @given(st.integers(0, 5000), st.sampled_from(["en", "zh"]))
    def test_an_answer_is_filled_up_to_its_size_in_front(self, perceiver, size, language):
        text = HINT[language].format(answer="17")
        short = Member(Knobs(), perceiver).answer([text]).text
        filled = Member(Knobs(answer_bytes=size), perceiver).answer([text]).text
        assert len(filled.encode()) == max(size, len(short.encode()))
        assert filled.endswith(short)

    def test_single_values_from_a_command_line_are_taken(self):
        knobs = Knobs.model_validate({"dropped": "audio", "errors": 429})
        assert (knobs.dropped, knobs.errors) == ({Modality.AUDIO}, ("429",))


def test_unknown_and_impossible_knobs_are_named():
    with pytest.raises(BadKnobs, match=r"here: unknown knob 'percepton'; did you mean 'perception'\?"):
        read_knobs({"percepton": 1}, "here")
    with pytest.raises(BadKnobs, match=r"here: perception: .*less than or equal to 1"):
        read_knobs({"perception": 2}, "here")


class TestWithoutPhotos:
    def test_digits_are_all_that_it_knows(self, media, grid, voices, printed, tmp_path):
        bare = Gallery.build([], digits(media))
        bare.save(tmp_path / "bare.npz")
        loaded = Gallery.load(tmp_path / "bare.npz")
        assert (loaded.labels_en, loaded.photos.shape[0]) == ((), 0)
        member = Member(Knobs(perception=0.5), loaded)
        assert member.answer([grid, question(Ask(kind=AskKind.PICTURE), options="")]).text == "cannot tell"
        member = Member(Knobs(), loaded)
        ask = Ask(kind=AskKind.POINTED, hearing=Hearing.NUMBER)
        assert member.answer([voices[3], grid, question(ask, "zh", options="")]).text == "无法判断"
        assert member.answer([voices[3], printed, ask_text(Ask(kind=AskKind.REPORT), "en")]).text == "3, 5093"


class TestDeterminism:
    KNOBS = Knobs(
        seed=9, perception=0.7, shared_prior=0.3, own_prior=0.3, position_bias=0.3, refusal=0.1, truncation=0.1
    )

    def test_replies_do_not_depend_on_what_ran_before(self, media, images, voices):
        calls = [
            ([*parts, question(SUM)], replicate)
            for parts in ([], [images[1]], [voices[2]], [images[3], voices[4]], [voices[4], images[3]])
            for replicate in ("0", "1", "2")
        ]
        member = Member(self.KNOBS, gallery(media))
        first = [member.answer(parts, replicate) for parts, replicate in calls]
        fresh = Member(self.KNOBS, gallery(media))
        again = [fresh.answer(parts, replicate) for parts, replicate in reversed(calls)]
        assert first == again[::-1]

    def test_replicates_differ(self, perceiver):
        member = Member(Knobs(seed=1), perceiver)
        picks = {member.answer([UNKNOWN[0] + OPTIONS], str(replicate)).text for replicate in range(40)}
        assert len(picks) == K

    def test_the_order_of_media_is_part_of_the_call(self, perceiver, images, voices):
        member = Member(Knobs(), perceiver)
        one = member.call_key([images[1], voices[1], "x"])
        assert one != member.call_key([voices[1], images[1], "x"])
        assert one == member.call_key([images[1], voices[1], "x"])
