"""Kinds of facts: their columns, and what tells rows of the same thing apart from rows of different things."""

from dataclasses import dataclass

import pyarrow as pa

from core.errors import UnknownName

MOMENT = pa.timestamp("us", tz="UTC")


@dataclass(frozen=True)
class FactKind:
    """Columns of one kind of fact; `key` tells rows of the same thing apart from rows of different things."""

    name: str
    schema: pa.Schema
    key: tuple[str, ...]


def _kind(name: str, unique_by: tuple[str, ...], /, **columns: pa.DataType) -> FactKind:
    common = {"run_id": pa.string(), "recorded_at": MOMENT}
    return FactKind(name, pa.schema(list((columns | common).items())), unique_by)


_TEXT, _INT, _FLOAT = pa.string(), pa.int64(), pa.float64()


FACT_KINDS: dict[str, FactKind] = {
    kind.name: kind
    for kind in (
        _kind(
            "response",
            ("key",),
            key=_TEXT,
            request_key=_TEXT,
            purpose=_TEXT,
            model=_TEXT,
            family=_TEXT,
            item_name=_TEXT,
            revision_id=_TEXT,
            condition=_TEXT,
            condition_fingerprint=_TEXT,
            kind=_TEXT,
            rotation=_INT,
            replicate=_INT,
            state=_TEXT,
            answer=_TEXT,
            error=_TEXT,
            sent=_TEXT,
            parameters=_TEXT,
            served_model=_TEXT,
            input_tokens=_INT,
            output_tokens=_INT,
            reasoning_tokens=_INT,
            tokens_by_modality=_TEXT,
            attempts=_INT,
            latency_s=_FLOAT,
            cost_usd=_FLOAT,
        ),
        _kind(
            "grade",
            ("response_key", "grader"),
            response_key=_TEXT,
            grader=_TEXT,
            points=_FLOAT,
            step_points=pa.list_(_FLOAT),
            reason=_TEXT,
        ),
        _kind(
            "sitting",
            ("response_key",),
            response_key=_TEXT,
            exam=_TEXT,
            seat=_TEXT,
            profile=_TEXT,
            position=_INT,
            confidence=_FLOAT,
            taken_s=_FLOAT,
            seen_s=_FLOAT,
        ),
        _kind(
            "embedding",
            ("subject", "embedder"),
            subject=_TEXT,
            embedder=_TEXT,
            vector=pa.list_(pa.float32()),
        ),
        _kind(
            "pool_score",
            ("pool", "benchmark", "question_id", "model"),
            pool=_TEXT,
            benchmark=_TEXT,
            question_id=_TEXT,
            model=_TEXT,
            family=_TEXT,
            score=pa.float32(),
        ),
        _kind(
            "episode",
            ("key",),
            key=_TEXT,
            game=_TEXT,
            agent=_TEXT,
            seed=_INT,
            settings=_TEXT,
            outcome=_TEXT,
            metrics=_TEXT,
        ),
        _kind(
            "step",
            ("episode_key", "number"),
            episode_key=_TEXT,
            number=_INT,
            state_hash=_TEXT,
            shown=_TEXT,
            reply=_TEXT,
            action=_TEXT,
            reward=_FLOAT,
        ),
    )
}


def fact_kind(name: str) -> FactKind:
    """The kind of that name.

    Raises:
        UnknownName: There is none.
    """
    if name not in FACT_KINDS:
        raise UnknownName("kind of fact", name, FACT_KINDS)
    return FACT_KINDS[name]
