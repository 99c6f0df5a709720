"""`interplay demo`: the whole way from files to a sealed, evaluated release, on one machine."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from sqlmodel import select

from annotation_ui.authoring import import_items
from core.condition import SENSES
from core.settings import PROJECT_FILE
from curation.ingest import ingest
from curation.manifest import read_manifest
from evaluation.models.catalogue import find_models
from evaluation.report.page import write_report
from evaluation.report.terminal import table_of_cells
from evaluation.run import Order, evaluate, report_release
from interplay.demo_source import MANIFEST, SETTINGS, prepare, truths
from qc.report.build import qc_report
from qc.report.terminal import report_lines
from qc.review.verdicts import give_verdict
from qc.rounds import Panel, run_round1, run_round2
from warehouse.command_line import show_table
from warehouse.items import revisions_in
from warehouse.people import Role, add_user
from warehouse.release.build import Recipe, build_release
from warehouse.release.export import export_release
from warehouse.release.records import all_releases, get_release, members_of
from warehouse.release.seal import SealOrder, seal_release
from warehouse.release.splits import SplitPlan
from warehouse.tables import Decision, User
from warehouse.verdicts import ROUND_NEEDS
from warehouse.workspace import Workspace, init_project, open_workspace, upgrade_project

NAME, VERSION = "demo", "1.0.0"
AUTHOR = "demo-author"
REVIEWERS = ("demo-reviewer-1", "demo-reviewer-2")
EVALUATED = ("keen", "hasty")
# What a scripted reviewer says of an item that was made to be wrong and that no check has stopped.
_REVIEWER_REASONS = {
    "impossible": "unanswerable",
    "leaked": "answer_leaked",
    "mis_keyed": "wrong_key",
    "partial": "unhelpful_modality",
    "redundant": "redundant_modality",
}


@dataclass
class Demo:
    """What the demo did: `done` counts new pieces of work, stage by stage; a second call leaves all at 0."""

    folder: Path
    say: Callable[[str], None]
    done: Counter[str] = field(default_factory=Counter)

    def run(self) -> None:
        """Every stage in order. Stop it at any moment; the next call goes on."""
        if (self.folder / PROJECT_FILE).exists():
            upgrade_project(self.folder)
        else:
            init_project(self.folder, SETTINGS)
        source = prepare(self.folder)
        with open_workspace(self.folder) as workspace:
            self._ingest(workspace, source)
            self._author(workspace, source)
            self._control(workspace, source)
            self._release(workspace)
            self._evaluate(workspace)
        self._close()

    def _ingest(self, workspace: Workspace, source: Path) -> None:
        entries, rejected = read_manifest(source / MANIFEST)
        report = ingest(workspace, entries, rejected, {"manifest": MANIFEST})
        counts = report.counts
        self.done["materials"] = counts["new"]
        told = ", ".join(f"{count} {name.replace('_', ' ')}" for name, count in counts.items())
        self.say(f"1. materials: {told}")
        for one in report.rejected:
            self.say(f"   refused {one.origin}: {one.reason}")

    def _author(self, workspace: Workspace, source: Path) -> None:
        report = import_items(workspace, source / "items.yaml", AUTHOR)
        self.done["items"] = len(report.created) + len(report.revised)
        self.say(f"2. items: {len(report.created)} authored, {len(report.unchanged)} were there")
        for line in [*report.refused, *report.drafts]:
            self.say(f"   kept from quality control: {line}")

    def _control(self, workspace: Workspace, source: Path) -> None:
        settings = workspace.project.settings.models
        panel = Panel(find_models([name for name, table in settings.items() if table.get("panel")], settings))
        made_to_be = truths(source)
        _add_reviewers(workspace)
        asked = 0
        for number, run_round in ((1, run_round1), (2, run_round2)):
            asked += run_round(workspace, panel).asked
            # What a check leaves open, a person decides.
            self._review(workspace, number, REVIEWERS[:1], made_to_be)
        self._review(workspace, 3, REVIEWERS, made_to_be)
        self.done["questions to the panel"] = asked
        report = qc_report(workspace)
        self.say(f"3. quality control: {asked} questions to a panel of {len(panel.models)} families")
        for line in report_lines(report):
            self.say(f"   {line}")

    def _review(
        self, workspace: Workspace, number: int, reviewers: Sequence[str], made_to_be: Mapping[str, str]
    ) -> None:
        """Scripted reviewers, who know how each item was made, stand for people."""
        with workspace.database.reading() as session:
            waiting = [item.name for item, _ in revisions_in(session, ROUND_NEEDS[number])]
        for item in waiting:
            sound = made_to_be[item] == "sound"
            decision = Decision.PASS if sound else Decision.REJECT
            reasons = () if sound else (_REVIEWER_REASONS[made_to_be[item]],)
            for reviewer in reviewers:
                with workspace.database.session() as session:
                    give_verdict(session, item, number, reviewer, decision, reasons, comment="scripted, for the demo")
                self.done["verdicts of people"] += 1

    def _release(self, workspace: Workspace) -> None:
        with workspace.database.reading() as session:
            built = any(release.version == VERSION for release in all_releases(session, NAME))
        if not built:
            recipe = Recipe(plan=SplitPlan(dev_share=0.2), licence="CC-BY-4.0")
            build_release(workspace.database, NAME, VERSION, recipe, "interplay demo")
        sealed = seal_release(workspace.database, workspace.blobs, SealOrder(NAME, VERSION, "interplay demo"))
        with workspace.database.reading() as session:
            release = get_release(session, NAME, VERSION)
            count = len(members_of(session, release))
        self.say(f"4. release {NAME} {VERSION}: {count} items sealed, manifest {str(release.manifest_sha256)[:16]}")
        self.done["releases"] = int(sealed.now)
        for format_name in ("jsonl", "huggingface"):
            folder = self.folder / "export" / format_name
            exported = export_release(workspace.database, workspace.blobs, NAME, VERSION, format_name, folder)
            self.done["exports"] += int(exported.new)
            self.say(f"   exported as {format_name}: {folder} ({exported.files} files)")

    def _evaluate(self, workspace: Workspace) -> None:
        models = find_models(EVALUATED, workspace.project.settings.models)
        names = ["full", *(f"without_{modality.value}" for modality in SENSES), "text_only"]
        result = evaluate(workspace, NAME, VERSION, Order(models, names))
        self.done["questions to the evaluated"] = result.solved.asked
        report = report_release(workspace, NAME, VERSION, EVALUATED)
        write_report(report, self.folder / "report")
        self.say(f"5. evaluation: {len(models)} models, {result.solved.asked} questions asked, points in percent")
        header, rows = table_of_cells(report)
        show_table(None, header, rows, False)
        self.say(f"   report with a picture: {self.folder / 'report' / 'report.html'}")

    def _close(self) -> None:
        if not any(self.done.values()):
            self.say("everything was there already; nothing was done twice")
        self.say(f"look at it in the studio: interplay up --project {self.folder}")


def _add_reviewers(workspace: Workspace) -> None:
    with workspace.database.session() as session:
        known = {user.name for user in session.exec(select(User))}
        for name in REVIEWERS:
            if name not in known:
                # Without a password: nobody can sign in as them.
                add_user(session, name, frozenset({Role.REVIEWER}), actor="interplay demo")
