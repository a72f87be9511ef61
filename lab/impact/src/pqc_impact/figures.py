"""From a scenario and times to figures: of every form of message or transaction, and of the
messages of protocols."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, Generic, Literal, TypeVar

import numpy as np

from mldsa_lab.estimate.figure import FORBIDDEN, Figure, Key
from mldsa_lab.estimate.interval import Interval
from mldsa_lab.theory.trace import Array
from pqc_impact.base import F, ScenarioFile, is_assumed
from pqc_impact.expression import evaluate
from pqc_impact.protocol import Device, Protocol, ProtocolMessage
from pqc_impact.schemes import ImpactScheme
from pqc_impact.times import RecordRate, RecordTimes, assumed, interval_of

Kind = Literal["exact", "measured", "assumed"]
"""The kinds of figures. ``exact``: from encodings and rules; ``assumed``: from a quantity of the
scenario that is no rule."""
BY, ELSEWHERE = "by ", "on another machine, "
"""Beginnings of the notes of a time: the implementation, and the record of another machine than
the first record's."""


def figure_keys(scenario: str, scheme: ImpactScheme, template: str = "") -> dict[str, Key]:
    """Return the keys of a scheme's figures, or of a form's in a scheme."""
    form: dict[str, Key] = {"template": template} if template else {}
    return {"scenario": scenario, **form, "scheme": scheme.name}


def make_figure(
    keys: Mapping[str, Key],
    name: str,
    value: float | Interval | Array | None,
    unit: str,
    source: str,
    kind: Kind = "measured",
    rates: Sequence[RecordRate] = (),
    verdict: str = "",
    **more: Key,
) -> Figure:
    """Return a figure; draws become a value with its limits. ``source`` says why where there is no
    value; ``rates``: the times that it is made of; ``more``: further keys, None being left out."""
    if isinstance(value, np.ndarray):
        value = interval_of(value)
    result, low, high = value if isinstance(value, Interval) else (value, None, None)
    libraries = {f"{BY}{' + '.join(rate.libraries)}": None for rate in rates}
    records = {f"{ELSEWHERE}{name}": None for rate in rates for name in rate.elsewhere}
    notes = (*libraries, *records)
    every = {**keys, **{k: v for k, v in more.items() if v is not None}}
    return Figure(every, name, result, low, high, unit, kind, source, verdict, notes)


def kind_of(*assumes: object) -> Kind:
    """Return the kind of a figure that is exact unless one of these is an assumption."""
    return "assumed" if any(assumes) else "exact"


def count_cores(cores: int) -> str:
    """Return the words for a number of cores."""
    return f"{cores} core{'s' if cores != 1 else ''}"


def own_keys(figure: Figure) -> dict[str, Key]:
    """Return the keys that tell a figure from others of its scenario, form and scheme."""
    return {k: v for k, v in figure.keys.items() if k not in ("scenario", "template", "scheme")}


@dataclass(frozen=True)
class Impact:
    """All figures of a scenario, under the keys `scenario`, `template` and `scheme`."""

    name: str
    scenario: ScenarioFile[Any]
    figures: Sequence[Figure]
    records: tuple[str, ...]
    remarks: tuple[str, ...] = ()

    @cached_property
    def _named(self) -> dict[tuple[str, frozenset[tuple[str, Key]]], Figure]:
        return {(f.name, frozenset(f.keys.items())): f for f in self.figures}

    def find(self, template: str, scheme: str, name: str, **keys: Key) -> Figure | None:
        """Return the one figure of this name with exactly these further keys; ``template``: "" for
        a figure of only the scheme."""
        form: dict[str, Key] = {"template": template} if template else {}
        every = {"scenario": self.name, **form, "scheme": scheme, **keys}
        return self._named.get((name, frozenset(every.items())))


S = TypeVar("S", bound=ScenarioFile[Any])


class FormFigures(Generic[S, F]):
    """The figures of one form in one scheme."""

    def __init__(
        self, name: str, scenario: S, form: F, scheme: ImpactScheme, times: RecordTimes
    ) -> None:
        self.scenario, self.form, self.scheme, self.times = scenario, form, scheme, times
        self.keys = figure_keys(name, scheme, form.name)
        self.figure = partial(make_figure, self.keys)
        self.names = scenario.names(scheme, form)
        neighbor, today = scenario.today_of(form)
        self.today_form = neighbor
        self.today_names = scenario.names(today, neighbor)
        self.compared = today.name if neighbor is form else f"{today.name}, {neighbor.name}"

    def exact(
        self, figure: str, name: str, unit: str, assumes: str = "", source: str = "", **keys: Any
    ) -> Figure:
        """Return the value of a name, with its usual least and most where these differ."""
        low, high = sorted(names[name] for names in self._extremes)
        value = Interval(self.names[name], *((low, high) if low != high else ()))
        text = assumes or source or f"the template; {self.scheme.source}"
        kind: Kind = "assumed" if assumes else "exact"
        return self.figure(figure, value, unit, text, kind, **keys)

    @cached_property
    def _extremes(self) -> list[dict[str, float]]:
        """The names with the usual least and most bytes of a signature."""
        return [self.scenario.names(self.scheme, self.form, extreme) for extreme in (-1, 1)]

    def sizes(self) -> Iterator[Figure]:
        """Yield bytes, by part too."""
        parts = self.form.parts
        assumes = self.form.size_assumption
        texts = dict.fromkeys(part.source or "the template" for part in parts)
        yield self.exact("bytes", "bytes", "B", assumes, "; ".join([*texts, self.scheme.source]))
        for part in parts:
            assumes, text = part.assumption, part.source
            yield self.exact("bytes", part.identifier, "B", assumes, text, part=part.name)
        ratio = self.names["bytes"] / self.today_names["bytes"]
        kind = kind_of(assumes, self.today_form.size_assumption)
        yield self.figure("over_today", ratio, "×", self.compared, kind, of="bytes")

    def rules(self) -> Iterator[Figure]:
        """Yield the rules of today that it breaks."""
        for rule in self.scenario.rules:
            if rule.applies(self.scheme.name, self.form.called):
                value = evaluate(rule.of, self.names) if rule.of else None
                if value is None or (rule.most is not None and value > rule.most):
                    unit = rule.unit if rule.of else ""
                    kind = kind_of(rule.of and self.form.assumption, is_assumed(rule.source))
                    yield self.figure(
                        "excess", value, unit, rule.source, kind, verdict=FORBIDDEN, rule=rule.name
                    )

    def all(self) -> Iterator[Figure]:
        """Yield every figure."""
        yield from self.sizes()
        yield from self.rules()


class MessageFigures(FormFigures[Protocol, ProtocolMessage]):
    """The figures of one message in one scheme."""

    def all(self) -> Iterator[Figure]:
        yield from super().all()
        yield from self.round_trips()
        for link in self.scenario.links:
            spent = self.names["bytes"] / assumed(f"link {link.name}", link.speed)
            text = f"{link.rate}; {link.source}"
            yield self.figure("time", spent, "s", text, "assumed", of="transfer", link=link.name)
        yield from self.signatures()
        count = evaluate(self.form.verified, self.names)
        if self.scenario.device is not None and count:
            yield self.on_device(self.scenario.device, count)

    def round_trips(self) -> Iterator[Figure]:
        """Yield how often the sender waits for an acknowledgement before all is sent."""
        flight = evaluate(self.form.flight, self.names) if self.form.flight else 0
        for window in self.scenario.windows if self.form.flight else ():
            sent, waits = window.size.value, 0
            while sent < flight:
                waits += 1
                sent += window.size.value * 2**waits
            text = f"{window.bytes}, twice as much in each round trip that follows; {window.source}"
            yield self.figure("round_trips", waits, "", text, "assumed", window=window.name)

    def signatures(self) -> Iterator[Figure]:
        """Yield times of one message's signatures on one core, and messages per second."""
        for operation, text in (("sign", self.form.signed), ("verify", self.form.verified)):
            count = evaluate(text, self.names)
            if not count:
                continue
            implementations = self.scenario.host.implementations
            rate = self.times.rate(self.scheme, 1, implementations, operation=operation)
            figure = partial(self.figure, operation=operation, threads=1)
            if isinstance(rate, str):
                yield figure("time", None, "s", rate, of="message")
                yield figure("per_second", None, "1/s", rate, of="messages")
                continue
            source = f"{count:g} signature{'s' if count > 1 else ''}; {rate.source}"
            figure = partial(figure, source=source, rates=[rate])
            yield figure("time", count / rate.draws, "s", of="message")
            yield figure("per_second", rate.draws / count, "1/s", of="messages")

    def on_device(self, device: Device, count: float) -> Figure:
        """Return the time of one message's verifications, and of the hashing before, on the
        device."""
        figure = partial(
            self.figure, "time", unit="s", of="message", operation="verify", device=device.name
        )
        cycles = device.cycles.get(self.scheme.name)
        if cycles is None:
            rate = self.times.rate(self.scheme, 1, {}, unit="cycles")
        else:
            draws = assumed(f"cycles {device.name} {self.scheme.name}", cycles)
            rate = RecordRate(1 / draws, f"{device.verify[self.scheme.name]} of the scenario")
        if isinstance(rate, str):
            return figure(value=None, source=rate)
        hashed = evaluate(device.hashed, self.names) * device.hash_cycles if device.hashed else 0.0
        spent = (count / rate.draws + hashed) / assumed(f"clock {device.name}", device.hertz)
        text = f"{count:g} of {rate.source}; at {device.clock}"
        if hashed:
            text += f"; hashing at {device.hash_cycles:g} cycles a byte"
        kind: Kind = "measured" if cycles is None else "assumed"
        source = f"{text}; {device.source}"
        return figure(value=np.asarray(spent), source=source, kind=kind)
