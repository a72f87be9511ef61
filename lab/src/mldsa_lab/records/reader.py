"""Reading a record strictly: every refusal names the file, the line and the rule broken."""

from __future__ import annotations

import json
import lzma
from pathlib import Path
from typing import Any, get_args

import msgspec

from mldsa_lab.errors import LabError
from mldsa_lab.files import convert, decode_hook
from mldsa_lab.records.rows import (
    LINES_SINCE,
    SCHEMAS,
    SINCE,
    BlockRow,
    Chains,
    Fault,
    Gate,
    InputRow,
    MemoryRow,
    PipelineRow,
    Record,
    Row,
    Run,
    Samples,
    TrafficRow,
    Validation,
    Variant,
    Verifier,
    WorkerRow,
)

_DECODER = msgspec.json.Decoder(Row, dec_hook=decode_hook)
_TYPES: dict[str, type[Any]] = {str(t.__struct_config__.tag): t for t in get_args(Row)}


def read_record(path: Path) -> Record:
    """Read and check a whole record.

    A file named `.xz` is decompressed first. LabError names the file, the line and the rule
    broken; a schema version not in `SCHEMAS` is refused. A last line that was
    cut off by an interruption is left out with a warning.
    """
    try:
        data = path.read_bytes()
        if path.suffix == ".xz" and data:
            data = lzma.decompress(data)
    except OSError as error:
        raise LabError(f"record {path}: cannot read it: {error.strerror}") from None
    except lzma.LZMAError as error:
        raise LabError(f"record {path}: is not a complete .xz file: {error}") from None
    *lines, cut_off = data.split(b"\n")  # the last is empty unless the file ends in a line's middle
    if cut_off:
        lines.append(cut_off)
    if not lines:
        raise LabError(f"{path}: not an mldsa-lab record: it is empty")
    order = _Order(_first(lines[0], f"{path}: line 1"))
    for number, line in enumerate(lines[1:], start=2):
        where = f"{path}: line {number}"
        try:
            row = _decode(line, where, order.record.run.schema)
        except _NotJson as error:
            if cut_off and number == len(lines) and order.record.end is None:
                order.record.warnings.append(f"{where}: cut off by an interruption, left out")
                break
            raise LabError(str(error)) from None
        order.take(row, where)
    return order.record


class _NotJson(LabError):
    """A line that is not one JSON text."""


def _first(line: bytes, where: str) -> Record:
    """A record that has its first line alone, whose schema is one that is known."""
    value = _parsed(line, where)
    if not isinstance(value, dict) or value.get("type") != "run":
        raise LabError(f"{where}: not an mldsa-lab record: the first line must be of type 'run'")
    schema = value.get("schema")
    if isinstance(schema, int) and schema not in SCHEMAS:
        known = f"{', '.join(map(str, SCHEMAS[:-1]))} and {SCHEMAS[-1]}"
        raise LabError(f"{where}: schema version {schema} is unknown: this mldsa-lab reads {known}")
    run = convert(value, Run, where)
    _check_fields(value, "run", run.schema, where)
    return Record(run)


def _parsed(line: bytes, where: str) -> Any:
    try:
        return json.loads(line)
    except UnicodeDecodeError as error:
        raise _NotJson(f"{where}: byte {error.start} is not UTF-8 text") from None
    except (ValueError, RecursionError) as error:
        raise _NotJson(f"{where}: must be one JSON object: {error}") from None


def _check_fields(value: dict[str, Any], kind: str, schema: int, where: str) -> None:
    """A field that a later schema added must be there from that one on, and not before."""
    for name, since in SINCE[kind].items():
        if schema >= since and name not in value:
            raise LabError(f"{where}: {name} is missing")
        if schema < since and name in value:
            raise LabError(f"{where}: the key {name!r} is unknown in schema {schema}")


def _decode(line: bytes, where: str, schema: int) -> Row:
    """The line as a row; LabError names the field and the rule."""
    try:
        row: Row = _DECODER.decode(line)
        tag = str(row.__struct_config__.tag)
        if schema < LINES_SINCE.get(tag, 0):
            raise LabError(f"{where}: a line of type {tag!r} is unknown in schema {schema}")
        if isinstance(row, WorkerRow | InputRow):
            kind = "worker" if isinstance(row, WorkerRow) else "input"
            _check_fields(_parsed(line, where), kind, schema, where)
        if isinstance(row, Samples):  # of which there are too many to read twice
            there = {name: None for name in SINCE[tag] if f'"{name}"'.encode() in line}
            _check_fields(there, tag, schema, where)
        return row
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        # Again by its own type, for an error that names what that one may hold.
        value = _parsed(line, where)
        if not isinstance(value, dict):
            raise LabError(f"{where}: must be a JSON object") from None
        kind = value.pop("type", None)
        if not isinstance(kind, str) or kind not in _TYPES:
            rule = "type is missing" if kind is None else f"unknown type {kind!r}"
            raise LabError(f"{where}: {rule}: known are {', '.join(_TYPES)}") from None
        convert(value, _TYPES[kind], where)
        raise LabError(f"{where}: {error}") from None


class _Order:
    """The rules between lines: what a line may refer to must stand before it."""

    def __init__(self, record: Record) -> None:
        self.record = record
        self.variants: dict[str, Variant] = {}
        self.inputs: set[tuple[str, int]] = set()

    def take(self, row: Row, where: str) -> None:
        """Add a row to the record; LabError if it breaks a rule."""
        if self.record.end is not None:
            raise LabError(f"{where}: nothing may follow the end line")
        match row:
            case Run():
                raise LabError(f"{where}: not an mldsa-lab record: a second run line")
            case WorkerRow():
                if any(row.worker == other.worker for other in self.record.workers):
                    raise LabError(f"{where}: worker {row.worker!r} appears twice in the record")
                for announced in row.variants:
                    if announced.id in self.variants:
                        raise LabError(f"{where}: variant {announced.id!r} appears twice in it")
                    self.variants[announced.id] = announced
            case InputRow():
                if (row.set, row.id) in self.inputs:
                    raise LabError(f"{where}: input {row.id} of {row.set} appears twice in it")
                self.inputs.add((row.set, row.id))
            case (
                Gate()
                | Samples()
                | MemoryRow()
                | TrafficRow()
                | Verifier()
                | Validation()
                | Fault()
            ):
                variant = self.variants.get(row.variant)
                if variant is None:
                    raise LabError(f"{where}: variant {row.variant!r} was not announced before")
                if row.set is not None and row.set not in variant.sets:
                    raise LabError(f"{where}: variant {row.variant!r} does not have {row.set}")
                if isinstance(row, Samples):
                    self._check_inputs(row.set, row.inputs, where)
                if isinstance(row, TrafficRow) and row.input is not None:
                    self._check_inputs(row.set, (row.input,), where)
                if isinstance(row, Verifier | Validation):
                    self._check_verifier(row, where)
            case BlockRow() if self.record.blocks:
                raise LabError(f"{where}: a record has one block")
            case PipelineRow():
                self._check_pipeline(row, where)
            case Chains():
                self._check_chains(row, where)
            case _:
                pass
        self.record.add(row)

    def _check_pipeline(self, row: PipelineRow, where: str) -> None:
        if any(row.pipeline == other.pipeline for other in self.record.pipelines):
            raise LabError(f"{where}: pipeline {row.pipeline!r} appears twice in the record")
        for stage in row.stages:
            if stage.variant not in self.variants:
                raise LabError(f"{where}: variant {stage.variant!r} was not announced before")
            self._check_inputs(stage.set, stage.inputs, where)
            if len(stage.inputs) != len(row.stages[0].inputs):
                raise LabError(f"{where}: all stages must have as many inputs")

    def _check_verifier(self, row: Verifier | Validation, where: str) -> None:
        of = (row.variant, row.set, row.batch)
        listed = any((v.variant, v.set, v.batch) == of for v in self.record.verifiers)
        name = f"{row.variant} {row.set}, batch {row.batch}"
        if not self.record.blocks:
            raise LabError(f"{where}: no block was listed before")
        if isinstance(row, Verifier) and listed:
            raise LabError(f"{where}: verifier {name} appears twice in the record")
        if isinstance(row, Validation) and not listed:
            raise LabError(f"{where}: verifier {name} was not listed before")

    def _check_chains(self, row: Chains, where: str) -> None:
        of = next((p for p in self.record.pipelines if p.pipeline == row.pipeline), None)
        if of is None:
            raise LabError(f"{where}: pipeline {row.pipeline!r} was not listed before")
        if len(row.stages) != len(of.stages):
            raise LabError(f"{where}: pipeline {row.pipeline!r} has {len(of.stages)} stages")
        if any(first >= len(of.stages[0].inputs) for first in row.first):
            raise LabError(f"{where}: pipeline {row.pipeline!r} has no such record")

    def _check_inputs(self, set_name: str, inputs: tuple[int, ...], where: str) -> None:
        for number in inputs:
            if (set_name, number) not in self.inputs:
                raise LabError(f"{where}: input {number} of {set_name} was not listed before")
