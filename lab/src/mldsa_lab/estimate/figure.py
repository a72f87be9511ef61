"""A figure: the only type between estimation and display. `contract.py` lists its words.

A name says what is measured or computed and nothing else: no number, no unit, no qualifier. What
tells two figures apart is a key, and name and keys together are unique. Decision 24 has the
reasons.
"""

from __future__ import annotations

import shlex
from collections import ChainMap
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, overload

from mldsa_lab.errors import LabError
from mldsa_lab.estimate.interval import Interval

Key = str | int | float | None
Keys = Mapping[str, Key]
FigureKind = Literal["measured", "assumed", "exact", "published"]


@dataclass(frozen=True, slots=True)
class Figure:
    """One number with its confidence limits, and the keys that say what it is of.

    ``unit``: the unit of value and limits, "" for counts, ratios and shares. ``value`` is None
    where the figure is not known; ``notes`` then say why. ``kind``: how certain it is by its
    origin; ``source``: the origin of an assumed, exact or published value. ``verdict``: one of
    `VERDICTS`; ``notes``: what a reader must know.
    """

    keys: Keys
    name: str
    value: float | None
    low: float | None = None
    high: float | None = None
    unit: str = ""
    kind: FigureKind = "measured"
    source: str = ""
    verdict: str = ""
    notes: tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        keys: Keys,
        name: str,
        interval: Interval,
        unit: str = "",
        verdict: str = "",
        notes: tuple[str, ...] = (),
    ) -> Figure:
        """Return the figure of an estimate."""
        value, low, high = interval.value, interval.low, interval.high
        return cls(keys, name, value, low, high, unit, verdict=verdict, notes=notes)

    @property
    def interval(self) -> Interval | None:
        """The value with its limits; None where it is not known."""
        return None if self.value is None else Interval(self.value, self.low, self.high)


@dataclass(frozen=True, slots=True)
class Figures(Sequence[Figure]):
    """Figures, and what their keys name.

    ``about``: by key and value, the attributes of what the value names: ``about["variant"][id]``
    has its implementation, version and language. ``head``: what holds for all figures, such as the
    machine, the clock and the confidence.
    """

    items: Sequence[Figure]
    about: Mapping[str, Mapping[Any, Keys]] = field(default_factory=dict)
    head: Keys = field(default_factory=dict)

    @overload
    def __getitem__(self, index: int) -> Figure: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Figure]: ...
    def __getitem__(self, index: int | slice) -> Figure | Sequence[Figure]:
        return self.items[index]

    def __len__(self) -> int:
        return len(self.items)

    def known(self, figure: Figure) -> Keys:
        """Return the keys of a figure and the attributes of what they name."""
        named = (of.get(figure.keys.get(key)) for key, of in self.about.items())
        return ChainMap(*(dict(k) for k in (figure.keys, *filter(None, named), self.head)))

    def attribute(self, figure: Figure, name: str) -> Key:
        """Return a key of a figure, or an attribute of what one of its keys names; None without."""
        return self.known(figure).get(name)

    def of(self, items: Sequence[Figure]) -> Figures:
        """Return other figures of the same things."""
        return replace(self, items=items)

    def only(self, takes: Callable[[Figure], bool]) -> Figures:
        """Return the figures for which ``takes`` is true."""
        return self.of([f for f in self.items if takes(f)])

    def select(self, name: str, **keys: Key) -> Iterator[Figure]:
        """Yield the figures of a name whose keys or attributes have these values."""
        for f in self.items:
            if f.name == name:
                known = self.known(f)
                if all(known.get(key) == value for key, value in keys.items()):
                    yield f


def parse_identity(text: str) -> tuple[str, dict[str, Key]]:
    """Return the name and the keys that a text gives, as `time of=block threads=8`: values in
    quotes where they hold a space. LabError for another text."""
    try:
        name, *pairs = shlex.split(text)
        keys = dict(pair.split("=", 1) for pair in pairs)
    except ValueError:
        raise LabError(f"{text!r}: must be a name and keys, as 'time of=block threads=8'") from None
    return name, {key: _number_or_text(of) for key, of in keys.items()}


def _number_or_text(text: str) -> Key:
    whole, point, rest = text.partition(".")
    if whole.isdecimal() and (rest.isdecimal() or not point):
        return as_key(float(text))
    return text


def as_key(number: float) -> int | float:
    """Return a number as the value of a key: a whole one has no point."""
    rounded = round(number, 9)
    return int(rounded) if rounded == int(rounded) else rounded
