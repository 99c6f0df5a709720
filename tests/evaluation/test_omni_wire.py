import pytest

from core.media.errors import MediaError
from evaluation.models.omni.capabilities import capability_for
from evaluation.models.omni.errors import UnsupportedSetting

WAV, MP4, PNG = "data:audio/wav;base64,UklGRg==", "data:video/mp4;base64,AAAA", "data:image/png;base64,iVBO"


def server(endpoint, **overrides):
    return capability_for("interplay-omni/m", endpoint, overrides)


def body(endpoint="generic", messages=None, overrides=None, **settings):
    from inspect_ai.model import ChatMessageUser, GenerateConfig

    from evaluation.models.omni.wire import request_body

    asked = messages or [ChatMessageUser(content="Hello")]
    return request_body("m", asked, GenerateConfig(**settings), server(endpoint, **(overrides or {})))


def user(*contents):
    from inspect_ai.model import ChatMessageUser

    return [ChatMessageUser(content=list(contents))]


def parts(endpoint, *contents, **overrides):
    return body(endpoint, user(*contents), overrides)["messages"][0]["content"]


@pytest.fixture(scope="module")
def pieces():
    from inspect_ai.model import ContentAudio, ContentImage, ContentText, ContentVideo

    return {
        "text": ContentText(text="Look"),
        "image": ContentImage(image=PNG),
        "audio": ContentAudio(audio=WAV, format="wav"),
        "video": ContentVideo(video=MP4, format="mp4"),
    }


def test_text_alone_goes_as_text():
    from inspect_ai.model import ChatMessageAssistant, ChatMessageSystem, ContentReasoning, ContentText

    said = ChatMessageAssistant(content=[ContentReasoning(reasoning="hm"), ContentText(text="4")])
    messages = [ChatMessageSystem(content="Be brief."), *user(ContentText(text="2"), ContentText(text=" + 2?")), said]
    assert body("generic", messages) == {
        "model": "m",
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "2 + 2?"},
            {"role": "assistant", "content": "4"},  # without the thinking
        ],
    }


class TestParts:
    def test_vllm(self, pieces):
        assert parts("vllm-qwen-omni", *pieces.values()) == [
            {"type": "text", "text": "Look"},
            {"type": "image_url", "image_url": {"url": PNG}},
            {"type": "audio_url", "audio_url": {"url": WAV}},
            {"type": "video_url", "video_url": {"url": MP4}},
        ]

    def test_openai_gets_base64_alone(self, pieces):
        assert parts("openai", pieces["audio"]) == [
            {"type": "input_audio", "input_audio": {"data": "UklGRg==", "format": "wav"}}
        ]

    def test_dashscope_gets_data_urls_without_a_type(self, pieces):
        assert parts("dashscope", pieces["audio"]) == [
            {"type": "input_audio", "input_audio": {"data": "data:;base64,UklGRg==", "format": "wav"}}
        ]
        assert parts("dashscope", pieces["video"]) == [{"type": "video_url", "video_url": {"url": "data:;base64,AAAA"}}]

    def test_frames_of_one_video_become_one_part(self, pieces):
        from inspect_ai.model import ContentImage

        def frame(data, name):
            return ContentImage(image=data, internal={"frame_of": name})

        sent = parts(
            "dashscope",
            *(pieces["text"], frame("a", "video_1"), frame("b", "video_1"), frame("c", "video_2"), pieces["image"]),
            video="frame_list",
        )
        assert sent == [
            {"type": "text", "text": "Look"},
            {"type": "video", "video": ["a", "b"]},
            {"type": "video", "video": ["c"]},
            {"type": "image_url", "image_url": {"url": PNG}},
        ]

    @pytest.mark.parametrize(
        ("endpoint", "kind", "overrides"),
        [("openai", "video", {}), ("vllm-qwen-omni", "audio", {"audio": False}), ("inspect", "audio", {})],
    )
    def test_what_is_not_taken_raises(self, pieces, endpoint, kind, overrides):
        with pytest.raises(MediaError, match=f"endpoint '{endpoint}'"):
            parts(endpoint, pieces[kind], **overrides)

    def test_documents_and_tools_are_not_known(self, pieces):
        from inspect_ai.model import ChatMessageTool, ContentDocument

        with pytest.raises(UnsupportedSetting, match="document"):
            parts("generic", ContentDocument(document="data:application/pdf;base64,AAAA"))
        with pytest.raises(UnsupportedSetting, match="role 'tool'"):
            body("generic", [ChatMessageTool(content="4", tool_call_id="1")])


class TestSettings:
    def test_each_goes_under_its_name(self):
        sent = body(
            temperature=0.5,
            top_p=0.9,
            top_k=3,
            seed=7,
            max_tokens=9,
            stop_seqs=["."],
            frequency_penalty=0.1,
            presence_penalty=0.2,
            extra_body={"repetition_penalty": 1.1},
        )
        del sent["messages"], sent["model"]
        assert sent == {
            "temperature": 0.5,
            "top_p": 0.9,
            "top_k": 3,
            "seed": 7,
            "max_tokens": 9,
            "stop": ["."],
            "frequency_penalty": 0.1,
            "presence_penalty": 0.2,
            "repetition_penalty": 1.1,
        }

    def test_how_calls_are_made_is_not_told(self):
        sent = body(max_retries=3, timeout=5, attempt_timeout=4, max_connections=2, cache=False)
        assert set(sent) == {"model", "messages"}

    def test_openai_has_another_name_for_the_bound(self):
        assert body("openai", max_tokens=9)["max_completion_tokens"] == 9

    def test_dashscope_streams_text(self):
        sent = body("dashscope")
        assert (sent["stream"], sent["stream_options"], sent["modalities"]) == (True, {"include_usage": True}, ["text"])

    def test_vllm_is_asked_for_frames_only_with_a_video(self, pieces):
        assert "media_io_kwargs" not in body("vllm-qwen-omni", user(pieces["image"]))
        asked = body("vllm-qwen-omni", user(pieces["video"]), {"frames": 8, "frames_per_second": 2.0})
        assert asked["media_io_kwargs"] == {"video": {"num_frames": 8, "fps": 2.0}}

    def test_extra_tables_are_joined_and_win(self, pieces):
        asked = body(
            "vllm-qwen-omni",
            user(pieces["video"]),
            extra_body={"media_io_kwargs": {"video": {"num_frames": 4}}, "mm_processor_kwargs": {"fps": 1}},
        )
        assert asked["media_io_kwargs"] == {"video": {"num_frames": 4}}
        assert asked["mm_processor_kwargs"] == {"fps": 1}

    def test_a_schema_of_the_answer(self):
        from inspect_ai.model import ResponseSchema
        from inspect_ai.util import JSONSchema

        schema = JSONSchema(type="object", properties={"points": JSONSchema(type="integer")})
        sent = body(response_schema=ResponseSchema(name="grade", json_schema=schema, strict=True))["response_format"]
        assert (sent["type"], sent["json_schema"]["name"], sent["json_schema"]["strict"]) == (
            "json_schema",
            "grade",
            True,
        )
        assert sent["json_schema"]["schema"]["properties"] == {"points": {"type": "integer"}}

    @pytest.mark.parametrize("setting", [{"logprobs": True}, {"num_choices": 2}, {"best_of": 3}, {"effort": "low"}])
    def test_what_cannot_be_told_is_not_left_out(self, setting):
        with pytest.raises(UnsupportedSetting, match=next(iter(setting))):
            body(**setting)


class TestThinking:
    @pytest.mark.parametrize(
        ("endpoint", "settings", "said"),
        [
            (
                "gemini-openai",
                {"reasoning_tokens": 128},
                {"extra_body": {"google": {"thinking_config": {"thinking_budget": 128}}}},
            ),
            (
                "gemini-openai",
                {"reasoning_tokens": 0},
                {"extra_body": {"google": {"thinking_config": {"thinking_budget": 0}}}},
            ),
            ("gemini-openai", {"reasoning_effort": "low"}, {"reasoning_effort": "low"}),
            ("dashscope", {"reasoning_tokens": 128}, {"enable_thinking": True, "thinking_budget": 128}),
            ("dashscope", {"reasoning_tokens": 0}, {"enable_thinking": False}),
            ("dashscope", {"reasoning_effort": "none"}, {"enable_thinking": False}),
            (
                "vllm-qwen-omni",
                {"reasoning_tokens": 128},
                {"thinking_token_budget": 128, "chat_template_kwargs": {"enable_thinking": True}},
            ),
            ("vllm-qwen-omni", {"reasoning_tokens": 0}, {"chat_template_kwargs": {"enable_thinking": False}}),
            ("openai", {"reasoning_effort": "high"}, {"reasoning_effort": "high"}),
            ("openai", {"reasoning_tokens": 0}, {"reasoning_effort": "none"}),
        ],
    )
    def test_in_each_endpoints_way(self, endpoint, settings, said):
        plain, told = body(endpoint), body(endpoint, **settings)
        assert {key: value for key, value in told.items() if key not in plain} == said

    @pytest.mark.parametrize(
        ("endpoint", "settings", "said"),
        [
            ("generic", {"reasoning_tokens": 128}, "set 'thinking' in the model's 'delivery'"),
            ("openai", {"reasoning_tokens": 128}, "say 'reasoning_effort'"),
            ("dashscope", {"reasoning_effort": "high"}, "say 'reasoning_tokens'"),
            ("gemini-openai", {"reasoning_tokens": 1, "reasoning_effort": "low"}, "not both"),
        ],
    )
    def test_what_cannot_be_said(self, endpoint, settings, said):
        with pytest.raises(UnsupportedSetting, match=said):
            body(endpoint, **settings)
