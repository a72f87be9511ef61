"""A scenario's blocks on the network that it names: figures beside its others."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from mldsa_lab.estimate.interval import Interval
from pqc_impact.figures import Impact, on_cores
from pqc_impact.file import BlockNetwork, Chain, Template
from pqc_impact.network import Network, Relay, find_network, read_network
from pqc_impact.propagation import BlockLoad
from pqc_impact.quantity import positive
from pqc_impact.rows import ImpactRow, Kind
from pqc_impact.schemes import ImpactScheme
from pqc_impact.sweep import SHARES, Propagation, validation_time
from pqc_impact.times import RecordRate, RecordTimes

FULL = "a full block"
Simulate = Callable[[Network, Sequence[Sequence[BlockLoad]]], list[Propagation]]


def as_today(times: float) -> str:
    """A block with so many times the transactions of today's."""
    return f"a block with {'' if times == 1 else f'{times:g} × '}today's transactions"


def reach(share: float, block: str, relay: Relay) -> str:
    """The figure that says until when so many nodes have validated a block."""
    return f"{share:.0%} of nodes have {block} ({relay})"


def stale(interval: str, block: str, relay: Relay) -> str:
    """The figure that says how many blocks go stale."""
    return f"share of stale blocks, every {interval}, {block} ({relay})"


def size_of(block: str) -> str:
    """The figure that says how large it is."""
    return f"bytes of {block}"


def blocks_of(wanted: BlockNetwork) -> list[str]:
    """The blocks that are simulated, smallest first, then the full one."""
    return [*map(as_today, sorted(wanted.of_today)), FULL]


def load_rows(
    name: str, network: Network, loads: Sequence[BlockLoad], found: Sequence[Propagation],
    interval_s: float,
) -> Iterator[ImpactRow]:  # fmt: skip
    """The figures of blocks without a scheme, of the network called ``name``."""
    for load, one in zip(loads, found, strict=True):
        block = f"a block of {load.block_bytes:,.0f} B"
        source = (
            f"{_simulated(network)}; {load.transactions:g} transactions, validated in "
            f"{load.validation_s:g} s"
        )
        figures = [(reach(share, block, load.relay), "s", one.time(share)) for share in SHARES]
        figures.append((stale(f"{interval_s:g} s", block, load.relay), "", one.stale(interval_s)))
        for figure, unit, value in figures:
            middle, low, high = value
            yield ImpactRow(name, "", figure, "", middle, low, high, unit, "assumed", source)


def _simulated(network: Network) -> str:
    return f"{network.source}; {network.nodes:,} nodes, {network.blocks} blocks"


def network_of(wanted: BlockNetwork, folder: Path) -> Network:
    """The network that a scenario in ``folder`` names."""
    own = wanted.like.endswith(".toml")
    path = folder / wanted.like if own else find_network(wanted.like)
    return read_network(path, nodes=wanted.nodes, blocks=wanted.blocks)


@dataclass(frozen=True)
class _Case:
    """One block to simulate, and what its figures are called."""

    template: str
    scheme: str
    block: str
    relay: Relay
    loads: list[BlockLoad]
    source: str


def add_network(found: Impact, times: RecordTimes, folder: Path, simulate: Simulate) -> Impact:
    """The figures with those of the scenario's network, if it names one. ``folder``: of the
    scenario."""
    wanted = found.scenario.network if isinstance(found.scenario, Chain) else None
    if wanted is None:
        return found
    maker = _Cases(found, wanted, network_of(wanted, folder), times)
    pairs = [
        (template, scheme)
        for template, scheme in found.chain.pairs()
        if template.name in wanted.templates
        and (not wanted.schemes or scheme.name in wanted.schemes)
    ]
    cases: list[_Case] = []
    rows: list[ImpactRow] = []
    for template, scheme in pairs:
        rate = maker.rate(scheme)
        if isinstance(rate, str):
            rows += maker.unknown(template, scheme, rate)
        else:
            cases += maker.cases(template, scheme, rate)
            rows += maker.sizes(template, scheme)
    spread = simulate(maker.network, [case.loads for case in cases]) if cases else []
    for case, one in zip(cases, spread, strict=True):
        rows += maker.rows(case, one)
    return replace(found, rows=(*found.rows, *rows))


class _Cases:
    def __init__(
        self, found: Impact, wanted: BlockNetwork, network: Network, times: RecordTimes
    ) -> None:
        self.found, self.wanted, self.network, self.times = found, wanted, network, times
        self.cores = max(found.chain.node.cores)
        self.intervals = {
            text: positive(text, "s", "intervals").value
            for text in dict.fromkeys((found.chain.interval, *wanted.intervals))
            if wanted.stale
        }

    def rate(self, scheme: ImpactScheme) -> RecordRate | str:
        node = self.found.chain.node
        return self.times.rate(scheme, self.cores, node.implementations, stretch=node.extrapolate)

    def _blocks(self, template: Template, scheme: ImpactScheme) -> dict[str, tuple[float, float]]:
        """The transactions and bytes of each block."""

        def figure(name: str) -> float:
            row = self.found.find(template.name, scheme.name, name)
            return row.value if row is not None and row.value is not None else 0.0

        what = "messages per block" if template.per_block else "transactions per block"
        count, each, whole = figure(what), figure("bytes"), figure("bytes of a block")
        today = count if template.per_block else figure("transactions per block today")
        frame = whole - count * each
        made = {
            as_today(times): (times * today, times * today * each + frame)
            for times in sorted(self.wanted.of_today)
        }
        return made | ({FULL: (count, whole)} if count else {})

    def cases(self, template: Template, scheme: ImpactScheme, rate: RecordRate) -> Iterator[_Case]:
        draws = rate.draws[1 : 1 + self.network.blocks]
        source = f"{_simulated(self.network)}; verified {on_cores(self.cores)}: {rate.source}"
        for block, (count, size) in self._blocks(template, scheme).items():
            signatures = count * template.signatures
            spent = [validation_time(self.network, signatures, draw) for draw in draws]
            for relay in self.network.relays:
                loads = [BlockLoad(size, count, seconds, relay) for seconds in spent]
                yield _Case(template.name, scheme.name, block, relay, loads, source)

    def _row(
        self, template: str, scheme: str, figure: str, value: Interval | None, unit: str,
        kind: Kind, source: str,
    ) -> ImpactRow:  # fmt: skip
        middle, low, high = (None, None, None) if value is None else value
        return ImpactRow(
            self.found.name, scheme, figure, template, middle, low, high, unit, kind, source
        )

    def sizes(self, template: Template, scheme: ImpactScheme) -> Iterator[ImpactRow]:
        """How large the blocks are."""
        for block, (count, size) in self._blocks(template, scheme).items():
            yield self._row(
                template.name, scheme.name, size_of(block), Interval(size), "B", "exact",
                f"{count:,.0f} transactions",
            )  # fmt: skip

    def _figures(self, block: str, relay: Relay) -> Iterator[tuple[str, str]]:
        yield from ((reach(share, block, relay), "s") for share in SHARES)
        yield from ((stale(text, block, relay), "") for text in self.intervals)

    def rows(self, case: _Case, one: Propagation) -> Iterator[ImpactRow]:
        values = [one.time(share) for share in SHARES]
        values += [one.stale(seconds) for seconds in self.intervals.values()]
        for (figure, unit), value in zip(
            self._figures(case.block, case.relay), values, strict=True
        ):
            yield self._row(case.template, case.scheme, figure, value, unit, "assumed", case.source)

    def unknown(self, template: Template, scheme: ImpactScheme, why: str) -> Iterator[ImpactRow]:
        """That there is no figure, since nothing says how long a verification takes."""
        for block in blocks_of(self.wanted):
            for relay in self.network.relays:
                for figure, unit in self._figures(block, relay):
                    yield self._row(template.name, scheme.name, figure, None, unit, "assumed", why)
