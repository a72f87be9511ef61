"""Reading a scenario file, as docs/chains.md describes it: everything that is assumed, and the
forms of transactions, from which sizes follow exactly."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from msgspec import Meta

from mldsa_lab import LabError
from mldsa_lab.checkout import file_or_shipped
from mldsa_lab.estimate.figure import mentions
from mldsa_lab.files import (
    Positive,
    Text,
    check_target,
    decode_toml,
    parse_toml,
    read_text,
    write_text,
)
from pqc_impact.base import SCENARIOS, Holds, Part, ScenarioTable, unknown_schemes
from pqc_impact.chain import Chain, Template
from pqc_impact.protocol import Protocol
from pqc_impact.schemes import KNOWN


class OutputForm(ScenarioTable, frozen=True):
    """How an output is locked and unlocked. ``output``: the bytes of its script. The items that
    unlock it are pushed by the input's ``script`` or are items of its ``witness``."""

    name: Text
    output: Text
    source: Text
    script: tuple[Text, ...] = ()
    witness: tuple[Text, ...] = ()
    schemes: tuple[Text, ...] = ()
    note: str = ""

    def __post_init__(self) -> None:
        super().__post_init__()
        if bool(self.script) == bool(self.witness):
            raise ValueError("script: either script or witness says what unlocks it")


class Payment(ScenarioTable, frozen=True):
    """Outputs of a ``form`` spent for others of it."""

    name: Text
    form: Text
    inputs: Positive
    outputs: Positive
    beside: str = ""


class Utxo(Chain, frozen=True, kw_only=True, tag="utxo"):
    """A chain of outputs in Bitcoin's serialisation: a byte outside the witness uses
    ``witness_scale`` of the limit called weight, one within it 1."""

    forms: Annotated[tuple[OutputForm, ...], Meta(min_length=1)]
    payments: Annotated[tuple[Payment, ...], Meta(min_length=1)]
    witness_scale: Positive = 4

    def __post_init__(self) -> None:
        for number, payment in enumerate(self.payments):
            if payment.form not in self.form:
                place = f"payments[{number}].form"
                raise ValueError(f"{place}: no form is called {payment.form!r}")
            if payment.beside and payment.beside not in {p.name for p in self.payments}:
                place = f"payments[{number}].beside"
                raise ValueError(f"{place}: no payment is called {payment.beside!r}")
        if [limit.name for limit in self.limits] != ["weight"]:
            raise ValueError("limits: this model has one limit, called weight")
        weight = self.limits[0]
        if weight.unit == "vB":
            raise ValueError("limits[0].unit: the weight is in WU; a vB is 4 WU")
        quantities = {"block": weight.block, "reserved": weight.reserved, "price": weight.price}
        for key, text in (*quantities.items(), *(("given", text) for text in weight.given)):
            if self.witness_scale != 4 and "vB" in text:
                raise ValueError(
                    f"limits[0].{key}: {text!r}: a vB is 4 WU, which needs witness_scale = 4, not "
                    f"{self.witness_scale}: write it with WU"
                )
        super().__post_init__()

    @property
    def form(self) -> dict[str, OutputForm]:
        """The forms of outputs by name."""
        return {form.name: form for form in self.forms}

    def forms_of(self) -> tuple[Template, ...]:
        return tuple(self._template(payment, self.form[payment.form]) for payment in self.payments)

    def place(self, form: Template, key: str) -> str:
        return f"forms[{list(self.form).index(form.also[0])}]"

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

    def forms_of(self) -> tuple[Template, ...]:
        return self.templates


Scenario = Utxo | Account | Protocol


def shipped() -> dict[str, Path]:
    """Return the scenarios of the source tree by name."""
    return {p.stem: p for p in sorted(SCENARIOS.glob("*.toml"))}


def find_scenario(name: str) -> Path:
    """Return the file of a scenario: one of the tree by its name, or a path. LabError for an
    unknown name."""
    return file_or_shipped(name, shipped(), "scenario")


def read_scenario(path: Path) -> Scenario:
    """Read a scenario. LabError names the file, the place in it and the rule; every unknown scheme
    at once."""
    text, name = read_text(path), str(path)
    if unknown := list(unknown_schemes(parse_toml(text, name))):
        raise LabError(f"{name}, {'; '.join(unknown)}: {KNOWN}")
    return decode_toml(text, Scenario, name)  # type: ignore[arg-type]


def write_template(name: str | None, path: Path) -> None:
    """Write a scenario of one's own to a new file: a template (chain or protocol), or a copy of a
    scenario. LabError for an unknown name, or a file that exists or cannot be written."""
    templates = {p.stem: p for p in sorted((SCENARIOS / "new").glob("*.toml"))}
    text = read_text(file_or_shipped(name or "chain", templates | shipped(), "template"))
    check_target(path)
    if path.suffix != ".toml" or path.exists():
        raise LabError(f"output {path}: must be the name of a new file that ends in .toml")
    write_text(path, text)
