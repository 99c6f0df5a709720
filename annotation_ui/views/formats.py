"""Measures in words, and words from forms."""

from pathlib import PurePosixPath

from annotation_ui.words import Words
from core.content import MediaRef


def duration(duration_s: float) -> str:
    """As `0:07` or `1:02:03`; below ten seconds with a decimal, as `2.4 s`."""
    if duration_s < 10:
        return f"{duration_s:.1f} s"
    minutes, seconds = divmod(round(duration_s), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02}" if hours else f"{minutes}:{seconds:02}"


def byte_size(byte_count: int) -> str:
    """In the unit that keeps it below 1000, decimal (SI) units."""
    size = float(byte_count)
    for unit in ("B", "kB", "MB", "GB"):
        if size < 1000:
            return f"{size:.0f} {unit}" if unit == "B" or size >= 100 else f"{size:.1f} {unit}"
        size /= 1000
    return f"{size:.1f} TB"


def short_facts(media: MediaRef) -> str:
    """The measures that tell one piece of media from another, in one line."""
    facts = []
    if media.width_px and media.height_px:
        facts.append(f"{media.width_px} × {media.height_px}")
    if media.duration_s is not None:
        facts.append(duration(media.duration_s))
    facts.append(byte_size(media.byte_count))
    return " · ".join(facts)


def media_facts(media: MediaRef, t: Words) -> list[tuple[str, str]]:
    """Everything that is known of the working copy."""
    facts = [(t("Type"), media.media_type), (t("Size"), byte_size(media.byte_count))]
    if media.width_px and media.height_px:
        facts.append((t("Width and height"), f"{media.width_px} × {media.height_px} px"))
    if media.duration_s is not None:
        facts.append((t("Duration"), duration(media.duration_s)))
    if media.sample_rate_hz is not None:
        facts.append((t("Sample rate"), f"{media.sample_rate_hz / 1000:g} kHz"))
    if media.frame_rate_hz is not None:
        facts.append((t("Frame rate"), f"{media.frame_rate_hz:g} Hz"))
    return facts


def source_title(origin: str) -> str:
    """The part of an origin that people know a file by."""
    return PurePosixPath(origin.replace("\\", "/").rstrip("/")).name or origin


def searched(text: str) -> str:
    """What to look for, without the NUL that PostgreSQL refuses and SQLite takes for the end of a pattern."""
    return text.replace("\x00", "").strip()
