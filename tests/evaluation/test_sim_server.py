import asyncio
import base64
import io
import itertools
import json
import socket
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from urllib.parse import urlsplit

import httpx
import numpy as np
import openai
import pytest
from PIL import Image
from scipy.stats import binom

from core.media.video import iter_frames
from evaluation.models.sim import stimuli
from evaluation.models.sim.gallery import Gallery
from evaluation.models.sim.grammar import Ask, AskKind, ask_text
from evaluation.models.sim.member import MOST_RETRIES, Knobs, Member, SeenMedia
from evaluation.models.sim.server import CannotListen, listen, serving
from evaluation.models.sim.spoken_digits import installed_digits

REPORT = ask_text(Ask(kind=AskKind.REPORT), "en")
NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
MEMBERS = {
    "perfect": Knobs(),
    "deaf": Knobs(dropped={"audio"}),
    "blind": Knobs(dropped={"image", "video"}),
    "shy": Knobs(refusal=1),
    "hasty": Knobs(truncation=1),
    "talkative": Knobs(answer_bytes=3_000_000),
    "slow": Knobs(latency_s=600),
    "shaky": Knobs(seed=7, error_rate=0.5, errors=("429", "500", "timeout", "cut", "garbage")),
    **{
        f"always-{kind}": Knobs(error_rate=1, errors=kind, retry_after_s=0.01)
        for kind in ("429", "500", "timeout", "hang", "cut", "garbage")
    },
}


@pytest.fixture(scope="module")
def known():
    return Gallery.build([], installed_digits())


@pytest.fixture(scope="module")
def base_url(known):
    ids = itertools.count()
    with serving(MEMBERS, known, most_body_bytes=500_000, clock=lambda: NOON, new_id=lambda: f"{next(ids)}") as address:
        yield address


@pytest.fixture(scope="module")
def client(base_url):
    with openai.OpenAI(base_url=base_url, api_key="unneeded", max_retries=0) as opened:
        yield opened


@pytest.fixture(scope="module")
def http(base_url):
    with httpx.Client(base_url=base_url, timeout=60) as opened:
        yield opened


@pytest.fixture(scope="module")
def code():
    recordings = [installed_digits()[digit] for digit in (0, 4, 7)]
    return stimuli.wav(stimuli.spoken(recordings, np.random.default_rng(1)))


@pytest.fixture(scope="module")
def printed():
    return stimuli.number_picture("5093", np.random.default_rng(2))


@pytest.fixture(scope="module")
def film():
    return stimuli.numbers_video("811", np.random.default_rng(2))


def encoded(data):
    return base64.b64encode(data).decode()


def url(media_type, data):
    return f"data:{media_type};base64,{encoded(data)}"


def text(said):
    return {"type": "text", "text": said}


def image(data, media_type="image/jpeg"):
    return {"type": "image_url", "image_url": {"url": url(media_type, data), "detail": "high"}}


def audio(data):
    return {"type": "input_audio", "input_audio": {"data": encoded(data), "format": "wav"}}


def video(data):
    return {"type": "video_url", "video_url": {"url": url("video/mp4", data)}}


def user(*parts):
    return [{"role": "user", "content": list(parts)}]


def body(content, model="perfect", **fields):
    return {"model": model, "messages": [{"role": "user", "content": content}], **fields}


def post(http, content, model="perfect", **fields):
    return http.post("/chat/completions", json=body(content, model, **fields))


def said(http, *parts, model="perfect"):
    reply = post(http, list(parts), model)
    assert reply.status_code == 200, reply.text
    return reply.json()["choices"][0]["message"]["content"]


def problem(reply, status):
    assert reply.status_code == status
    assert reply.headers["content-type"] == "application/json"
    error = reply.json()["error"]
    assert set(error) == {"message", "type", "param", "code"}
    return error


class TestParts:
    def test_the_openai_client_sends_and_reads_everything(self, client, printed, code, film):
        parts = [image(printed), audio(code), video(film), text(REPORT)]
        answer = client.chat.completions.create(model="perfect", messages=user(*parts))
        assert answer.choices[0].message.content == "5093, 047, 811"
        assert (answer.choices[0].finish_reason, answer.choices[0].message.role) == ("stop", "assistant")
        assert (answer.object, answer.model) == ("chat.completion", "perfect")
        assert answer.created == int(NOON.timestamp())
        again = client.chat.completions.create(model="perfect", messages=user(*parts))
        assert again.id != answer.id
        assert again.choices == answer.choices

    def test_the_order_of_parts_is_kept(self, http, printed, code, film):
        parts = {"5093": image(printed), "047": audio(code), "811": video(film)}
        for order in itertools.permutations(parts):
            assert said(http, *(parts[name] for name in order), text(REPORT)) == ", ".join(order)
            assert said(http, text(REPORT), *(parts[name] for name in order)) == ", ".join(order)

    def test_several_messages_and_plain_text_are_one_conversation(self, http, printed, code):
        messages = [
            {"role": "system", "content": REPORT},
            {"role": "user", "content": [audio(code)]},
            {"role": "assistant", "content": None},
            {"role": "user", "content": [image(printed)]},
        ]
        reply = http.post("/chat/completions", json={"model": "perfect", "messages": messages})
        assert reply.json()["choices"][0]["message"]["content"] == "047, 5093"

    def test_every_way_of_sending_a_sound(self, http, code):
        for data in (encoded(code), url("audio/wav", code), f"data:;base64,{encoded(code)}"):
            part = {"type": "input_audio", "input_audio": {"data": data, "format": "wav"}}
            assert said(http, part, text(REPORT)) == "047"
        part = {"type": "audio_url", "audio_url": {"url": url("audio/wav", code)}}
        assert said(http, part, text(REPORT)) == "047"

    def test_frames_of_a_video_in_one_part_and_as_pictures(self, http, film):
        frames = []
        for _, pixels in iter_frames(film, at_hz=2):
            out = io.BytesIO()
            Image.fromarray(pixels).save(out, "JPEG")
            frames.append(out.getvalue())
        listed = {"type": "video", "video": [url("image/jpeg", frame) for frame in frames], "fps": 2}
        assert said(http, listed, text(REPORT)) == "811"
        entries = said(http, *map(image, frames), text(REPORT)).split(", ")
        assert (len(entries), set(entries)) == (len(frames), {"none", "8", "1"})

    def test_a_sound_track_that_was_left_in_the_film_is_heard(self, http, code):
        track = stimuli.spoken([installed_digits()[5]], np.random.default_rng(0))
        question = text("Which digits are spoken? Answer none if there is no voice.")
        loud = stimuli.numbers_video("1", np.random.default_rng(0), track)
        muted = stimuli.numbers_video("1", np.random.default_rng(0))
        assert (said(http, video(loud), question), said(http, video(muted), question)) == ("5", "none")

    def test_a_dropping_endpoint_reports_what_it_received(self, http, printed, code, film):
        parts = [image(printed), audio(code), video(film), text(REPORT)]
        assert said(http, *parts, model="deaf") == "5093, 811"
        assert said(http, *parts, model="blind") == "047"
        assert said(http, audio(code), text(REPORT), model="deaf") == "none"
        # What an endpoint drops it never looks at.
        assert said(http, audio(b"no sound"), text(REPORT), model="deaf") == "none"

    def test_a_member_answers_over_the_wire_as_it_does_in_process(self, known, http, printed):
        parts = [SeenMedia(modality="image", media_type="image/jpeg", data=printed), f"Who?\nA. 1\nB. 2\n{REPORT}"]
        answer = post(http, [image(printed), text(parts[1])], seed=5).json()["choices"][0]["message"]["content"]
        assert answer == Member(Knobs(), known).answer(parts, "5").text


class TestReplies:
    def test_reasons_to_stop(self, http):
        reasons = {
            name: post(http, REPORT, name).json()["choices"][0]["finish_reason"] for name in ("perfect", "shy", "hasty")
        }
        assert reasons == {"perfect": "stop", "shy": "content_filter", "hasty": "length"}
        assert post(http, REPORT, "hasty").json()["choices"][0]["message"]["content"] == "no"

    def test_usage_counts_each_modality_that_arrived(self, client, http, printed, code, film):
        parts = [image(printed), audio(code), video(film), text(REPORT)]
        usage = client.chat.completions.create(model="perfect", messages=user(*parts)).usage
        details = usage.prompt_tokens_details.model_dump()
        kinds = ("text_tokens", "image_tokens", "audio_tokens", "video_tokens")
        assert all(details[kind] > 0 for kind in kinds)
        assert sum(details[kind] for kind in kinds) == usage.prompt_tokens
        assert usage.total_tokens == usage.prompt_tokens + usage.completion_tokens
        twice = post(http, [*parts, image(printed)]).json()["usage"]["prompt_tokens_details"]
        assert twice["image_tokens"] == 2 * details["image_tokens"]
        deaf = post(http, parts, "deaf").json()["usage"]["prompt_tokens_details"]
        assert (deaf["audio_tokens"], deaf["image_tokens"]) == (0, details["image_tokens"])

    def test_the_seed_of_the_request_is_the_replicate(self, http):
        question = "How many sisters does Mia have?\nA. 1\nB. 2\nC. 3\nD. 4"
        picks = [post(http, question, seed=seed).json()["choices"][0]["message"]["content"] for seed in range(30)]
        assert len(set(picks)) == 4
        assert picks == [
            post(http, question, seed=seed).json()["choices"][0]["message"]["content"] for seed in range(30)
        ]

    def test_models_are_listed(self, client):
        assert [model.id for model in client.models.list()] == list(MEMBERS)

    def test_a_large_answer_arrives_whole(self, http):
        content = said(http, text(REPORT), model="talkative")
        assert (len(content), content[-4:]) == (3_000_000, "none")


class TestStreams:
    def test_deltas_make_the_same_answer(self, client, printed, film):
        parts = [image(printed), video(film), text(REPORT)]
        chunks = list(client.chat.completions.create(model="perfect", messages=user(*parts), stream=True))
        assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks) == "5093, 811"
        assert chunks[0].choices[0].delta.role == "assistant"
        assert [chunk.choices[0].finish_reason for chunk in chunks] == [None] * (len(chunks) - 1) + ["stop"]
        assert len({chunk.id for chunk in chunks}) == 1
        assert all(chunk.object == "chat.completion.chunk" and chunk.usage is None for chunk in chunks)

    def test_usage_comes_last_where_it_is_asked_for(self, client, http, printed):
        asked = {"messages": user(image(printed), text(REPORT)), "model": "perfect"}
        options = {"include_usage": True}
        chunks = list(client.chat.completions.create(**asked, stream=True, stream_options=options))
        assert chunks[-1].choices == []
        whole = http.post("/chat/completions", json=asked).json()["usage"]
        assert chunks[-1].usage.model_dump(exclude_unset=True) == whole
        assert all(chunk.usage is None for chunk in chunks[:-1])

    def test_the_bytes_are_server_sent_events_that_end_with_done(self, http):
        reply = post(http, REPORT, stream=True)
        assert reply.headers["content-type"].startswith("text/event-stream")
        events = reply.text.split("\n\n")
        assert events[-2:] == ["data: [DONE]", ""]
        assert all(json.loads(event.removeprefix("data: "))["model"] == "perfect" for event in events[:-2])

    @pytest.mark.parametrize(("model", "reason"), [("shy", "content_filter"), ("hasty", "length")])
    def test_other_reasons_to_stop(self, client, model, reason):
        *_, last = client.chat.completions.create(model=model, messages=user(text(REPORT)), stream=True)
        assert last.choices[0].finish_reason == reason

    def test_a_large_answer_comes_in_pieces(self, client):
        chunks = client.chat.completions.create(model="talkative", messages=user(text(REPORT)), stream=True)
        sizes = [len(chunk.choices[0].delta.content or "") for chunk in chunks]
        assert sum(sizes) == 3_000_000
        assert max(sizes) < 100_000


BROKEN = {
    "a type that is another": (image(b"x", "audio/wav"), "'audio/wav' where image/... is needed"),
    "an address": ({"type": "image_url", "image_url": {"url": "https://a.example/b.png"}}, "only data URLs"),
    "no base64": ({"type": "video_url", "video_url": {"url": "data:video/mp4,abc"}}, "not in base64"),
    "bad base64": ({"type": "input_audio", "input_audio": {"data": "a*b=", "format": "wav"}}, "bad base64"),
    "no bytes": ({"type": "audio_url", "audio_url": {"url": "data:audio/wav;base64,"}}, "no bytes"),
    "an unknown format": (
        {"type": "input_audio", "input_audio": {"data": "AAAA", "format": "doc"}},
        "'doc' is unknown",
    ),
    "no picture": (image(b"no picture"), "cannot be decoded"),
    "no sound": (audio(b"no sound"), "cannot be decoded"),
    "no film": (video(b"no film"), "cannot be decoded"),
    "a broken frame": (
        {"type": "video", "video": [url("image/jpeg", b"broken")]},
        "cannot be decoded",
    ),
    "an unknown part": ({"type": "smell", "smell": {}}, "'smell'"),
    "a part without its content": ({"type": "image_url"}, "Field required"),
}


class TestMistakes:
    @pytest.mark.parametrize("mistake", BROKEN)
    def test_a_broken_part_is_named(self, http, printed, mistake):
        part, told = BROKEN[mistake]
        error = problem(post(http, [text("Look"), image(printed), part]), 400)
        assert error["message"].startswith("messages[0].content[2]")
        assert told in error["message"]
        assert error["type"] == "invalid_request_error"

    def test_cut_media_are_an_error_not_an_answer(self, http, film):
        assert "content[0]" in problem(post(http, [video(film[: len(film) // 2]), text(REPORT)]), 400)["message"]

    @pytest.mark.parametrize(
        ("sent", "told"),
        [
            (b"{", "no JSON"),
            (b"\xff", "no JSON"),
            (b"[]", "the body: "),
            (b'{"model": "perfect"}', "messages"),
            (b'{"model": "perfect", "messages": []}', "messages"),
            (b'{"messages": [{"role": "user", "content": "Hi"}]}', "model"),
            (b'{"model": "perfect", "n": 2, "messages": [{"role": "user", "content": "Hi"}]}', "n: "),
            (b'{"model": "perfect", "messages": [{"role": "user", "content": 5}]}', "messages[0].content"),
        ],
    )
    def test_a_body_that_is_no_request_is_told_so(self, http, sent, told):
        assert told in problem(http.post("/chat/completions", content=sent), 400)["message"]

    def test_an_unknown_model_is_told_the_nearest(self, http, client):
        error = problem(post(http, "Hi", "perfekt"), 404)
        assert (error["code"], error["param"]) == ("model_not_found", "model")
        assert "did you mean 'perfect'" in error["message"]
        with pytest.raises(openai.NotFoundError, match="did you mean"):
            client.chat.completions.create(model="perfekt", messages=user(text("Hi")))

    def test_a_request_that_is_too_large(self, http):
        error = problem(post(http, "x" * 500_000), 413)
        assert "at most 500000" in error["message"]
        assert post(http, "x" * 499_000).status_code == 200

    def test_other_routes_are_errors_of_the_same_form(self, http):
        assert "GET /v1/chat/completions" in problem(http.get("/chat/completions"), 405)["message"]
        problem(http.get("/nowhere"), 404)

    def test_the_key_is_asked_for_where_there_is_one(self, known):
        with serving({"perfect": Knobs()}, known, api_key="right") as address:
            with pytest.raises(openai.AuthenticationError, match="incorrect API key"):
                openai.OpenAI(base_url=address, api_key="wrong", max_retries=0).models.list()
            keyed = openai.OpenAI(base_url=address, api_key="right", max_retries=0)
            assert keyed.chat.completions.create(model="perfect", messages=user(text(REPORT))).choices
            assert "no API key" in problem(httpx.post(f"{address}/chat/completions", json=body("Hi")), 401)["message"]
            assert httpx.get(f"{address.removesuffix('/v1')}/health").json() == {"status": "ok"}

    def test_a_taken_port_is_named(self):
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = taken.getsockname()[1]
            with pytest.raises(CannotListen, match=f"port {port} of 127.0.0.1 is taken; .*--port"):
                listen("127.0.0.1", port)
        with pytest.raises(CannotListen, match="cannot listen on"):
            listen("203.0.113.1", 0)


def outcome(http, question, model="shaky", **fields):
    """What a caller sees: a status, or the class of what its client raises."""
    try:
        reply = post(http, question, model, **fields)
        reply.json()
    except (httpx.RemoteProtocolError, ValueError) as error:
        return type(error).__name__
    return str(reply.status_code)


class TestFailures:
    @pytest.mark.parametrize(
        ("kind", "error"),
        [
            ("429", openai.RateLimitError),
            ("500", openai.InternalServerError),
            ("timeout", openai.InternalServerError),
            ("cut", httpx.RemoteProtocolError),
            ("garbage", ValueError),
        ],
    )
    def test_each_is_what_a_client_knows(self, client, kind, error):
        with pytest.raises((error, openai.APIConnectionError) if kind == "cut" else error):
            client.chat.completions.create(model=f"always-{kind}", messages=user(text("Hi")))

    def test_status_and_headers(self, http):
        limited = post(http, "Hi", "always-429")
        assert problem(limited, 429)["code"] == "rate_limit_exceeded"
        assert limited.headers["retry-after"] == "0.01"
        assert problem(post(http, "Hi", "always-500"), 500)["type"] == "server_error"
        assert problem(post(http, "Hi", "always-timeout"), 504)["code"] == "timeout"

    def test_garbage_is_neither_text_nor_json(self, http):
        for stream in (False, True):
            reply = post(http, "Hi", "always-garbage", stream=stream)
            assert reply.status_code == 200
            with pytest.raises(UnicodeDecodeError):
                reply.content.decode()

    def test_the_connection_is_cut_in_the_middle_of_the_body_and_of_the_stream(self, http):
        for stream in (False, True):
            received = b""
            with http.stream("POST", "/chat/completions", json=body("Hi", "always-cut", stream=stream)) as reply:
                assert reply.status_code == 200
                with pytest.raises(httpx.RemoteProtocolError):
                    for piece in reply.iter_raw():
                        received += piece
            assert received
            assert b"[DONE]" not in received

    def test_a_caller_that_goes_away_while_it_sends_is_no_bug(self, known, caplog):
        begun = b"POST /v1/chat/completions HTTP/1.1\r\nHost: here\r\nContent-Length: 100\r\n\r\n{"
        with serving({"perfect": Knobs()}, known) as address:
            place = urlsplit(address)
            with socket.create_connection((place.hostname, place.port)) as caller:
                caller.sendall(begun)
            assert httpx.get(f"{address}/models").status_code == 200
        assert caplog.records == []

    @pytest.mark.parametrize("model", ["always-hang", "slow"])
    def test_one_that_hangs_is_left_by_the_caller_and_blocks_neither_others_nor_the_end(self, known, model):
        async def hang(address):
            async with httpx.AsyncClient(base_url=address, timeout=None) as opened:
                waiting = asyncio.create_task(opened.post("/chat/completions", json=body("Hi", model)))
                other = await opened.post("/chat/completions", json=body(REPORT))
                with pytest.raises(httpx.ReadTimeout):
                    await opened.post("/chat/completions", json=body("Hi", model), timeout=httpx.Timeout(9, read=0.05))
                return other.status_code, waiting.done(), waiting.cancel()

        content = json.dumps(body("Hi", model)).encode()
        head = f"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: {len(content)}\r\n\r\n".encode()
        with socket.socket() as left:
            with serving(MEMBERS, known) as address:
                assert asyncio.run(hang(address)) == (200, False, True)
                left.connect(("127.0.0.1", int(address.split(":")[2].removesuffix("/v1"))))
                left.sendall(head + content)
                assert httpx.post(f"{address}/chat/completions", json=body(REPORT)).status_code == 200
            # Nobody hung up, and the server has ended all the same.
            assert left.makefile().readline().split()[1] == ("503" if model == "always-hang" else "200")

    def test_the_openai_client_tries_again_and_gets_the_answer(self, known):
        flaky = Knobs(seed=7, error_rate=0.3, errors="429", retry_after_s=0.001)
        with (
            serving({"flaky": flaky}, known) as address,
            openai.OpenAI(base_url=address, api_key="x", max_retries=MOST_RETRIES + 1) as patient,
        ):
            for person in range(20):
                asked = user(text(f"{REPORT} I am person {person}."))
                assert patient.chat.completions.create(model="flaky", messages=asked).choices[0].message.content

    def test_they_come_at_their_rate_and_of_every_kind(self, http):
        seen = Counter(outcome(http, f"Who is person {person}?") for person in range(200))
        assert set(seen) == {"200", "429", "500", "504", "RemoteProtocolError", "UnicodeDecodeError"}
        assert binom.ppf(0.0005, 200, 0.5) <= seen["200"] <= binom.ppf(0.9995, 200, 0.5)

    def test_the_same_calls_end_alike_in_any_order_and_together(self, known):
        questions = [f"Who is person {person}?" for person in range(24)]

        def tries(order, workers):
            """All outcomes of six tries of each question."""
            with (
                serving({"shaky": MEMBERS["shaky"]}, known) as address,
                httpx.Client(base_url=address) as opened,
                ThreadPoolExecutor(workers) as pool,
            ):
                ended = list(pool.map(lambda place: (place, outcome(opened, questions[place])), order))
            return {place: Counter(end for which, end in ended if which == place) for place in range(len(questions))}

        one_by_one = [place for place in range(24) for _ in range(6)]
        round_and_round = [*range(24)] * 6
        first = tries(one_by_one, 1)
        assert first == tries(round_and_round, 1) == tries(reversed(one_by_one), 16) == tries(round_and_round, 16)
        assert any(len(ends) > 1 for ends in first.values())

    def test_each_replicate_fails_on_its_own(self, http):
        ends = [outcome(http, "Who is it?", seed=seed) for seed in range(40)]
        assert "200" in ends
        assert len(set(ends)) > 2

    def test_a_call_that_never_succeeds_goes_on_failing(self, http):
        assert {post(http, "Hi", "always-500").status_code for _ in range(MOST_RETRIES + 3)} == {500}


class TestLoad:
    def test_64_calls_with_media_in_flight(self, base_url, printed, code, film):
        pictures = {
            f"{number:04}": stimuli.number_picture(f"{number:04}", np.random.default_rng(number)) for number in range(8)
        }

        async def all_at_once():
            limits = httpx.Limits(max_connections=64)
            async with httpx.AsyncClient(base_url=base_url, timeout=120, limits=limits) as opened:
                calls = [
                    opened.post(
                        "/chat/completions", json=body([image(picture), audio(code), video(film), text(REPORT)])
                    )
                    for _, picture in [*pictures.items()] * 8
                ]
                return await asyncio.gather(*calls)

        replies = asyncio.run(all_at_once())
        answers = [reply.json()["choices"][0]["message"]["content"] for reply in replies]
        assert answers == [f"{number}, 047, 811" for number in pictures] * 8
