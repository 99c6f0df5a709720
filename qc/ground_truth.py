"""Items whose need for each modality is exact, so that the whole machine can be tested against the truth.

A picture or film shows one thing, a recording carries another that is drawn independently of it, and the answer needs
both: a sum modulo four, or the photo to which a spoken number points. Without either, each of four answers is equally
likely. Variants break this in one known way each.
"""

import itertools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

import numpy as np
import yaml

from core.content import Frozen, Modality
from core.question import QuestionKind, choice_label
from evaluation.models.sim.grammar import HINT, Ask, AskKind, Language, Sight, ask_text
from qc.ground_truth_facts import (
    CHOICE_COUNT,
    Design,
    Facts,
    Family,
    Materials,
    MediaFile,
    TooFewMaterials,
    TruthClass,
    draw,
    make_media,
)

__all__ = [
    "DEFAULT_MIX",
    "Family",
    "GroundTruthItem",
    "GroundTruthStep",
    "Materials",
    "MediaFile",
    "TooFewMaterials",
    "TruthClass",
    "generate",
    "write_items",
]

STEP_POINTS = (3, 3, 4)
DEFAULT_MIX: Mapping[TruthClass, float] = {
    TruthClass.SOUND: 0.5,
    TruthClass.REDUNDANT: 0.1,
    TruthClass.LEAKED: 0.1,
    TruthClass.PARTIAL: 0.1,
    TruthClass.MIS_KEYED: 0.1,
    TruthClass.IMPOSSIBLE: 0.1,
}
_IN_STEPS = (TruthClass.SOUND, TruthClass.LEAKED, TruthClass.MIS_KEYED)
_NAMES: Mapping[Language, Sequence[str]] = {
    "en": ("Mia", "Omar", "Lena", "Ravi", "Tom", "Ana", "Kofi", "Yuki", "Sara", "Ivan", "Noor", "Emil"),
    "zh": ("小明", "小红", "李华", "王芳", "张伟", "刘洋", "陈静", "杨帆", "赵磊", "周敏", "吴昊", "孙悦"),
}
_SHOWN: Mapping[Language, Sequence[str]] = {
    "en": ("{name} made this: {media}", "{name} found this at home: {media}", "{name} was sent this: {media}"),
    "zh": ("这是{name}做的：{media}", "这是{name}在家里找到的：{media}", "这是{name}收到的：{media}"),
}
_RECORDED: Mapping[Language, Sequence[str]] = {
    "en": ("This recording belongs to it: {media}", "And this was recorded: {media}", "Listen, too: {media}"),
    "zh": ("还有一段录音：{media}", "同时录下了：{media}", "请再听这段录音：{media}"),
}
_IMPOSSIBLE: Mapping[Language, Sequence[str]] = {
    "en": ("How many sisters does {name} have?", "How many cups of tea did {name} drink that day?"),
    "zh": ("{name}有几个姐妹？", "{name}那天喝了几杯茶？"),
}


class GroundTruthStep(Frozen):
    """A step of a multi-step item; `accepted` are further answers that count."""

    ask: str
    points: int
    answer: str
    accepted: tuple[str, ...]
    grader: Literal["number", "short_text"]


class GroundTruthItem(Frozen):
    """An item with its truth.

    Attributes:
        truth: What is true of it.
        not_needed: Modalities without any one of which it can still be answered in full.
        media: Placeholder name (`image_1`) to file.
        answer: Label of the choice that the key names (the wrong one if mis-keyed); None for steps.
    """

    name: str
    truth: TruthClass
    family: Family
    not_needed: frozenset[Modality]
    language: Language
    kind: QuestionKind
    task_type: str
    prompt: str
    media: Mapping[str, MediaFile]
    choices: tuple[str, ...] = ()
    answer: str | None = None
    steps: tuple[GroundTruthStep, ...] = ()
    required: tuple[Modality, ...]

    def record(self, paths: Mapping[str, str]) -> dict[str, object]:
        """The item as an item manifest holds it; `paths` are those of its media."""
        told = self.model_dump(mode="json", include={"name", "task_type", "language", "kind", "prompt"})
        told |= {"media": dict(paths), "required": [modality.value for modality in self.required]}
        if self.kind is QuestionKind.CHOICE:
            return told | {"choices": list(self.choices), "answer": self.answer}
        return told | {"steps": [step.model_dump(mode="json") for step in self.steps]}


def generate(
    count: int,
    seed: int,
    materials: Materials,
    *,
    mix: Mapping[TruthClass, float] = DEFAULT_MIX,
    families: Sequence[Family] = tuple(Family),
    languages: Sequence[Language] = ("en", "zh"),
    sights: Sequence[Sight] = tuple(Sight),
    soundtrack: bool = False,
) -> list[GroundTruthItem]:
    """Items of exact need; the same arguments give the same bytes.

    Args:
        count: How many.
        seed: Of all that is drawn.
        materials: Photos and spoken digits.
        mix: Share of each class; shares need not sum to 1.
        families: Kinds of questions. Only sound, leaked and mis-keyed items come in steps.
        languages: Of the questions.
        sights: `dots` for items with an image, `flashes` for items with a video.
        soundtrack: Whether videos also carry the recording as their track, as films do. Such a video must be sent
            muted, or its track answers what the recording should.

    Raises:
        TooFewMaterials: Fewer than four photos, or a digit from 1 to 8 is missing.
    """
    materials.check()
    rng = np.random.default_rng(seed)
    designs = _designs(_sizes(count, mix), families, list(itertools.product(languages, sights)), rng)
    items = []
    for index, chosen in enumerate(rng.permutation(len(designs))):
        own_rng = np.random.default_rng([seed, index])
        facts = draw(designs[chosen], materials, own_rng)
        media = make_media(facts, materials, own_rng, soundtrack=soundtrack)
        items.append(_item(f"gt{seed}-{index:04d}", designs[chosen], facts, media, own_rng))
    return items


def write_items(items: Sequence[GroundTruthItem], folder: Path) -> Path:
    """Write media files, `items.yaml` (records) and `truth.yaml` (class, unneeded modalities, captions) by item name.

    Returns:
        The path of `items.yaml`.
    """
    (folder / "media").mkdir(parents=True, exist_ok=True)
    records: list[dict[str, object]] = []
    truths: dict[str, object] = {}
    for item in items:
        paths = {}
        for placeholder, file in item.media.items():
            paths[placeholder] = f"media/{item.name}-{placeholder}.{file.extension}"
            (folder / paths[placeholder]).write_bytes(file.data)
        records.append(item.record(paths))
        truths[item.name] = {
            "truth": item.truth.value,
            "not_needed": sorted(modality.value for modality in item.not_needed),
            "captions": {placeholder: file.caption for placeholder, file in item.media.items()},
        }
    for name, content in (("truth.yaml", truths), ("items.yaml", records)):
        (folder / name).write_text(yaml.safe_dump(content, allow_unicode=True, sort_keys=False), encoding="utf-8")
    return folder / "items.yaml"


def _sizes(count: int, mix: Mapping[TruthClass, float]) -> dict[TruthClass, int]:
    """`count` split by the mix, by largest remainder."""
    exact = {truth: count * share / sum(mix.values()) for truth, share in mix.items()}
    sizes = {truth: int(share) for truth, share in exact.items()}
    by_remainder = sorted(exact, key=lambda truth: sizes[truth] - exact[truth])
    for truth in by_remainder[: count - sum(sizes.values())]:
        sizes[truth] += 1
    return sizes


def _designs(
    sizes: Mapping[TruthClass, int],
    families: Sequence[Family],
    forms: Sequence[tuple[Language, Sight]],
    rng: np.random.Generator,
) -> list[Design]:
    """Families in turn, each in all forms in turn; every place of the key equally often."""
    designs = []
    for truth, size in sizes.items():
        kinds = [family for family in families if family is not Family.STEPS or truth in _IN_STEPS] or [Family.SUM]
        order, places = rng.permutation(len(forms)), rng.permutation(np.arange(size) % CHOICE_COUNT)
        for index in range(size):
            turn, kind = divmod(index, len(kinds))
            language, sight = forms[order[(turn + kind) % len(forms)]]
            designs.append(Design(truth, kinds[kind], language, sight, int(places[index])))
    return designs


def _item(
    name: str, design: Design, facts: Facts, media: dict[str, MediaFile], rng: np.random.Generator
) -> GroundTruthItem:
    in_steps = design.family is Family.STEPS
    choices = () if in_steps else _choices(design, facts, rng)
    key = (design.key_place + int(rng.integers(1, CHOICE_COUNT))) % CHOICE_COUNT
    if design.truth is not TruthClass.MIS_KEYED:
        key = design.key_place
    return GroundTruthItem(
        name=name,
        truth=design.truth,
        family=design.family,
        not_needed=_not_needed(design, facts),
        language=design.language,
        kind=QuestionKind.MULTI_STEP if in_steps else QuestionKind.CHOICE,
        task_type=_task_type(design, facts),
        prompt=_prompt(design, facts, rng),
        media=media,
        choices=choices,
        answer=None if in_steps else choice_label(key),
        steps=_steps(design, facts, rng) if in_steps else (),
        required=(facts.modality, Modality.AUDIO),
    )


def _choices(design: Design, facts: Facts, rng: np.random.Generator) -> tuple[str, ...]:
    """The options in random order, the right one at its place; where none is right, any one is there."""
    options = facts.options()
    right = facts.answer(facts.asks[-1]) if facts.asks else options[int(rng.integers(CHOICE_COUNT))]
    others = [option for option in options if option != right]
    others = [others[row] for row in rng.permutation(len(others))]
    return (*others[: design.key_place], right, *others[design.key_place :])


def _steps(design: Design, facts: Facts, rng: np.random.Generator) -> tuple[GroundTruthStep, ...]:
    steps = []
    for ask, points in zip(facts.asks, STEP_POINTS, strict=True):
        answer = facts.answer(ask)
        if design.truth is TruthClass.MIS_KEYED and ask is facts.asks[-1]:
            wrong = [option for option in facts.options() if option != answer]
            answer = wrong[int(rng.integers(len(wrong)))]
        is_label = ask.kind in (AskKind.POINTED, AskKind.PLACED)
        # The article is no part of what is seen.
        bare = answer.split(" ", 1)[1] if answer.startswith(("a ", "an ", "the ")) else answer
        steps.append(
            GroundTruthStep(
                ask=ask_text(ask, design.language),
                points=points,
                answer=answer,
                accepted=() if bare == answer else (bare,),
                grader="short_text" if is_label else "number",
            )
        )
    return tuple(steps)


def _prompt(design: Design, facts: Facts, rng: np.random.Generator) -> str:
    def one_of(texts: Sequence[str]) -> str:
        return texts[int(rng.integers(len(texts)))]

    language = design.language
    name = one_of(_NAMES[language])
    shown = one_of(_SHOWN[language]).format(name=name, media=f"<{facts.modality.value}_1>")
    lines = [shown, one_of(_RECORDED[language]).format(media="<audio_1>")]
    if not facts.asks:
        lines.append(one_of(_IMPOSSIBLE[language]).format(name=name))
    elif design.family is not Family.STEPS:
        lines.append(ask_text(facts.asks[-1], language))
    if design.truth is TruthClass.LEAKED:
        lines.append(HINT[language].format(answer=facts.answer(facts.asks[-1])))
    return "\n".join(lines)


def _not_needed(design: Design, facts: Facts) -> frozenset[Modality]:
    both = frozenset({facts.modality, Modality.AUDIO})
    match design.truth:
        case TruthClass.REDUNDANT:
            return both
        case TruthClass.LEAKED:
            return both if design.family is not Family.STEPS else frozenset()
        case TruthClass.PARTIAL:
            return both - {_asked_of(facts.asks[-1], facts)}
        case _:
            return frozenset()


def _asked_of(ask: Ask, facts: Facts) -> Modality:
    return Modality.AUDIO if ask.kind is AskKind.HEARD else facts.modality


def _task_type(design: Design, facts: Facts) -> str:
    if design.family is Family.STEPS:
        return "multi_step_reasoning"
    if not facts.photos:
        return "counting"
    return "relative_position" if facts.modality is Modality.IMAGE else "event_ordering"
