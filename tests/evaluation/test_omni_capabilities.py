import json
import subprocess
import sys

import pytest

from core.content import Modality
from core.errors import InterplayError, UnknownName
from evaluation.models.omni.capabilities import DELIVERY_VERSION, ROWS, BadCapability, Form, Streaming, capability_for


@pytest.mark.parametrize(
    ("provider", "row", "video"),
    [
        ("interplay-omni/qwen", "generic", Form.FRAMES),
        ("interplay-sim/anna", "interplay-sim", Form.INSPECT),
        ("google/gemini-2.5-flash", "inspect-google", Form.INSPECT),
        ("openai/gpt-4o", "inspect-openai", Form.FRAMES),
        ("vllm/Qwen/Qwen2.5-Omni-7B", "inspect-openai", Form.FRAMES),
        ("anthropic/claude", "inspect-pictures", Form.FRAMES),
        ("somebody-elses/model", "inspect", Form.INSPECT),
    ],
)
def test_a_row_follows_from_the_provider(provider, row, video):
    found = capability_for(provider, None, {})
    assert (found.name, found.video.form) == (row, video)


def test_what_a_provider_of_inspect_does_not_take():
    assert capability_for("anthropic/claude", None, {}).taken(Modality.AUDIO) is None
    text_alone = capability_for("hf/gpt2", None, {})
    assert [text_alone.taken(kind) for kind in (Modality.IMAGE, Modality.AUDIO, Modality.VIDEO)] == [None, None, None]


def test_inspects_own_code_agrees_with_the_rows():
    # The rows claim what the installed providers do with a video: OpenAI's conversion refuses it.
    import asyncio

    from inspect_ai.model import ContentVideo
    from inspect_ai.model._openai import openai_chat_completion_part

    with pytest.raises(RuntimeError, match="Video"):
        asyncio.run(openai_chat_completion_part(ContentVideo(video="data:video/mp4;base64,AAAA", format="mp4")))


def test_a_named_endpoint_wins_over_the_provider():
    dashscope = capability_for("interplay-omni/qwen3-omni-flash", "dashscope", {})
    assert (dashscope.streaming, dashscope.mixed, dashscope.audio.most_parts) == (Streaming.REQUIRED, False, 1)
    assert dashscope.key_variable == "DASHSCOPE_API_KEY"


def test_an_unknown_endpoint_is_answered_with_the_nearest():
    with pytest.raises(UnknownName, match="did you mean 'dashscope'"):
        capability_for("interplay-omni/x", "dashscop", {})


class TestOverrides:
    def test_single_fields_change_and_the_others_stay(self):
        row = capability_for("interplay-omni/x", "vllm-qwen-omni", {"frames": 16, "mixed": False})
        assert (row.frames, row.mixed, row.video.form, row.frames_asked) == (16, False, Form.VIDEO_URL, True)

    def test_a_kind_is_a_table_a_form_or_not_taken(self):
        row = capability_for(
            "interplay-omni/x",
            "vllm-qwen-omni",
            {"video": "frames", "audio": {"most_bytes": 1000, "form": "input_audio"}},
        )
        assert (row.video.form, row.audio.form, row.audio.most_bytes) == (Form.FRAMES, Form.INPUT_AUDIO, 1000)
        assert row.audio.media_types == ("audio/wav", "audio/mpeg")
        assert capability_for("interplay-omni/x", "vllm-qwen-omni", {"audio": False}).audio is None

    def test_a_kind_that_the_row_does_not_take_can_be_added(self):
        row = capability_for("anthropic/x", None, {"audio": "inspect"})
        assert row.audio.form is Form.INSPECT

    @pytest.mark.parametrize(
        ("overrides", "kind", "said"),
        [
            ({"frame": 3}, UnknownName, "did you mean 'frames'"),
            ({"name": "x"}, UnknownName, "'name'"),
            ({"frames": 0}, BadCapability, "frames"),
            ({"frames": "many"}, BadCapability, "frames"),
            ({"video": "audio_url"}, BadCapability, "video cannot go as 'audio_url'"),
            ({"image": False, "video": "frames"}, BadCapability, "takes no pictures"),
            ({"audio": {"most_byte": 3}}, BadCapability, "most_byte"),
            ({"audio": 3}, BadCapability, "audio"),
            ({"audio": {"media_types": ["audio/mpeg"]}}, BadCapability, "audio/wav among them"),
            (
                {"image": {"media_types": ["image/png", "image/bmp"]}},
                BadCapability,
                "image.media_types must be some of",
            ),
            ({"streaming": "sometimes"}, BadCapability, "streaming"),
        ],
    )
    def test_what_cannot_be_is_named(self, overrides, kind, said):
        with pytest.raises(kind, match=said) as raised:
            capability_for("interplay-omni/x", "vllm-qwen-omni", overrides)
        assert isinstance(raised.value, InterplayError)
        assert "\n" not in str(raised.value)


class TestIdentity:
    def test_it_is_stable_json(self):
        for row in ROWS:
            assert json.loads(json.dumps(row.identity)) == row.identity

    def test_it_changes_with_the_bytes_alone(self):
        def identity(**overrides):
            return capability_for("interplay-omni/x", "gemini-openai", overrides).identity

        assert identity() == identity(streaming="required", key_variable="OTHER")
        assert identity() != identity(base_url="http://elsewhere/v1")  # another server answers otherwise
        assert identity()["version"] == DELIVERY_VERSION
        assert len({json.dumps(one) for one in (identity(), identity(frames=3), identity(mixed=False))}) == 3

    def test_frames_count_only_where_there_are_some(self):
        def identity(endpoint, **overrides):
            return capability_for("google/x", endpoint, overrides).identity

        assert identity(None) == identity(None, frames=3)
        assert identity("vllm-qwen-omni") != identity("vllm-qwen-omni", frames=3)  # the server is asked for them


def test_every_row_stands_for_itself():
    assert len({row.name for row in ROWS}) == len(ROWS)
    for row in ROWS:
        assert capability_for("any/thing", row.name, {}) == row
        assert not row.key_needed or (row.key_variable and row.base_url)


def test_rows_load_no_inspect_ai():
    code = "import sys, evaluation.models.omni.capabilities, evaluation.delivery; print('inspect_ai' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"
