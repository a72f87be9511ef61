"""Scenarios of a protocol: messages whose bytes the file's own formulas give, beside what they are
signed and verified for."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, field

from mldsa_lab.estimate.interval import Interval
from mldsa_lab.files import Text
from mldsa_lab.sizes import PUBLIC, algorithm_bytes, sizes
from pqc_impact.base import (
    Part,
    ScenarioFile,
    ScenarioForm,
    ScenarioTable,
    check_names,
    check_schemes,
)
from pqc_impact.expression import evaluate
from pqc_impact.quantity import positive
from pqc_impact.schemes import SIGNERS, ImpactScheme, signature_der

EVERY = "*"
"""In a term: every scheme without a formula of its own."""


class MessagePart(Part, frozen=True, kw_only=True):
    """Bytes of a message, and the text that says how they are encoded. ``assumes``: what they rest
    on beside it."""

    source: Text
    assumes: str = ""


class Message(ScenarioForm, frozen=True):
    """What one side sends or stores: how often one is signed and verified, as expressions.
    ``flight``: the bytes that its sender may not wait within, for initial windows."""

    parts: Annotated[tuple[MessagePart, ...], Meta(min_length=1)]
    signed: Text = "0"
    verified: Text = "0"
    flight: str = ""


class Window(ScenarioTable, frozen=True):
    """An initial congestion window: what a sender may send in its first round trip; it doubles with
    each that follows."""

    name: Text
    bytes: Text
    source: Text

    def __post_init__(self) -> None:
        _ = self.size

    @property
    def size(self) -> float:
        """Bytes."""
        return positive(self.bytes, "B", "bytes").value


class MessageLink(ScenarioTable, frozen=True):
    """A way that messages take, and its rate."""

    name: Text
    rate: Text
    source: Text

    def __post_init__(self) -> None:
        _ = self.speed

    @property
    def speed(self) -> Interval:
        """Bytes per second."""
        return positive(self.rate, "B/s", "rate")


class Device(ScenarioTable, frozen=True):
    """A slow core: its clock, and the cycles of a verification by scheme, which count where no
    record in cycles is given. ``hashed``: an expression for bytes that are hashed before, at
    ``hash_cycles`` each byte."""

    name: Text
    clock: Text
    source: Text
    verify: dict[Text, Text] = field(default_factory=dict)
    hashed: str = ""
    hash_cycles: Annotated[float, Meta(ge=0)] = 0.0

    def __post_init__(self) -> None:
        _ = self.hertz
        check_schemes("verify", self.verify)
        for name in self.verify:
            _ = self.cycles(name)

    @property
    def hertz(self) -> Interval:
        """Cycles per second."""
        return positive(self.clock, "Hz", "clock")

    def cycles(self, scheme: str) -> Interval | None:
        """Cycles of a verification, as the file has them."""
        said = self.verify.get(scheme)
        return None if said is None else positive(said, "cycles", "verify")


class Host(ScenarioTable, frozen=True):
    """Who signs and verifies on one core: the implementation of each scheme; without one, the
    fastest default build of the record."""

    implementations: dict[Text, Text] = field(default_factory=dict)

    def __post_init__(self) -> None:
        check_schemes("implementations", self.implementations)


class Protocol(ScenarioFile[Message], frozen=True, kw_only=True, tag="protocol"):
    """A protocol. ``terms``: names for expressions, each of which may use those before it; one that
    differs between schemes is a table by scheme, with ``*`` for the others."""

    templates: Annotated[tuple[Message, ...], Meta(min_length=1)]
    terms: dict[Text, Text | dict[Text, Text]] = field(default_factory=dict)
    windows: tuple[Window, ...] = ()
    links: tuple[MessageLink, ...] = ()
    device: Device | None = None
    host: Host = Host()

    def __post_init__(self) -> None:
        for rows, what in (
            (self.templates, "templates"), (self.windows, "windows"), (self.links, "links"),
        ):  # fmt: skip
            check_names(rows, what)
        for name in self.schemes:
            if name not in SIGNERS:
                raise ValueError(
                    f"schemes: {name!r}: a protocol has its own encoding of signatures: must be "
                    f"one of {', '.join(SIGNERS)}"
                )
        for name, number in self.numbers.items():
            if number < 0:
                raise ValueError(f"numbers: {name} is {number:g}: must be zero or more")
        for name, term in self.terms.items():
            if isinstance(term, dict):
                check_schemes(f"terms: {name}", (scheme for scheme in term if scheme != EVERY))
        super().__post_init__()
        for message, scheme in self.pairs():
            found = self.names(scheme, message)
            hashed = self.device.hashed if self.device else ""
            for text in filter(None, (message.signed, message.verified, message.flight, hashed)):
                evaluate(text, found)

    def templates_of(self) -> tuple[Message, ...]:
        return self.templates

    def given(
        self, scheme: ImpactScheme, template: Message, extreme: int, found: dict[str, float]
    ) -> dict[str, float]:
        known = found | {
            "signature": scheme.signature_bytes[extreme],
            "signature_der": signature_der(scheme.name)[extreme],
            "public_key": scheme.public_key_bytes,
        }
        algorithm = algorithm_bytes(scheme.name)
        if algorithm is not None:
            known["algorithm"] = algorithm
        for size in sizes(scheme.name):
            if (size.object, size.encoding) == (PUBLIC, "SPKI"):
                known["spki"] = size.bytes
        for name, term in self.terms.items():
            text = term if isinstance(term, str) else term.get(scheme.name, term.get(EVERY))
            if text is None:
                continue
            try:
                known[name] = evaluate(text, known)
            except ValueError as error:
                raise ValueError(f"terms: {name}, {scheme.name}: {error}") from None
        return known
