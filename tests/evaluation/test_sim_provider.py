import asyncio
import base64
import subprocess
import sys

import numpy as np
import pytest
from tenacity import RetryError

from core.errors import InterplayError
from evaluation.models.sim import stimuli
from evaluation.models.sim.grammar import Ask, AskKind, Hearing, Sight, ask_text
from interplay.demo_media import collect, digit_clip, digits, gallery

SUM = ask_text(Ask(kind=AskKind.SUM, sight=Sight.DOTS, hearing=Hearing.NUMBER, modulus=4), "en")
OPTIONS = "\n\nA. 3\nB. 2\nC. 1\nD. 0\nAnswer with the letter of the right option on the last line, as 'Answer: X'."


@pytest.fixture(scope="module")
def media(tmp_path_factory):
    return collect(tmp_path_factory.mktemp("media"))


@pytest.fixture(scope="module")
def gallery_file(media, tmp_path_factory):
    file = tmp_path_factory.mktemp("gallery") / "gallery.npz"
    gallery(media).save(file)
    return str(file)


def url(media_type, data):
    return f"data:{media_type};base64,{base64.b64encode(data).decode()}"


@pytest.fixture(scope="module")
def messages(media):
    from inspect_ai.model import ChatMessageSystem, ChatMessageUser, ContentAudio, ContentImage, ContentText

    dots = stimuli.dots_picture(3, np.random.default_rng(0))
    return [
        ChatMessageSystem(content="You are being examined."),
        ChatMessageUser(
            content=[
                ContentText(text="Look: "),
                ContentImage(image=url("image/jpeg", dots)),
                ContentText(text="\nListen: "),
                ContentAudio(audio=url("audio/wav", digit_clip([6], digits(media), seed=0)), format="wav"),
                ContentText(text=f"\n{SUM}{OPTIONS}"),
            ]
        ),
    ]


def ask(gallery_file, messages, *, config=None, **arguments):
    from inspect_ai.model import GenerateConfig, get_model

    import evaluation.models.sim.provider  # noqa: F401 - registers it

    model = get_model(
        "interplay-sim/anna",
        gallery=gallery_file,
        config=GenerateConfig(**(config or {})),
        memoize=False,
        **arguments,
    )
    return asyncio.run(model.generate(messages))


def test_it_answers_by_the_bytes_that_it_receives(gallery_file, messages):
    output = ask(gallery_file, messages)
    assert (output.completion, output.stop_reason, output.model) == ("Answer: C", "stop", "anna")


def test_a_video_is_watched(gallery_file):
    from inspect_ai.model import ChatMessageUser, ContentText, ContentVideo

    film = stimuli.flashes_video(4, np.random.default_rng(0))
    text = ask_text(Ask(kind=AskKind.SEEN, sight=Sight.FLASHES), "zh")
    content = [ContentText(text=text), ContentVideo(video=url("video/mp4", film), format="mp4")]
    assert ask(gallery_file, [ChatMessageUser(content=content)]).completion == "4"


def test_usage_counts_only_what_was_received(gallery_file, messages):
    full, deaf = ask(gallery_file, messages), ask(gallery_file, messages, dropped=["audio"])
    assert full.usage.input_tokens - deaf.usage.input_tokens == 128
    assert full.usage.total_tokens == full.usage.input_tokens + full.usage.output_tokens


def test_refusals_and_truncations_have_their_stop_reasons(gallery_file, messages):
    assert ask(gallery_file, messages, refusal=1).stop_reason == "content_filter"
    cut = ask(gallery_file, messages, truncation=1)
    assert (cut.stop_reason, cut.completion) == ("max_tokens", "Answ")


def test_the_seed_of_the_request_is_the_replicate(gallery_file):
    question = "How many sisters does Mia have?" + OPTIONS
    picks = {ask(gallery_file, question, config={"seed": seed}).completion for seed in range(30)}
    assert len(picks) == 4
    assert len({ask(gallery_file, question, config={"seed": 1}).completion for _ in range(3)}) == 1


def test_failures_are_retried_as_inspect_retries_real_ones(gallery_file, messages):
    for seed in range(12):
        shaky = ask(gallery_file, messages, seed=seed, error_rate=0.5, config={"max_retries": 5, "seed": seed})
        assert shaky.completion == "Answer: C"


@pytest.mark.parametrize(
    ("kind", "status", "decision"),
    [
        ("429", 429, "rate_limit"),
        ("500", 500, "transient"),
        ("timeout", None, "transient"),
        ("hang", None, "transient"),
        ("cut", None, "transient"),
    ],
)
def test_each_failure_looks_like_the_real_one(gallery_file, messages, kind, status, decision):
    from evaluation.models.sim.provider import SimulatedAPI

    with pytest.raises(RetryError) as raised:
        ask(gallery_file, messages, error_rate=1, errors=[kind], config={"max_retries": 0})
    failure = raised.value.last_attempt.exception()
    verdict = SimulatedAPI("anna", gallery=gallery_file).should_retry(failure)
    assert (failure.status_code, verdict.retry, verdict.kind) == (status, True, decision)
    assert isinstance(failure, TimeoutError) == (kind in ("timeout", "hang"))
    assert isinstance(failure, ConnectionError) == (kind == "cut")


def test_garbage_is_not_asked_for_again(gallery_file, messages):
    for _ in range(2):
        with pytest.raises(ValueError, match="garbage at attempt 1"):
            ask(gallery_file, messages, error_rate=1, errors=["garbage"])


def test_without_a_limit_an_endpoint_that_never_recovers_is_given_up(gallery_file, messages):
    with pytest.raises(Exception, match="at attempt 6"):
        ask(gallery_file, messages, error_rate=1, errors=["500"])


def test_a_failed_call_fails_again_when_asked_anew(gallery_file, messages):
    from inspect_ai.model import GenerateConfig, get_model

    import evaluation.models.sim.provider  # noqa: F401 - registers it

    def outcomes():
        config = GenerateConfig(max_retries=0)
        model = get_model("interplay-sim/anna", gallery=gallery_file, error_rate=0.5, config=config, memoize=False)
        for number in [*range(20), *range(20)]:
            try:
                yield asyncio.run(model.generate(f"How many sisters does person {number} have?{OPTIONS}")).completion
            except RetryError as error:
                yield str(error.last_attempt.exception())

    seen = list(outcomes())
    assert seen[:20] == seen[20:]
    assert any("simulated failure" in outcome for outcome in seen)
    assert any("Answer" in outcome for outcome in seen)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({}, "needs the argument gallery"),
        ({"gallery": "nowhere.npz"}, "no gallery"),
        ({"gallery": True, "percepton": 1}, "'anna': unknown knob 'percepton'; did you mean 'perception'"),
    ],
)
def test_wrong_arguments_are_named(gallery_file, arguments, said):
    from evaluation.models.sim.provider import SimulatedAPI

    if arguments.get("gallery") is True:
        arguments = arguments | {"gallery": gallery_file}
    with pytest.raises(InterplayError, match=said):
        SimulatedAPI("anna", **arguments)


def test_importing_evaluation_or_a_member_loads_no_inspect_ai():
    code = "import sys, evaluation.models.sim.member; print(*(name in sys.modules for name in ('inspect_ai', 'torch')))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "False"]
