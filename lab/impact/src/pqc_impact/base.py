"""Tables that scenarios of chains and of protocols share: forms with their parts, rules of today,
names for expressions."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, ClassVar, Generic, Literal, TypeVar

from msgspec import Meta, Struct, field
from msgspec.structs import force_setattr

from mldsa_lab.estimate.interval import Interval
from mldsa_lab.files import Text, check_unique
from pqc_impact.expression import evaluate
from pqc_impact.quantity import amount
from pqc_impact.schemes import ImpactScheme, lab_name, scheme_of, unknown_parts

SCENARIOS = Path(__file__).parent / "scenarios"
"""The scenarios that ship, with their networks and templates."""
_OWN_NAMES = ("signature", "public_key", "signatures", "bytes", "item", "output")
"""Names of expressions that no file may define."""
EVERY = "*"
"""In a term: every scheme without a formula of its own."""
_OF_SCHEMES = ("schemes", "but", "implementations", "verify")
"""Fields that list schemes, or have a value for each."""

Holds = Literal["", "signatures", "keys", "expanded keys", "other"]
EXPANDED: Holds = "expanded keys"
Several = Annotated[tuple[Text, ...], Meta(min_length=1)]
NotNegative = Annotated[float, Meta(ge=0)]
Load = Annotated[float, Meta(gt=0, lt=1)]


Names = TypeVar("Names", tuple[str, ...], dict[str, Any])


def lab_names(place: str, names: Names, besides: str = "") -> Names:
    """Return a list of schemes, or a table by scheme, with the lab's names for usual ones. Raise
    ValueError, beginning with ``place``, for an unknown scheme, or one that is given twice;
    ``besides``: another name that may be in the table."""
    result: dict[str, Any] = {}
    for name in names:
        renamed = lab_name(name)
        at = f'{place}."{name}"' if isinstance(names, dict) else place
        try:
            if name != besides:
                scheme_of(renamed)
        except ValueError as error:
            raise ValueError(f"{at}: {error}") from None
        if renamed in result:
            raise ValueError(f"{at}: the scheme {renamed} is given twice")
        result[renamed] = names[name] if isinstance(names, dict) else None
    return result if isinstance(names, dict) else tuple(result)


def unknown_schemes(table: Any, place: str = "") -> Iterator[str]:
    """Yield an error with the place of each name of an unknown scheme in the tables of a file."""
    is_list = isinstance(table, list)
    for key, value in enumerate(table) if is_list else table.items():
        inner = f"{place}[{key}]" if is_list else f"{place}.{key}".removeprefix(".")
        lists_schemes = key in _OF_SCHEMES or place in ("by_scheme", "terms")
        if key == "compare" and isinstance(value, str):
            value = [value]
            lists_schemes = True
        if lists_schemes and isinstance(value, list | dict):
            for name in value:
                if not isinstance(name, str) or (place == "terms" and name == EVERY):
                    continue
                for part in unknown_parts(lab_name(name)):
                    yield f"{inner}: scheme {part!r} is unknown"
        elif isinstance(value, list | dict) and value:
            yield from unknown_schemes(value, inner)


class ScenarioTable(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, dict=True):
    """A table of a scenario. Reading it checks the names of schemes, that names are unique, and,
    by computing the properties, every quantity."""

    def __post_init__(self) -> None:
        for name in self.__struct_fields__:
            value = getattr(self, name)
            if name in _OF_SCHEMES:
                force_setattr(self, name, lab_names(name, value))
            elif isinstance(value, tuple) and value and isinstance(value[0], ScenarioTable):
                check_unique((row.name for row in value), name)
        for name in dir(type(self)):
            if isinstance(getattr(type(self), name), property):
                getattr(self, name)


def is_assumed(*texts: str) -> bool:
    """Return whether a source says that it is assumed, or a quantity is a range."""
    return any("assumed" in text or " to " in text for text in texts)


class RuleOfToday(ScenarioTable, frozen=True):
    """A rule of today: at ``most`` so much of the expression ``of``; without it, one that forbids
    the thing altogether. ``only``: the templates or forms that it applies to; ``schemes`` those it
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
        super().__post_init__()
        if bool(self.of) != (self.most is not None):
            raise ValueError("most: of and most are given together")

    def applies(self, scheme: str, names: tuple[str, ...]) -> bool:
        """Return true if it applies to this scheme in a template that has these names."""
        if self.only and not set(self.only) & set(names):
            return False
        return scheme not in self.but and (not self.schemes or scheme in self.schemes)


class Part(ScenarioTable, frozen=True):
    """Bytes of a transaction or message, an expression. They may be signatures, public keys as the
    scheme encodes them or as EIP-8051 expands ML-DSA's, or other bytes that can be pruned.
    ``source``: the text that defines the encoding; ``assumes``: the assumption behind the
    size, if any."""

    name: Text
    bytes: Text
    holds: Holds = ""
    source: str = ""
    assumes: str = ""

    @property
    def identifier(self) -> str:
        """The name that expressions have for it."""
        return "".join(c if c.isalnum() else "_" for c in self.name) + "_bytes"

    @property
    def assumption(self) -> str:
        """The assumption behind its size, "" for none."""
        return self.assumes or (self.source if is_assumed(self.source) else "")


class SigningServer(ScenarioTable, frozen=True):
    """A server that signs requests one by one on one core. ``loads``: shares of its capacity.
    ``limit``: the largest response time of ``percentile`` of requests. ``batches``: sizes of full
    batches that it may sign instead."""

    source: Text
    limit: Text
    loads: Annotated[tuple[Load, ...], Meta(min_length=1)] = (0.3, 0.5, 0.7, 0.9)
    percentile: Annotated[float, Meta(gt=0, lt=100)] = 99.0
    batches: tuple[Annotated[int, Meta(ge=2, le=64)], ...] = ()
    implementations: dict[Text, Text] = field(default_factory=dict)

    seconds: ClassVar[Interval] = amount("limit", "s")
    """The largest response time."""


class ScenarioForm(ScenarioTable, frozen=True):
    """A form of transaction or message: its parts. ``beside``: the form of today's scheme with
    which this one is compared; ``schemes``: those that it is for, if not all."""

    name: Text
    parts: Annotated[tuple[Part, ...], Meta(min_length=1)]
    beside: str = ""
    schemes: tuple[Text, ...] = ()
    note: str = ""

    @property
    def called(self) -> tuple[str, ...]:
        """The names that rules may use for it."""
        return (self.name,)

    @property
    def size_assumption(self) -> str:
        """The assumption that its bytes rest on, "" for none."""
        return "; ".join(dict.fromkeys(part.assumption for part in self.parts if part.assumption))

    @property
    def assumption(self) -> str:
        """The assumption that its figures rest on, "" for none."""
        return self.size_assumption

    @property
    def counts(self) -> Mapping[str, float]:
        """Numbers that its parts may name."""
        return {}

    @property
    def derived(self) -> Mapping[str, str]:
        """Expressions by name that may use the parts."""
        return {}

    @property
    def further(self) -> Mapping[str, str]:
        """Other expressions of it, by their place in its table."""
        return {}


F = TypeVar("F", bound=ScenarioForm)


class ScenarioFile(ScenarioTable, Generic[F], frozen=True, kw_only=True, tag_field="model"):
    """A scenario. ``compare``: the scheme of today. ``numbers`` and, for each scheme,
    ``by_scheme`` are names for expressions."""

    format: Literal["mldsa-lab scenario"]
    version: Literal[1]
    title: Text
    schemes: Several
    compare: Text
    text: str = ""
    rules: tuple[RuleOfToday, ...] = ()
    numbers: dict[str, NotNegative] = field(default_factory=dict)
    by_scheme: dict[str, dict[str, NotNegative]] = field(default_factory=dict)
    server: SigningServer | None = None

    renamed: ClassVar[Mapping[str, str]] = {}
    """The usual names of schemes in the file, with the lab's."""

    def __post_init__(self) -> None:
        pairs = ((name, lab_name(name)) for name in self.schemes)
        self.__dict__["renamed"] = {name: renamed for name, renamed in pairs if name != renamed}
        force_setattr(self, "compare", lab_name(self.compare))
        super().__post_init__()
        places = [(f'by_scheme."{name}"', table) for name, table in self.by_scheme.items()]
        tables = (lab_names(place, table) for place, table in places)
        force_setattr(self, "by_scheme", dict(zip(self.by_scheme, tables, strict=True)))
        for table in ("numbers", "by_scheme"):
            for name in getattr(self, table):
                if name in _OWN_NAMES or not name.isidentifier():
                    place = f'{table}."{name}"'
                    raise ValueError(f"{place}: {name!r} cannot be the name of a number")
        if self.compare not in self.schemes:
            raise ValueError(f"compare: {self.compare!r} must be one of schemes")
        names = {called for form in self.all_templates.values() for called in form.called}
        for form in self.all_templates.values():
            if form.beside and form.beside not in self.all_templates:
                place = self.place(form, "beside")
                raise ValueError(f"{place}: no template is called {form.beside!r}")
        for number, rule in enumerate(self.rules):
            if lost := set(rule.only) - names:
                place = f"rules[{number}].only"
                raise ValueError(f"{place}: no template or form is called {min(lost)!r}")
        for form, scheme in self.pairs():
            result = self.names(scheme, form)
            texts = self.expressions | {self.place(form, n): t for n, t in form.further.items()}
            for number, rule in enumerate(self.rules):
                if rule.applies(scheme.name, form.called):
                    texts |= {f"rules[{number}].of": rule.of}
            for place, text in texts.items():
                if text:
                    evaluate(text, result, place)

    @abstractmethod
    def forms_of(self) -> tuple[F, ...]:
        """Return every form."""

    @cached_property
    def all_templates(self) -> dict[str, F]:
        """The forms by name."""
        return {form.name: form for form in self.forms_of()}

    @property
    def expressions(self) -> dict[str, str]:
        """Expressions outside the forms that each form must have a value for, by place."""
        return {}

    def terms_of(self, scheme: ImpactScheme) -> dict[str, str]:
        """Return names that are defined by expressions, in order."""
        return {}

    def pairs(self) -> Iterator[tuple[F, ImpactScheme]]:
        """Yield every form with each scheme that it is shown for."""
        for form in self.all_templates.values():
            for name in form.schemes or self.schemes:
                if name in self.schemes:
                    yield form, scheme_of(name)

    def today_of(self, form: F) -> tuple[F, ImpactScheme]:
        """Return the form and scheme that this form is compared with."""
        neighbor = self.all_templates[form.beside or form.name]
        own = self.compare in (neighbor.schemes or self.schemes)
        return neighbor, scheme_of(self.compare if own else neighbor.schemes[0])

    def place(self, form: F, key: str) -> str:
        """Return where the file has this key of a form."""
        return f"templates[{[*self.all_templates].index(form.name)}].{key}"

    def names(self, scheme: ImpactScheme, form: F, extreme: int = 0) -> dict[str, float]:
        """Return the names that expressions of a form may use; ``extreme``: as of
        `ImpactScheme.names`."""
        result = {**self.numbers, **scheme.names(extreme), **form.counts}
        for name, table in self.by_scheme.items():
            if scheme.name in table:
                result[name] = table[scheme.name]
        for name, text in self.terms_of(scheme).items():
            result[name] = evaluate(text, result, f"terms: {name}, {scheme.name}")
        for number, part in enumerate(form.parts):
            place = self.place(form, f"parts[{number}].bytes")
            result[part.identifier] = evaluate(part.bytes, result, place)
        result["bytes"] = sum(result[part.identifier] for part in form.parts)
        for name, text in form.derived.items():
            result[name] = evaluate(text, result)
        return result
