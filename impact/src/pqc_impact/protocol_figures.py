"""Figures of a protocol's messages."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pqc_impact.expression import evaluate
from pqc_impact.protocol import Device, Message, Protocol
from pqc_impact.rows import FormFigures, ImpactRow, Kind
from pqc_impact.schemes import ImpactScheme
from pqc_impact.times import RecordRate, RecordTimes, assumed


def protocol_rows(name: str, scenario: Protocol, times: RecordTimes) -> Iterator[ImpactRow]:
    """Every figure of a protocol."""
    for message, scheme in scenario.pairs():
        at = _MessageFigures(name, scenario, message, scheme)
        yield from at.sizes()
        yield from at.rules()
        yield from at.round_trips()
        yield from at.transfers()
        yield from at.signatures(times)
        if scenario.device is not None:
            yield from at.on_device(scenario.device, times)


def extra(window: str) -> str:
    """The figure that says how many round trips a window adds."""
    return f"extra round trips, {window}"


def over(link: str) -> str:
    """The figure that says how long a message takes."""
    return f"transfer over {link}"


def verified_on(device: str) -> str:
    """The figure that says how long a device takes."""
    return f"verification on {device}"


class _MessageFigures(FormFigures[Protocol, Message]):
    """The figures of one message in one scheme."""

    def sizes(self) -> Iterator[ImpactRow]:
        parts = self.template.parts
        together = "; ".join(dict.fromkeys(p.assumes for p in parts if p.assumes))
        sources = "; ".join(dict.fromkeys([*(p.source for p in parts), self.scheme.source]))
        yield self._exact("bytes", "bytes", "B", together, sources)
        for part in parts:
            yield self._exact(
                f"bytes, {part.name}", part.identifier, "B", part.assumes, part.source
            )
        times = self.names["bytes"] / self.today_names["bytes"]
        kind: Kind = "assumed" if together else "exact"
        yield self._row("bytes over today's", times, "×", kind, self.compared)

    def round_trips(self) -> Iterator[ImpactRow]:
        """How often the sender waits for an acknowledgement before all is sent."""
        if not self.template.flight:
            return
        flight = evaluate(self.template.flight, self.names)
        for window in self.scenario.windows:
            sent, waits = window.size, 0
            while sent < flight:
                waits += 1
                sent += window.size * 2**waits
            text = f"{window.bytes}, twice as much in each round trip that follows; {window.source}"
            yield self._row(extra(window.name), waits, "", "assumed", text)

    def transfers(self) -> Iterator[ImpactRow]:
        """How long the bytes take over each link."""
        for link in self.scenario.links:
            spent = self.names["bytes"] / assumed(f"link {link.name}", link.speed)
            yield self._row(over(link.name), spent, "s", "assumed", f"{link.rate}; {link.source}")

    def signatures(self, times: RecordTimes) -> Iterator[ImpactRow]:
        """Times of one message's signatures on one core, and messages per second."""
        for operation, what, text in (
            ("sign", "signing", self.template.signed),
            ("verify", "verification", self.template.verified),
        ):
            count = evaluate(text, self.names)
            if not count:
                continue
            figures = ((f"{what} on 1 core", "s"), (f"{what} per second and core", "1/s"))
            rate = times.rate(
                self.scheme, 1, self.scenario.host.implementations, operation=operation
            )
            if isinstance(rate, str):
                for figure, unit in figures:
                    yield self._row(figure, None, unit, "measured", rate)
                continue
            said = f"{count:g} signature{'s' if count > 1 else ''}; {rate.source}"
            yield self._row(figures[0][0], count / rate.draws, "s", "measured", said)
            yield self._row(figures[1][0], rate.draws / count, "1/s", "measured", said)

    def on_device(self, device: Device, times: RecordTimes) -> Iterator[ImpactRow]:
        """Time of one message's verifications, and of what is hashed before, on the device."""
        count = evaluate(self.template.verified, self.names)
        if not count:
            return
        figure, hertz = verified_on(device.name), assumed(f"clock {device.name}", device.hertz)
        rate = _on_device(self.scheme, device, times)
        if isinstance(rate, str):
            yield self._row(figure, None, "s", "measured", rate)
            return
        hashed = evaluate(device.hashed, self.names) * device.hash_cycles if device.hashed else 0.0
        spent = (count / rate.draws + hashed) / hertz
        said = f"{count:g} of {rate.source}; at {device.clock}"
        if hashed:
            said += f"; hashing at {device.hash_cycles:g} cycles a byte"
        kind: Kind = "assumed" if self.scheme.name in device.verify else "measured"
        yield self._row(figure, np.asarray(spent), "s", kind, f"{said}; {device.source}")


def _on_device(scheme: ImpactScheme, device: Device, times: RecordTimes) -> RecordRate | str:
    """Verifications per cycle: of a record in cycles, or as the file has them."""
    said = device.cycles(scheme.name)
    if said is None:
        return times.rate(scheme, 1, {}, unit="cycles")
    draws = assumed(f"cycles {device.name} {scheme.name}", said)
    return RecordRate(1 / draws, f"{device.verify[scheme.name]} of the scenario")
