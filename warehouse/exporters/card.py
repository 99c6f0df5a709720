"""The dataset card: what a release is, how it was made, whose the media are."""

from collections.abc import Iterable
from typing import Any

import jinja2
import yaml

from core.content import Modality
from core.question import QuestionKind
from warehouse.analytics import load_sql
from warehouse.release.coverage import Cell, coverage
from warehouse.release.manifest import FUNNEL_STAGES, Manifest
from warehouse.release.splits import Split

_SIZES = ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"), (1_000_000, "100K<n<1M"))


def card_text(manifest: Manifest, loading: str) -> str:
    """The card in Markdown; `loading` is the format's own text on how to load it."""
    environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined)
    environment.filters["cell"] = _cell
    template = environment.from_string(load_sql("warehouse.exporters", "card.md.jinja"))
    # Canonical JSON has put the stages in the order of the alphabet.
    funnel = [(stage, manifest.funnel[stage]) for stage in FUNNEL_STAGES]
    return template.render(manifest=manifest, cells=list(_cells(manifest)), funnel=funnel, loading=loading) + "\n"


def card_header(manifest: Manifest, configs: Iterable[dict[str, Any]]) -> str:
    """The YAML header that the Hugging Face hub reads; `configs` name the data files of each config."""
    questions = [row.question for row in manifest.rows]
    header = {
        "pretty_name": f"{manifest.name} {manifest.version}",
        **_licence(manifest),
        "language": sorted({question.language.split("-", maxsplit=1)[0] for question in questions}),
        "task_categories": _categories(manifest),
        "size_categories": [next((name for limit, name in _SIZES if len(questions) < limit), "n>1M")],
        "tags": ["benchmark", "omni-modal", "interplay", *_modalities(manifest)],
        "configs": list(configs),
    }
    return f"---\n{yaml.safe_dump(header, sort_keys=False, allow_unicode=True)}---\n\n"


def _cells(manifest: Manifest) -> Iterable[tuple[str, Cell]]:
    for split in Split:
        for cell in coverage(row.question for row in manifest.rows if row.split == split):
            yield split.value, cell


def _licence(manifest: Manifest) -> dict[str, str]:
    """One SPDX licence where all agree; else `other`, which the hub wants to be named and linked."""
    papers = {paper.licence for media in manifest.media.values() for paper in media.papers if paper.licence}
    named = {licence.lower() for licence in papers | ({manifest.licence} if manifest.licence else set())}
    if len(named) == 1 and "://" not in (only := named.pop()):
        return {"license": only}
    return {"license": "other", "license_name": "several", "license_link": "README.md#licences"}


def _categories(manifest: Manifest) -> list[str]:
    categories = {"question-answering"}
    for row in manifest.rows:
        if row.question.kind is QuestionKind.CHOICE:
            categories.add("multiple-choice")
        if row.question.modalities & {Modality.IMAGE, Modality.VIDEO}:
            categories.add("visual-question-answering")
    return sorted(categories)


def _modalities(manifest: Manifest) -> list[str]:
    return sorted({media.media.modality.value for media in manifest.media.values()})


def _cell(text: str) -> str:
    """Text that stays within its cell of a Markdown table."""
    return " ".join(text.replace("|", "\\|").split())
