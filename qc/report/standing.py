"""Where all items stand, kept between readings: only those that changed since the last one are read again."""

from collections.abc import Sequence

from sqlmodel import Session, col, func, select

from core.progress import progress
from qc.report.document import ItemStory, RoundStory, VerdictStory
from qc.report.stories import item_story, load_current, people_names, rounds_of
from warehouse.tables import Item, Review, Verdict

_AT_ONCE = 500
# An item's version, its revision, and how many verdicts and answers of reviewers that has: whatever changes a story
# changes one of them, for a verdict never changes, and what an event tells raises the version.
_Stamp = tuple[int, str | None, int, int]


class Standing:
    """The stories of all current revisions, bare: without the panel's answers, and without what leads to them.

    A bare story has no table, findings, reviews or keys of responses, so that those of ten thousand items are some 100
    MB. One thread reads at a time.
    """

    def __init__(self) -> None:
        self._known: dict[str, tuple[_Stamp, ItemStory]] = {}

    def read(self, session: Session) -> tuple[ItemStory, ...]:
        """All of them as they stand now, by name."""
        stamps = _stamps(session)
        names = people_names(session)
        changed = [item_id for item_id, stamp in stamps.items() if self._known.get(item_id, (None,))[0] != stamp]
        with progress("reading items", len(changed)) as ticker:
            for start in range(0, len(changed), _AT_ONCE):
                portion = changed[start : start + _AT_ONCE]
                for one in load_current(session, portion):
                    story = item_story(one, rounds_of(one, names), (), names)
                    self._known[one.item.id] = stamps[one.item.id], _bare(story)
                session.expunge_all()
                ticker.advance(len(portion))
        self._known = {item_id: self._known[item_id] for item_id in stamps}
        return tuple(sorted((story for _, story in self._known.values()), key=lambda story: story.name))


def current_reviews(session: Session) -> Sequence[Review]:
    """What reviewers answered about current revisions; gold items are left out, as in a story.

    So are those of whom the last blind answer is still to come: a count that rose with their first one would tell them
    that it was right.
    """
    current = select(Review).join(Item, col(Item.current_revision_id) == col(Review.revision_id))
    through = current.where(col(Review.is_gold).is_(False), col(Review.full_at).is_not(None))
    return session.exec(through.order_by(Review.id)).all()


def _stamps(session: Session) -> dict[str, _Stamp]:
    current = col(Item.current_revision_id)
    verdicts = dict(
        session.exec(
            select(col(Verdict.revision_id), func.count())
            .join(Item, current == col(Verdict.revision_id))
            .group_by(col(Verdict.revision_id))
        ).all()
    )
    # Counts of moments that are there.
    answered = func.count(col(Review.partial_at)) + func.count(col(Review.full_at))
    reviews = dict(
        session.exec(
            select(col(Review.revision_id), answered)
            .join(Item, current == col(Review.revision_id))
            .where(col(Review.is_gold).is_(False))
            .group_by(col(Review.revision_id))
        ).all()
    )
    return {
        item_id: (version, revision_id, verdicts.get(revision_id, 0), reviews.get(revision_id, 0))
        for item_id, version, revision_id in session.exec(select(Item.id, Item.version, Item.current_revision_id))
        if revision_id is not None
    }


def _bare(story: ItemStory) -> ItemStory:
    return story.model_copy(update={"rounds": tuple(map(_bare_round, story.rounds)), "lost": 0})


def _bare_round(story: RoundStory) -> RoundStory:
    return story.model_copy(update={"verdicts": tuple(map(_bare_verdict, story.verdicts))})


def _bare_verdict(verdict: VerdictStory) -> VerdictStory:
    gates = tuple(
        gate.model_copy(update={"votes": gate.votes.model_copy(update={"responses": ()})}) for gate in verdict.gates
    )
    return verdict.model_copy(update={"gates": gates, "findings": (), "reviews": None})
