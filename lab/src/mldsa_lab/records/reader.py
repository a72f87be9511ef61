"""Reading a record strictly: every refusal names the file, the line and the rule broken."""

from __future__ import annotations

import json
import lzma
import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from mldsa_lab.errors import LabError
from mldsa_lab.records.rows import (
    ROLES,
    SCHEMA,
    SCHEMAS,
    Check,
    End,
    Fault,
    Gate,
    InputRow,
    Load,
    Record,
    Row,
    Run,
    Samples,
    Skipped,
    Variant,
    Worker,
)
from mldsa_lab.sets import ALL_SETS, BUILDS, CLASSICAL_SETS, OPERATIONS


class _Line:
    """One JSON object being taken apart; every refusal names the field and the rule."""

    def __init__(self, value: Any, where: str, schema: int = SCHEMA) -> None:
        if not isinstance(value, dict):
            raise LabError(f"{where}: must be a JSON object")
        self.rest: dict[str, Any] = dict(value)
        self.where = where
        self.schema = schema

    def take(self, name: str, rule: str, accept: Callable[[Any], bool]) -> Any:
        if name not in self.rest:
            raise LabError(f"{self.where}: {name!r} is missing")
        value = self.rest.pop(name)
        if not accept(value):
            shown = json.dumps(value)
            shown = shown if len(shown) <= 40 else shown[:37] + "..."
            raise LabError(f"{self.where}: {name!r} must be {rule}, is {shown}")
        return value

    def text(self, name: str) -> str:
        return str(self.take(name, "a text", lambda v: isinstance(v, str)))

    def maybe_text(self, name: str) -> str | None:
        value = self.take(name, "a text or null", lambda v: v is None or isinstance(v, str))
        return None if value is None else str(value)

    def one_of(self, name: str, known: tuple[str, ...], none: bool = False) -> Any:
        rule = "one of " + ", ".join(known) + (" or null" if none else "")
        return self.take(name, rule, lambda v: v in known if isinstance(v, str) else none and not v)

    def many_of(self, name: str, known: tuple[str, ...]) -> tuple[str, ...]:
        rule = "a list of names of " + ", ".join(known)
        good = lambda v: isinstance(v, list) and all(isinstance(x, str) and x in known for x in v)  # noqa: E731
        return tuple(self.take(name, rule, good))

    def boolean(self, name: str) -> bool:
        return bool(self.take(name, "true or false", lambda v: isinstance(v, bool)))

    def number(self, name: str, least: int = 0) -> int:
        rule = f"a whole number of at least {least}"
        return int(self.take(name, rule, lambda v: _whole(v) and v >= least))

    def maybe_number(self, name: str) -> int | None:
        value = self.take(name, "a whole number or null", lambda v: v is None or _whole(v))
        return None if value is None else int(value)

    def numbers(self, name: str) -> tuple[int, ...]:
        rule = "a list of whole numbers"
        good = lambda v: isinstance(v, list) and all(_whole(x) for x in v)  # noqa: E731
        return tuple(self.take(name, rule, good))

    def octets(self, name: str) -> bytes:
        text = self.take(name, "lower-case hexadecimal", lambda v: isinstance(v, str) and _hex(v))
        return bytes.fromhex(text)

    def mapping(self, name: str) -> dict[str, Any]:
        return dict(self.take(name, "a JSON object", lambda v: isinstance(v, dict)))

    def items(self, name: str) -> Iterator[_Line]:
        values = self.take(name, "a list", lambda v: isinstance(v, list))
        for index, value in enumerate(values):
            yield _Line(value, f"{self.where}: {name}[{index}]")

    def done(self) -> None:
        if self.rest:
            raise LabError(f"{self.where}: unknown field {min(self.rest)!r}")


def _whole(value: Any) -> bool:
    """A number of at most 20 digits: what the worker protocol lets through, nothing longer."""
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 10**20


def _hex(text: str) -> bool:
    return len(text) % 2 == 0 and all(c in "0123456789abcdef" for c in text)


_TIMED_OR_OTHER = (*OPERATIONS, "trace", "z_violation")


def _variant(line: _Line) -> Variant:
    variant = Variant(
        id=line.text("id"),
        implementation=line.text("implementation"),
        version=line.text("version"),
        backend=line.text("backend"),
        key=line.one_of("key", ("compact", "expanded")),
        family=line.one_of("family", ("ml-dsa", "classical")),
        sets=line.many_of("sets", ALL_SETS),
        operations=line.many_of("operations", _TIMED_OR_OTHER),
        rnd=line.one_of("rnd", ("given", "zero", "none")),
        context=line.boolean("context"),
        mode=line.one_of("mode", ("single", "batch")),
        batch_size=line.number("batch_size", least=1),
        threads=line.number("threads", least=1),
        note=line.text("note"),
    )
    line.done()
    return variant


def _check(line: _Line) -> Check:
    check = Check(
        line.text("check"),
        line.number("cases"),
        line.number("failed"),
        line.maybe_text("first_failure"),
    )
    line.done()
    if check.failed > check.cases:
        raise LabError(f"{line.where}: 'failed' must not be above 'cases'")
    return check


def _run(line: _Line) -> Run:
    schema = line.take("schema", "a whole number", _whole)
    if schema not in SCHEMAS:
        known = f"{', '.join(map(str, SCHEMAS[:-1]))} and {SCHEMAS[-1]}"
        raise LabError(
            f"{line.where}: schema version {schema} is unknown: this mldsa-lab reads {known}"
        )
    return Run(
        schema,
        line.text("tool"),
        line.text("started"),
        line.text("profile"),
        line.text("seed"),
        line.mapping("options"),
        line.mapping("machine"),
    )


def _worker(line: _Line) -> Worker:
    return Worker(
        worker=line.text("worker"),
        language=line.text("language"),
        compiler=line.text("compiler"),
        flags=line.text("flags"),
        unit=line.one_of("unit", ("ns", "cycles", "instructions")),
        clock=line.text("clock"),
        cpu_clock=line.maybe_text("cpu_clock"),
        build=line.one_of("build", BUILDS, none=True) if line.schema > 2 else None,
        variants=tuple(_variant(item) for item in line.items("variants")),
    )


def _input(line: _Line) -> InputRow:
    rule = "a list of texts or null"
    good = lambda v: v is None or (isinstance(v, list) and all(isinstance(x, str) for x in v))  # noqa: E731
    row = InputRow(
        set=line.one_of("set", ALL_SETS),
        id=line.number("id"),
        role=line.one_of("role", ROLES),
        seed=line.octets("seed"),
        message=line.octets("message"),
        context=line.octets("context"),
        trace=None if (t := line.take("trace", rule, good)) is None else tuple(t),
    )
    if row.trace is not None and row.set in CLASSICAL_SETS:
        raise LabError(f"{line.where}: 'trace' must be null for {row.set}: it has no attempts")
    return row


def _samples(line: _Line) -> Samples:
    row = Samples(
        round=line.number("round"),
        turn=line.number("turn"),
        variant=line.text("variant"),
        set=line.one_of("set", ALL_SETS),
        operation=line.one_of("operation", OPERATIONS),
        calls=line.number("calls", least=1),
        inputs=line.numbers("inputs"),
        wall=line.numbers("wall"),
        cpu=None if line.rest.get("cpu", ...) is None else line.numbers("cpu"),
    )
    line.rest.pop("cpu", None)
    for name, ticks in (("wall", row.wall), ("cpu", row.cpu)):
        if ticks is not None and len(ticks) != len(row.inputs):
            raise LabError(f"{line.where}: {name!r} must have as many entries as 'inputs'")
    return row


def _load(line: _Line) -> Load:
    good = lambda v: v is None or (isinstance(v, (int, float)) and math.isfinite(v) and v >= 0)  # noqa: E731
    return Load(line.number("round"), line.take("load1", "a number or null", good))


_READERS: dict[str, Callable[[_Line], Row]] = {
    "run": _run,
    "worker": _worker,
    "skipped": lambda line: Skipped(line.text("worker"), line.text("reason")),
    "input": _input,
    "gate": lambda line: Gate(
        line.text("variant"),
        line.one_of("set", ALL_SETS),
        line.boolean("passed"),
        tuple(_check(item) for item in line.items("checks")),
    ),
    "samples": _samples,
    "fault": lambda line: Fault(
        line.text("variant"),
        line.one_of("set", ALL_SETS, none=True),
        line.one_of("operation", _TIMED_OR_OTHER, none=True),
        line.maybe_number("round"),
        line.text("reason"),
    ),
    "load": _load,
    "end": lambda line: End(
        line.text("finished"),
        line.one_of("status", ("complete", "interrupted")),
        line.number("rounds"),
    ),
}


class _Order:
    """The rules between lines: what a line may refer to must stand before it."""

    def __init__(self) -> None:
        self.workers: set[str] = set()
        self.variants: dict[str, Variant] = {}
        self.inputs: set[tuple[str, int]] = set()
        self.ended = False

    def check(self, row: Row, where: str) -> None:
        if self.ended:
            raise LabError(f"{where}: nothing may follow the end line")
        match row:
            case Worker():
                if row.worker in self.workers:
                    raise LabError(f"{where}: worker {row.worker!r} stands in the record twice")
                self.workers.add(row.worker)
                for announced in row.variants:
                    if announced.id in self.variants:
                        raise LabError(f"{where}: variant {announced.id!r} stands in it twice")
                    self.variants[announced.id] = announced
            case InputRow():
                if (row.set, row.id) in self.inputs:
                    raise LabError(f"{where}: input {row.id} of {row.set} stands in it twice")
                self.inputs.add((row.set, row.id))
            case Gate() | Samples() | Fault():
                variant = self.variants.get(row.variant)
                if variant is None:
                    raise LabError(f"{where}: variant {row.variant!r} was not announced before")
                if row.set is not None and row.set not in variant.sets:
                    raise LabError(f"{where}: variant {row.variant!r} does not have {row.set}")
                if isinstance(row, Samples):
                    self._check_inputs(row, where)
            case End():
                self.ended = True
            case _:
                pass

    def _check_inputs(self, row: Samples, where: str) -> None:
        for number in row.inputs:
            if (row.set, number) not in self.inputs:
                raise LabError(f"{where}: input {number} of {row.set} was not listed before")


def read_record(path: Path) -> Record:
    """Read and check a whole record.

    A file named `.xz` is decompressed first. LabError names the file, the line and the rule
    broken; a schema version not in `SCHEMAS` is refused. A last line that was
    cut off by an interruption is left out with a warning.
    """
    try:
        data = path.read_bytes()
        if path.suffix == ".xz":
            data = lzma.decompress(data)
    except OSError as error:
        raise LabError(f"record {path}: cannot read it: {error.strerror}") from None
    except lzma.LZMAError as error:
        raise LabError(f"record {path}: is no whole .xz file: {error}") from None
    record: Record | None = None
    order = _Order()
    lines = data.split(b"\n")
    cut_off = lines.pop()  # empty unless the file does not end in a newline
    for number, raw in enumerate([*lines, cut_off] if cut_off else lines, start=1):
        where = f"{path}: line {number}"
        last = cut_off != b"" and number == len(lines) + 1
        try:
            value = json.loads(raw)
        except (ValueError, RecursionError) as error:
            if last and record is not None and not order.ended:
                record.warnings.append(f"{where}: cut off by an interruption, left out")
                break
            raise LabError(f"{where}: must be one JSON object: {error}") from None
        line = _Line(value, where, record.run.schema if record else SCHEMA)
        kind = line.take("type", "a text", lambda v: isinstance(v, str))
        if (record is None) != (kind == "run"):
            rule = "the first line must be of type 'run'" if record is None else "a second run line"
            raise LabError(f"{where}: not an mldsa-lab record: {rule}")
        reader = _READERS.get(kind)
        if reader is None:
            raise LabError(f"{where}: unknown type {kind!r}: known are {', '.join(_READERS)}")
        row = reader(line)
        line.done()
        if isinstance(row, Run):
            record = Record(row)
            continue
        order.check(row, where)
        assert record is not None
        record.add(row)
    if record is None:
        raise LabError(f"{path}: not an mldsa-lab record: it is empty")
    return record
