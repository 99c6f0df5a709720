"""The whole machine over HTTP: items of exact need, four families behind a server that decodes what it is sent."""

import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import pytest

from core.question import choice_label
from evaluation.models.catalogue import find_models
from evaluation.models.sim.gallery import Gallery
from evaluation.models.sim.member import Knobs
from evaluation.models.sim.server import serving
from interplay.demo_media import materials
from qc.ground_truth import Family, TruthClass, generate
from qc.rounds import Panel, run_round1, run_round2
from warehouse.analytics import analysis
from warehouse.workspace import open_workspace

FAMILIES = ("ada", "bo", "chen", "dia")
INTERPLAY = Path(sys.executable).with_name("interplay")
OUTCOME = {
    TruthClass.SOUND: ("round2_passed", [(1, "pass", ()), (2, "pass", ())]),
    TruthClass.REDUNDANT: ("rejected", [(1, "pass", ()), (2, "reject", ("redundant_modality",))]),
    TruthClass.PARTIAL: ("rejected", [(1, "pass", ()), (2, "reject", ("unhelpful_modality",))]),
    TruthClass.LEAKED: ("rejected", [(1, "pass", ()), (2, "reject", ("answerable_from_text",))]),
    TruthClass.MIS_KEYED: ("returned", [(1, "return", ("suspect_key",))]),
    TruthClass.IMPOSSIBLE: ("submitted", [(1, "unknown", ("unsolved",))]),
}


@contextmanager
def panel_served(gallery_file, **knobs):
    """Tables for interplay.toml of four families, for as long as they are served. A guess goes by place."""
    members = {name: Knobs(seed=seed, position_bias=1.0, **knobs) for seed, name in enumerate(FAMILIES, start=1)}
    with serving(members, Gallery.load(gallery_file)) as address:
        yield "".join(
            f'\n[models.{name}]\nprovider = "interplay-omni/{name}"\nendpoint = "serve-sim"\npanel = true\n'
            f'arguments = {{ base_url = "{address}" }}\ngenerate = {{ max_retries = 0 }}\n'
            for name in FAMILIES
        )


def judge(bench, tables: str):
    """Both rounds, with the panel that the project's settings name."""
    import tomllib

    panel = Panel(find_models(FAMILIES, tomllib.loads(tables)["models"]))
    return run_round1(bench.workspace, panel), run_round2(bench.workspace, panel)


@pytest.fixture(scope="module")
def items(real_media):
    """Items of each class, pictures and films, in both languages; the leaked one tells in words what its media hold."""
    made = generate(
        8,
        81,
        materials(real_media),
        mix={truth: 1.0 + (truth is TruthClass.SOUND) for truth in TruthClass if truth is not TruthClass.LEAKED},
        families=(Family.SUM, Family.PHOTO),
    )
    place, told = next((place, item) for place, item in enumerate(made) if item.truth is TruthClass.SOUND)
    words = " ".join(file.caption for file in told.media.values())
    made[place] = told.model_copy(update={"truth": TruthClass.LEAKED, "prompt": f"{told.prompt} {words}"})
    return made


@pytest.fixture(scope="module")
def calm(shared_bench, items, gallery_file, tmp_path_factory):
    """The undisturbed run, its panel, and a copy of the project as it was before."""
    with panel_served(gallery_file) as tables:
        assert shared_bench.bring(items).refused == []
        root = shared_bench.workspace.project.root
        with (root / "interplay.toml").open("a", encoding="utf-8") as settings:
            settings.write(tables)
        before = Path(shutil.copytree(root, tmp_path_factory.mktemp("before") / "project"))
        yield shared_bench, judge(shared_bench, tables), tables, before


def test_the_items_are_of_all_kinds(items):
    assert {item.truth for item in items} == set(TruthClass)
    assert {item.language for item in items} == {"en", "zh"}
    assert {item.required[0].value for item in items} == {"image", "video"}
    assert {item.family for item in items} == {Family.SUM, Family.PHOTO}


@pytest.mark.parametrize("truth", list(TruthClass))
def test_each_class_is_recovered(calm, items, truth):
    bench, reports, _, _ = calm
    standing = bench.standing()
    names = [item.name for item in items if item.truth is truth]
    assert {name: standing[name] for name in names} == dict.fromkeys(names, OUTCOME[truth])
    assert [report.quarantined for report in reports] == [{}, {}]


def test_verdicts_depend_on_the_order_neither_of_items_nor_of_choices(calm, items, new_bench):
    bench, _, tables, _ = calm
    turned = []
    for place, item in enumerate(reversed(items)):
        order = [(at + place % 3 + 1) % 4 for at in range(4)]
        turned.append(
            item.model_copy(
                update={
                    "choices": tuple(item.choices[at] for at in order),
                    "answer": choice_label(order.index("ABCD".index(item.answer))),
                }
            )
        )
    other = new_bench("other")
    other.bring(turned)
    judge(other, tables)
    assert other.standing() == bench.standing()


def test_errors_of_the_server_change_a_verdict_only_to_unknown(calm, items, new_bench, gallery_file):
    """A fifth of all calls end in 429, 500, a gateway's timeout or a connection that breaks, and nobody tries again."""
    bench, _, _, _ = calm
    shaky = new_bench("shaky")
    shaky.bring(items)
    with panel_served(gallery_file, error_rate=0.2, errors=("429", "500", "timeout", "cut")) as tables:
        reports = judge(shaky, tables)
    failed = sum(report.spent.failures.total() for report in reports)
    assert 0.1 < failed / sum(report.asked for report in reports) < 0.3
    undisturbed, same = bench.standing(), 0
    for name, (_, verdicts) in shaky.standing().items():
        calm_ones = {number: (decision, codes) for number, decision, codes in undisturbed[name][1]}
        for number, *ruling in verdicts:
            assert (
                ruling[0] == "unknown"
                or tuple(ruling) == calm_ones[number]
                or (tuple(ruling), calm_ones[number])
                == (
                    # Of the other modality there were too few votes to say the same: it is rejected all the same.
                    ("reject", ("unhelpful_modality",)),
                    ("reject", ("redundant_modality",)),
                )
            )
            same += ruling[0] != "unknown"
    assert same >= len(items) / 2  # the panel does not simply give up


class Progress:
    """How far a project's rounds have come, seen from outside."""

    def __init__(self, project: Path) -> None:
        self.project = project
        self._connection = sqlite3.connect(f"file:{project / 'interplay.db'}?mode=ro", uri=True)

    def count(self, what: str) -> int:
        return self._connection.execute(f"SELECT count(*) FROM {what}").fetchone()[0]

    @property
    def answers(self) -> int:
        """Answers of the wave at work."""
        journals = [path for path in (self.project / "journal").glob("response-*.jsonl") if path.exists()]
        return sum(path.read_bytes().count(b"\n") for path in journals)


MOMENTS = {
    "canaries": lambda seen: seen.answers >= 20,
    "round 1": lambda seen: (
        seen.count("run WHERE command = 'qc round 1' AND status = 'interrupted'") > 0 and seen.answers >= 20
    ),
    "between verdicts": lambda seen: seen.count("verdict") >= 3,
    "round 2": lambda seen: seen.count("run WHERE command = 'qc round 2'") > 0 and seen.answers >= 20,
}


def rows_of(project: Path) -> tuple[list, list]:
    """Verdicts with their evidence, and the answers behind them."""
    with sqlite3.connect(f"file:{project / 'interplay.db'}?mode=ro", uri=True) as connection:
        verdicts = connection.execute(
            "SELECT revision_id, round, decider, decision, reason_codes, evidence FROM verdict ORDER BY 1, 2, created_at"
        ).fetchall()
        states = connection.execute("SELECT name, state FROM item ORDER BY name").fetchall()
    with open_workspace(project) as workspace, analysis(workspace.facts, ["response"]) as connection:
        answers = connection.execute("SELECT key, state, answer FROM response ORDER BY key").fetchall()
    return [*verdicts, *states], answers


def test_killed_in_the_middle_and_called_again_it_ends_with_the_same_rows(calm):
    bench, _, _, project = calm
    command = [str(INTERPLAY), "qc", "run", "--project", str(project)]
    killed = []
    for came in MOMENTS.values():
        seen = Progress(project)
        process = subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True, env=os.environ
        )
        while process.poll() is None and not came(seen):
            time.sleep(0.003)
        process.send_signal(signal.SIGKILL)
        killed.append(process.wait() == -signal.SIGKILL)
    subprocess.run(command, check=True, capture_output=True)
    assert sum(killed) >= 3
    found, answers = rows_of(project)
    wanted, wanted_answers = rows_of(bench.workspace.project.root)
    assert found == wanted
    assert answers == wanted_answers
    assert list((project / "journal").glob("response-*.jsonl")) == []
