"""What rounds 1 and 2 of quality control find in items whose truth is known, at how many calls and in what time.

Run: python benchmarks/quality_control.py [--items 1000] [--kills 10] [--perception 0.95] [--shared-prior 0.3] ...

Makes ground-truth items from real photos and spoken digits, imports them into a project, serves four simulated families
by a process of `interplay models serve-sim`, and runs both rounds. With --kills, a copy of the project is judged by
`interplay qc run`, killed outright at random moments and called again until it ends; then the verdicts of both projects
are compared, evidence included. The truth of the decoy estimate follows from the need of each item: a flagged one is a
false discovery where what is missing was needed.
"""

import argparse
import csv
import json
import os
import platform
import selectors
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import date
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from sqlmodel import Session, col, select

from annotation_ui.authoring import import_items
from core.condition import TEXT_ONLY, without
from curation.ingest import ingest
from curation.manifest import read_manifest
from evaluation.models.catalogue import find_models
from interplay import demo_media
from qc.decoys import DecoyEstimate, estimate_decoys
from qc.ground_truth import GroundTruthItem, TruthClass, generate, write_items
from qc.panel import Votes
from qc.rounds import Panel, RoundReport, run_round1, run_round2
from warehouse.analytics import analysis
from warehouse.tables import Item, Verdict
from warehouse.workspace import Workspace, init_project, open_workspace

FAMILIES = ("ada", "bo", "chen", "dia")
GALLERY = "gallery.npz"
INTERPLAY = Path(sys.executable).with_name("interplay")
# The votes that a sound item should take, both rounds together.
GOAL = 47
CALLS = """
SELECT item_name, if(condition = 'review', 'review', purpose), count(DISTINCT request_key)
FROM response WHERE starts_with(purpose, 'qc round') GROUP BY ALL
"""


def make_source(folder: Path, count: int, seed: int) -> list[GroundTruthItem]:
    """Items with their media and a manifest, and what the families know by sight and by ear."""
    media = demo_media.collect(folder / "real")
    demo_media.gallery(media).save(folder / GALLERY)
    items = generate(count, seed, demo_media.materials(media))
    write_items(items, folder)
    with (folder / "manifest.csv").open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream)
        writer.writerow(["path", "licence", "author"])
        for file in sorted((folder / "media").iterdir()):
            writer.writerow([file.relative_to(folder).as_posix(), "CC0-1.0", "the benchmark"])
    return items


@contextmanager
def served(folder: Path, knobs: Mapping[str, float]) -> Iterator[str]:
    """The four families behind a server of its own process; gives their tables for interplay.toml."""
    settings = "\n".join(f"{name} = {value}" for name, value in knobs.items())
    tables = (f"[members.{name}]\nseed = {seed}\n{settings}\n" for seed, name in enumerate(FAMILIES, start=1))
    (folder / "members.toml").write_text("\n".join(tables), encoding="utf-8")
    command = [INTERPLAY, "models", "serve-sim", "--port", "0", "--members", folder / "members.toml"]
    command += ["--gallery", folder / GALLERY, "--json"]
    # It tells of every client that was killed in the middle of a call.
    with (
        (folder / "server.log").open("w", encoding="utf-8") as log,
        subprocess.Popen(list(map(str, command)), stdout=subprocess.PIPE, stderr=log, text=True) as process,
    ):
        assert process.stdout is not None
        told = ""
        while not told.endswith("\n}\n"):
            line = process.stdout.readline()
            if not line:
                raise RuntimeError(f"the server ended at once: {told}")
            told += line
        try:
            yield json.loads(told)["settings"].replace("\nprovider", "\npanel = true\nprovider")
        finally:
            process.terminate()


def bring_in(workspace: Workspace, source: Path) -> list[str]:
    """Media, then items; gives a line for each item that was refused or stays a draft."""
    ingest(workspace, *read_manifest(source / "manifest.csv"))
    report = import_items(workspace, source / "items.yaml", "ann")
    assert not report.refused, report.refused[0]
    return report.drafts


class Waiting:
    """Seconds in which the event loop had nothing to do but to wait for the server."""

    def __init__(self) -> None:
        self.seconds = 0.0
        selector: Any = selectors.DefaultSelector
        select_ = selector.select

        def timed(this: Any, timeout: float | None = None) -> Any:
            begun = time.perf_counter()
            try:
                return select_(this, timeout)
            finally:
                self.seconds += time.perf_counter() - begun

        selector.select = timed


def timed(work: Callable[[], Any]) -> tuple[Any, float]:
    """What the work gives, and its seconds."""
    begun = time.perf_counter()
    return work(), time.perf_counter() - begun


def panel_of(workspace: Workspace) -> Panel:
    """The families."""
    return Panel(find_models(FAMILIES, workspace.project.settings.models))


def verdicts(session: Session) -> dict[str, list[Verdict]]:
    """All verdicts by item, in order."""
    query = select(Item, Verdict).join(Verdict, col(Verdict.revision_id) == col(Item.current_revision_id))
    found: dict[str, list[Verdict]] = defaultdict(list)
    for item, verdict in session.exec(query.order_by(Item.name, col(Verdict.round), col(Verdict.created_at))):
        found[item.name].append(verdict)
    return found


def outcome(of_item: Sequence[Verdict]) -> str:
    """What the two rounds made of an item, in a word."""
    if not of_item:
        return "draft"
    last = of_item[-1]
    return "+".join(last.reason_codes) if last.reason_codes else f"{last.decision.value} {last.round}"


def print_confusion(items: Sequence[GroundTruthItem], found: Mapping[str, Sequence[Verdict]]) -> None:
    """A row for each class, a column for each outcome."""
    table: dict[str, Counter[str]] = defaultdict(Counter)
    for item in items:
        table[item.truth.value][outcome(found.get(item.name, ()))] += 1
    outcomes = sorted({one for row in table.values() for one in row})
    print(f"\n| truth | items | {' | '.join(outcomes)} |")
    print("|" + " --- |" * (len(outcomes) + 2))
    for truth in TruthClass:
        row = table[truth.value]
        print(f"| {truth.value} | {row.total()} | {' | '.join(str(row[one] or '') for one in outcomes)} |")


def print_calls(workspace: Workspace, items: Sequence[GroundTruthItem], reports: Sequence[RoundReport]) -> None:
    """Calls an item: all that were judged, and sound ones alone."""
    with analysis(workspace.facts, ["response"]) as connection:
        rows = connection.execute(CALLS).fetchall()
    counts: dict[str, dict[str, int]] = defaultdict(dict)
    for name, purpose, calls in rows:
        counts[name][purpose] = calls
    sound = {item.name for item in items if item.truth is TruthClass.SOUND}
    in_choices = {item.name for item in items if item.choices}
    kept = {name for name in reports[1].rulings if reports[1].rulings[name][0] == "pass"}
    print(f"\n| calls an item | items | round 1 | round 2 | both | reviews |\n|{' --- |' * 6}")
    groups = {"all that were asked": set(counts), "sound": sound, "sound, in choices": sound & in_choices}
    groups["sound, in choices, passed both"] = groups["sound, in choices"] & kept
    for title, names in groups.items():
        if not names:
            continue
        first, second, reviews = (
            statistics.fmean(counts[name].get(purpose, 0) for name in sorted(names))
            for purpose in ("qc round 1", "qc round 2", "review")
        )
        print(f"| {title} | {len(names)} | {first:.1f} | {second:.1f} | {first + second:.1f} | {reviews:.1f} |")
    print(f"\ngoal for a sound item: {GOAL} votes; asked in all: {sum(report.asked for report in reports)}")


def answerable(item: GroundTruthItem, condition: str) -> bool:
    """Whether an item's key can be worked out under a condition."""
    if condition == TEXT_ONLY.name:
        return item.truth is TruthClass.LEAKED
    return any(condition == without(modality).name for modality in item.not_needed)


def ablated_votes(of_item: Iterable[Verdict]) -> list[Votes]:
    """Votes with something missing, as round 2 kept them."""
    votes = [
        Votes.model_validate(one) for verdict in of_item if verdict.round == 2 for one in verdict.evidence["votes"]
    ]
    return [one for one in votes if not one.condition.endswith("_open")]


def false_share(
    estimate: DecoyEstimate, items: Mapping[str, GroundTruthItem], votes: Mapping[str, Sequence[Votes]]
) -> float | None:
    """Of the keys that reach the share, how many do so though what is missing was needed."""
    false = flagged = 0
    for name, of_item in votes.items():
        asked = [one for one in of_item if len(one.key) == 1 and estimate.condition in (one.condition, "any")]
        reached = [one.condition for one in asked if one.share_ranges[one.key[0]][0] >= estimate.share]
        flagged += bool(reached)
        false += bool(reached) and not any(answerable(items[name], condition) for condition in reached)
    return false / flagged if flagged else None


def print_decoys(items: Sequence[GroundTruthItem], found: Mapping[str, Sequence[Verdict]], share: float) -> None:
    """The false discovery rate as estimated without the truth, beside the truth."""
    by_name = {item.name: item for item in items}
    votes = {name: ablated_votes(of_item) for name, of_item in found.items()}
    print(f"\n| condition | items | flagged | decoys | undecided | estimated | true |\n|{' --- |' * 7}")
    for one in estimate_decoys(votes.values(), [share]):
        told = ["-" if rate is None else f"{rate:.3f}" for rate in (one.fdr, false_share(one, by_name, votes))]
        print(f"| {one.condition} | {one.items} | {one.flagged} | {one.decoys} | {one.open} | {told[0]} | {told[1]} |")


def kill_and_go_on(project: Path, kills: int, whole_s: float, seed: int) -> tuple[int, float]:
    """Run both rounds, killed at random moments; gives how often it was killed at work, and the seconds of all."""
    rng = np.random.default_rng(seed)
    command = [str(INTERPLAY), "qc", "run", "--json", "--project", str(project)]
    killed, begun = 0, time.perf_counter()
    for _ in range(kills):
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, start_new_session=True)
        try:
            process.wait(timeout=float(rng.uniform(0.5, 2 * whole_s / kills)))
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            killed += process.wait() == -signal.SIGKILL
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert not any(one["left"] for one in json.loads(done.stdout))
    return killed, time.perf_counter() - begun


def told_of(project: Path) -> dict[str, list[tuple[object, ...]]]:
    """Verdicts of a project, without identities and moments."""
    with open_workspace(project) as workspace, workspace.database.reading() as session:
        return {
            name: [(one.round, one.decider, one.decision, list(one.reason_codes), one.evidence) for one in of_item]
            for name, of_item in verdicts(session).items()
        }


def main() -> None:
    """Make, import, judge, compare, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--items", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--kills", type=int, default=0, help="how often a twin of the project is killed")
    parser.add_argument("--perception", type=float, default=0.95)
    parser.add_argument("--shared-prior", type=float, default=0.3)
    parser.add_argument("--own-prior", type=float, default=0.2)
    parser.add_argument("--position-bias", type=float, default=0.5)
    parser.add_argument("--latency-s", type=float, default=0.0)
    parser.add_argument("--folder", type=Path, help="keep everything there; it must not exist")
    options = parser.parse_args()
    knobs = {
        name: getattr(options, name)
        for name in ("perception", "shared_prior", "own_prior", "position_bias", "latency_s")
    }
    print(f"{date.today()}, {os.cpu_count()} cores, CPython {platform.python_version()}, {options.items} items")
    print(", ".join(f"{name} {value}" for name, value in knobs.items()))
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.folder or Path(temporary) / "qc"
        source = folder / "source"
        source.mkdir(parents=True)
        items, made_s = timed(lambda: make_source(source, options.items, options.seed))
        print(f"made in {made_s:.1f} s")
        with served(source, knobs) as settings:
            run(folder, items, settings, options)


def run(folder: Path, items: Sequence[GroundTruthItem], settings: str, options: argparse.Namespace) -> None:
    """Everything that needs the server."""
    project = init_project(folder / "project", settings).root
    waiting = Waiting()
    with open_workspace(project) as workspace:
        drafts, import_s = timed(lambda: bring_in(workspace, folder / "source"))
        if options.kills:
            shutil.copytree(project, folder / "twin")
        stages, reports = {"import": (import_s, 0.0)}, []
        for number, run_round in ((1, run_round1), (2, run_round2)):
            before_s = waiting.seconds
            report, seconds = timed(partial(run_round, workspace, panel_of(workspace)))
            stages[f"round {number}"] = (seconds, waiting.seconds - before_s)
            reports.append(report)
        with workspace.database.reading() as session:
            found = verdicts(session)
        print(f"{len(drafts)} stay drafts: the automatic checks stop them; quarantined: {reports[0].quarantined}")
        print_confusion(items, found)
        print_calls(workspace, items, reports)
        print_decoys(items, found, panel_of(workspace).limits.flagged)
    print(f"\n| stage | seconds | of them waiting for the server | ms a call |\n|{' --- |' * 4}")
    calls = [None, *(report.asked for report in reports)]
    for (name, (seconds, idle_s)), asked in zip(stages.items(), calls, strict=True):
        print(f"| {name} | {seconds:.1f} | {idle_s / seconds:.0%} | {seconds / asked * 1e3:.2f} |" if asked else
              f"| {name} | {seconds:.1f} | | |")  # fmt: skip
    if options.kills:
        whole_s = sum(stages[name][0] for name in ("round 1", "round 2"))
        killed, seconds = kill_and_go_on(folder / "twin", options.kills, whole_s, options.seed)
        first, second = told_of(project), told_of(folder / "twin")
        differing = sorted(name for name in first.keys() | second.keys() if first.get(name) != second.get(name))
        print(f"\nkilled {killed} times at work, then to the end, in {seconds:.1f} s: ", end="")
        print(f"{len(differing)} of {len(first)} items have other verdicts or evidence: {differing[:5]}")


if __name__ == "__main__":
    main()
