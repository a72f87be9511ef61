"""Scenarios of a protocol: messages whose bytes the file's own formulas give, and how often each
message is signed and verified."""

from __future__ import annotations

from typing import Annotated, ClassVar

from msgspec import Meta, field

from mldsa_lab.estimate.interval import Interval
from mldsa_lab.files import Text
from pqc_impact.base import EVERY, NotNegative, ScenarioFile, ScenarioForm, ScenarioTable, lab_names
from pqc_impact.quantity import amount, positive
from pqc_impact.schemes import SIGNERS, ImpactScheme, lab_name


class ProtocolMessage(ScenarioForm, frozen=True):
    """A message that one side sends or stores, with expressions for the times it is signed and
    verified.
    ``flight``: the bytes that its sender may not wait within, for initial windows."""

    signed: Text = "0"
    verified: Text = "0"
    flight: str = ""

    @property
    def further(self) -> dict[str, str]:
        """Expressions by their place in the table."""
        return {"signed": self.signed, "verified": self.verified, "flight": self.flight}


class InitialWindow(ScenarioTable, frozen=True):
    """An initial congestion window: what a sender may send in its first round trip; it doubles with
    each that follows."""

    name: Text
    bytes: Text
    source: Text

    size: ClassVar[Interval] = amount("bytes", "B")
    """Bytes."""


class MessageLink(ScenarioTable, frozen=True):
    """A way that messages take, and its rate."""

    name: Text
    rate: Text
    source: Text

    speed: ClassVar[Interval] = amount("rate", "B/s")
    """Bytes per second."""


class Device(ScenarioTable, frozen=True):
    """A slow core: its clock, and the cycles of a verification by scheme, which count where no
    record in cycles is given. ``hashed``: an expression for bytes that are hashed before, at
    ``hash_cycles`` each byte."""

    name: Text
    clock: Text
    source: Text
    verify: dict[Text, Text] = field(default_factory=dict)
    hashed: str = ""
    hash_cycles: NotNegative = 0.0

    hertz: ClassVar[Interval] = amount("clock", "Hz")
    """Cycles per second."""

    @property
    def cycles(self) -> dict[str, Interval]:
        """Cycles of a verification by scheme."""
        return {name: positive(text, "cycles", "verify") for name, text in self.verify.items()}


class Host(ScenarioTable, frozen=True):
    """The core that signs and verifies: the implementation of each scheme; without one, the
    fastest default build of the record."""

    implementations: dict[Text, Text] = field(default_factory=dict)


class Protocol(ScenarioFile[ProtocolMessage], frozen=True, kw_only=True, tag="protocol"):
    """A protocol. ``terms``: names for expressions, each of which may use those before it. One that
    differs between schemes is a table by scheme, with ``*`` for the others."""

    templates: Annotated[tuple[ProtocolMessage, ...], Meta(min_length=1)]
    terms: dict[Text, Text | dict[Text, Text]] = field(default_factory=dict)
    windows: tuple[InitialWindow, ...] = ()
    links: tuple[MessageLink, ...] = ()
    device: Device | None = None
    host: Host = Host()

    def __post_init__(self) -> None:
        for name in self.schemes:
            if lab_name(name) not in SIGNERS:
                raise ValueError(
                    f"schemes: {name!r}: a protocol has its own encoding of signatures: must be "
                    f"one of {', '.join(SIGNERS)}"
                )
        for name, term in self.terms.items():
            if isinstance(term, dict):
                self.terms[name] = lab_names(f"terms.{name}", term, EVERY)
        super().__post_init__()

    def forms_of(self) -> tuple[ProtocolMessage, ...]:
        return self.templates

    @property
    def expressions(self) -> dict[str, str]:
        """Expressions outside the messages."""
        return {"device.hashed": self.device.hashed} if self.device else {}

    def terms_of(self, scheme: ImpactScheme) -> dict[str, str]:
        texts = {
            name: term if isinstance(term, str) else term.get(scheme.name, term.get(EVERY))
            for name, term in self.terms.items()
        }
        return {name: text for name, text in texts.items() if text is not None}
