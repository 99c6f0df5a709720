import asyncio
import base64
import json
import socket
import subprocess
import sys
import threading
from contextlib import contextmanager
from datetime import UTC, datetime

import pytest
from tenacity import RetryError

from core.content import MediaPart, Message, TextPart
from core.errors import InterplayError
from core.media.probe import probe
from evaluation.models.omni.capabilities import capability_for

ANSWER = {
    "id": "chatcmpl-1",
    "model": "omni-7b",
    "choices": [{"index": 0, "message": {"role": "assistant", "content": "Answer: B"}, "finish_reason": "stop"}],
    "usage": {
        "prompt_tokens": 120,
        "completion_tokens": 30,
        "total_tokens": 150,
        "prompt_tokens_details": {"cached_tokens": 20, "text_tokens": 10, "audio_tokens": 50, "image_tokens": 60},
        "completion_tokens_details": {"reasoning_tokens": 12},
    },
}


class Server:
    """A real HTTP server on loopback whose replies a test writes: each is (status, headers, blocks of the body)."""

    def __init__(self):
        self.replies, self.requests, self.bodies = [], [], []
        self.cut_off = threading.Event()  # the server learns of it only after the caller has turned away: wait for it

    async def __call__(self, scope, receive, send):
        if scope["type"] != "http":
            return
        cut_off = self.cut_off  # of this test: a request that an earlier one left behind must not set it
        body = b""
        while True:
            event = await receive()
            body += event.get("body", b"")
            if not event.get("more_body"):
                break
        self.requests.append(
            {name.decode(): value.decode() for name, value in scope["headers"]} | {"path": scope["path"]}
        )
        self.bodies.append(json.loads(body))
        status, headers, blocks = self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]
        head = [(name.encode(), value.encode()) for name, value in headers.items()]
        await send({"type": "http.response.start", "status": status, "headers": head})
        gone = asyncio.create_task(receive())
        for block in blocks:
            if block is HANG_UP:
                raise ConnectionAbortedError
            if gone.done():
                cut_off.set()
                return
            await send({"type": "http.response.body", "body": block, "more_body": True})
            await asyncio.sleep(0)  # lets the loop notice that the client is gone
        gone.cancel()
        await send({"type": "http.response.body", "body": b""})


HANG_UP = object()


@contextmanager
def serving(app):
    import uvicorn

    config = uvicorn.Config(app, host="127.0.0.1", port=0, log_level="critical", lifespan="off")
    server = uvicorn.Server(config)
    listening = socket.socket()
    listening.bind(("127.0.0.1", 0))
    listening.listen(128)  # a caller that is quicker than the server waits for it
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}/v1"
    finally:
        server.should_exit = True
        thread.join(timeout=30)
        listening.close()


@pytest.fixture(scope="module")
def running():
    app = Server()
    with serving(app) as address:
        yield app, address


@pytest.fixture
def server(running):
    app, _ = running
    app.__init__()
    return app


@pytest.fixture
def ask(running, server):
    def ask(messages="Hello", *, config=None, **arguments):
        return asked(running[1], messages, config=config, **arguments)

    return ask


def asked(address, messages="Hello", *, config=None, **arguments):
    from inspect_ai.model import GenerateConfig, get_model

    import evaluation.models.omni.provider  # noqa: F401 - registers it

    settings = GenerateConfig(**{"max_retries": 0, **(config or {})})
    arguments = {"base_url": address, **arguments}

    async def call():
        async with get_model("interplay-omni/org/omni-7b", config=settings, memoize=False, **arguments) as model:
            return await model.generate(messages)

    return asyncio.run(call())


def told(failing):
    """The provider's own error behind what Inspect AI raises."""
    from inspect_ai._util.error import PrerequisiteError

    with pytest.raises((InterplayError, RetryError, PrerequisiteError)) as raised:
        failing()
    error = raised.value
    return error.last_attempt.exception() if isinstance(error, RetryError) else error


def whole(body, status=200, **headers):
    return status, {"content-type": "application/json", **headers}, [json.dumps(body).encode()]


def stream(*events, done=True):
    lines = [f"data: {event if isinstance(event, str) else json.dumps(event)}\n\n".encode() for event in events]
    return 200, {"content-type": "text/event-stream"}, [*lines, *([b"data: [DONE]\n\n"] if done else [])]


def delta(content=None, finish=None, **more):
    return {
        "model": "omni-7b",
        "choices": [{"index": 0, "delta": {"content": content, **more}, "finish_reason": finish}],
    }


def test_an_answer_with_its_tokens(server, ask):
    server.replies = [whole(ANSWER)]
    output = ask(api_key="sk-1", config={"seed": 3})
    assert (output.completion, output.stop_reason, output.model) == ("Answer: B", "stop", "omni-7b")
    usage = output.usage
    assert (usage.input_tokens, usage.input_tokens_cache_read, usage.output_tokens) == (100, 20, 30)
    assert (usage.total_tokens, usage.reasoning_tokens) == (150, 12)
    assert output.metadata["tokens_by_modality"] == {"input": {"text": 10, "audio": 50, "image": 60}}
    (request,), (body,) = server.requests, server.bodies
    assert (request["path"], request["authorization"]) == ("/v1/chat/completions", "Bearer sk-1")
    assert body == {"model": "org/omni-7b", "messages": [{"role": "user", "content": "Hello"}], "seed": 3}


def test_media_arrive_byte_for_byte(server, ask, tmp_path, small_media):
    import numpy as np

    from evaluation.adaptation import Adapter
    from evaluation.delivery import deliver
    from evaluation.models.sim.stimuli import flashes_video
    from warehouse.blobs import BlobStore

    data = {**small_media, "video": flashes_video(2, np.random.default_rng(0))}
    blobs = BlobStore(str(tmp_path / "blobs"))
    parts = [TextPart(text="Look: ")]
    for kind, medium in data.items():
        blobs.put(medium)
        parts.append(MediaPart(name=f"{kind}_1", media=probe(medium).media_ref()))
    takes = capability_for("interplay-omni/x", "vllm-qwen-omni", {})
    messages, manifest = deliver((Message(role="user", parts=tuple(parts)),), Adapter(blobs), takes)
    server.replies = [whole(ANSWER)]
    ask(messages, endpoint="vllm-qwen-omni")
    sent = server.bodies[0]["messages"][0]["content"]
    assert [part["type"] for part in sent] == ["text", "image_url", "audio_url", "video_url"]
    arrived = [base64.b64decode(part[part["type"]]["url"].partition(",")[2]) for part in sent[1:]]
    assert arrived == list(data.values())
    assert [row["sent"][0]["byte_count"] for row in manifest] == [len(medium) for medium in data.values()]


class TestThinkingText:
    @pytest.mark.parametrize("name", ["reasoning_content", "reasoning"])
    def test_it_is_kept_apart_from_the_answer(self, server, ask, name):
        message = {"content": "Answer: B", name: "Two dots and a dog."}
        server.replies = [whole({**ANSWER, "choices": [{"message": message, "finish_reason": "stop"}]})]
        output = ask()
        assert output.completion == "Answer: B"
        assert [(one.type, getattr(one, one.type)) for one in output.message.content] == [
            ("reasoning", "Two dots and a dog."),
            ("text", "Answer: B"),
        ]

    def test_in_a_stream(self, server, ask):
        server.replies = [stream(delta(reasoning_content="Two "), delta(reasoning_content="dots."), delta("B", "stop"))]
        output = ask(endpoint="generic", delivery={"streaming": "required"})
        assert (output.completion, output.message.content[0].reasoning) == ("B", "Two dots.")


class TestStreams:
    @pytest.fixture
    def flow(self, server, ask):
        def flow(*reply, **arguments):
            server.replies = list(reply)
            return ask(endpoint="dashscope", api_key="k", **arguments)

        return flow

    def test_pieces_and_the_usage_of_the_last(self, server, flow):
        usage = {
            "prompt_tokens": 207,
            "completion_tokens": 5,
            "prompt_tokens_details": {"text_tokens": 7, "video_tokens": 200},
        }
        reply = stream(delta("答"), delta("案：B"), delta("", "stop"), {"choices": [], "usage": usage})
        output = flow(reply)
        assert (output.completion, output.stop_reason) == ("答案：B", "stop")
        assert (output.usage.input_tokens, output.usage.total_tokens) == (207, 212)
        assert output.metadata["tokens_by_modality"] == {"input": {"text": 7, "video": 200}}
        assert server.bodies[0]["stream"] is True

    def test_however_the_bytes_are_cut(self, flow):
        status, headers, blocks = stream(delta("答案"), delta("：B", "stop"))
        data = b": keep-alive\r\n\r\nevent: message\r\n" + b"".join(blocks).replace(b"\n", b"\r\n")
        data = data.replace(b"data: ", b"data:")
        assert flow((status, headers, [data[at : at + 1] for at in range(len(data))])).completion == "答案：B"

    def test_one_piece_over_several_lines(self, flow):
        status, headers, blocks = stream(delta("答"), delta("案", "stop"), done=False)
        pretty = json.dumps(delta("：B"), indent=1).replace("\n", "\ndata: ")
        assert flow((status, headers, [blocks[0], f"data: {pretty}\n\n".encode(), blocks[1]])).completion == "答：B案"

    def test_an_end_without_a_last_empty_line(self, flow):
        status, headers, blocks = stream(delta("B", "stop"), done=False)
        assert flow((status, headers, [b"".join(blocks).rstrip(b"\n")])).completion == "B"

    def test_a_piece_without_an_end_is_given_up_early(self, server, flow):
        reply = (200, {"content-type": "text/event-stream"}, [b"data: " + b"1" * 100_000 + b"\n"] * 1000)
        assert type(told(lambda: flow(reply, most_reply_bytes=1_000_000))).__name__ == "ReplyTooLong"
        assert server.cut_off.wait(timeout=30)

    @pytest.mark.parametrize("finish", ["abort", "error"])
    def test_an_answer_that_the_server_gave_up_is_none_but_may_come(self, server, ask, flow, finish):
        server.replies = [whole({**ANSWER, "choices": [{"message": {"content": "An"}, "finish_reason": finish}]})]
        for error in (told(ask), told(lambda: flow(stream(delta("An"), delta("", finish))))):
            assert (type(error).__name__, decision(error)) == ("BrokenStream", (True, "transient"))
            assert f"gave up after 2 characters (finish_reason {finish!r})" in str(error)

    def test_an_end_without_finish_reason_is_no_answer(self, flow):
        error = told(lambda: flow(stream(delta("Answer: "))))
        assert "without a finish_reason" in str(error)
        error = told(lambda: flow(stream(delta("Answer: "), done=False)))
        assert type(error).__name__ == "BrokenStream"

    def test_a_connection_that_breaks_is_no_answer_but_may_pass(self, flow):
        status, headers, blocks = stream(delta("Answer: "), done=False)
        error = told(lambda: flow((status, headers, [*blocks, HANG_UP])))
        assert (type(error).__name__, decision(error)) == ("EndpointUnreachable", (True, "transient"))

    def test_what_breaks_after_the_end_of_the_answer_costs_nothing(self, flow):
        status, headers, blocks = stream(delta("B", "stop"), done=False)
        assert flow((status, headers, [*blocks, HANG_UP])).completion == "B"

    def test_an_error_in_the_stream(self, flow):
        error = told(lambda: flow(stream(delta("An"), {"error": {"message": "GPU lost", "code": 500}})))
        assert ("GPU lost" in str(error), error.status_code, decision(error)) == (True, 500, (True, "transient"))

    def test_a_whole_body_instead_of_a_stream(self, flow):
        assert flow(whole(ANSWER)).completion == "Answer: B"

    def test_a_piece_that_is_not_json_or_not_utf8(self, flow):
        assert "is not JSON" in str(told(lambda: flow(stream("{oops"))))
        bad = (200, {"content-type": "text/event-stream"}, [b'data: {"choices": "\xff"}\n\n'])
        assert "is not UTF-8" in str(told(lambda: flow(bad)))

    def test_a_huge_answer_is_given_up_early(self, server, flow):
        piece = f"data: {json.dumps(delta('x' * 100_000))}\n\n".encode()
        reply = (200, {"content-type": "text/event-stream"}, [piece] * 1000)  # 100 MB
        error = told(lambda: flow(reply, most_reply_bytes=1_000_000))
        assert type(error).__name__ == "ReplyTooLong"
        assert server.cut_off.wait(timeout=30)

    def test_a_huge_line_is_given_up_early(self, server, flow):
        reply = (200, {"content-type": "text/event-stream"}, [b"x" * 100_000] * 1000)
        assert type(told(lambda: flow(reply, most_reply_bytes=1_000_000))).__name__ == "ReplyTooLong"
        assert server.cut_off.wait(timeout=30)


class TestStops:
    @pytest.mark.parametrize(
        ("finish", "stop"), [("length", "max_tokens"), ("content_filter", "content_filter"), ("eos", "unknown")]
    )
    def test_each_reason(self, server, ask, finish, stop):
        server.replies = [whole({**ANSWER, "choices": [{"message": {"content": "An"}, "finish_reason": finish}]})]
        assert ask().stop_reason == stop

    def test_a_refusal(self, server, ask):
        message = {"content": None, "refusal": "I cannot help with that."}
        server.replies = [whole({**ANSWER, "choices": [{"message": message, "finish_reason": "stop"}]})]
        output = ask()
        assert (output.stop_reason, output.completion) == ("content_filter", "I cannot help with that.")

    def test_a_filter_that_answers_with_an_error(self, server, ask):
        server.replies = [whole({"error": {"code": "content_filter", "message": "violence"}}, 400)]
        output = ask()
        assert output.stop_reason == "content_filter"
        assert "violence" in output.completion

    def test_nothing_said_is_an_empty_answer(self, server, ask):
        server.replies = [whole({**ANSWER, "choices": [{"message": {"content": None}, "finish_reason": "stop"}]})]
        assert ask().completion == ""

    def test_content_in_parts(self, server, ask):
        message = {"content": [{"type": "text", "text": "Answer: "}, {"type": "text", "text": "B"}]}
        server.replies = [whole({**ANSWER, "choices": [{"message": message, "finish_reason": "stop"}]})]
        assert ask().completion == "Answer: B"

    @pytest.mark.parametrize("usage", [None, "many", {"prompt_tokens": "7"}, {"prompt_tokens": -1}, {}])
    def test_no_usage_is_unknown_not_zero(self, server, ask, usage):
        server.replies = [whole({**ANSWER, "usage": usage})]
        output = ask()
        assert (output.completion, output.usage, output.metadata) == ("Answer: B", None, None)


class TestUnreadableReplies:
    @pytest.mark.parametrize(
        ("data", "said"),
        [
            (b"<html>busy</html>", "is not JSON: <html>busy</html>"),
            (b'{"choices": "\xff\xfe"}', "is not UTF-8"),
            (b"[1]", "is no JSON object"),
            (b"", "is not JSON"),
            (b"{}", "no list of choices"),
            (b'{"choices": []}', "holds no answer"),
            (b'{"choices": [7]}', "no list of choices"),
            (b"[" * 100_000, "is not JSON"),
        ],
    )
    def test_each_is_named_and_not_tried_again(self, server, ask, data, said):
        server.replies = [(200, {"content-type": "application/json"}, [data])]
        error = told(lambda: ask(config={"max_retries": 3}))
        assert type(error).__name__ == "MalformedReply"
        assert said in str(error)
        assert ("\n" in str(error), len(server.bodies)) == (False, 1)

    def test_a_huge_body_is_given_up_early(self, server, ask):
        server.replies = [(200, {"content-type": "application/json"}, [b" " * 100_000] * 1000)]
        assert type(told(lambda: ask(most_reply_bytes=1_000_000))).__name__ == "ReplyTooLong"
        assert server.cut_off.wait(timeout=30)


def decision(error):
    from evaluation.models.omni.provider import OmniAPI

    verdict = OmniAPI("m", base_url="http://127.0.0.1:1/v1").should_retry(error)
    return verdict.retry, verdict.kind if verdict.retry else None


class TestRetries:
    @pytest.mark.parametrize(
        ("status", "kind"),
        [
            *((code, None) for code in (400, 401, 403, 404, 413, 422, 501)),
            *((code, "transient") for code in (408, 500, 502, 503, 504, 529)),
            (429, "rate_limit"),
        ],
    )
    def test_by_status(self, server, ask, status, kind):
        server.replies = [whole({"error": {"message": "no " + "x" * 9000}}, status)]
        error = told(ask)
        assert (error.status_code, decision(error)) == (status, (kind is not None, kind))
        assert f"HTTP {status}" in str(error)
        assert len(str(error)) < 500

    def test_a_quota_that_is_spent_does_not_come_back(self, server, ask):
        server.replies = [whole({"error": {"message": "pay", "code": "insufficient_quota"}}, 429)]
        assert decision(told(ask)) == (False, None)

    def test_what_passed_is_answered(self, server, ask):
        wait = {"retry-after": "0"}
        server.replies = [whole({"error": "busy"}, 429, **wait), whole({"detail": "oops"}, 503, **wait), whole(ANSWER)]
        assert ask(config={"max_retries": 2}).completion == "Answer: B"
        assert len(server.bodies) == 3

    def test_the_pause_that_a_server_asks_for_is_kept(self, server, ask):
        from evaluation.models.omni.provider import OmniAPI

        wait = OmniAPI("m", base_url="http://127.0.0.1:1/v1").retry_wait()
        server.replies = [whole({"error": "busy"}, 429, **{"retry-after": "17"})]
        assert wait(Attempt(told(ask))) == 17
        server.replies = [whole({"error": "busy"}, 429, **{"retry-after": "999999"})]
        assert wait(Attempt(told(ask))) == 1800
        server.replies = [whole({"error": "busy"}, 429)]
        assert 3 <= wait(Attempt(told(ask))) <= 6

    @pytest.mark.parametrize(
        ("said", "seconds"),
        [
            ("1.5", 1.5),
            ("-3", 0),
            ("Thu, 01 Jan 2026 12:00:30 GMT", 30),
            ("Thu, 01 Jan 2026 11:00:00 GMT", 0),
            ("soon", None),
            ("inf", None),
            ("nan", None),
        ],
    )
    def test_how_a_pause_is_said(self, said, seconds):
        from evaluation.models.omni.transport import retry_after_s

        assert retry_after_s({"retry-after": said}, datetime(2026, 1, 1, 12, tzinfo=UTC)) == seconds


class Attempt:
    """As tenacity tells of an attempt that failed."""

    def __init__(self, error):
        self.outcome, self.attempt_number = self, 1
        self._error = error

    def exception(self):
        return self._error


class TestStarting:
    def test_an_endpoint_that_is_down_is_told_in_one_line(self):
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            address = f"http://127.0.0.1:{taken.getsockname()[1]}/v1"
            error = told(lambda: asked(address))
        assert (type(error).__name__, decision(error)) == ("EndpointUnreachable", (True, "transient"))
        assert f"no connection to {address}/chat/completions" in str(error)
        assert "is the server running" in str(error)
        assert "\n" not in str(error)

    @pytest.mark.parametrize(
        ("error", "was_reached"), [("ConnectTimeout", False), ("ConnectError", False), ("ReadTimeout", True)]
    )
    def test_a_server_that_took_no_connection_was_not_reached(self, monkeypatch, error, was_reached):
        import httpx

        from evaluation.models.omni.transport import Transport

        async def fail(*_):
            raise getattr(httpx, error)("")

        async def call():
            transport = Transport("http://127.0.0.1:1/v1", {}, 1000)
            with pytest.raises(InterplayError):
                await transport.ask({"model": "m"}, {})
            await transport.aclose()
            return transport.was_reached

        monkeypatch.setattr(httpx.AsyncHTTPTransport, "handle_async_request", fail)
        assert asyncio.run(call()) is was_reached

    def test_a_missing_key_is_told_with_its_variable(self, monkeypatch):
        monkeypatch.delenv("DASHSCOPE_API_KEY", raising=False)
        error = told(lambda: asked(None, endpoint="dashscope"))
        assert "DASHSCOPE_API_KEY" in str(error)

    def test_a_key_from_the_environment(self, server, ask, monkeypatch):
        monkeypatch.setenv("OPENAI_API_KEY", "sk-environment\n")
        server.replies = [whole(ANSWER)]
        ask(endpoint="openai")
        assert server.requests[0]["authorization"] == "Bearer sk-environment"

    def test_a_server_of_ones_own_needs_none(self, server, ask):
        server.replies = [whole(ANSWER)]
        ask()
        assert "authorization" not in server.requests[0]

    @pytest.mark.parametrize(
        ("arguments", "said"),
        [
            ({"base_url": None}, "no address of its own"),
            ({"base_url": "localhost:8000"}, "cannot be reached at 'localhost:8000'"),
            ({"endpoint": "dashscop"}, "did you mean 'dashscope'"),
            ({"delivery": {"frame": 3}}, "did you mean 'frames'"),
            ({"api_key": "sk-\u2013"}, "copy it again"),
        ],
    )
    def test_wrong_arguments_are_named(self, arguments, said):
        error = told(lambda: asked("http://127.0.0.1:1/v1", **arguments))
        assert said in str(error)
        assert "sk-" not in str(error)

    def test_one_client_may_serve_several_loops(self, server, running):
        from inspect_ai.model import get_model

        import evaluation.models.omni.provider  # noqa: F401 - registers it

        server.replies = [whole(ANSWER)]
        model = get_model("interplay-omni/m", base_url=running[1], memoize=False)

        async def call():
            return (await model.generate("Hello")).completion

        assert [asyncio.run(call()) for _ in range(2)] == ["Answer: B"] * 2

    def test_it_closes_its_connections(self, server, running):
        from inspect_ai.model import ChatMessageUser, GenerateConfig

        from evaluation.models.omni.provider import OmniAPI

        server.replies = [whole(ANSWER)]

        async def call():
            api = OmniAPI("m", base_url=running[1])
            await api.generate([ChatMessageUser(content="Hello")], [], "none", GenerateConfig())
            (client,) = api._transport._idle
            await api.aclose()
            await api.aclose()
            return client.is_closed

        assert asyncio.run(call())

    def test_tools_are_refused(self, ask, server):
        from inspect_ai.model import GenerateConfig
        from inspect_ai.tool import ToolInfo

        from evaluation.models.omni.provider import OmniAPI

        api = OmniAPI("m", base_url="http://127.0.0.1:1/v1")
        with pytest.raises(Exception, match="no tools"):
            asyncio.run(api.generate([], [ToolInfo(name="t", description="d")], "auto", GenerateConfig()))


class TestFromQuestionToStoredAnswer:
    @pytest.fixture
    def store(self, server, running, library, put, questions, asker, stored, small_media):
        from core.condition import FULL
        from evaluation.models.catalogue import ModelSpec
        from evaluation.solve import plan

        def store(*replies, **fields):
            server.replies = list(replies)
            media = {f"{kind}_1": library.add(data).media_ref for kind, data in small_media.items()}
            item = put("item", questions.choice("<image_1> and <audio_1>: which?", media=media))
            usual = {"arguments": {"base_url": running[1], "api_key": "sk-9-secret"}, "generate": {"max_retries": 0}}
            model = ModelSpec(name="omni", provider="interplay-omni/m", family="omni", **usual | fields)
            asker().ask(list(plan([model], [item], [FULL])))
            (row,) = stored()
            return row

        return store

    def test_an_answer_with_its_manifest(self, store, server, small_media):
        row = store(whole(ANSWER), endpoint="openai")
        assert (row["state"], row["answer"], row["input_tokens"]) == ("ok", "Answer: B", 120)
        assert json.loads(row["tokens_by_modality"])["input"]["audio"] == 50
        assert [one["modality"] for one in json.loads(row["sent"])] == ["image", "audio"]
        content = server.bodies[0]["messages"][0]["content"]
        assert [part["type"] for part in content] == ["image_url", "text", "input_audio", "text", "text"]
        assert base64.b64decode(content[2]["input_audio"]["data"]) == small_media["audio"]

    def test_one_film_where_kinds_do_not_mix(self, store, server):
        row = store(stream(delta("Answer: B", "stop")), endpoint="dashscope")
        assert row["state"] == "ok"
        (film,) = (part for part in server.bodies[0]["messages"][0]["content"] if part["type"] == "video_url")
        assert probe(base64.b64decode(film["video_url"]["url"].partition(",")[2])).has_audio
        assert [one["adaptations"][0]["what"] for one in json.loads(row["sent"])] == ["muxed", "muxed"]

    def test_what_an_endpoint_does_not_take_is_blocked(self, store, server):
        row = store(whole(ANSWER), endpoint="openai", delivery={"audio": False})
        assert (row["state"], row["answer"], server.bodies) == ("blocked", None, [])
        assert "takes no audio" in row["error"]

    @pytest.mark.parametrize(
        ("reply", "state"),
        [
            (whole({"error": {"message": "key sk-9-secret is wrong"}}, 401), "api_error"),
            ((200, {"content-type": "application/json"}, [b"<html>"]), "unparsed"),
        ],
    )
    def test_failures_are_stored_as_failures(self, store, reply, state):
        row = store(reply, endpoint="openai")
        assert (row["state"], row["answer"]) == (state, None)
        assert row["error"]
        assert "sk-9-secret" not in row["error"]


def test_importing_the_rows_loads_no_http_client():
    code = "import sys, evaluation.models.catalogue; print(*(name in sys.modules for name in ('inspect_ai', 'httpx')))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "False"]
