import re
from functools import cached_property
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from core.content import Frozen, MediaPart, MediaRef, Message, MisplacedMedia, Modality, TextPart, parse_prompt


def ref(modality: str = "image", sha256: str = "a" * 64, **changes) -> MediaRef:
    return MediaRef(**{"sha256": sha256, "media_type": "x/y", "modality": modality, "byte_count": 1} | changes)


def test_media_stands_where_the_text_names_it_and_a_later_mention_stays_text():
    image, audio = ref("image"), ref("audio")
    parts = parse_prompt("See <image_1>, hear <audio_1>: is <image_1> louder?", {"image_1": image, "audio_1": audio})
    assert parts == (
        TextPart(text="See "),
        MediaPart(name="image_1", media=image),
        TextPart(text=", hear "),
        MediaPart(name="audio_1", media=audio),
        TextPart(text=": is <image_1> louder?"),
    )


def test_a_prompt_may_begin_and_end_with_media():
    parts = parse_prompt("<image_2><image_1>", {"image_1": ref(), "image_2": ref()})
    assert [part.name for part in parts] == ["image_2", "image_1"]


@pytest.mark.parametrize(
    "text", ["<image_0>", "<image_01>", "<image_>", "<text_1>", "<Image_1>", "< image_1>", "a < b > c"]
)
def test_what_is_no_placeholder_is_text(text):
    assert parse_prompt(text, {}) == (TextPart(text=text),)


@pytest.mark.parametrize(
    ("text", "media", "told"),
    [
        ("<image_1> <image_2>", {"image_1": ref()}, "the prompt names <image_2>, but no media"),
        (
            "<image_1>",
            {"image_1": ref(), "audio_3": ref("audio")},
            "media 'audio_3' has no placeholder; write <audio_3>",
        ),
        ("<image_1>", {"image_1": ref("audio")}, "<image_1> stands for audio media; rename it <audio_1>"),
    ],
)
def test_text_and_media_must_match(text, media, told):
    with pytest.raises(MisplacedMedia, match=re.escape(told)) as caught:
        parse_prompt(text, media)
    assert "\n" not in str(caught.value)


NAMES = st.builds("{}_{}".format, st.sampled_from(["image", "audio", "video"]), st.integers(1, 12))
PIECES = st.lists(st.one_of(st.text(), NAMES.map("<{}>".format)), max_size=12)


@given(PIECES)
def test_parts_say_what_the_author_wrote_and_hold_each_media_once(pieces):
    text = "".join(pieces)
    names = re.findall(r"<((?:image|audio|video)_[1-9]\d*)>", text, re.ASCII)
    media = {name: ref(name.split("_")[0], f"{place:064x}") for place, name in enumerate(names)}
    parts = parse_prompt(text, media)
    assert "".join(p.text if isinstance(p, TextPart) else f"<{p.name}>" for p in parts) == text
    placed = [part for part in parts if isinstance(part, MediaPart)]
    assert [part.name for part in placed] == list(dict.fromkeys(names))
    assert all(part.media == media[part.name] for part in placed)
    kinds = [part.type for part in parts]
    assert ("text", "text") not in set(pairwise(kinds))
    assert TextPart(text="") not in parts


@pytest.mark.parametrize(
    "wrong",
    [
        {"sha256": "A" * 64},
        {"sha256": "a" * 63},
        {"sha256": "/etc/passwd"},
        {"byte_count": 0},
        {"modality": "smell"},
        {"duration_s": float("nan")},
        {"duration_s": float("inf")},
        {"path": "/tmp/x.png"},
    ],
)
def test_a_media_reference_refuses_what_names_no_media(wrong):
    with pytest.raises(ValidationError):
        ref(**wrong)


def test_a_placeholder_cannot_name_media_of_another_modality():
    with pytest.raises(ValidationError, match="'image_1' cannot name audio media"):
        MediaPart(name="image_1", media=ref("audio"))


def test_values_do_not_change():
    with pytest.raises(ValidationError):
        ref().byte_count = 2


def test_messages_survive_json():
    message = Message(role="user", parts=(TextPart(text="看"), MediaPart(name="video_1", media=ref("video"))))
    again = Message.model_validate_json(message.model_dump_json())
    assert again == message
    assert again.parts[1].media.modality is Modality.VIDEO


def test_a_copy_works_out_anew_what_follows_from_its_fields():
    class Square(Frozen):
        side: int

        @cached_property
        def area(self) -> int:
            return self.side**2

    square = Square(side=2)
    assert square.area == 4
    larger = square.model_copy(update={"side": 3})
    assert (larger.area, square.area) == (9, 4)
