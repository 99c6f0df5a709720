"""Items and people for tests of exams; answers are given through the services, as the studio does."""

import io
from datetime import UTC, datetime, timedelta

from PIL import Image

from core.content import MediaRef, parse_prompt
from core.question import AnswerKey, Choice, Question, Step
from evaluation.exam.holding import NewExam, create_exam, invite, open_exam
from evaluation.exam.sheet import Sheet
from evaluation.exam.sitting import ask_next, hand_in
from warehouse.items import Draft, create_item
from warehouse.lifecycle import Action, Advance, advance
from warehouse.people import Role, add_user
from warehouse.tables import Release, ReleaseItem, Run

START = datetime(2026, 3, 3, 12, tzinfo=UTC)
TO_ACCEPTED = (Action.SUBMIT, Action.PASS_ROUND1, Action.PASS_ROUND2, Action.ACCEPT)


class Clock:
    """A clock that is turned by hand."""

    def __init__(self):
        self.now = START

    def __call__(self):
        return self.now

    def turn(self, seconds):
        self.now += timedelta(seconds=seconds)


def png(number):
    buffer = io.BytesIO()
    Image.new("RGB", (8, 6), (number % 256, number // 256, 40)).save(buffer, "PNG")
    return buffer.getvalue()


class Bench:
    """A project with a maintainer "mara", and a release "zoo 1.0.0" of the questions that were added."""

    def __init__(self, workspace, library, sound):
        self.workspace, self.database, self.library, self.clock = workspace, workspace.database, library, Clock()
        self.items, self.materials = {}, {}
        self.sound = library.add(sound)
        with self.database.session() as session:
            add_user(session, "mara", frozenset({Role.MAINTAINER}), actor="test", clock=self.clock)

    def person(self, name, kind="expert", role=Role.PARTICIPANT, **profile):
        with self.database.session() as session:
            user = add_user(session, name, frozenset({role}), actor="test", clock=self.clock)
            user.profile = {"kind": kind, **profile}
            return user

    def ask(
        self, name, task_type="counting", *, heard=True, kind="choice", author="writer", twin_group=None, **changes
    ):
        """An accepted item about a picture of its own, and a sound that all share."""
        picture = self.library.add(png(len(self.items)))
        used = {"image_1": picture} | ({"audio_1": self.sound} if heard else {})
        media = {placeholder: MediaRef.model_validate(one.media) for placeholder, one in used.items()}
        fields = {
            "prompt": parse_prompt(f"{name}: see <image_1>" + (" and hear <audio_1>." if heard else "."), media),
            "kind": kind,
            "choices": tuple(Choice(text=one) for one in ("red", "blue", "green")) if kind == "choice" else (),
            "answer": AnswerKey(correct=(1,)) if kind == "choice" else AnswerKey(),
            "required": {one.modality for one in media.values()},
            "task_type": task_type,
            "language": "en",
        }
        draft = Draft(Question(**fields | changes), {placeholder: one.id for placeholder, one in used.items()}, author)
        with self.database.session() as session:
            item, revision = create_item(session, name, draft, twin_group, self.clock)
            for action in TO_ACCEPTED:
                item = advance(session, item.id, item.version, Advance(action, "test"), self.clock)
        self.items[name], self.materials[name] = (item, revision), used
        return item, revision

    def mixed(self):
        """One question of each kind."""
        self.ask("choose")
        self.ask(
            "write", "optical_character_recognition", kind="open", answer=AnswerKey(accepted=("4",), grader="number")
        )
        key = AnswerKey(accepted=("3",), grader="number")
        steps = (Step(ask="How many?", points=4, answer=key), Step(ask="And then?", points=6, answer=key))
        self.ask("steps", "relative_position", kind="multi_step", steps=steps)

    def release(self):
        run = Run(command="test", fingerprint="0" * 64, host="test", process_id=1, started_at=START)
        release = Release(name="zoo", version="1.0.0", run_id=run.id, created_at=START)
        with self.database.session() as session:
            session.add(run)
            session.flush()
            session.add(release)
            session.flush()
            for position, (_, revision) in enumerate(self.items.values()):
                row = ReleaseItem(release_id=release.id, revision_id=revision.id, split="test", position=position)
                session.add(row)

    def exam(self, *people, name="spring", size=99, opened=True, **more):
        """An exam on the release, with its seats by person."""
        more = {"release": ("zoo", "1.0.0"), "asks_confidence": False} | more
        with self.database.session() as session:
            exam = create_exam(session, NewExam(name=name, size=size, **more), "mara", self.clock)
            seats = invite(session, name, people, "mara", self.clock)
            if opened:
                open_exam(session, name, "mara", clock=self.clock)
        return exam, dict(zip(people, seats, strict=True))

    def next(self, seat):
        with self.database.session() as session:
            return ask_next(session, seat.id, seat.user_id, self.clock)

    def answer(self, seat, asked, seconds=0, **sheet):
        self.clock.turn(seconds)
        with self.database.session() as session:
            return hand_in(session, seat.id, seat.user_id, asked.place_id, Sheet(**sheet), self.clock)

    def sit(self, seat, fill):
        """Through all questions; `fill` gives the sheet of each."""
        while (asked := self.next(seat)) is not None:
            self.answer(seat, asked, 5, **fill(asked))
