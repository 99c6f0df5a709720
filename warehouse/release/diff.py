"""What one version of a release changed against another."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from sqlmodel import Session

from core.question import Question
from warehouse.release.records import Member, get_release, members_of
from warehouse.release.tombstones import withdrawn_shown


@dataclass(frozen=True)
class ReleaseDiff:
    """Names of items that were added and removed, and for the changed ones, what changed.

    `withdrawn` are those of the removed that showed what was withdrawn since.
    """

    added: list[str]
    removed: list[str]
    changed: dict[str, list[str]]
    withdrawn: list[str] = field(default_factory=list)

    def lines(self) -> Iterator[str]:
        """For people."""
        yield from (f"+ {name}" for name in self.added)
        yield from (f"- {name}{' (withdrawn)' if name in self.withdrawn else ''}" for name in self.removed)
        yield from (f"~ {name}: {', '.join(what)}" for name, what in self.changed.items())


def diff_releases(session: Session, name: str, before: str, after: str) -> ReleaseDiff:
    """Compare two versions of a release, sealed or not.

    Raises:
        UnknownName: One of them does not exist.
    """
    old = {member.item.name: member for member in members_of(session, get_release(session, name, before))}
    new = {member.item.name: member for member in members_of(session, get_release(session, name, after))}
    changes = {item: _changes(old[item], new[item]) for item in sorted(old.keys() & new.keys())}
    removed = sorted(old.keys() - new.keys())
    gone = withdrawn_shown(session, [old[item].revision.id for item in removed])
    return ReleaseDiff(
        added=sorted(new.keys() - old.keys()),
        removed=removed,
        changed={item: what for item, what in changes.items() if what},
        withdrawn=[item for item in removed if old[item].revision.id in gone],
    )


def _changes(old: Member, new: Member) -> list[str]:
    what = [f"split ({old.split} -> {new.split})"] if old.split != new.split else []
    before, after = old.revision.question, new.revision.question
    fields = [name for name in Question.model_fields if before.get(name) != after.get(name)]
    if "prompt" in fields and _media(old) != _media(new):
        what.append("media")
        if _text(old) == _text(new):
            fields.remove("prompt")
    return what + fields


def _media(member: Member) -> list[tuple[str, str]]:
    return [(part["name"], part["media"]["sha256"]) for part in member.revision.question["prompt"] if "media" in part]


def _text(member: Member) -> list[str]:
    return [part["text"] if "text" in part else f"<{part['name']}>" for part in member.revision.question["prompt"]]
