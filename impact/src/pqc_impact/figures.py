"""From a scenario and times to figures: of every form of message or transaction, and of the
messages of protocols."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, Generic, Literal, TypeVar

import numpy as np

from mldsa_lab.estimate.figure import Figure, Key
from mldsa_lab.estimate.interval import Interval
from mldsa_lab.theory.arrays import Array
from pqc_impact.base import F, ScenarioFile, is_assumed
from pqc_impact.expression import evaluate
from pqc_impact.protocol import Device, Protocol, ProtocolMessage
from pqc_impact.schemes import ImpactScheme
from pqc_impact.times import RecordRate, RecordTimes, assumed, interval_of

Kind = Literal["exact", "measured", "assumed"]
"""The first flag of a figure: it follows from encodings and rules; it is measured; or it rests on a
quantity of the scenario that is no rule."""
BY, ELSEWHERE = "by ", "on another machine, "
"""How the further flags of a time begin: the implementation, and the record of another machine than
the first record's."""
FORBIDDEN = "forbidden today by: "
"""How the names of figures begin that say which rule of today a form breaks. Their value is the
amount that is too much, None where the rule has no number."""


def figure_keys(scenario: str, scheme: ImpactScheme, template: str = "") -> dict[str, Key]:
    """Return the keys of a scheme's figures, or of a form's in a scheme."""
    return {"scenario": scenario, "template": template, "scheme": scheme.name}


def make_figure(
    keys: Mapping[str, Key],
    name: str,
    value: float | Interval | Array | None,
    unit: str,
    source: str,
    kind: Kind = "measured",
    rates: Sequence[RecordRate] = (),
) -> Figure:
    """Return a figure; draws become a value with its limits. ``source`` says why where there is no
    value; ``rates``: the times that it is made of."""
    if isinstance(value, np.ndarray):
        value = interval_of(value)
    found, low, high = value if isinstance(value, Interval) else (value, None, None)
    libraries = {f"{BY}{' + '.join(rate.libraries)}": None for rate in rates}
    records = {f"{ELSEWHERE}{name}": None for rate in rates for name in rate.elsewhere}
    return Figure(keys, name, found, low, high, unit, source, (kind, *libraries, *records))


def kind_of(*assumes: object) -> Kind:
    """Return the kind of a figure that is exact unless one of these is an assumption."""
    return "assumed" if any(assumes) else "exact"


def full_name(figure: Figure) -> str:
    """Return a figure's name with its block and relay, where it has these keys."""
    block, relay = figure.keys.get("block"), figure.keys.get("relay")
    return f"{figure.name}{f' {block}' if block else ''}{f' ({relay})' if relay else ''}"


@dataclass(frozen=True)
class Impact:
    """All figures of a scenario, under the keys `scenario`, `template` and `scheme`."""

    name: str
    scenario: ScenarioFile[Any]
    figures: Sequence[Figure]
    records: tuple[str, ...]
    remarks: tuple[str, ...] = ()

    @cached_property
    def _named(self) -> dict[tuple[Any, ...], Figure]:
        return {(f.keys["template"], f.keys["scheme"], full_name(f)): f for f in self.figures}

    def find(self, template: str, scheme: str, name: str) -> Figure | None:
        """Return the one figure of this name."""
        return self._named.get((template, scheme, name))


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
        beside, today = scenario.today_of(form)
        self.today_form = beside
        self.today_names = scenario.names(today, beside)
        self.compared = today.name if beside is form else f"{today.name}, {beside.name}"

    def exact(
        self, figure: str, name: str, unit: str, assumes: str = "", source: str = ""
    ) -> Figure:
        """Return the value of a name, with its usual least and most where these differ."""
        low, high = sorted(names[name] for names in self._extremes)
        value = Interval(self.names[name], *((low, high) if low != high else ()))
        text = assumes or source or f"the template; {self.scheme.source}"
        return self.figure(figure, value, unit, text, "assumed" if assumes else "exact")

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
            name = f"bytes, {part.name}"
            yield self.exact(name, part.identifier, "B", part.assumption, part.source)
        ratio = self.names["bytes"] / self.today_names["bytes"]
        kind = kind_of(assumes, self.today_form.size_assumption)
        yield self.figure("bytes over today's", ratio, "×", self.compared, kind)

    def rules(self) -> Iterator[Figure]:
        """Yield the rules of today that it breaks."""
        for rule in self.scenario.rules:
            if rule.applies(self.scheme.name, self.form.called):
                value = evaluate(rule.of, self.names) if rule.of else None
                if value is None or (rule.most is not None and value > rule.most):
                    unit = rule.unit if rule.of else ""
                    kind = kind_of(rule.of and self.form.assumption, is_assumed(rule.source))
                    yield self.figure(FORBIDDEN + rule.name, value, unit, rule.source, kind)

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
            yield self.figure(f"transfer over {link.name}", spent, "s", text, "assumed")
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
            yield self.figure(f"extra round trips, {window.name}", waits, "", text, "assumed")

    def signatures(self) -> Iterator[Figure]:
        """Yield times of one message's signatures on one core, and messages per second."""
        for operation, title, text in (
            ("sign", "signing", self.form.signed),
            ("verify", "verification", self.form.verified),
        ):
            count = evaluate(text, self.names)
            if not count:
                continue
            implementations = self.scenario.host.implementations
            rate = self.times.rate(self.scheme, 1, implementations, operation=operation)
            spent, per_second = f"{title} on 1 core", f"{title} per second and core"
            if isinstance(rate, str):
                yield self.figure(spent, None, "s", rate)
                yield self.figure(per_second, None, "1/s", rate)
                continue
            source = f"{count:g} signature{'s' if count > 1 else ''}; {rate.source}"
            yield self.figure(spent, count / rate.draws, "s", source, rates=[rate])
            yield self.figure(per_second, rate.draws / count, "1/s", source, rates=[rate])

    def on_device(self, device: Device, count: float) -> Figure:
        """Return the time of one message's verifications, and of what is hashed before, on the
        device."""
        name, cycles = f"verification on {device.name}", device.cycles.get(self.scheme.name)
        if cycles is None:
            rate = self.times.rate(self.scheme, 1, {}, unit="cycles")
        else:
            draws = assumed(f"cycles {device.name} {self.scheme.name}", cycles)
            rate = RecordRate(1 / draws, f"{device.verify[self.scheme.name]} of the scenario")
        if isinstance(rate, str):
            return self.figure(name, None, "s", rate)
        hashed = evaluate(device.hashed, self.names) * device.hash_cycles if device.hashed else 0.0
        spent = (count / rate.draws + hashed) / assumed(f"clock {device.name}", device.hertz)
        text = f"{count:g} of {rate.source}; at {device.clock}"
        if hashed:
            text += f"; hashing at {device.hash_cycles:g} cycles a byte"
        kind: Kind = "measured" if cycles is None else "assumed"
        return self.figure(name, np.asarray(spent), "s", f"{text}; {device.source}", kind)
