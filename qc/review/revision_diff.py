"""What a new revision changed, part by part, for people to read."""

from collections.abc import Iterable, Iterator, Sequence
from difflib import SequenceMatcher
from typing import Literal

from core.content import Frozen, MediaRef
from core.question import AnswerKey, Question, Step, choice_label

# Places of the same entry before and after; None where it was added or removed.
_Pair = tuple[int | None, int | None]


class Change(Frozen):
    """One difference: `part` is named as comments name it; `before` is None for what was added, `after` for removed.

    Where a choice or step moved, `part` is its old place and both texts are labels.
    """

    part: str
    how: Literal["added", "removed", "changed", "moved"]
    before: str | None
    after: str | None

    @property
    def words(self) -> str:
        """One line for a terminal."""
        match self.how:
            case "added":
                return f"{self.part} added: {self.after}"
            case "removed":
                return f"{self.part} removed: {self.before}"
            case "moved":
                return f"{self.part} moved to {self.after}"
            case "changed":
                return f"{self.part}: {self.before} -> {self.after}"


def diff_revisions(before: Question, after: Question) -> tuple[Change, ...]:
    """The differences of two wordings in reading order; none when they say the same. Pure.

    Choices and steps are recognised by their texts, so that one put in front changes none of those behind it, and a key
    that goes with its choice is no change.
    """
    choices = _pairs([one.text for one in before.choices], [one.text for one in after.choices])
    return (
        *_changed("prompt", before.prompt_text, after.prompt_text),
        *_media(before, after),
        *_changed("kind", before.kind.value, after.kind.value),
        *_choices(before, after, choices),
        *_key(before, after, choices),
        *_steps(before, after),
        *_changed("required", _listed(before.required), _listed(after.required)),
        *_changed("task type", before.task_type, after.task_type),
        *_changed("language", before.language, after.language),
        *_changed("asked in", before.asked_in, after.asked_in),
    )


def _changed(part: str, before: str | None, after: str | None) -> Iterator[Change]:
    if before != after:
        how: Literal["added", "removed", "changed"] = "changed"
        if before is None or after is None:
            how = "added" if before is None else "removed"
        yield Change(part=part, how=how, before=before, after=after)


def _media(before: Question, after: Question) -> Iterator[Change]:
    old, new = ({part.name: part.media for part in question.media} for question in (before, after))
    for name in dict.fromkeys((*old, *new)):
        yield from _changed(name, _described(old.get(name)), _described(new.get(name)))


def _described(media: MediaRef | None) -> str | None:
    return None if media is None else f"{media.media_type} {media.sha256[:12]}"


def _pairs(before: Sequence[str], after: Sequence[str]) -> list[_Pair]:
    """Which entry of `after` each one of `before` became: equal or moved texts first, then those in the same gap."""
    pairs: list[_Pair] = []
    gaps: list[tuple[list[int], list[int]]] = []
    for tag, start, end, new_start, new_end in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if tag == "equal":
            pairs += zip(range(start, end), range(new_start, new_end), strict=True)
        else:
            gaps.append((list(range(start, end)), list(range(new_start, new_end))))
    arrived = [place for _, new in gaps for place in new]
    for old, _ in gaps:
        for place in list(old):
            same = next((one for one in arrived if after[one] == before[place]), None)
            if same is not None:
                pairs.append((place, same))
                old.remove(place)
                arrived.remove(same)
    for old, new in gaps:
        left = [place for place in new if place in arrived]
        together = min(len(old), len(left))
        pairs += zip(old[:together], left[:together], strict=True)
        pairs += [(place, None) for place in old[together:]]
        pairs += [(None, place) for place in left[together:]]
    return sorted(pairs, key=lambda pair: tuple(len(before) if place is None else place for place in pair))


def _moved(pairs: Iterable[_Pair]) -> set[int]:
    """Old places of the entries that overtook others: the rest of them stayed in order."""
    both = [(old, new) for old, new in pairs if old is not None and new is not None]
    places = [new for _, new in both]
    stayed = SequenceMatcher(None, places, sorted(places), autojunk=False).get_matching_blocks()
    kept = {places[place] for block in stayed for place in range(block.a, block.a + block.size)}
    return {old for old, new in both if new not in kept}


def _choices(before: Question, after: Question, pairs: list[_Pair]) -> Iterator[Change]:
    moved = _moved(pairs)
    for old, new in pairs:
        text_before = None if old is None else before.choices[old].text
        text_after = None if new is None else after.choices[new].text
        place = old if old is not None else new
        assert place is not None
        part = f"choice {choice_label(place)}"
        if old in moved and new is not None:
            yield Change(part=part, how="moved", before=choice_label(place), after=choice_label(new))
        yield from _changed(part, text_before, text_after)


def _key(before: Question, after: Question, pairs: list[_Pair]) -> Iterator[Change]:
    became = dict(pairs)
    followed = {became.get(place) for place in before.answer.correct}
    if before.choices and after.choices and followed == set(after.answer.correct):
        return
    yield from _changed("answer", _right_choices(before) or None, _right_choices(after) or None)
    yield from _answers("answer", before.answer, after.answer)


def _right_choices(question: Question) -> str:
    return "; ".join(f"{choice_label(place)}. {question.choices[place].text}" for place in question.answer.correct)


def _answers(part: str, before: AnswerKey, after: AnswerKey) -> Iterator[Change]:
    yield from _changed(part, "; ".join(before.accepted) or None, "; ".join(after.accepted) or None)
    yield from _changed(f"grader of {part}", before.grader, after.grader)
    old, new = (None if key.tolerance is None else f"{key.tolerance:g}" for key in (before, after))
    yield from _changed(f"tolerance of {part}", old, new)


def _steps(before: Question, after: Question) -> Iterator[Change]:
    pairs = _pairs([step.ask for step in before.steps], [step.ask for step in after.steps])
    moved = _moved(pairs)
    for old, new in pairs:
        place = old if old is not None else new
        assert place is not None
        part = f"step {place + 1}"
        if old is None or new is None:
            added = None if new is None else _step_words(after.steps[new])
            yield from _changed(part, None if old is None else _step_words(before.steps[old]), added)
        else:
            if old in moved:
                yield Change(part=part, how="moved", before=str(old + 1), after=str(new + 1))
            yield from _step(part, before.steps[old], after.steps[new])


def _step(part: str, before: Step, after: Step) -> Iterator[Change]:
    yield from _changed(part, before.ask, after.ask)
    yield from _changed(f"points of {part}", str(before.points), str(after.points))
    yield from _answers(f"answer of {part}", before.answer, after.answer)
    yield from _changed(f"rubric of {part}", before.rubric, after.rubric)


def _step_words(step: Step) -> str:
    return f"{step.ask} ({step.points} points; answer: {'; '.join(step.answer.accepted)})"


def _listed(names: Iterable[str]) -> str:
    return ", ".join(sorted(names)) or "nothing"
