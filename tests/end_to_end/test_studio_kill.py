"""A studio that is killed outright while people write in every way: whatever it told them as saved is there.

Each way to write has a writer of its own, who notes what was told. All write at once until the server dies in their
midst; it is started again on what it left, and everything that was told is looked up.
"""

import hashlib
import random
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, field
from datetime import timedelta

import httpx
import pytest
from sqlmodel import col, select
from websockets.exceptions import WebSocketException

from core.ids import utc_now
from qc.review.queue import take_review
from warehouse import events
from warehouse.tables import Assignment, AssignmentState, Item, Material, MaterialTag, Review, User
from warehouse.workspace import open_workspace

CUT_OFF = (httpx.TransportError, WebSocketException, OSError, EOFError)
CHANGES = ("roles", "activate", "deactivate")
ENOUGH = 4
"""Told writes of the one whose next one is in the way of the kill."""


@dataclass
class Kept:
    """What those told of whose writes are none of the crew's own."""

    roles: list[list[str]] = field(default_factory=list)
    switches: list[str] = field(default_factory=list)
    tags: list[str] = field(default_factory=list)
    materials: list[str] = field(default_factory=list)


class Writers:
    """One person for each way to write; each goes on until the server is gone."""

    def __init__(self, crews, client, crew, told, kept, seed, round_number):
        self.crews, self.client, self.crew, self.told, self.kept, self.seed = crews, client, crew, told, kept, seed
        self.base = 100 * round_number
        self.counts: Counter[str] = Counter()
        self.over = False
        self.moved = threading.Condition()

    def ways(self):
        """Each way to write, by name: who writes, and one write; its number differs from every other's."""
        return {
            "save": (4, self.save),
            "hand in": (5, self.hand_in),
            "review": (6 + self.base // 100, self.review),
            "take": (10, self.record),
            "material": (11, self.upload),
            "tag": (12, self.tag),
            "roles": (0, self.roles),
            "switch": (1, self.switch),
        }

    def run(self, address, name):
        """Write until the server is gone."""
        number, write = self.ways()[name]
        member = self.crew.members[number]
        try:
            with closing(self.crews.ByHttp(self.client, address, member.name)) as hands:
                for count in range(1, 99):
                    write(hands, member, self.base + count)
                    with self.moved:
                        self.counts[name] += 1
                        self.moved.notify_all()
        except CUT_OFF:
            return
        finally:
            with self.moved:
                self.over = True
                self.moved.notify_all()

    def wait_for(self, name, count):
        """Until one of them was told so many writes, or somebody could not go on."""
        with self.moved:
            assert self.moved.wait_for(lambda: self.over or self.counts[name] >= count, timeout=60), self.counts

    def save(self, hands, member, number):
        if not hasattr(self, "draft"):
            self.draft, self.version = hands.new_draft(), 1
        content = self.crew.content(f"{member.name} save {number}")
        # Every third comes from another tab, which writes over nothing.
        tab = f"tab-{number}" if number % 3 == 0 else f"tab-{self.base}"
        self.told.pending[self.draft, tab] = content.prompt
        saved, self.version = hands.save(self.draft, self.crews.Save(self.version, content, tab, number))
        if saved:
            self.told.saves.append((self.draft, tab, self.version, content.prompt))
        else:
            self.told.asides.append((self.draft, content.prompt))

    def hand_in(self, hands, member, number):
        content, draft = self.crew.content(f"{member.name} hands in {number}"), hands.new_draft()
        _, version = hands.save(draft, self.crews.Save(1, content, f"hand-in-{number}", 1))
        hands.hand_in(draft, version)
        self.told.handed_in.append((draft, content.prompt))

    def review(self, hands, member, number):
        assert hands.review("A", self.told)

    def record(self, hands, member, number):
        sound = self.seed.voice(number, 0.8)
        self.told.takes.append(hands.record(self.crew.script_id, member.contributor_id, sound))

    def upload(self, hands, member, number):
        picture = self.seed.png(20 + number)
        with hands.visitor.tab("materials") as tab:
            tab.upload("upload-files", (f"new-{number}.png", picture, "image/png")).click("Add to the library")
            assert "1 new material" in tab.html, tab.html
        self.kept.materials.append(hashlib.sha256(picture).hexdigest())

    def tag(self, hands, member, number):
        with hands.visitor.tab("material", id=self.crew.media["image_1"].id) as tab:
            tab.set("Add a tag", f"word-{number}").click("Add the tag")
            assert f"word-{number}" in tab.html, tab.html
        self.kept.tags.append(f"word-{number}")

    def roles(self, hands, member, number):
        roles = ["Annotator", "Reviewer"] if number % 2 else ["Annotator"]
        with hands.visitor.tab("person", id=self.crew.ids[13]) as tab:
            tab.set("Roles", roles).click("Save the roles")
            assert "The roles are saved" in tab.html, tab.html
        self.kept.roles.append([role.lower() for role in roles])

    def switch(self, hands, member, number):
        with hands.visitor.tab("person", id=self.crew.ids[14]) as tab:
            act = "deactivate" if tab.has("deactivate") else "activate"
            tab.click(act)
            assert ("is deactivated" if act == "deactivate" else "is active again") in tab.html, tab.html
        self.kept.switches.append(act)


@pytest.fixture(scope="module")
def crews(load_helper):
    return load_helper("end_to_end/crew.py")


@pytest.mark.parametrize("first", [("material", "review")], ids="-".join)
def test_what_was_told_as_saved_is_there(first, crews, load_helper, project, running):
    """Each time another one of the writers says when; more are a matter of time only."""
    client, seed = load_helper("streamlit_client.py"), load_helper("annotation_ui/seed.py")
    chance = random.Random("/".join(first))
    told, kept = crews.Told(), Kept()
    with open_workspace(project.root) as workspace:
        crew = crews.Crew(workspace, seed, 16, 30)
        for number, name in enumerate(first):
            writers = Writers(crews, client, crew, told, kept, seed, number)
            kill_amid(writers, running(), name, chance)
            check(crews, crew, told, kept)
        check_that_it_goes_on(crews, client, crew, running())


def kill_amid(writers, studio, name, chance):
    with ThreadPoolExecutor(len(writers.ways())) as pool:
        started = [pool.submit(writers.run, studio.address, way) for way in writers.ways()]
        writers.wait_for(name, chance.randint(1, ENOUGH))
        threading.Event().wait(chance.random() * 0.1)
        studio.process.kill()
        studio.process.communicate()
        for one in started:
            one.result(timeout=60)


def check(crews, crew, told, kept):
    """What was told, and that nothing is half there."""
    crews.check(crew.workspace, told)
    with crew.workspace.database.reading() as session:
        assert set(kept.tags) <= set(session.exec(select(MaterialTag.value)))
        assert set(kept.materials) <= set(session.exec(select(Material.sha256)))
        for number, given in ((13, kept.roles), (14, kept.switches)):
            user = session.get_one(User, crew.ids[number])
            done = [one for one in events.history(session, "user", user.id) if one.action in CHANGES]
            made = [one.detail.get("roles", one.action) for one in done]
            assert is_within(given, made)
            if made:
                assert made[-1] in (user.roles, "activate" if user.active else "deactivate")
        for review in session.exec(select(Review)):
            lease = session.get_one(Assignment, review.assignment_id)
            assert (review.finished_at is None) == (lease.state is AssignmentState.LIVE) == (review.verdict_id is None)
        assert all(item.current_revision_id for item in session.exec(select(Item)))
    # Bytes under a name are whole, whoever died while they were written.
    for store in ("blobs", "originals"):
        for file in (crew.workspace.project.root / store).rglob("[!.]*"):
            assert not file.is_file() or hashlib.sha256(file.read_bytes()).hexdigest() == file.name


def is_within(told, made):
    """Whether everything that was told was made, in that order."""
    rest = iter(made)
    return all(one in rest for one in told)


def check_that_it_goes_on(crews, client, crew, studio):
    """Who was at work finds their place again, and what nobody comes back for is offered to others in the end."""
    with crew.workspace.database.reading() as session:
        held = {
            session.get_one(User, lease.user_id).name: lease.task_id
            for lease in session.exec(select(Assignment).where(Assignment.state == AssignmentState.LIVE))
        }
    for name in held:
        with closing(crews.ByHttp(client, studio.address, name)) as hands, hands.visitor.tab("review") as tab:
            assert "Give it back" in tab.labels
    assert studio.stop() == (0, "the studio has stopped\n")
    with crew.workspace.database.session() as session:
        task = take_review(session, crew.members[15].name, lambda: utc_now() + timedelta(hours=4))
        assert task is not None
        assert not session.exec(select(Assignment).where(
            Assignment.state == AssignmentState.LIVE, col(Assignment.task_id).in_(held.values()),
            Assignment.user_id != crew.ids[15],
        )).all()  # fmt: skip
