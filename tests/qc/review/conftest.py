"""Reviewers at their desks, in front of items that wait for them."""

import pytest

from core.content import MediaPart, MediaRef, TextPart
from core.question import AnswerKey, Choice, Question, Step
from qc.review.blind import Stage, answer_full, answer_partial, open_review
from qc.review.opinions import Comment, Opinion, give_review
from qc.review.queue import take_review
from warehouse.items import Draft, create_item, get_item, revise_item
from warehouse.lifecycle import Action, Advance, advance
from warehouse.people import Role, add_user
from warehouse.tables import Decision

PASSES = [Action.PASS_ROUND1, Action.PASS_ROUND2, Action.ACCEPT]
MEDIA_TYPES = {"image": "image/png", "audio": "audio/wav", "video": "video/mp4"}


def media(name: str, sha256: str | None = None) -> MediaPart:
    kind = name.split("_", maxsplit=1)[0]
    sha256 = sha256 or {"image": "a", "audio": "b", "video": "c"}[kind] * 64
    return MediaPart(
        name=name, media=MediaRef(sha256=sha256, media_type=MEDIA_TYPES[kind], modality=kind, byte_count=1)
    )


def question(
    kind: str = "choice", text: str = "Which animal is named?", shows=("image_1", "audio_1"), **more
) -> Question:
    """A question of each kind whose key is nowhere else in it."""
    of_kind = {
        "choice": {
            "choices": [Choice(text="fox"), Choice(text="lynx"), Choice(text="owl")],
            "answer": {"correct": [1]},
        },
        "open": {"answer": AnswerKey(accepted=("SECRETIVE", "CLANDESTINE"), grader="short_text")},
        "multi_step": {
            "steps": [
                Step(
                    ask="What stands left?", points=4, answer=AnswerKey(accepted=("SECRETIVE",)), rubric="OF-THE-RUBRIC"
                ),
                Step(ask="What is said?", points=6, answer=AnswerKey(accepted=("CLANDESTINE",))),
            ]
        },
    }[kind]
    fields = {
        "prompt": [TextPart(text=f"{text} "), *(media(name) for name in shows)],
        "kind": kind,
        "required": {name.split("_")[0] for name in shows},
        "task_type": "counting",
        "language": "en",
    }
    return Question.model_validate(fields | of_kind | more)


class Desk:
    """What authors and reviewers do, each act in a transaction of its own."""

    def __init__(self, database, clock) -> None:
        self.database, self.clock = database, clock

    def item(self, name: str, asked: Question | None = None, author: str = "mei", passed: int = 2, notes=None) -> str:
        """An item that passed so many rounds, a minute younger than the one before; gives its revision's id."""
        self.clock.advance(minutes=1)
        draft = Draft(asked or question(text=f"About {name}?"), {}, author, notes or {})
        with self.database.session() as session:
            item, revision = create_item(session, name, draft, clock=self.clock)
            self._through(session, item, [Action.SUBMIT, *PASSES[:passed]])
        return revision.id

    def revise(self, name: str, asked: Question, author: str = "mei", passed: int = 2) -> str:
        """A new revision that passed so many rounds."""
        self.clock.advance(minutes=1)
        with self.database.session() as session:
            item = get_item(session, name)
            revision = revise_item(session, item, item.version, Draft(asked, {}, author), self.clock)
            self._through(session, item, PASSES[:passed])
        return revision.id

    def act(self, name: str, *actions: Action) -> None:
        with self.database.session() as session:
            self._through(session, get_item(session, name), actions)

    def take(self, by: str, **more):
        with self.database.session() as session:
            return take_review(session, by, self.clock, **more)

    def view(self, task, by: str):
        with self.database.reading() as session:
            return open_review(session, task.assignment_id, by, self.clock)

    def answer(self, task, by: str, partial: str | None = "A", full: str | None = "B"):
        """Both blind stages; gives the view of the last."""
        if self.view(task, by).stage is Stage.PARTIAL:
            self.partial(task, by, partial)
        return self.full(task, by, full)

    def partial(self, task, by: str, answer: str | None):
        with self.database.session() as session:
            return answer_partial(session, task.assignment_id, by, answer, self.clock)

    def full(self, task, by: str, answer: str | None):
        with self.database.session() as session:
            return answer_full(session, task.assignment_id, by, answer, self.clock)

    def give(self, task, by: str, decision: str = "pass", *codes: str, **more):
        reasons = codes or (("ambiguous",) if decision in ("return", "reject") else ())
        comments = tuple(Comment(part=part, text=text) for part, text in more.pop("comments", ()))
        opinion = Opinion(decision=Decision(decision), reason_codes=reasons, comments=comments, **more)
        with self.database.session() as session:
            return give_review(session, task.assignment_id, by, opinion, self.clock)

    def review(self, by: str, decision: str = "pass", *codes: str, partial="A", full="B", **more) -> str | None:
        """A whole review of whatever comes next; gives the item's name."""
        self.clock.advance(minutes=1)
        task = self.take(by, **more)
        if task is None:
            return None
        self.answer(task, by, partial, full)
        self.give(task, by, decision, *codes)
        return task.item

    def state(self, name: str) -> str:
        with self.database.reading() as session:
            return get_item(session, name).state.value

    def _through(self, session, item, actions) -> None:
        for action in actions:
            item = advance(session, item.id, item.version, Advance(action, "test", ("ambiguous",)), self.clock)


@pytest.fixture(scope="session")
def ask():
    return question


@pytest.fixture(scope="session")
def medium():
    return media


@pytest.fixture
def people(database) -> dict[str, str]:
    """Ids by name: eight reviewers r0 to r7, two maintainers (one reviews too), an annotator."""
    reviewer, maintainer = Role.REVIEWER, Role.MAINTAINER
    roles = {f"r{number}": {reviewer} for number in range(8)}
    roles |= {"mara": {maintainer}, "max": {maintainer, reviewer}, "mei": {Role.ANNOTATOR, reviewer}}
    with database.session() as session:
        return {name: add_user(session, name, frozenset(of), actor="test").id for name, of in roles.items()}


@pytest.fixture(scope="session")
def desk_of():
    return Desk


@pytest.fixture
def desk(database, clock, people) -> Desk:
    return Desk(database, clock)
