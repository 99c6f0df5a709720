"""A budget for calls: nothing is asked that could cost more than is left."""

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass

from core.errors import InterplayError
from evaluation.models.catalogue import ModelSpec


class NoPrice(InterplayError):
    """A budget for a model whose price nobody knows."""


@dataclass
class Place:
    """Room for one call: whether it may go out.

    The caller fills in whether an answer came, and what it cost in US dollars where that is known.
    """

    granted: bool
    answered: bool = False
    cost_usd: float | None = None


class Budget:
    """US dollars for all calls together.

    A call goes out when what was spent, and what the calls in flight may cost, leave room for it. A call is taken to
    cost as much as the dearest one of its model so far; until the first is back, one call of a model is out at a time.
    So the sum passes the budget by no more than the first call of each model, and calls dearer than all before. A model
    that answers without saying what it used is asked no more: nobody could tell what it costs.

    Attributes:
        refused: Names of the calls that found no room.
        spent_usd: The sum of all costs that are known; None when none is.
    """

    def __init__(self, most_usd: float | None, models: Iterable[ModelSpec]) -> None:
        self._most_usd = most_usd
        self._in_flight_usd = 0.0
        self._dearest: dict[str, float] = {}
        self._uncounted: set[str] = set()
        self._first: dict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self.refused: list[str] = []
        self.spent_usd: float | None = None
        if most_usd is not None:
            _check_prices(models)

    @asynccontextmanager
    async def place(self, model: ModelSpec, name: str) -> AsyncIterator[Place]:
        """Room for one call of a model; what it cost is booked at the end."""
        if self._most_usd is None:
            place = Place(granted=True)
            yield place
            self._book(model, place)
            return
        if model.fingerprint not in self._dearest:
            async with self._first[model.fingerprint]:
                if model.fingerprint not in self._dearest:
                    async with self._reserved(model, name, 0.0) as place:
                        yield place
                    return
        async with self._reserved(model, name, self._dearest[model.fingerprint]) as place:
            yield place

    @asynccontextmanager
    async def _reserved(self, model: ModelSpec, name: str, expected_usd: float) -> AsyncIterator[Place]:
        assert self._most_usd is not None
        committed = (self.spent_usd or 0.0) + self._in_flight_usd
        full = committed >= self._most_usd or committed + expected_usd > self._most_usd
        if full or model.fingerprint in self._uncounted:
            self.refused.append(name)
            yield Place(granted=False)
            return
        self._in_flight_usd += expected_usd
        place = Place(granted=True)
        try:
            yield place
        finally:
            self._in_flight_usd -= expected_usd
            self._book(model, place)

    def _book(self, model: ModelSpec, place: Place) -> None:
        if place.cost_usd is not None:
            self.spent_usd = (self.spent_usd or 0.0) + place.cost_usd
            self._dearest[model.fingerprint] = max(place.cost_usd, self._dearest.get(model.fingerprint, 0.0))
        elif place.answered:
            self._uncounted.add(model.fingerprint)


def _check_prices(models: Iterable[ModelSpec]) -> None:
    from inspect_ai.model import get_model_info

    for model in models:
        info = None if model.price else get_model_info(model.provider)
        if not model.price and (info is None or info.cost is None):
            raise NoPrice(
                f"there is a budget, but the price of model {model.name!r} is not known; add to its table in "
                "interplay.toml: price = { input = 0.30, output = 2.50 } (US dollars for a million tokens)"
            )
