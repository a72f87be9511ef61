"""Parts of all scenarios of chains: limits of a block, forms of transactions, stores of nodes, the
network. `file.py` has the two kinds of chains, and reads them."""

from __future__ import annotations

import math
from typing import Annotated, ClassVar

from msgspec import Meta, field

from mldsa_lab.estimate.interval import Interval
from mldsa_lab.files import Positive, Text
from pqc_impact.base import ScenarioFile, ScenarioForm, ScenarioTable, Several, is_assumed
from pqc_impact.expression import evaluate
from pqc_impact.quantity import amount, positive, price, quantity

Above = Annotated[float, Meta(gt=0)]


class BlockLimit(ScenarioTable, frozen=True):
    """A limit of a block: ``block`` in ``unit``. ``reserved``: the part that is not for
    transactions. ``given``: other limits to try. ``price``: of one ``unit``."""

    name: Text
    unit: Text
    block: Text
    source: Text
    reserved: Text = "0"
    given: tuple[Text, ...] = ()
    price: str = ""

    @property
    def is_assumed(self) -> bool:
        """Return true if it is no rule of today."""
        return is_assumed(self.source, self.block, self.reserved)

    @property
    def set_aside(self) -> float:
        """The reserved part, in the unit."""
        return quantity(self.reserved, self.unit, "reserved").value

    @property
    def room(self) -> float:
        """The part for the transactions of a block, in the unit."""
        return self._room("block", self.block)

    @property
    def others(self) -> dict[str, float]:
        """The room of the limits to try, by the text of the file."""
        return {text: self._room("given", text) for text in self.given}

    @property
    def cost(self) -> tuple[str, Interval] | None:
        """The currency, and the price of one unit in it."""
        return price(self.price, self.unit, "price") if self.price else None

    def _room(self, key: str, text: str) -> float:
        room = positive(text, self.unit, key).value - self.set_aside
        if room <= 0:
            raise ValueError(f"{key}: must be above what is reserved")
        return room


class Template(ScenarioForm, frozen=True):
    """A form of transaction: how much of each limit it uses; its signatures.

    ``per_block``: how many a block has, where that is a load and does not follow from limits.
    ``fees``: costs in addition to the prices of limits, by currency. ``assumes``: an assumption
    behind its use of limits, if any. ``item``: its largest element, for rules. ``output``: the
    script of an output, for states. ``also``: other names that rules may use.
    """

    use: dict[Text, Text] = field(default_factory=dict)
    fees: dict[Text, Text] = field(default_factory=dict)
    assumes: str = ""
    signatures: Positive = 1
    per_block: str = ""
    item: str = "0"
    output: str = "0"
    also: tuple[str, ...] = ()

    @property
    def called(self) -> tuple[str, ...]:
        """The names that rules may use for it."""
        return (self.name, *self.also)

    @property
    def assumption(self) -> str:
        """The assumption that its figures rest on, "" for none."""
        return "; ".join(filter(None, (self.assumes, self.size_assumption)))

    @property
    def counts(self) -> dict[str, float]:
        """Numbers that its parts may name."""
        return {"signatures": float(self.signatures)}

    @property
    def derived(self) -> dict[str, str]:
        """Expressions by name that may use the parts."""
        return {"item": self.item, "output": self.output, **self.use}

    @property
    def further(self) -> dict[str, str]:
        """Expressions by their place in the table."""
        fees = {f"fees.{currency}": text for currency, text in self.fees.items()}
        return {"per_block": self.per_block, **fees}


class State(ScenarioTable, frozen=True):
    """The state that every node keeps: so many ``entries``; the bytes of one with a hash of the
    key, and with the key itself."""

    name: Text
    entries: Text
    source: Text
    hash: Text
    key: Text

    count: ClassVar[Interval] = amount("entries", "")
    """How many entries."""


class Node(ScenarioTable, frozen=True):
    """A node: numbers of ``cores`` to show, its download rate, and the years of archive it reads.

    ``implementations``: of each scheme; without one, the fastest default build of the record.
    ``mempool``: its bytes; ``mempool_each``: those of a transaction, ``traffic_each`` those on its
    line. More cores than the record measured need ``extrapolate``. ``threads``: numbers of threads
    whose operations per second are shown, measured or not. ``verified``: numbers of transactions
    whose verification is shown. ``hardware``: the clock of a hardware core, to compare with a core
    of the node.
    """

    download: Text
    source: Text
    cores: Annotated[tuple[Positive, ...], Meta(min_length=1)] = (1,)
    extrapolate: bool = False
    implementations: dict[Text, Text] = field(default_factory=dict)
    years: Above = 10.0
    mempool: str = ""
    mempool_each: Text = "bytes"
    traffic_each: Text = "bytes"
    threads: tuple[Positive, ...] = (1, 2, 4, 8, 16)
    verified: tuple[Positive, ...] = (1000,)
    hardware: str = ""

    rate: ClassVar[Interval] = amount("download", "B/s")
    """Download, bytes per second."""
    clock: ClassVar[Interval] = amount("hardware", "Hz")
    """The clock of a hardware core, hertz; 0 without one."""
    pool: ClassVar[Interval] = amount("mempool", "B")
    """Bytes of the mempool, 0 without one."""


class Storage(ScenarioTable, frozen=True):
    """The archive of a node: its size today and the price of storage. ``disks``: by name their size
    and price, as "2 TB at 60 USD/TB"."""

    today: Text
    price: Text
    source: Text
    disks: dict[Text, Text] = field(default_factory=dict)

    size: ClassVar[Interval] = amount("today", "B")
    """Bytes of today's archive."""

    @property
    def cost(self) -> tuple[str, Interval]:
        """The currency, and the price of one byte in it."""
        return price(self.price, "B", "price")

    @property
    def disk_prices(self) -> dict[str, tuple[str, Interval]]:
        """The currency and the price of each disk."""
        result = {}
        for name, text in self.disks.items():
            size, _, each = text.partition(" at ")
            currency, cost = price(each, "B", f"disks: {name}")
            result[name] = currency, cost.times(positive(size, "B", f"disks: {name}").value)
        return result


class BlockNetwork(ScenarioTable, frozen=True):
    """The network that blocks spread over. ``like``: one of scenarios/networks or a file next to
    the scenario. ``nodes``, ``blocks``: their numbers, if not the file's.

    Simulated blocks have these ``templates`` and ``schemes`` (all, if none is named): full ones,
    and others with ``of_today`` times as many transactions as today's. Stale blocks are shown also
    for other ``intervals``, and not at all with ``stale = false``, where blocks have slots.
    """

    like: Text
    templates: Several
    schemes: tuple[Text, ...] = ()
    of_today: Annotated[tuple[Above, ...], Meta(min_length=1)] = (1.0,)
    intervals: tuple[Text, ...] = ()
    stale: bool = True
    nodes: Positive | None = None
    blocks: Positive | None = None

    @property
    def seconds(self) -> dict[str, float]:
        """The other intervals, by the text of the file."""
        if self.intervals and not self.stale:
            raise ValueError("intervals: are for stale blocks, which `stale = false` leaves out")
        return {text: positive(text, "s", "intervals").value for text in self.intervals}


class Chain(ScenarioFile[Template], frozen=True, kw_only=True):
    """A chain. ``interval``: from block to block."""

    interval: Text
    interval_source: Text
    node: Node
    limits: tuple[BlockLimit, ...] = ()
    state: tuple[State, ...] = ()
    storage: Storage | None = None
    block_overhead: Text = "0"
    network: BlockNetwork | None = None

    def __post_init__(self) -> None:
        for name in self.network.templates if self.network else ():
            if name not in self.all_templates:
                raise ValueError(f"network.templates: no template is called {name!r}")
        for form in self.all_templates.values():
            for name in form.use:
                if name not in self.limit:
                    place = self.place(form, f'use."{name}"')
                    raise ValueError(
                        f"{place}: no limit is called {name!r}: add one as a table [[limits]]"
                    )
        super().__post_init__()
        for form, scheme in self.pairs():
            names = self.names(scheme, form)
            if not evaluate(self.node.mempool_each, names):
                raise ValueError(f"node.mempool_each: a transaction ({form.name}) takes none")
            self.fitting(form, names)
            neighbor, today = self.today_of(form)
            count, limit = self.fitting(neighbor, self.names(today, neighbor))
            if limit and count < 1:
                place = f"limits[{list(self.limit).index(limit)}].block"
                raise ValueError(
                    f"{place}: the {limit} of a block is smaller than that of one transaction "
                    f"({neighbor.name}, {today.name})"
                )

    @property
    def limit(self) -> dict[str, BlockLimit]:
        """The limits by name."""
        return {limit.name: limit for limit in self.limits}

    @property
    def overhead(self) -> float:
        """Bytes of a block other than its transactions."""
        return quantity(self.block_overhead, "B", "block_overhead").value

    seconds: ClassVar[Interval] = amount("interval", "s")
    """From block to block."""

    @property
    def expressions(self) -> dict[str, str]:
        """Expressions outside the forms."""
        of_states = {
            f"state[{number}].{key}": getattr(state, key)
            for number, state in enumerate(self.state)
            for key in ("hash", "key")
        }
        keys = ("mempool_each", "traffic_each")
        of_node = {f"node.{key}": getattr(self.node, key) for key in keys}
        return {**of_node, **of_states}

    def fitting(
        self, form: Template, names: dict[str, float], **instead: float
    ) -> tuple[float, str]:
        """Return how many transactions a block has, and the limit that binds, "" for a load;
        ``instead``: other room of a limit, by its name."""
        if form.per_block:
            return evaluate(form.per_block, names), ""
        counts = [
            (math.floor(instead.get(name, self.limit[name].room) / names[name]), name)
            for name in form.use
            if names[name] > 0
        ]
        if not counts:
            raise ValueError(f"templates: {form.name}: uses no limit and has no per_block")
        return min(counts, key=lambda result: result[0])
