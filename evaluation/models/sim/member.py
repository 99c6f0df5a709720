"""Simulated panel members: they decode the bytes that they receive, answer by them, and guess what they lack.

Every draw is a hash of the member's seed, what it received and the replicate; there is no state, so the same call gives
the same reply whatever was asked before.
"""

import hashlib
from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import cached_property
from threading import Lock
from typing import Any, Literal

from pydantic import Field, ValidationError, field_validator

from core.content import Frozen, Modality
from core.errors import InterplayError, UnknownName, first_problem
from evaluation.models.sim.chance import pick, share
from evaluation.models.sim.gallery import Gallery
from evaluation.models.sim.grammar import STEP, Ask, AskKind, Language, Understood, frames_announced, read
from evaluation.models.sim.misperception import Senses
from evaluation.models.sim.percepts import Percept, perceive, perceive_frames
from evaluation.models.sim.reasoning import NOTHING, Known, know, work_out

ErrorKind = Literal["429", "500", "timeout", "hang", "cut", "garbage"]

MOST_RETRIES = 5
"""After so many failures of one call in a row, the next attempt counts as a new call."""

_REFUSAL: dict[Language, str] = {"en": "I'm sorry, but I can't help with that.", "zh": "抱歉，我无法回答这个问题。"}
_UNSURE: dict[Language, str] = {"en": "cannot tell", "zh": "无法判断"}
_ANSWER: dict[Language, str] = {"en": "Answer: {answer}", "zh": "答案：{answer}"}
_FILLER = "Let me look and listen again.\n"
_TOKENS = {Modality.IMAGE: 256, Modality.AUDIO: 128, Modality.VIDEO: 512}


class BadKnobs(InterplayError):
    """Settings that are no knobs of a simulated member."""


class Knobs(Frozen):
    """What a member is like. Rates and strengths are probabilities.

    Attributes:
        seed: Members of other seeds err, guess and fail elsewhere.
        perception: That each percept (a count, a digit, a photo) is right.
        shared_prior: That a guess follows the preference that all members share for a question.
        own_prior: That it else follows the member's own preference for the question.
        position_bias: That it else takes the option at the member's favourite place.
        refusal: That the member refuses.
        truncation: That its reply is cut in the middle.
        error_rate: That an attempt fails.
        errors: The kinds of failures: status 429 and 500, a gateway's timeout, no answer ever (hang), a connection that
            breaks in the middle of the reply (cut), and a reply that is no JSON (garbage).
        dropped: Modalities whose parts the endpoint loses without a word.
        strict_steps: Whether, once a step cannot be worked out, this and all later steps say so instead of guessing.
        latency_s: How long each call takes at least.
        retry_after_s: What a 429 of the server asks callers to wait.
        answer_bytes: Size that answers are filled up to, in front of what they say.
    """

    seed: int = 0
    perception: float = Field(default=1.0, ge=0, le=1)
    shared_prior: float = Field(default=0.0, ge=0, le=1)
    own_prior: float = Field(default=0.0, ge=0, le=1)
    position_bias: float = Field(default=0.0, ge=0, le=1)
    refusal: float = Field(default=0.0, ge=0, le=1)
    truncation: float = Field(default=0.0, ge=0, le=1)
    error_rate: float = Field(default=0.0, ge=0, le=1)
    errors: tuple[ErrorKind, ...] = Field(default=("429", "500", "timeout"), min_length=1)
    dropped: frozenset[Modality] = frozenset()
    strict_steps: bool = False
    latency_s: float = Field(default=0.0, ge=0)
    retry_after_s: float = Field(default=1.0, ge=0)
    answer_bytes: int = Field(default=0, ge=0)

    @field_validator("errors", "dropped", mode="before")
    @classmethod
    def _one_or_many(cls, value: Any) -> Any:
        # From a command line, a single value comes bare, and 429 comes as a number.
        values = [value] if isinstance(value, str | int) else value
        return [str(each) for each in values]


def read_knobs(table: Mapping[str, Any], place: str) -> Knobs:
    """Knobs by name, as settings and command lines give them; `place` says where they stand.

    Raises:
        BadKnobs: One of them is unknown or has an impossible value.
    """
    for name in table:
        if name not in Knobs.model_fields:
            raise BadKnobs(f"{place}: {UnknownName('knob', name, Knobs.model_fields)}")
    try:
        return Knobs.model_validate(table)
    except ValidationError as error:
        raise BadKnobs(f"{place}: {first_problem(error)}") from error


class SeenMedia(Frozen):
    """A piece of media as it arrived: one file, or for a video its frames, each a picture file, and no sound."""

    modality: Modality
    media_type: str
    data: bytes = Field(default=b"", repr=False)
    frames: tuple[bytes, ...] = Field(default=(), repr=False)

    @cached_property
    def sha256(self) -> str:
        """Of the file; of the frames, over the sha256 of each."""
        if not self.frames:
            return hashlib.sha256(self.data).hexdigest()
        return hashlib.sha256(b"".join(hashlib.sha256(frame).digest() for frame in self.frames)).hexdigest()


class Reply(Frozen):
    """What came back."""

    text: str
    stop: Literal["stop", "content_filter", "max_tokens"]


class SimulatedFailure(Exception):
    """The endpoint failed instead of answering; `status_code` if it is one, and `attempt` counts from 0."""

    def __init__(self, kind: ErrorKind, attempt: int) -> None:
        super().__init__(f"simulated failure: {kind} at attempt {attempt + 1}")
        self.kind = kind
        self.attempt = attempt
        self.status_code = int(kind) if kind.isdigit() else None


class SimulatedTimeout(SimulatedFailure, TimeoutError):
    """The endpoint did not answer in time, or not at all."""


class SimulatedDisconnect(SimulatedFailure, ConnectionError):
    """The connection broke in the middle of the reply."""


class SimulatedGarbage(SimulatedFailure, ValueError):
    """The reply was no JSON."""


_FAILURES: Mapping[ErrorKind, type[SimulatedFailure]] = {
    "timeout": SimulatedTimeout,
    "hang": SimulatedTimeout,
    "cut": SimulatedDisconnect,
    "garbage": SimulatedGarbage,
}


class Perceiver:
    """Looks at and listens to each piece of media once, for all members that know the same gallery."""

    def __init__(self, gallery: Gallery) -> None:
        self.gallery = gallery
        self._perceived: dict[tuple[Modality, str], Percept] = {}
        self._looking: defaultdict[tuple[Modality, str], Lock] = defaultdict(Lock)

    def __call__(self, media: SeenMedia) -> Percept:
        """What is in it.

        Raises:
            MediaError: The bytes cannot be read as that modality.
        """
        key = (media.modality, media.sha256)
        if key not in self._perceived:
            with self._looking[key]:
                if key not in self._perceived:
                    self._perceived[key] = self._perceive(media)
        return self._perceived[key]

    def _perceive(self, media: SeenMedia) -> Percept:
        if media.frames:
            return perceive_frames(media.frames, self.gallery)
        return perceive(media.modality, media.data, self.gallery)


def with_videos(parts: Sequence[str | SeenMedia]) -> list[str | SeenMedia]:
    """The parts, where pictures that a text announces as the frames of a video are that video."""
    joined: list[str | SeenMedia] = []
    frames: list[SeenMedia] = []
    awaited = 0
    for part in parts:
        if isinstance(part, SeenMedia) and part.modality is Modality.IMAGE and awaited:
            frames.append(part)
            awaited -= 1
            if awaited:
                continue
            pictures = tuple(frame.data for frame in frames)
            joined.append(SeenMedia(modality=Modality.VIDEO, media_type=part.media_type, frames=pictures))
            frames = []
            continue
        joined.extend(frames)
        frames, awaited = [], frames_announced(part) if isinstance(part, str) else 0
        joined.append(part)
    return joined + frames


class Member:
    """One simulated model."""

    def __init__(self, knobs: Knobs, gallery: Gallery | Perceiver) -> None:
        self.knobs = knobs
        self._perceiver = gallery if isinstance(gallery, Perceiver) else Perceiver(gallery)

    def answer(self, parts: Sequence[str | SeenMedia], replicate_key: str = "", attempt: int = 0) -> Reply:
        """Reply to text and media in the order sent, or fail.

        Args:
            parts: What was sent.
            replicate_key: Another key is another sample of the same question.
            attempt: How often this very call has failed before; decides nothing but whether it fails again.

        Raises:
            SimulatedFailure: By `error_rate`.
            MediaError: A part cannot be decoded.
        """
        kind = self.failure(self.call_key(parts), replicate_key, attempt)
        if kind is not None:
            raise _FAILURES.get(kind, SimulatedFailure)(kind, attempt)
        return self.reply(parts, replicate_key)

    def reply(self, parts: Sequence[str | SeenMedia], replicate_key: str = "") -> Reply:
        """What `answer` gives where it does not fail.

        Raises:
            MediaError: A part cannot be decoded.
        """
        call = self.call_key(parts)
        received = with_videos(self.received(parts))
        percepts = [
            self._senses(part.sha256, replicate_key).blur(self._perceiver(part))
            for part in received
            if isinstance(part, SeenMedia)
        ]
        said = read("\n".join(part for part in received if isinstance(part, str)))
        if self._happens("refusal", self.knobs.refusal, call, replicate_key):
            return Reply(text=_REFUSAL[said.language], stop="content_filter")
        labels = self._perceiver.gallery.labels(said.language)
        reply = _Answering(self.knobs, labels, said, know(percepts, labels, said), f"{call}/{replicate_key}").reply()
        if self._happens("truncation", self.knobs.truncation, call, replicate_key):
            return Reply(text=reply[: len(reply) // 2], stop="max_tokens")
        return Reply(text=_filled_up(reply, self.knobs.answer_bytes), stop="stop")

    def failure(self, call: str, replicate_key: str = "", attempt: int = 0) -> ErrorKind | None:
        """How this attempt at a call (see `call_key`) fails, or None."""
        if not self._happens("error", self.knobs.error_rate, call, replicate_key, attempt):
            return None
        return pick(self.knobs.errors, self.knobs.seed, "kind", call, replicate_key, attempt)

    def perceive(self, part: str | SeenMedia) -> None:
        """Look at or listen to a part now, as far as it is received, for `reply` to use later.

        Raises:
            MediaError: It cannot be decoded.
        """
        if isinstance(part, SeenMedia) and part.modality not in self.knobs.dropped:
            self._perceiver(part)

    def received(self, parts: Sequence[str | SeenMedia]) -> list[str | SeenMedia]:
        """The parts that the endpoint does not lose."""
        return [part for part in parts if isinstance(part, str) or part.modality not in self.knobs.dropped]

    def call_key(self, parts: Sequence[str | SeenMedia]) -> str:
        """sha256 over what is received, in order."""
        pieces = [part if isinstance(part, str) else bytes.fromhex(part.sha256) for part in self.received(parts)]
        return hashlib.sha256(repr(pieces).encode()).hexdigest()

    def _happens(self, what: str, rate: float, *keys: object) -> bool:
        return share(self.knobs.seed, what, *keys) < rate

    def _senses(self, digest: str, replicate_key: str) -> Senses:
        key = f"{self.knobs.seed}/{digest}/{replicate_key}"
        return Senses(self.knobs.perception, len(self._perceiver.gallery.labels_en), key)


class _Answering:
    """One reply in the making."""

    def __init__(self, knobs: Knobs, labels: Sequence[str], said: Understood, known: Known, call: str) -> None:
        self.knobs, self.labels, self.said, self.known, self.call = knobs, labels, said, known, call

    def reply(self) -> str:
        if self.said.steps:
            return "\n".join(self._steps())
        if self.said.choices:
            return _ANSWER[self.said.language].format(answer=self._choose())
        answers = [self._answer(ask, f"{place}") for place, ask in enumerate(self.said.asks or (None,))]
        answer = self.said.hint or ", ".join(answers)
        return _ANSWER[self.said.language].format(answer=answer) if self.said.asks_for_prefix else answer

    def _steps(self) -> list[str]:
        lines = []
        lost = False
        for place, asks in enumerate(self.said.steps, start=1):
            ask = asks[0] if asks else None
            answer = None if ask is None else work_out(ask, self.known, self.said.language)
            if self.said.hint and place == len(self.said.steps):
                answer = self.said.hint
            lost = lost or answer is None
            if lost and self.knobs.strict_steps:
                answer = _UNSURE[self.said.language]
            answer = answer or self._guess(self._domain(ask), f"step {place}")
            lines.append(STEP[self.said.language].format(place=place, text=answer))
        return lines

    def _choose(self) -> str:
        worked_out = work_out(self.said.asks[0], self.known, self.said.language) if self.said.asks else None
        answer = _folded(self.said.hint or worked_out or "")
        for label, option in self.said.choices:
            if answer and answer in (_folded(option), label.casefold()):
                return label
        options = [option for _, option in self.said.choices]
        guess = self._guess(options, "choice", may_prefer_place=True)
        return self.said.choices[options.index(guess)][0]

    def _answer(self, ask: Ask | None, name: str) -> str:
        answer = None if ask is None else work_out(ask, self.known, self.said.language)
        if answer is None and self.said.may_say_none:
            return NOTHING[self.said.language]
        return answer or self._guess(self._domain(ask), name)

    def _domain(self, ask: Ask | None) -> list[str]:
        if ask is not None and ask.kind in (AskKind.POINTED, AskKind.PLACED, AskKind.PICTURE):
            return list(self.labels) or [_UNSURE[self.said.language]]
        return [str(number) for number in range((ask.modulus if ask else None) or 10)]

    def _guess(self, options: Sequence[str], name: str, *, may_prefer_place: bool = False) -> str:
        """One of the options: by a prior over their texts, by place, or at random."""
        knobs = self.knobs
        question = (self.said.subject, name, *sorted(options))
        if share(knobs.seed, "follows all", *question) < knobs.shared_prior:
            return max(options, key=lambda option: share("preferred by all", *question, option))
        if share(knobs.seed, "follows own", *question) < knobs.own_prior:
            return max(options, key=lambda option: share(knobs.seed, "preferred", *question, option))
        if may_prefer_place and share(knobs.seed, "by place", self.call, name) < knobs.position_bias:
            return options[int(share(knobs.seed, "favourite place") * len(options))]
        return pick(options, knobs.seed, "guess", self.call, name)


def token_count(part: str | SeenMedia) -> int:
    """A rough number of tokens, as usage reports it."""
    return len(part) // 4 + 1 if isinstance(part, str) else _TOKENS[part.modality]


def _filled_up(answer: str, byte_count: int) -> str:
    missing = byte_count - len(answer.encode())
    return (_FILLER * (missing // len(_FILLER) + 1))[:missing] + answer if missing > 0 else answer


def _folded(text: str) -> str:
    return " ".join(text.split()).casefold()
