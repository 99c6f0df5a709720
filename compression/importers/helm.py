"""HELM: `per_instance_stats.json` of a run, or of all runs below a folder."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb

from compression.importers.base import BadPool, Reading
from compression.importers.rows import Row, choose_metric, files_of, fill, number_of, read_json

_FILE = "per_instance_stats.json"
# `main_name` of each scenario in HELM's schema_lite.yaml and schema_capabilities.yaml; of two, the newer first.
_MAIN = {
    "gpqa": ["chain_of_thought_correctness"],
    "gsm": ["final_number_exact_match", "exact_match_indicator"],
    "ifeval": ["ifeval_strict_accuracy"],
    "legalbench": ["quasi_exact_match"],
    "math": ["math_equiv_chain_of_thought", "math_equiv"],
    "med_qa": ["quasi_exact_match"],
    "mmlu": ["exact_match"],
    "mmlu_pro": ["chain_of_thought_correctness"],
    "narrative_qa": ["f1_score"],
    "natural_qa": ["f1_score"],
    "omni_math": ["omni_math_accuracy"],
    "openbookqa": ["exact_match"],
    "wildbench": ["wildbench_score_rescaled"],
    "wmt_14": ["bleu_4"],
}
_MODEL_ARGUMENTS = ("model", "model_deployment")


class Helm:
    """A list of `{instance_id, perturbation?, train_trial_index, stats: [{name: {name, perturbation?}, mean}]}`.

    The benchmark is the run's name without its model, `mmlu:subject=anatomy` of `mmlu:subject=anatomy,model=a_b`, and
    the model is that of `run_spec.json`, else of the run's name. Perturbed instances are other questions and left out;
    trials are repeats. The metric is the scenario's main one in HELM's own tables, else `exact_match`, if that is there
    without an `f1_score`.
    """

    def knows(self, path: Path) -> bool:
        """By the file's name."""
        return path.name == _FILE or (path.is_dir() and next(path.rglob(_FILE), None) is not None)

    def load(self, connection: duckdb.DuckDBPyConnection, path: Path, reading: Reading) -> None:
        """See `Importer.load`."""
        files = files_of(path, _FILE)
        if not files:
            raise BadPool(f"{path} holds no {_FILE}; name the folder of a HELM run or suite")
        fill(connection, path, (row for file in files for row in _rows(file, reading)), reading)


def _rows(file: Path, reading: Reading) -> Iterator[Row]:
    benchmark, model = _named(file, reading)
    stats = list(_unperturbed(file))
    names = [name for _, name, _ in stats]
    usual = _MAIN.get(benchmark.partition(":")[0], [] if "f1_score" in names else ["exact_match"])
    metric = choose_metric(names, usual, reading, str(file))
    for instance, name, mean in stats:
        if name == metric:
            yield Row(benchmark, instance, model, number_of(mean, f"{file}, {instance}"))


def _unperturbed(file: Path) -> Iterator[tuple[str, str, Any]]:
    """Instance, metric and mean; of no observation the mean is absent."""
    try:
        for entry in read_json(file):
            for stat in [] if entry.get("perturbation") else entry["stats"]:
                if not stat["name"].get("perturbation"):
                    yield entry["instance_id"], stat["name"]["name"], stat.get("mean")
    except (KeyError, TypeError, AttributeError) as error:
        raise BadPool(f"{file} is not as HELM writes it ({error!r}); name its format with --format") from error


def _named(file: Path, reading: Reading) -> tuple[str, str]:
    spec_file = file.with_name("run_spec.json")
    spec = read_json(spec_file) if spec_file.exists() else {}
    adapter = spec.get("adapter_spec", {})
    scenario, _, rest = str(spec.get("name", file.absolute().parent.name)).partition(":")
    arguments = [argument.partition("=") for argument in rest.split(",") if argument]
    told = [value for name, _, value in arguments if name in _MODEL_ARGUMENTS]
    model = adapter.get("model") or adapter.get("model_deployment") or next(iter(told), reading.model)
    if model is None:
        raise BadPool(f"{file}: neither run_spec.json nor the folder's name tells the model; name it with --model")
    kept = ",".join(name + sign + value for name, sign, value in arguments if name not in _MODEL_ARGUMENTS)
    return f"{scenario}:{kept}" if kept else scenario, model


HELM = Helm()
