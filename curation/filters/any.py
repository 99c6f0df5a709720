"""Filters of materials of any modality, by what is known of them."""

from curation.filters.described import Described, Said
from curation.filters.language import is_wanted, wanted_share
from curation.filters.thresholds import Thresholds
from curation.filters.verdict import DropReason, Keep, Verdict, judged
from warehouse.release.licences import forbids_commerce, may_publish, meant_licence

SPEECH = "speech"
HAN_LETTERS = 3
"""A Chinese, Japanese or Korean character says as much as so many letters."""


def licence(described: Described, thresholds: Thresholds) -> Verdict:
    """Drop what no release may hold: every source states a licence, and none may be published.

    Where a source states none the material is kept, for the release stops it until somebody does.
    """
    del thresholds
    stated = sorted({one for one in described.licences if one})
    if not stated:
        return Keep({"licence": None, "why": "no source states one"})
    allowed = [one for one in stated if may_publish(one, described.rules.allowed_licences)]
    if allowed:
        free = next((one for one in allowed if not forbids_commerce(one)), None)
        if free is None:
            return Keep({"licence": allowed[0], "remark": "forbids commercial use, also of a release that shows it"})
        return Keep({"licence": free})
    if len(stated) < len(set(described.licences)):
        return Keep({"licence": None, "why": f"a source states none, another {stated[0]}"})
    meant = next((likely for one in stated if (likely := meant_licence(one)) is not None), None)
    mend = (
        "allow it in allowed_licences once you have read it"
        if meant is None
        else f"did you mean {meant}? ingest it again with that licence"
    )
    fault = f"{' and '.join(stated)} is not known to allow publishing; {mend}"
    return judged(DropReason.LICENCE, [fault], {"licence": stated[0]})


def language(described: Described, thresholds: Thresholds) -> Verdict:
    """Drop what is spoken in languages that the project does not take.

    By the newest transcript; without one by `audio_content`, where that is known to be speech. Descriptions do not
    count: one can describe a barking dog in any language.
    """
    wanted = described.rules.languages
    if not wanted:
        return Keep({"wanted_share": None, "why": "the project takes all languages"})
    share, why = _spoken(described.speech, wanted, thresholds)
    if share is None and described.audio_type == SPEECH:
        share, why = _written(described.audio_content or "", wanted, thresholds)
    if share is None:
        return Keep({"wanted_share": None, "why": why})
    least = thresholds.language_share_min
    fault = f"{share:.0%} of it is in {', '.join(wanted)}, at least {least:.0%}"
    return judged(DropReason.WRONG_LANGUAGE, [fault] if share < least else [], {"wanted_share": share})


def _spoken(speech: tuple[Said, ...], wanted: tuple[str, ...], thresholds: Thresholds) -> tuple[float | None, str]:
    """The share of speech in the languages, by time; None where too little of it is known."""
    known = [said for said in speech if said.language]
    if not known:
        return _written(" ".join(said.text or "" for said in speech), wanted, thresholds)
    total_s = sum(said.duration_s for said in known)
    if total_s < thresholds.language_speech_min_s:
        return None, f"{total_s:.1f} s of speech tell too little"
    wanted_s = sum(said.duration_s for said in known if said.language and is_wanted(said.language, wanted))
    return wanted_s / total_s, ""


def _written(text: str, wanted: tuple[str, ...], thresholds: Thresholds) -> tuple[float | None, str]:
    letters = sum(HAN_LETTERS if ord(one) > 0x2E7F else 1 for one in text if one.isalpha())
    if letters < thresholds.language_letters_min:
        return None, f"{letters} letters of text tell too little" if letters else "no speech is written down"
    return wanted_share(text, wanted), ""
