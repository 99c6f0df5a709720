"""The table of rules, the decoy estimate beside the truth, and the command that prints both."""

import json
import re
from dataclasses import replace
from pathlib import Path
from statistics import fmean

import numpy as np
import pytest
from scipy.stats import binomtest
from typer.testing import CliRunner

from qc.gates import Thresholds
from qc.ground_truth import DEFAULT_MIX
from qc.ground_truth_facts import TruthClass
from qc.simulation.answers import TRUTHS, Knobs, draw
from qc.simulation.cli import app
from qc.simulation.rules import OURS, RULES, Ending, ours
from qc.simulation.table import Share, decoy_rows, rule_row

SEEDS = range(20)
ITEMS = 300
# Without items that round 1 stops.
SOLVABLE_MIX = {
    truth: share for truth, share in DEFAULT_MIX.items() if truth not in (TruthClass.MIS_KEYED, TruthClass.IMPOSSIBLE)
}


def items_of(*truths, errs=()):
    answers = draw(len(truths), Knobs(), 0)
    return replace(
        answers,
        truth=np.array([TRUTHS.index(one) for one in truths]),
        person_errs=np.isin(np.arange(len(truths)), errs),
    )


class TestByHand:
    SOUND, LEAKED, MIS_KEYED, IMPOSSIBLE = (
        TruthClass.SOUND,
        TruthClass.LEAKED,
        TruthClass.MIS_KEYED,
        TruthClass.IMPOSSIBLE,
    )

    def test_a_row(self):
        answers = items_of(*[self.SOUND] * 4, *[self.LEAKED] * 3, self.MIS_KEYED, self.IMPOSSIBLE, errs=[3, 6])
        decided = ["keep", "stop", "person", "person", "stop", "person", "person", "keep", "person"]
        endings = [Ending(one, one, calls) for calls, one in enumerate(decided)]
        row = rule_row("mine", answers, endings)
        counted = {
            name: (share.part, share.whole)
            for name in type(row).model_fields
            if isinstance(share := getattr(row, name), Share)
        }
        assert counted == {
            "false_flags": (1, 4),
            "power": (3, 3),
            "power_alone": (1, 3),
            "mis_keyed": (0, 1),
            "impossible": (1, 1),
            # One sound item by the machine and one by a person who is right.
            "kept": (2, 4),
            # The leaked item that a person lets through, and the mis-keyed one.
            "contamination": (2, 4),
            "needless": (1, 4),
            "to_person": (5, 9),
        }
        assert (row.calls.value, row.calls_sound.value) == (4.0, 1.5)
        assert row.endings["leaked"] == {"person": 2, "stop": 1}
        assert row.endings["partial"] == {}

    def test_the_interval_is_wilsons(self):
        share = Share.of(np.arange(40) < 7, np.ones(40, dtype=bool))
        known = binomtest(7, 40).proportion_ci(0.95, "wilson")
        assert (share.low, share.high) == pytest.approx((known.low, known.high))
        assert share.text == "17.5 [8.7, 31.9]"

    def test_what_is_not_there_has_no_share(self):
        row = rule_row("mine", items_of(self.LEAKED), [Ending("stop", "x", 3)])
        assert (row.false_flags.value, row.false_flags.text) == (None, "undefined (no such items)")
        assert row.contamination.value is None
        assert row.calls_sound.value is None
        assert row.calls_sound.reason


@pytest.fixture(scope="module")
def drawn():
    """Answers on the default mix and how our rule ends, for each seed."""
    found = [draw(ITEMS, Knobs(), seed) for seed in SEEDS]
    return [(answers, ours(answers)) for answers in found]


@pytest.fixture(scope="module")
def rows(drawn):
    """For each rule, its rows over all seeds."""
    return {
        name: [rule_row(name, answers, own if name == OURS else rule(answers)) for answers, own in drawn]
        for name, rule in RULES.items()
    }


def pooled_share(rows, name):
    return sum(getattr(row, name).part for row in rows) / sum(getattr(row, name).whole for row in rows)


class TestAgainstOthers:
    @pytest.mark.parametrize("name", [name for name in RULES if name != OURS])
    def test_our_rule_is_cleaner_than_theirs(self, rows, name):
        assert pooled_share(rows[OURS], "false_flags") < pooled_share(rows[name], "false_flags")
        assert pooled_share(rows[OURS], "contamination") <= pooled_share(rows[name], "contamination")
        assert pooled_share(rows[OURS], "kept") > pooled_share(rows[name], "kept")

    def test_what_does_not_need_every_modality_is_found(self, rows):
        assert pooled_share(rows[OURS], "power") > 0.97
        assert pooled_share(rows[OURS], "false_flags") < 0.08

    def test_calls(self, rows):
        assert fmean(row.calls.value for row in rows[OURS]) <= 47

    def test_classes_are_recovered(self, rows):
        """Of the items that the machine stops, the reason is that of the class."""
        reasons = {
            "redundant": "redundant_modality",
            "leaked": "answerable_from_text",
            "partial": "unhelpful_modality",
            "mis_keyed": "suspect_key",
        }
        for truth, reason in reasons.items():
            counts = [row.endings[truth] for row in rows[OURS]]
            stopped = sum(sum(one.get(code, 0) for code in reasons.values()) for one in counts)
            assert sum(one.get(reason, 0) for one in counts) > 0.85 * stopped


def gaps(pairs):
    """By condition: the estimate less the true share that is flagged by luck, mean over seeds."""
    rows = [row for answers, endings in pairs for row in decoy_rows(answers, endings)]
    return {
        condition: fmean(row.estimate.value - row.by_luck.value for row in rows if row.condition == condition)
        for condition in {row.condition for row in rows}
    }


class TestDecoys:
    def test_it_is_near_the_truth_under_each_condition_and_any(self):
        """Where round 1 lets no impossible item pass by luck: those are flagged by luck, and no wrong choice is."""
        found = gaps(
            [(answers, ours(answers)) for answers in (draw(ITEMS, Knobs(), seed, SOLVABLE_MIX) for seed in SEEDS)]
        )
        assert len(found) == 4
        for gap in found.values():
            assert -0.02 <= gap <= 0.06

    def test_it_is_never_below_the_share_of_sound_items(self, drawn):
        rows = [row for answers, endings in drawn for row in decoy_rows(answers, endings)]
        for condition in {row.condition for row in rows}:
            of_one = [row for row in rows if row.condition == condition]
            assert fmean(row.estimate.value - row.sound.value for row in of_one) > -0.02


class TestCommand:
    def run(self, *arguments):
        done = CliRunner().invoke(app, list(arguments))
        assert done.exit_code == 0, done.output
        return done.stdout

    def test_json(self):
        found = json.loads(self.run("--items", "60", "--seed", "3", "--errors", "0.1", "--choices", "5", "--json"))
        assert (found["seed"], found["items"], found["knobs"]["errors"], found["knobs"]["choices"]) == (3, 60, 0.1, 5)
        assert found["mix"]["sound"] == DEFAULT_MIX[TruthClass.SOUND]
        assert found["thresholds"]["flagged"] == Thresholds().flagged
        assert [row["rule"] for row in found["rules"]] == list(RULES)
        for row in found["rules"]:
            assert sum(sum(counts.values()) for counts in row["endings"].values()) == 60
        assert [row["condition"] for row in found["decoys"]][-1] == "any"

    def test_the_knobs_reach_the_panel(self):
        seen = json.loads(self.run("--items", "80", "--perception", "1", "--shared-prior", "0", "--json"))
        unseen = json.loads(self.run("--items", "80", "--perception", "0", "--person", "0", "--json"))
        assert seen["rules"][0]["power"]["value"] == 1
        assert unseen["rules"][0]["power_alone"]["value"] < 0.3

    def test_the_tables(self):
        told = self.run("--items", "60")
        assert told.startswith("60 items; shares in percent, with 95% intervals")
        for words in ("false flags", "MMMU-Pro", "answerable_from_text", "mis_keyed", "decoys say", "calls an item"):
            assert words in told

    def test_what_is_undefined_is_said(self):
        told = self.run("--items", "1")
        assert "undefined (no such items)" in told

    def test_the_same_seed_prints_the_same(self):
        assert self.run("--items", "30", "--seed", "5") == self.run("--items", "30", "--seed", "5")

    def test_the_page_shows_what_is_printed(self):
        page = (Path(__file__).parents[2] / "docs" / "qc-simulation.md").read_text(encoding="utf-8")
        (arguments, shown) = re.search(r"interplay qc simulate (.+?)\n```\n\n```text\n(.+?)\n```", page, re.S).groups()
        printed = [line.rstrip() for line in self.run(*arguments.split()).splitlines()]
        assert "\n".join(printed).strip("\n") == shown
