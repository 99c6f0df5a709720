"""What a rule says of an answer, and how a grade's reason carries that so that machines can read it back."""

from dataclasses import dataclass
from enum import StrEnum

from core.grading import Grade


class Verdict(StrEnum):
    """The first word of a rule grade's reason."""

    RIGHT = "right"
    PARTIAL = "partial"
    WRONG = "wrong"
    INVALID = "invalid"
    NOT_GRADED = "not graded"


class Why(StrEnum):
    """The code that may follow the verdict: what an invalid response is, or why nothing was graded.

    A `wrong: no_match` is a weak one: no accepted wording was found, which a synonym would explain too.
    """

    EMPTY = "empty"
    REFUSAL = "refusal"
    TRUNCATED = "truncated"
    # Of a person: they said that they cannot tell; their time was over.
    ABSTAINED = "abstained"
    TIMED_OUT = "timed_out"
    UNCLOSED_THINKING = "unclosed_thinking"
    COPIES_OPTIONS = "copies_options"
    UNREAD = "unread"
    AMBIGUOUS = "ambiguous"
    HEDGED = "hedged"
    CONTRADICTION = "contradiction"
    BAD_KEY = "bad_key"
    OPEN_STEP = "open_step"
    NO_MATCH = "no_match"
    # Of a judge: its call brought no reply; the reply cannot be read; it has not the nonce that was asked for; a step
    # is missing or judged twice; points are out of range; a part of the points without a rubric; the sum is wrong.
    JUDGE_FAILED = "judge_failed"
    JUDGE_UNREADABLE = "judge_unreadable"
    JUDGE_NONCE = "judge_nonce"
    JUDGE_STEPS = "judge_steps"
    JUDGE_RANGE = "judge_range"
    JUDGE_PART = "judge_part"
    JUDGE_SUM = "judge_sum"


_POINTS = {Verdict.RIGHT: 1.0, Verdict.WRONG: 0.0, Verdict.INVALID: 0.0, Verdict.NOT_GRADED: None}


@dataclass(frozen=True)
class Mark:
    """What a rule found, before it is signed with the grader's fingerprint."""

    verdict: Verdict
    words: str
    why: Why | None = None
    share: float | None = None

    @property
    def points(self) -> float | None:
        """1, 0, the share of a partial mark, or None when not graded."""
        return self.share if self.verdict is Verdict.PARTIAL else _POINTS[self.verdict]

    @property
    def reason(self) -> str:
        """`verdict: words` or `verdict: code: words`; invalid and not graded always have a code."""
        code = f"{self.why.value}: " if self.why else ""
        return f"{self.verdict.value}: {code}{self.words}"

    def signed(self, fingerprint: str) -> Grade:
        """The grade of that grader."""
        return Grade(points=self.points, reason=self.reason, grader=fingerprint)


def right(words: str) -> Mark:
    """The answer counts in full."""
    return Mark(Verdict.RIGHT, words)


def partial(share: float, words: str) -> Mark:
    """The answer counts to that share, in [0, 1]; at the ends it is plainly wrong or right."""
    if share in (0, 1):
        return right(words) if share else wrong(words)
    return Mark(Verdict.PARTIAL, words, share=share)


def wrong(words: str, why: Why | None = None) -> Mark:
    """The answer is valid and does not count."""
    return Mark(Verdict.WRONG, words, why)


def invalid_response(why: Why, words: str) -> Mark:
    """The response is no answer at all: zero points, counted apart."""
    return Mark(Verdict.INVALID, words, why)


def not_graded(why: Why, words: str) -> Mark:
    """The rule cannot tell: no points, for the next grader or a person."""
    return Mark(Verdict.NOT_GRADED, words, why)


def verdict_of(grade: Grade) -> Verdict:
    """What a grade says: by its reason when a rule gave it, else by its points."""
    if grade.points is None:
        return Verdict.NOT_GRADED
    if grade.reason.startswith(f"{Verdict.INVALID.value}: "):
        return Verdict.INVALID
    if grade.points in (0, 1):
        return Verdict.RIGHT if grade.points else Verdict.WRONG
    return Verdict.PARTIAL


def why_of(grade: Grade) -> Why | None:
    """The code in a rule grade's reason, if it has one."""
    return read_reason(grade.reason)[0]


def read_reason(reason: str) -> tuple[Why | None, str]:
    """The code in a stored reason, if it has one, and the words without verdict and code."""
    verdict, _, told = reason.partition(": ")
    if verdict not in set(Verdict):
        return None, reason
    code, colon, words = told.partition(": ")
    return (Why(code), words) if colon and code in set(Why) else (None, told)


def shown(text: str, most: int = 80) -> str:
    """A quotation for a reason: one line, cut to `most` characters."""
    line = " ".join(text.split())
    return repr(line if len(line) <= most else line[: most - 1] + "…")
