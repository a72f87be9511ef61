"""The scenario file, as docs/scenarios.md describes it: everything that is assumed, and the forms
of transactions, from which sizes follow exactly."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from msgspec import Meta, field

from mldsa_lab.checkout import file_or_shipped
from mldsa_lab.estimate.interval import Interval
from mldsa_lab.files import Positive, Text, read_text
from mldsa_lab.toml import decode_toml
from pqc_impact.base import (
    SCENARIOS,
    Holds,
    Part,
    ScenarioFile,
    ScenarioForm,
    ScenarioTable,
    Several,
    check_names,
    check_schemes,
    evaluated,
)
from pqc_impact.expression import check_form, evaluate, mentions
from pqc_impact.protocol import Protocol
from pqc_impact.quantity import positive, price, quantity
from pqc_impact.schemes import ImpactScheme


class BlockLimit(ScenarioTable, frozen=True):
    """What a block may have of something: ``block`` in ``unit``, ``reserved`` of it for what is no
    transaction, other limits to try (``given``), and what one ``unit`` costs."""

    name: Text
    unit: Text
    block: Text
    source: Text
    reserved: Text = "0"
    given: tuple[Text, ...] = ()
    price: str = ""

    def __post_init__(self) -> None:
        limits = {"block": [self.room], "given": [room for _, room in self.others]}
        for name, these in limits.items():
            if min(these, default=1) <= 0:
                raise ValueError(f"{name}: must be above what is reserved")
        if self.price:
            _ = self.cost

    @property
    def set_aside(self) -> float:
        """What is reserved, in the unit."""
        if self.reserved == "0":
            return 0.0
        return quantity(self.reserved, self.unit, "reserved").value

    @property
    def room(self) -> float:
        """What transactions of a block may use, in the unit."""
        return positive(self.block, self.unit, "block").value - self.set_aside

    @property
    def others(self) -> list[tuple[str, float]]:
        """The limits to try, as the file has them and as `room`."""
        return [
            (text, positive(text, self.unit, "given").value - self.set_aside) for text in self.given
        ]

    @property
    def cost(self) -> tuple[str, Interval]:
        """The currency, and the price of one unit in it."""
        return price(self.price, self.unit, "price")


class Template(ScenarioForm, frozen=True):
    """A form of transaction: how much of each limit it uses; its signatures.

    ``per_block``: how many a block has, where that is a load and does not follow from limits.
    ``fees``: what it costs beside the prices of limits, by currency; ``assumes``: what its use of
    limits rests on beside the rules, if anything; ``item``: its largest element, for rules;
    ``output``: the script of an output, for states; ``also``: other names that rules may use.
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


class OutputForm(ScenarioTable, frozen=True):
    """How an output is locked and unlocked: the bytes of its script; what unlocks it, as items
    pushed by the input's ``script`` or as items of its ``witness``."""

    name: Text
    output: Text
    source: Text
    script: tuple[Text, ...] = ()
    witness: tuple[Text, ...] = ()
    schemes: tuple[Text, ...] = ()
    note: str = ""

    def __post_init__(self) -> None:
        if bool(self.script) == bool(self.witness):
            raise ValueError("script: either script or witness says what unlocks it")
        check_form("output", self.output)
        check_form("script", *self.script)
        check_form("witness", *self.witness)
        check_schemes("schemes", self.schemes)


class Payment(ScenarioTable, frozen=True):
    """Outputs of a ``form`` spent for others of it."""

    name: Text
    form: Text
    inputs: Positive
    outputs: Positive
    beside: str = ""


class State(ScenarioTable, frozen=True):
    """What every node keeps: so many ``entries``; the bytes of one with a hash of the key, and with
    the key itself."""

    name: Text
    entries: Text
    source: Text
    hash: Text
    key: Text

    @property
    def count(self) -> Interval:
        """How many entries."""
        return positive(self.entries, "", "entries")

    def __post_init__(self) -> None:
        _ = self.count


class Node(ScenarioTable, frozen=True):
    """A node: the numbers of cores to show, its download rate, the implementation of each scheme
    (without one, the fastest default build of the record), the years of archive it first reads,
    the bytes of its ``mempool`` and what a transaction takes of them (``mempool_each``). More
    cores than the record measured need ``extrapolate``."""

    download: Text
    source: Text
    cores: Annotated[tuple[Positive, ...], Meta(min_length=1)] = (1,)
    extrapolate: bool = False
    implementations: dict[Text, Text] = field(default_factory=dict)
    years: Annotated[float, Meta(gt=0)] = 10.0
    mempool: str = ""
    mempool_each: Text = "bytes"

    def __post_init__(self) -> None:
        _ = self.rate
        if self.mempool:
            positive(self.mempool, "B", "mempool")
        check_schemes("implementations", self.implementations)

    @property
    def rate(self) -> Interval:
        """Download, bytes per second."""
        return positive(self.download, "B/s", "download")


class BlockNetwork(ScenarioTable, frozen=True):
    """The network that blocks spread over: ``like`` names one of scenarios/networks or a file
    beside the scenario; so many of its ``nodes`` and ``blocks`` if given. Simulated are blocks of
    these ``templates`` and ``schemes`` (all, if none is named): full ones, and such with
    ``of_today`` times as many transactions as today's. Stale blocks also for other ``intervals``;
    not at all with ``stale = false``, where blocks have slots and are not found.
    """

    like: Text
    templates: Several
    schemes: tuple[Text, ...] = ()
    of_today: Annotated[tuple[Annotated[float, Meta(gt=0)], ...], Meta(min_length=1)] = (1.0,)
    intervals: tuple[Text, ...] = ()
    stale: bool = True
    nodes: Positive | None = None
    blocks: Positive | None = None

    def __post_init__(self) -> None:
        check_schemes("schemes", self.schemes)
        if self.intervals and not self.stale:
            raise ValueError("intervals: are for stale blocks, which `stale = false` leaves out")
        for text in self.intervals:
            positive(text, "s", "intervals")


class Chain(ScenarioFile[Template], frozen=True, kw_only=True):
    """What every scenario of a chain has. ``interval``: from block to block."""

    interval: Text
    interval_source: Text
    node: Node
    limits: tuple[BlockLimit, ...] = ()
    state: tuple[State, ...] = ()
    block_overhead: Text = "0"
    network: BlockNetwork | None = None

    def __post_init__(self) -> None:
        for rows, what in ((self.limits, "limits"), (self.state, "state")):
            check_names(rows, what)
        positive(self.interval, "s", "interval")
        _ = self.overhead
        self._check_uses()
        super().__post_init__()
        for template, scheme in self.pairs():
            found = self.names(scheme, template)
            for text in filter(None, [template.per_block, *template.fees.values()]):
                evaluate(text, found)
            place = "node.mempool_each"
            if not evaluated(place, self.node.mempool_each, found):
                raise ValueError(f"{place}: a transaction ({template.name}) takes none")
            for state in self.state:
                for text in (state.hash, state.key):
                    evaluate(text, found)

    @property
    def overhead(self) -> float:
        """Bytes of a block beside its transactions."""
        if self.block_overhead == "0":
            return 0.0
        return quantity(self.block_overhead, "B", "block_overhead").value

    @property
    def seconds(self) -> Interval:
        """From block to block."""
        return positive(self.interval, "s", "interval")

    def given(
        self, scheme: ImpactScheme, template: Template, extreme: int, found: dict[str, float]
    ) -> dict[str, float]:
        return {
            "signature": scheme.signature_bytes[extreme], "public_key": scheme.public_key_bytes,
            "signatures": float(template.signatures),
        }  # fmt: skip

    def names(self, scheme: ImpactScheme, template: Template, extreme: int = 0) -> dict[str, float]:
        found = super().names(scheme, template, extreme)
        found |= {
            n: evaluate(t, found) for n, t in (("item", template.item), ("output", template.output))
        }
        for name, text in template.use.items():
            found[name] = evaluate(text, found)
        return found

    def _check_uses(self) -> None:
        known = {limit.name for limit in self.limits}
        for name in self.network.templates if self.network else ():
            if name not in self.all_templates:
                raise ValueError(f"network: templates: no template is called {name!r}")
        for template in self.all_templates.values():
            if lost := set(template.use) - known:
                raise ValueError(f"templates: use: no limit is called {min(lost)!r}")


class Utxo(Chain, frozen=True, kw_only=True, tag="utxo"):
    """A chain of outputs in Bitcoin's serialisation: a byte outside the witness uses
    ``witness_scale`` of the limit called weight, one within it 1."""

    forms: Annotated[tuple[OutputForm, ...], Meta(min_length=1)]
    payments: Annotated[tuple[Payment, ...], Meta(min_length=1)]
    witness_scale: Positive = 4

    def __post_init__(self) -> None:
        check_names(self.forms, "forms")
        check_names(self.payments, "payments")
        for payment in self.payments:
            if payment.form not in {form.name for form in self.forms}:
                raise ValueError(f"payments: form: no form is called {payment.form!r}")
        if [limit.name for limit in self.limits] != ["weight"]:
            raise ValueError("limits: this model has one limit, called weight")
        super().__post_init__()

    def templates_of(self) -> tuple[Template, ...]:
        forms = {form.name: form for form in self.forms}
        return tuple(self._template(payment, forms[payment.form]) for payment in self.payments)

    def place(self, template: Template, part: int) -> str:
        forms = [form.name for form in self.forms]
        return f"forms[{forms.index(template.also[0])}]"

    def _template(self, payment: Payment, form: OutputForm) -> Template:
        n, m = payment.inputs, payment.outputs
        items = form.script or form.witness
        pushed = [f"push({item})" if form.script else f"with_length({item})" for item in items]
        carried = {
            holds: " + ".join(item for item in items if _holds(item) == holds) or "0"
            for holds in ("signatures", "keys")
        }
        lengths = f"{' + '.join(pushed)} - ({carried['signatures']}) - ({carried['keys']})"
        if form.script:
            lengths += f" + compact_size({' + '.join(pushed)})"
        else:
            # An empty script; the number of items.
            lengths += f" + 1 + compact_size({len(items)})"
        frame = f"8 + compact_size({n}) + compact_size({m}){' + 2' if form.witness else ''}"
        parts = (
            Part(name="version, counts, lock time", bytes=frame),
            Part(name="inputs", bytes=f"{n} * 40"),
            Part(name="outputs", bytes=f"{m} * (8 + with_length({form.output}))"),
            Part(name="lengths and scripts", bytes=f"{n} * ({lengths})"),
            Part(name="signatures", bytes=f"{n} * ({carried['signatures']})", holds="signatures"),
            Part(name="keys", bytes=f"{n} * ({carried['keys']})", holds="keys"),
        )
        scale = self.witness_scale
        # The marker and flag, and all of the witness, count once; an empty script's length is none
        # of it.
        carried_bytes = f"2 + lengths_and_scripts_bytes - {n} + signatures_bytes + keys_bytes"
        witness = carried_bytes if form.witness else "0"
        weight = f"{scale} * bytes - {scale - 1} * ({witness})"
        return Template(
            name=payment.name, parts=parts, use={"weight": weight}, signatures=n,
            beside=payment.beside, schemes=form.schemes, note=form.note, also=(form.name,),
            item=f"max({', '.join(items)}, 0)", output=form.output,
        )  # fmt: skip


def _holds(item: str) -> Holds:
    if mentions(item, "signature"):
        return "signatures"
    return "keys" if mentions(item, "public_key") else ""


class Account(Chain, frozen=True, kw_only=True, tag="account"):
    """A chain whose forms of transactions, and what they use of its limits, the file gives."""

    templates: Annotated[tuple[Template, ...], Meta(min_length=1)]

    def __post_init__(self) -> None:
        check_names(self.templates, "templates")
        super().__post_init__()

    def templates_of(self) -> tuple[Template, ...]:
        return self.templates


Scenario = Utxo | Account | Protocol


def shipped() -> dict[str, Path]:
    """The scenarios of the source tree by name."""
    return {p.stem: p for p in sorted(SCENARIOS.glob("*.toml"))}


def find_scenario(name: str) -> Path:
    """The file of a scenario: one of the tree by its name, or a path. LabError for an unknown."""
    return file_or_shipped(name, shipped(), "scenario")


def read_scenario(path: Path) -> Scenario:
    """LabError names the file, the line, the place in it and the rule it breaks."""
    return decode_toml(read_text(path), Scenario, str(path))  # type: ignore[arg-type]
