"""`interplay qc simulate`."""

from dataclasses import asdict
from typing import Annotated

import typer

from qc.gates import Thresholds
from qc.ground_truth import DEFAULT_MIX
from qc.measure import Measure
from qc.simulation.answers import Knobs, draw
from qc.simulation.rules import PASSED
from qc.simulation.table import RuleRow, Simulation
from qc.simulation.table import simulate as simulate_answers
from warehouse.command_line import JsonOption, show, show_table

app = typer.Typer(no_args_is_help=True, help="Rules against items of known truth.", rich_markup_mode=None)

_DEFAULT = Knobs()
_FEWEST_FAMILIES = Thresholds().families_at_least
_SHARES = {
    "false_flags": "false flags",
    "power": "power",
    "power_alone": "power without a person",
    "mis_keyed": "mis-keyed found",
    "impossible": "impossible found",
    "kept": "yield",
    "contamination": "contamination",
    "needless": "needless kept",
    "to_person": "to a person",
}
_CALLS = {"calls": "calls an item", "calls_sound": "calls a sound item"}


@app.command()
def simulate(
    items: Annotated[int, typer.Option(min=1, max=1_000_000, help="How many items.")] = 1000,
    seed: Annotated[int, typer.Option(min=0, help="Of all that is drawn.")] = 0,
    choices: Annotated[int, typer.Option(min=2, max=_DEFAULT.domain, help="Of each item.")] = _DEFAULT.choices,
    families: Annotated[int, typer.Option(min=_FEWEST_FAMILIES, help="Of models.")] = _DEFAULT.families,
    shared_prior: Annotated[
        float, typer.Option(min=0, max=1, help="How often a guess follows what all families prefer.")
    ] = _DEFAULT.shared_prior,
    perception: Annotated[
        float, typer.Option(min=0, max=1, help="How often a family works out what it is shown enough for.")
    ] = _DEFAULT.perception,
    errors: Annotated[
        float, typer.Option(min=0, max=1, help="How often a call gives no answer that can be read.")
    ] = _DEFAULT.errors,
    person: Annotated[
        float, typer.Option(min=0, max=1, help="How often a person who is asked decides rightly.")
    ] = _DEFAULT.person,
    as_json: JsonOption = False,
) -> None:
    """Put the rule of rounds 1 and 2 beside others, on simulated answers to items whose truth is known.

    False flags are sound items that the machine stops. Power is the share of items that do not need every modality
    that is stopped or sent to a person; mis-keyed and impossible items are found by the same. Yield is the share of
    sound items that is kept in the end, contamination the share of kept items that is not sound, needless kept the
    share of them that does not need every modality. The other rules have no gate with full input and no person to ask,
    so they miss what these find; docs/qc-simulation.md says what else the comparison rests on. Nothing is asked or
    written, and no project is needed.

    Example: interplay qc simulate --items 1000 --seed 0
    """
    knobs = Knobs(
        choices=choices,
        families=families,
        shared_prior=shared_prior,
        perception=perception,
        errors=errors,
        person=person,
    )
    found = simulate_answers(draw(items, knobs, seed))
    if as_json:
        settings = {"seed": seed, "knobs": asdict(knobs), "mix": DEFAULT_MIX, "thresholds": asdict(Thresholds())}
        show({**settings, **found.model_dump(mode="json")}, (), True)
        return
    _show_rules(found)
    _show_endings(found.rules[0])
    _show_decoys(found)


def _show_rules(found: Simulation) -> None:
    show(None, [f"{found.items} items; shares in percent, with 95% intervals"], False)
    rows = [[words, *(getattr(row, name).text for row in found.rules)] for name, words in _SHARES.items()]
    rows += [[words, *(_number(getattr(row, name)) for row in found.rules)] for name, words in _CALLS.items()]
    show_table(None, ["rule", *(row.rule for row in found.rules)], rows, False)


def _show_endings(row: RuleRow) -> None:
    show(None, [f"how {row.rule} ended (columns), by what is true (rows): items"], False)
    codes = sorted({code for counts in row.endings.values() for code in counts} - {PASSED})
    rows = [[truth, *(str(counts.get(code, 0)) for code in (PASSED, *codes))] for truth, counts in row.endings.items()]
    show_table(None, ["truth", PASSED, *codes], rows, False)


def _show_decoys(found: Simulation) -> None:
    show(None, ["flagged items: the share that is flagged by luck, by decoys and in truth, and the sound ones"], False)
    rows = [
        [one.condition, str(one.flagged), _number(one.estimate, 100), one.by_luck.text, one.sound.text]
        for one in found.decoys
    ]
    show_table(None, ["condition", "flagged", "decoys say", "by luck", "sound"], rows, False)


def _number(measure: Measure, scale: int = 1) -> str:
    return measure.text if measure.value is None else f"{scale * measure.value:.1f}"
