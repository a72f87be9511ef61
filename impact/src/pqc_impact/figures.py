"""From a scenario and verification times to figures, each with its unit, kind and source."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from mldsa_lab.errors import LabError
from mldsa_lab.theory.arrays import Array
from pqc_impact.base import EXPANDED, ScenarioFault, ScenarioFile
from pqc_impact.compress import Compressed
from pqc_impact.expression import evaluate
from pqc_impact.file import BlockLimit, Chain, Scenario, Template
from pqc_impact.protocol import Protocol
from pqc_impact.protocol_figures import protocol_rows
from pqc_impact.quantity import YEAR, quantity
from pqc_impact.rows import FormFigures, ImpactRow, Kind
from pqc_impact.schemes import ImpactScheme, scheme_of
from pqc_impact.times import RecordRate, RecordTimes, assumed


@dataclass(frozen=True)
class Impact:
    """All figures of a scenario."""

    name: str
    scenario: ScenarioFile[Any]
    rows: tuple[ImpactRow, ...]
    records: tuple[str, ...]

    @property
    def chain(self) -> Chain:
        """The scenario, where it is one of a chain."""
        assert isinstance(self.scenario, Chain)
        return self.scenario

    @cached_property
    def _named(self) -> dict[tuple[str, str, str], ImpactRow]:
        return {(r.template, r.scheme, r.figure): r for r in self.rows}

    def find(self, template: str, scheme: str, figure: str) -> ImpactRow | None:
        """The one row of this name."""
        return self._named.get((template, scheme, figure))

    def of(self, template: str, scheme: str) -> list[ImpactRow]:
        """The rows of a template in a scheme."""
        return [r for r in self.rows if (r.template, r.scheme) == (template, scheme)]


def impact(
    name: str, scenario: Scenario, times: RecordTimes, compressed: Mapping[str, Compressed]
) -> Impact:
    """Every figure; LabError for cores that were not measured, or a block too small for any
    transaction of today."""
    if isinstance(scenario, Protocol):
        rows = list(protocol_rows(name, scenario, times))
    else:
        maker = _Figures(name, scenario, times, compressed)
        rows = [row for form, scheme in scenario.pairs() for row in maker.rows(form, scheme)]
    return Impact(name, scenario, tuple(rows), times.records)


def on_cores(cores: int, batches: bool = False) -> str:
    """How figures say on how many cores, and that a batch interface verifies."""
    return f"{'in batches ' if batches else ''}on {cores} core{'s' if cores > 1 else ''}"


@dataclass(frozen=True)
class _Room:
    """How many transactions a block has, and by which limit; or by the load given."""

    count: float
    limit: str


class _Figures:
    def __init__(
        self, name: str, scenario: Chain, times: RecordTimes, compressed: Mapping[str, Compressed]
    ) -> None:
        self.name, self.scenario, self.compressed = name, scenario, compressed
        node = scenario.node
        self.rates: dict[tuple[str, int], RecordRate | str] = {
            (s, cores): times.rate(
                scheme_of(s), cores, node.implementations, stretch=node.extrapolate
            )
            for s in scenario.schemes
            for cores in node.cores
        }
        batches = (
            (s, cores, times.batch_rate(
                scheme_of(s), cores, node.implementations, stretch=node.extrapolate
            ))
            for s in scenario.schemes
            for cores in node.cores
        )  # fmt: skip
        self.batches = {(s, cores): rate for s, cores, rate in batches if rate is not None}
        self.interval = assumed("interval", scenario.seconds)
        self.download = assumed("download", node.rate)
        self.per_year = YEAR / self.interval

    def rows(self, template: Template, scheme: ImpactScheme) -> Iterator[ImpactRow]:
        at = _TemplateFigures(self, template, scheme)
        yield from at.sizes()
        yield from at.uses()
        yield from at.rules()
        yield from at.throughput()
        yield from at.storage()
        yield from at.verification()


class _TemplateFigures(FormFigures[Chain, Template]):
    """The figures of one template in one scheme."""

    def __init__(self, of: _Figures, template: Template, scheme: ImpactScheme) -> None:
        super().__init__(of.name, of.scenario, template, scheme)
        self.of = of
        self.bytes = self.names["bytes"]
        self.room = self._room(template, scheme)
        beside, compare = of.scenario.today_of(template)
        self.today = self._room(beside, compare)
        if self.today.count < 1:
            place = [limit.name for limit in of.scenario.limits].index(self.today.limit)
            raise ScenarioFault(
                ("limits", place, "block"),
                f"limits[{place}].block: the {self.today.limit} of a block is smaller than that of "
                f"one transaction ({beside.name}, {compare.name})",
            )

    @property
    def kind(self) -> Kind:
        """Of what rests on how many transactions a block has."""
        return "assumed" if self.template.per_block or self.template.assumes else "exact"

    def _room(
        self, template: Template, scheme: ImpactScheme, given: tuple[str, float] | None = None
    ) -> _Room:
        """Transactions of a block; with ``given`` one limit has another room."""
        names = self.scenario.names(scheme, template)
        if template.per_block:
            return _Room(evaluate(template.per_block, names), "load")
        counts = [
            _Room(math.floor(room / names[n]), n)
            for n in template.use
            if names[n] > 0
            for room in (given[1] if given and given[0] == n else self._limit(n).room,)
        ]
        if not counts:
            raise LabError(f"templates, {template.name}: uses no limit and has no per_block")
        return min(counts, key=lambda room: room.count)

    def _limit(self, name: str) -> BlockLimit:
        return next(limit for limit in self.scenario.limits if limit.name == name)

    # --- figures ------------------------------------------------------------------------------

    def uses(self) -> Iterator[ImpactRow]:
        """What the transaction uses of each limit."""
        for name in self.template.use:
            limit = self._limit(name)
            yield self._exact(f"{name} used", name, limit.unit, self.template.assumes)
            if limit.price:
                currency, price = limit.cost
                fee = price.times(self.names[name])
                ends = None if fee.low is None or fee.high is None else (fee.low, fee.high)
                text = f"at {limit.price}"
                yield self._row(f"fee for {name}", fee.value, currency, "assumed", text, ends)
        for currency, text in self.template.fees.items():
            value = evaluate(text, self.names)
            yield self._row("fee", value, currency, "exact", f"the template: {text}")

    def throughput(self) -> Iterator[ImpactRow]:
        """Transactions of a block and in a second; the limit that keeps today's."""
        what = "messages" if self.template.per_block else "transactions"
        interval = self.scenario.seconds.value
        by = f"limited by {self.room.limit}" if not self.template.per_block else "the load given"
        source = f"{by}; an interval of {self.scenario.interval} ({self.scenario.interval_source})"
        kind = self.kind
        yield self._row(f"{what} per block", self.room.count, "", kind, by)
        yield self._row(f"{what} per second", self.room.count / interval, "1/s", kind, source)
        if self.template.per_block:
            rate = self.room.count * self.bytes / interval
            yield self._row("bytes per second", rate, "B/s", kind, source)
            for name in self.template.use:
                share = self.room.count * self.names[name] / self._limit(name).room
                text = self._limit(name).source
                yield self._row(f"share of the {name} of a block", share, "", kind, text)
            return
        yield self._row("transactions per block today", self.today.count, "", kind, self.compared)
        over = self.room.count / self.today.count
        yield self._row("transactions over today's", over, "×", kind, self.compared)
        for name in self.template.use:
            limit = self._limit(name)
            needed = self.today.count * self.names[name] + limit.set_aside
            text = f"{self.today.count:,.0f} a block, as {self.compared} today"
            figure = f"{name} of a block for today's throughput"
            yield self._row(figure, needed, limit.unit, kind, text)
            for given, room in limit.others:
                count = self._room(self.template, self.scheme, (name, room)).count
                figure, text = f"transactions per second at {given}", "the limit is given"
                yield self._row(figure, count / interval, "1/s", "assumed", text)

    def storage(self) -> Iterator[ImpactRow]:
        """Archive, state and mempool."""
        template, node = self.template, self.scenario.node
        block = self.room.count * self.bytes + self.scenario.overhead
        full = "full blocks" if not template.per_block else "the load given"
        yield self._row("bytes of a block", block, "B", self.kind, full)
        kept = sum(self.names[part.identifier] for part in template.parts if not part.holds)
        for years in (1, 10):
            when = "a year" if years == 1 else "ten years"
            size = block * self.of.per_year * years
            yield self._row(f"archive of {when}", size, "B", "assumed", full)
        keeping = self.today.count * self.of.per_year if not template.per_block else None
        archive = block * self.of.per_year if keeping is None else keeping * self.bytes
        text = f"as many transactions as {self.compared} has in full blocks"
        if keeping is not None:
            figure = "archive of a year at today's throughput"
            yield self._row(figure, archive, "B", "assumed", text)
        figure, text = "pruned archive of a year at today's throughput", "no signatures and keys"
        yield self._row(figure, archive * (kept / self.bytes), "B", "assumed", text)
        yield self._compressed(archive)
        for state in self.scenario.state:
            stored = {"the hash of a key": state.hash, "keys": state.key}
            for what, expression in stored.items():
                each = evaluate(expression, self.names)
                held = state.count.times(each)
                ends = None if held.low is None or held.high is None else (held.low, held.high)
                figure = f"{state.name}, {what} stored"
                yield self._row(figure, held.value, "B", "assumed", state.source, ends)
        if node.mempool and not template.per_block:
            pool = quantity(node.mempool, "B", "mempool").value
            text = f"{node.mempool}, of which a transaction takes: {node.mempool_each}"
            holds = math.floor(pool / evaluate(node.mempool_each, self.names))
            yield self._row("transactions that the mempool holds", holds, "", "assumed", text)
            blocks = holds / max(self.room.count, 1)
            yield self._row("blocks that the mempool holds", blocks, "", "assumed", text)

    def _compressed(self, archive: Array) -> ImpactRow:
        """The archive with signatures and keys compressed as they were measured to be."""
        figure = "compressed archive of a year at today's throughput"
        found = [self.of.compressed.get(form) for form in self.scheme.forms]
        if own := next((p.name for p in self.template.parts if p.holds == "other"), None):
            why = f"the compressibility of the part {own!r} was not measured"
            return self._row(figure, None, "B", "measured", why)
        ratios = {"signatures": 0.0, "keys": 0.0, EXPANDED: 0.0}
        total = {"signatures": 0.0, "keys": 0.0, EXPANDED: 0.0}
        for form, one in zip(self.scheme.forms, found, strict=True):
            if one is None or one.why:
                why = one.why if one else f"the compressibility of {form} was not measured"
                return self._row(figure, None, "B", "measured", why)
            alone = scheme_of(form)
            if one.expanded is not None:
                total[EXPANDED], ratios[EXPANDED] = 1.0, one.expanded
            for holds, size, ratio in (
                ("signatures", alone.signature_bytes[0], one.signatures),
                ("keys", alone.public_key_bytes, one.keys),
            ):
                total[holds] += size
                ratios[holds] += size * ratio
        size = 0.0
        for piece in self.template.parts:
            ratio = ratios[piece.holds] / total[piece.holds] if piece.holds else 1.0
            size += self.names[piece.identifier] * ratio
        texts = dict.fromkeys(one.source for one in found if one)
        return self._row(figure, archive * (size / self.bytes), "B", "measured", "; ".join(texts))

    def verification(self) -> Iterator[ImpactRow]:
        """Time to verify a block's signatures, and the first synchronisation."""
        node = self.scenario.node
        signatures = self.template.signatures
        each = self.room.count * signatures
        many = self.room.count if self.template.per_block else self.today.count
        history = many * node.years * self.of.per_year
        what = "the load given" if self.template.per_block else "as many transactions as today"
        text = f"{node.years:g} years of {what}; {node.source}"
        download = history * self.bytes / self.of.download
        yield self._row("first synchronisation, download", download, "s", "assumed", text)
        measured = [(self.of.rates[self.scheme.name, n], on_cores(n)) for n in node.cores]
        measured += [
            (self.of.batches[self.scheme.name, n], on_cores(n, batches=True))
            for n in node.cores
            if (self.scheme.name, n) in self.of.batches
        ]
        for rate, on in measured:
            block = f"verification of a block {on}"
            sync = f"first synchronisation, verification {on}"
            as_today = f"verification of a block at today's throughput {on}"
            share = f"share of the interval at today's throughput {on}"
            both = f"first synchronisation {on}"
            if isinstance(rate, str):
                for figure in (block, as_today, share, sync, both):
                    unit = "" if figure == share else "s"
                    yield self._row(figure, None, unit, "measured", rate)
                continue
            yield self._row(block, each / rate.draws, "s", "measured", rate.source)
            spent = many * signatures / rate.draws
            yield self._row(as_today, spent, "s", "measured", rate.source)
            yield self._row(share, spent / self.of.interval, "", "measured", rate.source)
            verify = history * signatures / rate.draws
            yield self._row(sync, verify, "s", "measured", rate.source)
            rules = np.maximum(verify, download)
            by_verification = bool(verify[0] > download[0])
            slower = "verification" if by_verification else "the download"
            said = f"{slower} is the longer of the two; {rate.source}"
            yield self._row(both, rules, "s", "measured" if by_verification else "assumed", said)
