"""Delivery canaries: does what we send really reach the model, alone, together, and in order?

A server that loses a picture or a sound without a word looks exactly like a question that needs it. So each endpoint is
sent random digits, printed, shown and spoken, and has to say them again; the empty control must be answered "none".
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache

import numpy as np
import pyarrow as pa

from core.condition import SENSES
from core.content import Frozen, MediaPart, Message, Modality, Part, TextPart
from core.media.probe import probe
from core.provenance import canonical_json
from evaluation.asking import Asker, Prompt, Unit
from evaluation.models.catalogue import ModelSpec
from evaluation.models.sim import stimuli
from evaluation.models.sim.grammar import ASKS, AskKind
from evaluation.models.sim.spoken_digits import installed_digits
from warehouse.analytics import analysis
from warehouse.blobs import BlobStore
from warehouse.facts import FactStore
from warehouse.workspace import Workspace

PURPOSE = "canary"
VERSION = 1
TRIALS = 3
_ABOUT = f"{PURPOSE}@{VERSION}"
_NO_REPLY = (None, None, None, None)
_DIGITS = 3
_SHOWS: tuple[tuple[Modality, ...], ...] = (
    (),
    (Modality.IMAGE,),
    (Modality.AUDIO,),
    (Modality.VIDEO,),
    (Modality.IMAGE, Modality.AUDIO),
    (Modality.AUDIO, Modality.IMAGE),
    (Modality.VIDEO, Modality.AUDIO),
    (Modality.AUDIO, Modality.VIDEO),
    (Modality.VIDEO, Modality.IMAGE, Modality.AUDIO),
)
_DIGIT_WORDS = {
    word: str(digit)
    for digit, words in enumerate(
        (
            "zero oh 零", "one 一", "two 二 两", "three 三", "four 四",
            "five 五", "six 六", "seven 七", "eight 八", "nine 九",
        )
    )
    for word in words.split()
}  # fmt: skip
_DIGIT_WORD = re.compile(
    r"\b(?:zero|oh|one|two|three|four|five|six|seven|eight|nine)\b|[零一二两三四五六七八九]", re.IGNORECASE
)
# Between the digits of one code a reply may put spaces, hyphens or dots; a comma or a new line ends the code.
_INSIDE = re.compile(r"(?<=\d)[ .\-–·]+(?=\d)")
# The number of an entry in a list ("1. 472"), which is no digit of the code behind it.
_NUMBERED = re.compile(r"^\s*\d{1,2}\.[ \t]+(?=\d)", re.MULTILINE)
# A reply that was cut short or refused in words still says what arrived; one that failed says nothing.
_SAID = frozenset({"ok", "truncated", "empty"})
_NONE = re.compile(r"\bnone\b|\bnothing\b|无|没有", re.IGNORECASE)


class Arrival(StrEnum):
    """What the canaries say of a modality.

    `yes`: at least half of the trials came back, alone and beside other media. `unclear`: fewer, but some. `no`: none.
    `not_taken`: the endpoint's row says that it takes none, so nothing was sent. `failed`: no trial was answered.
    """

    YES = "yes"
    UNCLEAR = "unclear"
    NO = "no"
    NOT_TAKEN = "not_taken"
    FAILED = "failed"


@dataclass(frozen=True)
class Canary:
    """Media in order, each with the digits that it carries; the same in every run of this version."""

    shows: tuple[Modality, ...]
    trial: int

    @property
    def name(self) -> str:
        """`canary_image_audio_1`."""
        return "_".join([PURPOSE, *(modality.value for modality in self.shows or (Modality.TEXT,)), str(self.trial)])

    @property
    def codes(self) -> tuple[str, ...]:
        """The digits of each medium."""
        return self._drawn()[0]

    def media(self) -> tuple[bytes, ...]:
        """Each medium.

        Raises:
            MissingExtra: The spoken digits are not installed.
        """
        codes, rng = self._drawn()
        return tuple(_carrying(modality, code, rng) for modality, code in zip(self.shows, codes, strict=True))

    def prompt(self, blobs: BlobStore) -> Prompt:
        """What the model is asked; its media are put into the store.

        Raises:
            MissingExtra: The spoken digits are not installed.
        """
        parts: list[Part] = []
        for number, (modality, data) in enumerate(zip(self.shows, _media(self), strict=True), start=1):
            blobs.put(data)
            parts.append(MediaPart(name=f"{modality.value}_{number}", media=probe(data).media_ref()))
        # Equal requests are asked once: the empty controls differ in their blank lines.
        parts.append(TextPart(text="\n" * (1 if self.shows else self.trial + 1) + ASKS[AskKind.REPORT]["en"]))
        return Prompt((Message(role="user", parts=tuple(parts)),), self.name)

    def _drawn(self) -> tuple[tuple[str, ...], np.random.Generator]:
        rng = np.random.default_rng([VERSION, _SHOWS.index(self.shows), self.trial])
        return tuple("".join(map(str, rng.choice(10, _DIGITS, replace=False))) for _ in self.shows), rng


CANARIES = tuple(Canary(shows, trial) for shows in _SHOWS for trial in range(TRIALS))


class Heard(Frozen):
    """One canary's reply, read.

    Attributes:
        shows: Modalities in the order sent.
        codes: What they carried.
        state: Of the response; None when there is none yet.
        reply: Its text.
        found: For each code, whether the reply says it.
        in_order: Whether those that were found came in the order sent; None where fewer than two were. Of the empty
            control, whether nothing was reported.
        error: Why there is no reply.
        response_key: The response behind it; None when there is none yet.
    """

    shows: tuple[Modality, ...]
    codes: tuple[str, ...]
    state: str | None
    reply: str | None
    found: tuple[bool, ...]
    in_order: bool | None
    error: str | None
    response_key: str | None


class ModalityDelivery(Frozen):
    """One modality of one endpoint: trials that came back of those answered, alone and beside others; in order."""

    modality: Modality
    arrival: Arrival
    alone: tuple[int, int]
    together: tuple[int, int]
    in_order: tuple[int, int]


class Delivery(Frozen):
    """What arrives at an endpoint.

    Attributes:
        model: Its name.
        modalities: One for each sense.
        control: How many of the empty controls were answered "none", and how many were answered.
        failures: Canaries that got no answer, by state.
        heard: Every canary.
    """

    model: str
    modalities: tuple[ModalityDelivery, ...]
    control: tuple[int, int]
    failures: Mapping[str, int]
    heard: tuple[Heard, ...]

    @property
    def undelivered(self) -> frozenset[Modality]:
        """What must not be taken to have reached the model: an ablation verdict about it is void."""
        return frozenset(one.modality for one in self.modalities if one.arrival is not Arrival.YES)

    @property
    def was_asked(self) -> bool:
        """Whether any canary was sent."""
        return any(one.state is not None for one in self.heard)

    @property
    def lost(self) -> frozenset[Modality]:
        """What the endpoint promises to take and did not repeat."""
        return frozenset(one.modality for one in self.modalities if one.arrival not in (Arrival.YES, Arrival.NOT_TAKEN))


@cache
def _media(canary: Canary) -> tuple[bytes, ...]:
    return canary.media()


def _carrying(modality: Modality, code: str, rng: np.random.Generator) -> bytes:
    if modality is Modality.IMAGE:
        return stimuli.number_picture(code, rng)
    if modality is Modality.VIDEO:
        return stimuli.numbers_video(code, rng)
    recordings = installed_digits()
    return stimuli.wav(stimuli.spoken([recordings[int(digit)] for digit in code], rng))


def check_delivery(
    workspace: Workspace, run_id: str, models: Sequence[ModelSpec], *, again: bool = False
) -> list[Delivery]:
    """Ask each endpoint the canaries that it has not answered yet, and read what came back.

    Args:
        workspace: Where media come from and answers go.
        run_id: The run that asks.
        models: The endpoints.
        again: Ask all of them once more: a server may have changed since.
    """
    units = canary_units(workspace, models, again=again)
    Asker(workspace.facts, workspace.blobs, workspace.project.root, PURPOSE, run_id).ask(units)
    return known_delivery(workspace.facts, models)


def canary_units(workspace: Workspace, models: Sequence[ModelSpec], *, again: bool = False) -> list[Unit[Prompt]]:
    """All canaries of the latest round of each endpoint, or with `again` of a new one.

    To make their media takes seconds.

    Raises:
        MissingExtra: The spoken digits are not installed.
    """
    rounds = _rounds(workspace.facts)
    return [
        Unit(model, canary.name, _ABOUT, canary.prompt(workspace.blobs), number)
        for model in models
        for number in [rounds[model.name] + again if model.name in rounds else 0]
        for canary in _taken(model)
    ]


def known_delivery(facts: FactStore, models: Sequence[ModelSpec]) -> list[Delivery]:
    """What the latest canaries of each endpoint say; nothing is asked. One that was never asked has failed all."""
    rounds = _rounds(facts)
    wanted = pa.table(
        {
            "model": pa.array([model.name for model in models], pa.string()),
            "parameters": pa.array([canonical_json(model.request_identity) for model in models], pa.string()),
            "replicate": pa.array([rounds.get(model.name, 0) for model in models], pa.int64()),
        }
    )
    with analysis(facts, ["response"]) as connection:
        connection.register("wanted", wanted)
        rows = connection.execute(
            "SELECT model, condition, key, state, answer, error FROM response "
            "SEMI JOIN wanted USING (model, parameters, replicate) WHERE revision_id = ?",
            [_ABOUT],
        ).fetchall()
    replies = {(model, name): told for model, name, *told in rows}
    return [
        _delivery(model, [_hear(one, *replies.get((model.name, one.name), _NO_REPLY)) for one in _taken(model)])
        for model in models
    ]


def delivery_rows(delivery: Delivery) -> list[list[str]]:
    """Rows for a terminal: model, modality, arrival, alone, together, in order."""
    rows = [
        [delivery.model, one.modality.value, one.arrival.value, *map(_of, (one.alone, one.together, one.in_order))]
        for one in delivery.modalities
    ]
    good, answered = delivery.control
    nothing_sent = Arrival.FAILED if not answered else Arrival.YES if good == answered else Arrival.UNCLEAR
    return [*rows, [delivery.model, "(nothing)", nothing_sent.value, _of(delivery.control), "-", "-"]]


def problems(delivery: Delivery) -> list[str]:
    """What a user must know of an endpoint's delivery, a sentence each."""
    by_arrival = {
        arrival: [one.modality.value for one in delivery.modalities if one.arrival is arrival] for arrival in Arrival
    }
    told = [f"{name} does not arrive: no ablation with it proves anything" for name in by_arrival[Arrival.NO]]
    told += [f"{name} does not always arrive: look at its replies (--json)" for name in by_arrival[Arrival.UNCLEAR]]
    states = ", ".join(f"{count} {state}" for state, count in delivery.failures.items())
    if states:
        errors = Counter(one.error for one in delivery.heard if one.error and one.state not in _SAID)
        told.append(
            f"canaries without an answer: {states}" + "".join(f"; {error}" for error, _ in errors.most_common(1))
        )
    disordered = [one.modality.value for one in delivery.modalities if one.in_order[0] < one.in_order[1]]
    if disordered:
        told.append(f"{' and '.join(disordered)} do not always arrive in the order sent")
    if delivery.control[0] < delivery.control[1]:
        told.append("it does not say none when nothing was sent: its other replies may be guesses too")
    return told


def read_reply(codes: Sequence[str], reply: str) -> tuple[tuple[bool, ...], bool | None]:
    """Which codes a reply says, and whether it says them in order; None where it says fewer than two.

    Digits may be written as words and apart ("four seven two", "4 7 2"); a longer number that holds a code is another.
    """
    text = _DIGIT_WORD.sub(lambda word: _DIGIT_WORDS[word[0].lower()], unicodedata.normalize("NFKC", reply))
    # "4. 7. 2" is one code, "1. 472" the first entry of a list: whichever way of reading says more codes.
    ways = [[_place(code, _INSIDE.sub("", way)) for code in codes] for way in (text, _NUMBERED.sub("", text))]
    places = max(ways, key=lambda way: sum(place is not None for place in way))
    found = tuple(place is not None for place in places)
    known = [place for place in places if place is not None]
    return found, known == sorted(known) if len(known) > 1 else None


def _place(code: str, text: str) -> int | None:
    hit = re.search(rf"(?<!\d){code}(?!\d)", text)
    return hit.start() if hit else None


def _of(counts: tuple[int, int]) -> str:
    return f"{counts[0]} of {counts[1]}" if counts[1] else "-"


def _rounds(facts: FactStore) -> dict[str, int]:
    """The latest round of canaries of each model, by its name."""
    with analysis(facts, ["response"]) as connection:
        query = "SELECT model, max(replicate) FROM response WHERE revision_id = ? GROUP BY model"
        return dict(connection.execute(query, [_ABOUT]).fetchall())


def _taken(model: ModelSpec) -> list[Canary]:
    """The canaries that an endpoint says it takes."""
    return [one for one in CANARIES if all(model.capability.taken(modality) for modality in one.shows)]


def _hear(canary: Canary, key: str | None, state: str | None, reply: str | None, error: str | None) -> Heard:
    found, in_order = read_reply(canary.codes, reply or "")
    if not canary.shows:
        in_order = _NONE.search(reply or "") is not None and not re.search(r"\d", reply or "")
    return Heard(
        shows=canary.shows,
        codes=canary.codes,
        state=state,
        reply=reply,
        found=found,
        in_order=in_order,
        error=error,
        response_key=key,
    )


def _delivery(model: ModelSpec, heard: Sequence[Heard]) -> Delivery:
    said = [one for one in heard if one.state in _SAID]
    controls = [bool(one.in_order) for one in said if not one.shows]
    failures = Counter(one.state or "not asked" for one in heard if one.state not in _SAID)
    return Delivery(
        model=model.name,
        modalities=tuple(_of_modality(model, modality, said) for modality in SENSES),
        control=(sum(controls), len(controls)),
        failures=dict(sorted(failures.items())),
        heard=tuple(heard),
    )


def _of_modality(model: ModelSpec, modality: Modality, said: Sequence[Heard]) -> ModalityDelivery:
    holding = [one for one in said if modality in one.shows]
    alone = [one.found[0] for one in holding if len(one.shows) == 1]
    together = [one.found[one.shows.index(modality)] for one in holding if len(one.shows) > 1]
    in_order = [one.in_order for one in holding if one.in_order is not None and one.found[one.shows.index(modality)]]
    if model.capability.taken(modality) is None:
        arrival = Arrival.NOT_TAKEN
    elif not holding:
        arrival = Arrival.FAILED
    else:
        # Alone and together count for themselves: some servers lose a part only where another stands beside it.
        shares = [sum(trials) / len(trials) for trials in (alone, together) if trials]
        arrival = Arrival.YES if min(shares) >= 0.5 else Arrival.UNCLEAR if max(shares) > 0 else Arrival.NO
    counts = [(sum(trials), len(trials)) for trials in (alone, together, in_order)]
    return ModalityDelivery(modality=modality, arrival=arrival, alone=counts[0], together=counts[1], in_order=counts[2])
