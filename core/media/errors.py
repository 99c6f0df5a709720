"""What can be wrong with a media file: one class a mistake, each with a stable reason code that reports count by."""

from typing import ClassVar

from core.errors import InterplayError


class MediaError(InterplayError):
    """Base of every mistake that costs one media file; `reason` is its code in reports and databases."""

    reason: ClassVar[str] = "media_error"


class EmptyFile(MediaError):
    """A file without a byte in it."""

    reason = "empty_file"


class UnreadableFile(MediaError):
    """A path where no file is, or none that may be read."""

    reason = "unreadable"


class UndecodableMedia(MediaError):
    """Content that no decoder can read, though it is all there."""

    reason = "undecodable"


class TruncatedMedia(MediaError):
    """Content that ends before its own header says that it does."""

    reason = "truncated"


class DisguisedMedia(MediaError):
    """A name that says one modality, and content that is another or no media at all."""

    reason = "disguised"


class TooLarge(MediaError):
    """More bytes, pixels, seconds or streams than the limits allow."""

    reason = "too_large"


class UnsupportedMedia(MediaError):
    """A format or codec that is known, and not read here."""

    reason = "unsupported"


class ReferencingMedia(MediaError):
    """A playlist, list or document that names other files or hosts instead of holding the media itself."""

    reason = "referencing"


class DecoderHung(MediaError):
    """A decoder that did not finish in its time."""

    reason = "decoder_hung"


class DecoderCrashed(MediaError):
    """A decoder that died or ran out of its memory."""

    reason = "decoder_crashed"
