"""What scenarios of every model have: schemes, names for expressions, forms with their parts, rules
of today."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Generic, Literal, TypeVar

from msgspec import Meta, Struct, field

from mldsa_lab.errors import LabError
from mldsa_lab.files import Text
from mldsa_lab.toml import check_unique
from pqc_impact.expression import check_form, evaluate
from pqc_impact.schemes import ImpactScheme, scheme_of

SCENARIOS = Path(__file__).parent / "scenarios"
"""The scenarios that ship, with their networks."""
_OWN_NAMES = ("signature", "public_key", "signatures", "bytes", "item", "output")
"""What expressions have without being given it."""

Holds = Literal["", "signatures", "keys", "expanded keys", "other"]
EXPANDED: Holds = "expanded keys"
Several = Annotated[tuple[Text, ...], Meta(min_length=1)]


class ScenarioTable(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, dict=True):
    """A table of a scenario."""


def check_names(rows: tuple[Any, ...], what: str) -> None:
    """ValueError where two have one name."""
    check_unique((row.name for row in rows), what)


def check_schemes(field: str, names: Iterable[str]) -> None:
    """ValueError for what is no scheme."""
    for name in names:
        try:
            scheme_of(name)
        except ValueError as error:
            raise ValueError(f"{field}: {error}") from None


class ScenarioFault(LabError):
    """What a scenario cannot be computed for, and the ``keys`` in the file to what is at fault."""

    def __init__(self, keys: tuple[str | int, ...], rule: str) -> None:
        super().__init__(rule)
        self.keys = keys


class RuleOfToday(ScenarioTable, frozen=True):
    """A rule of today: ``most`` of what the expression ``of`` gives; without it, one that forbids
    the thing altogether. ``only``: the templates or forms that it is about; ``schemes`` those it
    forbids, ``but`` those it allows."""

    name: Text
    source: Text
    of: str = ""
    most: float | None = None
    unit: Text = "B"
    only: tuple[Text, ...] = ()
    schemes: tuple[Text, ...] = ()
    but: tuple[Text, ...] = ()

    def __post_init__(self) -> None:
        if bool(self.of) != (self.most is not None):
            raise ValueError("most: of and most are given together")
        if self.of:
            check_form("of", self.of)
        check_schemes("schemes", self.schemes)
        check_schemes("but", self.but)

    def about(self, scheme: str, names: tuple[str, ...]) -> bool:
        """Whether it is about this scheme in a template that goes by these names."""
        if self.only and not set(self.only) & set(names):
            return False
        return scheme not in self.but and (not self.schemes or scheme in self.schemes)


class Part(ScenarioTable, frozen=True):
    """Bytes of a transaction, an expression; whether they are signatures, public keys as the
    scheme encodes them or as EIP-8051 expands those of ML-DSA, or something else that nobody needs
    who trusts that it was verified."""

    name: Text
    bytes: Text
    holds: Holds = ""

    def __post_init__(self) -> None:
        check_form("bytes", self.bytes)

    @property
    def identifier(self) -> str:
        """As expressions name it."""
        return "".join(c if c.isalnum() else "_" for c in self.name) + "_bytes"


class ScenarioForm(ScenarioTable, frozen=True):
    """A form of transaction or message: its parts. ``beside``: the form that the scheme of today
    is taken in when this one is compared; ``schemes``: those that it is for, if not all."""

    name: Text
    parts: Annotated[tuple[Part, ...], Meta(min_length=1)]
    beside: str = ""
    schemes: tuple[Text, ...] = ()
    note: str = ""

    @property
    def called(self) -> tuple[str, ...]:
        """The names that rules may use for it."""
        return (self.name,)

    def __post_init__(self) -> None:
        check_names(self.parts, "parts")
        check_schemes("schemes", self.schemes)


F = TypeVar("F", bound=ScenarioForm)


class ScenarioFile(ScenarioTable, Generic[F], frozen=True, kw_only=True, tag_field="model"):
    """What every scenario has. ``compare``: the scheme of today. ``numbers`` and, for each scheme,
    ``by_scheme`` are names for expressions."""

    format: Literal["mldsa-lab scenario"]
    version: Literal[1]
    title: Text
    schemes: Several
    compare: Text
    text: str = ""
    rules: tuple[RuleOfToday, ...] = ()
    numbers: dict[str, float] = field(default_factory=dict)
    by_scheme: dict[str, dict[str, float]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        check_names(self.rules, "rules")
        check_schemes("schemes", self.schemes)
        for name, table in self.by_scheme.items():
            check_schemes(name, table)
        for name in (*self.numbers, *self.by_scheme):
            if name in _OWN_NAMES or not name.isidentifier():
                raise ValueError(f"numbers: {name!r} cannot be the name of a number")
        if self.compare not in self.schemes:
            raise ValueError(f"compare: {self.compare!r} must be one of schemes")
        names = {called for form in self.all_templates.values() for called in form.called}
        for form in self.all_templates.values():
            if form.beside and form.beside not in self.all_templates:
                raise ValueError(f"templates: beside: no template is called {form.beside!r}")
        for rule in self.rules:
            if lost := set(rule.only) - names:
                raise ValueError(f"rules: only: no template or form is called {min(lost)!r}")
        for form, scheme in self.pairs():
            found = self.names(scheme, form)
            for number, rule in enumerate(self.rules):
                if rule.of and rule.about(scheme.name, form.called):
                    evaluated(f"rules[{number}].of", rule.of, found)

    @abstractmethod
    def templates_of(self) -> tuple[F, ...]:
        """Every form."""

    @cached_property
    def all_templates(self) -> dict[str, F]:
        """The forms by name."""
        return {t.name: t for t in self.templates_of()}

    def pairs(self) -> Iterator[tuple[F, ImpactScheme]]:
        """Every form with each scheme that it is shown for."""
        for template in self.all_templates.values():
            for name in template.schemes or self.schemes:
                if name in self.schemes:
                    yield template, scheme_of(name)

    def today_of(self, template: F) -> tuple[F, ImpactScheme]:
        """What a form is compared with: the scheme of today in its own."""
        beside = self.all_templates[template.beside or template.name]
        own = self.compare in (beside.schemes or self.schemes)
        return beside, scheme_of(self.compare if own else beside.schemes[0])

    def place(self, template: F, part: int) -> str:
        """Where the file has this part of a form."""
        number = [*self.all_templates].index(template.name)
        return f"templates[{number}].parts[{part}].bytes"

    @abstractmethod
    def given(
        self, scheme: ImpactScheme, template: F, extreme: int, found: dict[str, float]
    ) -> dict[str, float]:
        """What the parts may name beside ``found``, which the file gives."""

    def names(self, scheme: ImpactScheme, template: F, extreme: int = 0) -> dict[str, float]:
        """What expressions of a form may name, in a scheme; of a signature whose size varies the
        mean, or with ``extreme`` -1 and 1 the usual least and most."""
        found = dict(self.numbers)
        for name, table in self.by_scheme.items():
            if scheme.name in table:
                found[name] = table[scheme.name]
        found |= self.given(scheme, template, extreme, found)
        total = 0.0
        for number, part in enumerate(template.parts):
            found[part.identifier] = evaluated(self.place(template, number), part.bytes, found)
            total += found[part.identifier]
        found["bytes"] = total
        return found


def evaluated(place: str, text: str, found: dict[str, float]) -> float:
    """The value of an expression; the ValueError begins with its ``place`` in the file."""
    try:
        return evaluate(text, found)
    except ValueError as error:
        raise ValueError(f"{place}: {error}") from None
