"""Items of exact need in a project, and a panel of simulated families to judge them."""

import hashlib
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from annotation_ui.authoring import import_items
from core.content import MediaRef, Modality, parse_prompt
from core.question import AnswerKey, Choice, Question, QuestionKind
from evaluation.models.catalogue import ModelSpec
from evaluation.models.sim.grammar import Sight
from interplay.demo_media import materials
from qc.audit.findings import Desk, Said, open_items, record_finding
from qc.ground_truth import Family, GroundTruthItem, TruthClass, generate, write_items
from qc.rounds import Panel
from warehouse.audits import items_of
from warehouse.items import get_item
from warehouse.people import Role, add_user, get_user
from warehouse.release.records import members_of
from warehouse.tables import AuditAnswer, Item, ItemRevision, ItemState, Release, ReleaseItem, Run
from warehouse.verdicts import verdicts_on
from warehouse.workspace import Workspace, open_workspace

CHOICE_CLASSES = [truth for truth in TruthClass if truth is not TruthClass.LEAKED]


class Bench:
    """One project with the ways to fill it and to look at it."""

    def __init__(self, workspace: Workspace, library, folder: Path) -> None:
        self.workspace, self.folder = workspace, folder
        self._library = library

    def bring(self, items: list[GroundTruthItem], author: str = "ann"):
        """Media into the library and the items through an item file; gives the report of the import."""
        for item in items:
            for file in item.media.values():
                self._library.add(file.data)
        return import_items(self.workspace, write_items(items, self.folder), author)

    def standing(self) -> dict[str, tuple[str, list[tuple[int, str, tuple[str, ...]]]]]:
        """State and verdicts (round, decision, codes) of each item's current revision."""
        from sqlmodel import select

        from warehouse.tables import Item

        with self.workspace.database.reading() as session:
            return {
                item.name: (
                    item.state.value,
                    [
                        (verdict.round, verdict.decision.value, tuple(verdict.reason_codes))
                        for verdict in verdicts_on(session, item.current_revision_id)
                    ],
                )
                for item in session.exec(select(Item).order_by(Item.name))
            }

    def verdicts(self, name: str):
        with self.workspace.database.reading() as session:
            return verdicts_on(session, get_item(session, name).current_revision_id)


@pytest.fixture
def bench(workspace, library, tmp_path) -> Bench:
    return Bench(workspace, library, tmp_path / "source")


@pytest.fixture(scope="module")
def shared_bench(_project_template, tmp_path_factory, new_library):
    """One project for all tests of a module."""
    root = Path(shutil.copytree(_project_template, tmp_path_factory.mktemp("shared") / "project"))
    with open_workspace(root) as workspace:
        yield Bench(workspace, new_library(workspace), tmp_path_factory.mktemp("source"))


@pytest.fixture
def new_bench(_project_template, tmp_path, new_library):
    """Further projects, by name."""
    opened = []

    def make(name: str) -> Bench:
        context = open_workspace(Path(shutil.copytree(_project_template, tmp_path / name)))
        workspace = context.__enter__()
        opened.append(context)
        return Bench(workspace, new_library(workspace), tmp_path / f"{name}-source")

    yield make
    for context in opened:
        context.__exit__(None, None, None)


@pytest.fixture(scope="session")
def make_items(real_media):
    """Items of the wanted classes about pictures and sounds, as choice questions."""

    def make(count: int, seed: int, *truths: TruthClass, families=(Family.SUM,)) -> list[GroundTruthItem]:
        mix = dict.fromkeys(truths or (TruthClass.SOUND,), 1.0)
        return generate(count, seed, materials(real_media), mix=mix, families=families, sights=[Sight.DOTS])

    return make


@pytest.fixture(scope="session")
def told(make_items) -> GroundTruthItem:
    """A sound item whose prompt tells in words what the media show: a leak that no automatic check sees."""
    (item,) = make_items(1, 31)
    words = " ".join(file.caption for file in item.media.values())
    return item.model_copy(update={"truth": TruthClass.LEAKED, "prompt": f"{item.prompt} {words}"})


@pytest.fixture(scope="session")
def make_panel(gallery_file):
    """Four families that guess by place, so that over all rotations a guess is exactly chance."""

    def make(families: int = 4, generate: dict | None = None, **knobs) -> Panel:
        arguments = {"gallery": str(gallery_file), "position_bias": 1.0} | knobs
        models = [
            ModelSpec(
                name=f"m{seed}",
                provider=f"interplay-sim/m{seed}",
                family=f"f{seed}",
                arguments=arguments | {"seed": seed},
                generate=generate or {},
            )
            for seed in range(families)
        ]
        return Panel(models)

    return make


@pytest.fixture
def reviewers(bench) -> list[str]:
    """Three reviewers, and somebody who is none."""
    names = ["rita", "raj", "rosa"]
    with bench.workspace.database.session() as session:
        for name in names:
            add_user(session, name, frozenset({Role.REVIEWER}), actor="test")
        add_user(session, "ann", frozenset({Role.ANNOTATOR, Role.REVIEWER}), actor="test")
        add_user(session, "petra", frozenset({Role.PARTICIPANT}), actor="test")
    return names


class AuditHouse:
    """A project with releases of small questions, and people who audit them."""

    def __init__(self, workspace: Workspace) -> None:
        self.workspace, self.database = workspace, workspace.database
        with self.database.session() as session:
            for name in ("rita", "raj"):
                add_user(session, name, frozenset({Role.REVIEWER}), actor="test")
            add_user(session, "max", frozenset({Role.MAINTAINER}), actor="test")
            add_user(session, "ann", frozenset({Role.ANNOTATOR}), actor="test")
            run = Run(command="test", fingerprint="0" * 64, host="test", process_id=1)
            session.add(run)
        self.run_id = run.id

    @staticmethod
    def question(number: int, choices: int = 4) -> Question:
        media = {
            f"{kind}_1": MediaRef(
                sha256=hashlib.sha256(f"{kind} {number}".encode()).hexdigest(),
                media_type=media_type,
                modality=kind,
                byte_count=9,
            )
            for kind, media_type in (("image", "image/png"), ("audio", "audio/wav"))
        }
        return Question(
            prompt=parse_prompt(f"Question {number}: 哪一个? <image_1> <audio_1>", media),
            kind=QuestionKind.CHOICE,
            choices=tuple(Choice(text=f"= {place}") for place in range(choices)),
            answer=AnswerKey(correct=(number % choices,)),
            required={"image", "audio"},
            task_type="human_and_animal_recognition",
            language="en",
        )

    def release(self, count: int, version: str = "1.0.0", choices: int = 4, author: str = "writer") -> Release:
        """A built release `zoo` of accepted items q0000, q0001, ..."""
        release = Release(name="zoo", version=version, run_id=self.run_id)
        with self.database.session() as session:
            session.add(release)
            for number in range(count):
                name, question = f"q{number:04}", self.question(number, choices)
                item = Item(name=name, state=ItemState.ACCEPTED, created_by=author)
                session.add(item)
                session.flush()
                revision = ItemRevision(
                    item_id=item.id,
                    number=1,
                    question=question.model_dump(mode="json"),
                    content_hash=question.content_hash,
                    author=author,
                )
                session.add(revision)
                session.flush()
                item.current_revision_id = revision.id
                session.add(ReleaseItem(release_id=release.id, revision_id=revision.id, split="test", position=number))
        return release

    def revise(self, session, item: Item, author: str) -> None:
        """Another revision, which the release does not hold."""
        revision = ItemRevision(item_id=item.id, number=2, question={}, content_hash="0" * 64, author=author)
        session.add(revision)

    @staticmethod
    def copy(session, release: Release, version: str, count: int) -> None:
        """A release of another version with the first items of this one."""
        other = Release(name=release.name, version=version, run_id=release.run_id)
        session.add(other)
        for member in members_of(session, release)[:count]:
            row = ReleaseItem(release_id=other.id, revision_id=member.revision.id, split="test", position=0)
            session.add(row)

    def doubt(self, sample) -> None:
        """Another auditor is not sure of the first item of a sample."""
        with self.database.session() as session:
            said = Said(AuditAnswer.YES, AuditAnswer.UNSURE)
            record_finding(session, sample, items_of(session, sample)[0].qid, get_user(session, "raj"), said)

    def fill(self, sample, failures: int = 0, by: str = "rita", needs: str = "no", upto: int | None = None) -> None:
        """Findings on all (or the first) items of a sample that are open: this many fail, the rest needs all."""
        with self.database.session() as session:
            user = get_user(session, by)
            desk = Desk(session, sample, user)
            for place, item in enumerate(open_items(session, sample, user)[:upto]):
                fails = place < failures
                said = Said(
                    AuditAnswer.YES,
                    AuditAnswer(needs) if fails else AuditAnswer.YES,
                    frozenset({Modality.IMAGE}) if fails and needs == "no" else frozenset(),
                )
                desk.record(item.qid, said)


@pytest.fixture
def house(workspace) -> AuditHouse:
    return AuditHouse(workspace)


@pytest.fixture
def any_house(workspace, database) -> AuditHouse:
    """The same on each kind of database."""
    return AuditHouse(replace(workspace, database=database))


@pytest.fixture
def new_house(new_bench):
    """Further projects of that kind, by name."""
    return lambda name: AuditHouse(new_bench(name).workspace)
