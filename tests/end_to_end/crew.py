"""People who work in one studio at once, through its services or over HTTP, and what they were told is stored.

Whoever works notes what the studio told them; `check` compares that with the database and the stored bytes.
"""

import hashlib
import re
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from html import unescape
from itertools import pairwise
from typing import Any, Protocol
from urllib.parse import parse_qs

from sqlmodel import Session, col, select

from annotation_ui.accounts import create_user
from annotation_ui.auth import Auth
from annotation_ui.drafting.content import DraftContent
from annotation_ui.drafting.drafts import SUBMITTED, Conflict, Save, new_question, open_draft, save_draft
from annotation_ui.drafting.handing_in import hand_in
from annotation_ui.finding import MaterialQuery
from annotation_ui.forms import new_form_key
from annotation_ui.media_links import MediaLinks
from annotation_ui.permissions import Principal, as_principal
from annotation_ui.recording import speakers, takes
from annotation_ui.reviewing import desk
from annotation_ui.studio import Studio
from annotation_ui.views.materials import materials_page
from annotation_ui.words import words_in
from core.content import TextPart
from qc.review.blind import Stage
from qc.review.waiting import REVIEW
from warehouse.consents import Scope
from warehouse.inspection import inspect_blobs
from warehouse.lifecycle import Action
from warehouse.people import Role, get_user
from warehouse.tables import (
    Assignment,
    Decision,
    DraftVersion,
    Event,
    Item,
    ItemDraft,
    ItemRevision,
    Recording,
    Review,
    Script,
    Verdict,
)
from warehouse.workspace import Workspace

PASSWORD = "correct horse battery"
EN = words_in("en")
PASSED = (Action.SUBMIT, Action.PASS_ROUND1, Action.PASS_ROUND2)
LEASE, ENDS = "lease", ("lease_done", "lease_released", "lease_expired")


@dataclass
class Told:
    """What the studio said is stored. Threads only append."""

    saves: list[tuple[str, str, int, str]] = field(default_factory=list)
    """Draft, tab, version and text of each save that was answered with a version."""
    pending: dict[tuple[str, str], str] = field(default_factory=dict)
    """The text that a draft's tab sent last, where the answer may never have come."""
    asides: list[tuple[str, str]] = field(default_factory=list)
    """Draft and text of each save that was answered with a conflict."""
    handed_in: list[tuple[str, str]] = field(default_factory=list)
    """Draft, and the text of its prompt."""
    answers: list[tuple[str, str, Stage, str]] = field(default_factory=list)
    """Reviewer, item, stage and letter."""
    verdicts: list[tuple[str, str, Decision]] = field(default_factory=list)
    """Reviewer, item and decision."""
    takes: list[tuple[str, str]] = field(default_factory=list)
    """Recording and sha256."""


@dataclass(frozen=True)
class Member:
    """One of the crew: their name, and who speaks in their takes."""

    name: str
    contributor_id: str


class Hands(Protocol):
    """The ways into a studio that a member has."""

    def new_draft(self) -> str:
        """The id of a draft of one's own."""

    def save(self, draft_id: str, save: Save) -> tuple[bool, int]:
        """Whether it is saved (else: laid aside), and the version that the draft has now."""

    def hand_in(self, draft_id: str, version: int) -> None:
        """Submit a draft."""

    def review(self, letter: str, told: Told) -> bool:
        """Take a task, answer both stages with a letter and pass it. Whether there was one."""

    def record(self, script_id: str, contributor_id: str, data: bytes) -> tuple[str, str]:
        """Id and sha256 of a take that is stored."""

    def read_media(self) -> int:
        """Look at the library, and read some of its media whole and in part; how many."""

    def close(self) -> None:
        """Leave."""


class Crew:
    """The people of a project, and what is laid out for them: questions to review, a script, a draft of all."""

    def __init__(self, workspace: Workspace, seed: Any, size: int, questions: int) -> None:
        self.workspace, self.seed, self.ids = workspace, seed, list[str]()
        seeder = seed.Seeder(workspace)
        self.media = {"image_1": seeder.picture(1)[0], "audio_1": seeder.sound(1)[0]}
        shown = {place: (row, row.media_ref) for place, row in self.media.items()}
        for number in range(questions):
            draft = seeder.draft(f"Item {number}: see <image_1>, hear <audio_1>. How many?", shown, "hal")
            seeder.item(f"waiting-{number:03}", draft, *PASSED)
        seed.fill_desk(workspace, ("ferry", "The ferry leaves from pier three", "en", {}))
        self.members = self._people(size)
        with workspace.database.session() as session:
            self.script_id = session.exec(select(Script.id)).one()
            first = self._principal(self.members[0].name)
            # With a word in it, so that it is not what "New question" opens.
            self.shared = open_draft(session, first).id
            save_draft(session, first, self.shared, Save(1, DraftContent(prompt="begun"), "begun", 1))

    def _people(self, size: int) -> list[Member]:
        database = self.workspace.database
        hashed = Auth(database, b"0" * 32).hash_password("anybody", PASSWORD)
        members = []
        for number in range(size):
            # The first few are maintainers, who may write in the draft of another.
            roles = [Role.ANNOTATOR, Role.REVIEWER, *([Role.MAINTAINER] if number < 4 else [])]
            with database.session() as session:
                who = as_principal(create_user(session, f"p{number:02}", roles, password_hash=hashed))
                own = speakers.add_speaker(session, who, new_form_key(), speakers.NewSpeaker(True))
                text = speakers.latest_text(session)
                assert text is not None
                pseudonym = speakers.speaker(session, who, own, text.created_at).contributor.pseudonym
                scope = (Scope.VOICE, Scope.PUBLISH)
                signed = speakers.Signature(own, text.version, speakers.words_hash(text), scope, pseudonym, "en")
                speakers.sign(session, who, new_form_key(), signed)
            members.append(Member(who.name, own))
            self.ids.append(who.user_id)
        return members

    def _principal(self, name: str) -> Principal:
        with self.workspace.database.reading() as session:
            return as_principal(get_user(session, name))

    def content(self, words: str) -> DraftContent:
        """A question that can be handed in; no other asks with these words."""
        return DraftContent(
            task_type="counting", language="en", prompt=f"{words}: look at <image_1>, listen to <audio_1>. How many?",
            media={place: row.id for place, row in self.media.items()},
            choices=["one", "two", "three", "four"], correct=[2], required=["image", "audio"],
        )  # fmt: skip

    def work(self, member: Member, hands: Hands, told: Told, reviews: int) -> None:
        """What one of them does in a while."""
        number = int(member.name[1:])
        own, version = hands.new_draft(), 1
        for stroke in range(1, 4):
            content = self.content(f"{member.name} stroke {stroke}")
            saved, version = hands.save(own, Save(version, content, f"tab-{member.name}", stroke))
            assert saved
            told.saves.append((own, f"tab-{member.name}", version, content.prompt))
        if number < 4:
            self._write_together(member, hands, told)
        hands.hand_in(own, version)
        told.handed_in.append((own, content.prompt))
        for _ in range(reviews):
            if not hands.review("ABCD"[number % 4], told):
                break
        told.takes.append(hands.record(self.script_id, member.contributor_id, self.seed.voice(number, 1.5)))
        assert hands.read_media() > 0

    def _write_together(self, member: Member, hands: Hands, told: Told) -> None:
        """Each save comes from another tab, and begins from what the member saw last."""
        version = 2
        for stroke in range(1, 5):
            tab, text = f"{member.name}-{stroke}", f"{member.name} says {stroke}"
            saved, version = hands.save(self.shared, Save(version, DraftContent(prompt=text), tab, 1))
            if saved:
                told.saves.append((self.shared, tab, version, text))
            else:
                told.asides.append((self.shared, text))


class ByServices:
    """A member whose every act is a call of the services, on the project's own database."""

    def __init__(self, studio: Studio, name: str) -> None:
        self.studio, self.database, self.links = studio, studio.workspace.database, MediaLinks(studio.key)
        with self.database.reading() as session:
            self.who = as_principal(get_user(session, name))

    def new_draft(self) -> str:
        with self.database.session() as session:
            return new_question(session, self.who).id

    def save(self, draft_id: str, save: Save) -> tuple[bool, int]:
        with self.database.session() as session:
            done = save_draft(session, self.who, draft_id, save)
        return not isinstance(done, Conflict), done.version

    def hand_in(self, draft_id: str, version: int) -> None:
        with self.database.session() as session:
            hand_in(session, self.who, draft_id, version, new_form_key(), EN)

    def review(self, letter: str, told: Told) -> bool:
        with self.database.session() as session:
            task = desk.take(session, self.who, REVIEW)
        if task is None:
            return False
        for stage in (Stage.PARTIAL, Stage.FULL):
            with self.database.session() as session:
                desk.answer(session, self.who, task.assignment_id, stage, letter)
            told.answers.append((self.who.name, task.item, stage, letter))
        with self.database.session() as session:
            desk.hand_in(session, self.who, new_form_key(), task, desk.Judged(Decision.PASS))
        told.verdicts.append((self.who.name, task.item, Decision.PASS))
        return True

    def record(self, script_id: str, contributor_id: str, data: bytes) -> tuple[str, str]:
        taken = takes.receive(self.studio.workspace, self.who, takes.Sent(contributor_id, script_id, "Fake", data))
        return taken.id, taken.sha256

    def read_media(self) -> int:
        return len(materials_page(self.studio.workspace, self.who, MaterialQuery(), self.links, EN).cards)

    def close(self) -> None:
        """Nothing is held."""


class ByHttp:
    """A member in front of a browser: pages over Streamlit's socket, and the studio's own addresses."""

    def __init__(self, client: Any, address: str, name: str) -> None:
        self.name = name
        self.visitor = client.Visitor(address)
        self.visitor.sign_in(name, PASSWORD)

    def new_draft(self) -> str:
        with self.visitor.tab("author") as tab:
            tab.click("new-question")
            return parse_qs(tab.query)["draft"][0]

    def save(self, draft_id: str, save: Save) -> tuple[bool, int]:
        sent = {"expected_version": save.expected_version, "editor": save.editor, "stroke": save.stroke}
        answer = self.visitor.http.put(f"/drafts/{draft_id}", json=sent | {"content": save.content.as_json()})
        assert answer.status_code in {200, 409}, answer.text
        return answer.status_code == 200, answer.json()["version"]

    def hand_in(self, draft_id: str, version: int) -> None:
        with self.visitor.tab("author", draft=draft_id) as tab:
            form_key = tab.data(f"editor-{draft_id}")["form_key"]
            asked = {"draft": draft_id, "version": version, "form_key": form_key}
            tab.trigger(f"editor-{draft_id}", "hand_in", asked)
            assert "Handed in" in tab.html, tab.html

    def review(self, letter: str, told: Told) -> bool:
        with self.visitor.tab("review") as tab:
            if not tab.has("take-review") or "Hand in the answer" not in tab.click("take-review").labels:
                return False
            item = re.search(r"<b>(waiting-\d+)</b>", tab.html)[1]
            for stage in (Stage.PARTIAL, Stage.FULL):
                tab.click(f"Choose {letter}").click("Hand in the answer")
                if f"Choose {letter}" in tab.labels and stage is Stage.FULL:
                    raise AssertionError(tab.html)
                told.answers.append((self.name, item, stage, letter))
            tab.set("What do you decide?", "Pass").run().click("Hand in")
            assert f"Your verdict on {item} is stored" in tab.html, tab.html
        told.verdicts.append((self.name, item, Decision.PASS))
        return True

    def record(self, script_id: str, contributor_id: str, data: bytes) -> tuple[str, str]:
        asked = {"script": script_id, "contributor": contributor_id, "device": "Fake"}
        answer = self.visitor.http.post("/recordings", params=asked, content=data)
        assert answer.status_code == 201, answer.text
        stored = answer.json()
        assert stored["sha256"] == hashlib.sha256(data).hexdigest()
        return stored["id"], stored["sha256"]

    def read_media(self) -> int:
        with self.visitor.tab("materials") as tab:
            addresses = set(re.findall(r'/files/[^"]+', unescape(tab.html)))
        for address in addresses:
            whole = self.visitor.http.get(address)
            part = self.visitor.http.get(address, headers={"Range": "bytes=5-20"})
            assert whole.status_code == 200 and part.status_code in {200, 206}
            assert part.content in {whole.content, whole.content[5:21]}
        return len(addresses)

    def close(self) -> None:
        self.visitor.http.close()


def check(workspace: Workspace, told: Told) -> None:
    """Everything that was told as stored is there, nobody had another's task, and every named byte is stored."""
    with workspace.database.reading() as session:
        _check_drafts(session, told)
        _check_reviews(session, told)
        for recording_id, sha256 in told.takes:
            assert session.get_one(Recording, recording_id).sha256 == sha256
            workspace.originals.verify(sha256)
        _check_leases(session)
    assert inspect_blobs(workspace.database, workspace.blobs, workspace.originals).problems == []


def _check_drafts(session: Session, told: Told) -> None:
    words: dict[str, set[str]] = defaultdict(set)
    for draft in session.exec(select(ItemDraft)):
        words[draft.id].add(draft.content.get("prompt", ""))
    for version in session.exec(select(DraftVersion)):
        words[version.draft_id].add(version.content.get("prompt", ""))
    versions: dict[str, list[int]] = defaultdict(list)
    of_tab: dict[tuple[str, str], list[tuple[int, str]]] = defaultdict(list)
    for draft_id, tab, version, text in told.saves:
        versions[draft_id].append(version)
        of_tab[draft_id, tab].append((version, text))
    for draft_id, given in versions.items():
        assert len(set(given)) == len(given), "two saves were told the same version"
        assert session.get_one(ItemDraft, draft_id).version >= max(given)
    for (draft_id, tab), saved in of_tab.items():
        # Of one tab's saves the last is kept.
        assert all(before[0] < after[0] for before, after in pairwise(saved))
        assert words[draft_id] & {saved[-1][1], told.pending.get((draft_id, tab))}
    assert all(text in words[draft_id] for draft_id, text in told.asides)
    for draft_id, prompt in told.handed_in:
        draft = session.get_one(ItemDraft, draft_id)
        assert draft.closed_as == SUBMITTED and draft.revision_id is not None
        shown = session.get_one(ItemRevision, draft.revision_id).as_question().prompt
        assert [part.text for part in shown if isinstance(part, TextPart)] == [
            part for part in re.split(r"<\w+_1>", prompt) if part
        ]


def _check_reviews(session: Session, told: Told) -> None:
    found = {}
    query = select(Review, Item.name).join(ItemRevision, Review.revision_id == ItemRevision.id)
    for review, item in session.exec(query.join(Item, ItemRevision.item_id == Item.id)):
        assert (review.reviewer, item) not in found
        found[review.reviewer, item] = review
    for reviewer, item, stage, letter in told.answers:
        review = found[reviewer, item]
        assert letter == (review.partial_answer if stage is Stage.PARTIAL else review.full_answer)
    for reviewer, item, decision in told.verdicts:
        review = found[reviewer, item]
        assert review.decision == decision and review.finished_at is not None
        assert session.get_one(Verdict, review.verdict_id).decision == decision


def _check_leases(session: Session) -> None:
    """At no moment two people had one task, by the rows and by the events."""
    leases: dict[tuple[str, str], list[Assignment]] = defaultdict(list)
    for lease in session.exec(select(Assignment).order_by(Assignment.taken_at)):
        leases[lease.task_kind, lease.task_id].append(lease)
    for given in leases.values():
        assert all(
            before.ended_at is not None and before.ended_at <= after.taken_at for before, after in pairwise(given)
        )
    open_ones: Counter[tuple[str, str]] = Counter()
    for event in session.exec(select(Event).where(col(Event.action).in_([LEASE, *ENDS])).order_by(col(Event.sequence))):
        open_ones[event.subject_kind, event.subject_id] += 1 if event.action == LEASE else -1
        assert open_ones[event.subject_kind, event.subject_id] in {0, 1}
