"""Items of exact need in a project, and a panel of simulated families to judge them."""

import shutil
from pathlib import Path

import pytest

from annotation_ui.authoring import import_items
from evaluation.models.catalogue import ModelSpec
from evaluation.models.sim.grammar import Sight
from interplay.demo_media import materials
from qc.ground_truth import Family, GroundTruthItem, TruthClass, generate, write_items
from qc.rounds import Panel
from warehouse.items import get_item
from warehouse.people import Role, add_user
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
