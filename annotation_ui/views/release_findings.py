"""What blocks sealing, in the reader's words: what it is, where, and how it is mended."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from annotation_ui import labels
from annotation_ui.views.paging import paging
from annotation_ui.views.releases import SPLITS
from annotation_ui.words import N_, Words
from warehouse.release.checks import Block
from warehouse.release.splits import Split
from warehouse.tables import ItemState

PAGE_SIZE = 20
MOST_ITEMS = 5
NOT_NAMED = N_("The questions are not named here, because you may still be asked to judge them blind.")
_REBUILD = N_("Discard this draft and build it again.")
_REVISE = N_("Revise the question, take the new revision through review, and build again.")
_AGAIN = N_("Bring the material in again, revise the question, and build again.")
WORDS: dict[Block, tuple[str, str]] = {
    Block.NEWER_REVISION: (N_("Revision {number} was chosen, but there is a newer one."), _REBUILD),
    Block.NOT_ACCEPTED: (
        N_("The question is not accepted: it stands at “{state}”."),
        N_("Finish its review, or discard this draft and build it again without the question."),
    ),
    Block.NO_VERDICT: (
        N_("Revision {number} has not passed round {round}."),
        N_("Take it through round {round}, or discard this draft and build it again without the question."),
    ),
    Block.BAD_QUESTION: (N_("The question is not valid."), _REVISE),
    Block.FOREIGN_MEDIA: (N_("<{placeholder}> shows what is not in the library."), _REVISE),
    Block.TORN_GROUP: (N_("Twins or look-alikes lie in different splits ({splits})."), _REBUILD),
    Block.WITHDRAWN_MATERIAL: (
        N_("Whoever gave the material withdrew it."),
        N_("Retire or revise the question, and build again."),
    ),
    Block.DROPPED_MATERIAL: (
        N_("The material is dropped from the library ({reason})."),
        N_("Keep it on its page if the drop was wrong; else revise the question, and build again."),
    ),
    Block.NO_LICENCE: (
        N_("No licence is on record for the material."),
        N_("Bring it in again with its licence, or use another material."),
    ),
    Block.UNKNOWN_LICENCE: (
        N_("“{licence}” is not known to allow publishing."),
        N_("Read it. If it allows publishing, say so above and check again; else use another material."),
    ),
    Block.CONSENT: (
        N_("The speaker's consent does not cover publishing now."),
        N_("Ask for a new consent, or use another material."),
    ),
    Block.UNREADABLE_MEDIA: (N_("The media cannot be read."), _AGAIN),
    Block.OTHER_MEDIA: (N_("The bytes are not what the question says of them."), _AGAIN),
    Block.METADATA: (N_("The media still carry data that may tell of people or places."), _AGAIN),
    Block.SOUND_IN_VIDEO: (N_("The film still carries its sound, which no condition could leave out."), _AGAIN),
    Block.BUG: (N_("The release contradicts itself."), N_("Report this: it is a mistake of Interplay.")),
}
NO_NEW_CONSENT = N_("Use another material: this consent was withdrawn.")


@dataclass(frozen=True)
class FindingRow:
    """One finding. `items` are names, `more` counts those left out; `detail` is in English, as a program said it."""

    problem: str
    mend: str
    items: Sequence[str]
    more: int
    material_id: str | None
    detail: str


@dataclass(frozen=True)
class FindingsPage:
    """One page of what blocks, the same together. `kinds` are all that occur, with how often, as codes and words."""

    rows: Sequence[FindingRow]
    page_count: int
    kinds: Mapping[str, str]
    licences: Sequence[str]


def findings_page(stored: Sequence[Mapping[str, Any]], kind: str | None, page: int, t: Words) -> FindingsPage:
    """The asked page of stored findings, of one kind or all. `licences` are those that somebody may read and allow."""
    order = list(Block)
    known = sorted(stored, key=lambda one: order.index(_kind(one)))
    counts = Counter(_kind(one) for one in known)
    chosen = [one for one in known if kind is None or _kind(one) == kind]
    at = paging(len(chosen), PAGE_SIZE, page)
    licences = {one["values"]["licence"] for one in known if _kind(one) is Block.UNKNOWN_LICENCE}
    return FindingsPage(
        rows=[_row(one, t) for one in chosen[at.rows]],
        page_count=at.page_count,
        kinds={
            kind.value: t("{what} ({count})", what=t(TITLES[kind]), count=t.number(count))
            for kind, count in counts.items()
        },
        licences=sorted(licences),
    )


TITLES: dict[Block, str] = {
    Block.NEWER_REVISION: N_("A newer revision"),
    Block.NOT_ACCEPTED: N_("Not accepted"),
    Block.NO_VERDICT: N_("A round that was not passed"),
    Block.BAD_QUESTION: N_("A question that is not valid"),
    Block.FOREIGN_MEDIA: N_("Media that are not in the library"),
    Block.TORN_GROUP: N_("Twins or look-alikes apart"),
    Block.WITHDRAWN_MATERIAL: N_("A withdrawn material"),
    Block.DROPPED_MATERIAL: N_("A dropped material"),
    Block.NO_LICENCE: N_("No licence"),
    Block.UNKNOWN_LICENCE: N_("A licence to read"),
    Block.CONSENT: N_("A consent that does not cover it"),
    Block.UNREADABLE_MEDIA: N_("Media that cannot be read"),
    Block.OTHER_MEDIA: N_("Other bytes than stated"),
    Block.METADATA: N_("Personal data in media"),
    Block.SOUND_IN_VIDEO: N_("Sound in a film"),
    Block.BUG: N_("A mistake of Interplay"),
}


def _kind(stored: Mapping[str, Any]) -> Block:
    return Block(stored["kind"])


def _row(stored: Mapping[str, Any], t: Words) -> FindingRow:
    kind = _kind(stored)
    problem, mend = WORDS[kind]
    values = _values(stored["values"], t)
    if kind is Block.CONSENT and not stored["values"].get("may_ask"):
        mend = NO_NEW_CONSENT
    items = list(stored["items"])
    return FindingRow(
        problem=t(problem, **values) if values else t(problem),
        mend=t(mend, **values) if values else t(mend),
        items=items[:MOST_ITEMS],
        more=max(len(items) - MOST_ITEMS, 0),
        material_id=stored["material_id"],
        detail=stored["values"].get("detail", "") or (stored["problem"] if kind is Block.BUG else ""),
    )


def _values(values: Mapping[str, str], t: Words) -> dict[str, str]:
    told = dict(values)
    if "state" in told:
        told["state"] = t(labels.ITEM_STATES[ItemState(told["state"])])
    if "splits" in told:
        told["splits"] = t(", ").join(t(SPLITS[Split(one)]) for one in told["splits"].split())
    if "reason" in told:
        told["reason"] = labels.drop_reason(t, told["reason"]) if told["reason"] else t("no reason is given")
    return told
