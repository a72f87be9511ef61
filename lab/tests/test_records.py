"""Records: what is written is read back; every broken rule is named with its line."""

from __future__ import annotations

import json
import lzma
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st
from report_records import write
from tiers import first_of

from mldsa_lab import LabError
from mldsa_lab.files import schema
from mldsa_lab.records import (
    SCHEMA,
    BlockContent,
    Check,
    Definition,
    End,
    Fault,
    Gate,
    InputRow,
    Load,
    Record,
    RecordWriter,
    Row,
    Run,
    Samples,
    Skipped,
    Variant,
    WorkerRow,
    read_record,
    to_json,
)

RUN = Run(SCHEMA, "mldsa-lab 0.1.0", "2026-11-21T21:40:00Z", "quick", "00ff", {"rounds": 2}, {})
VARIANT = Variant(
    "a:b:compact", "a", "1", "b", "compact", "ml-dsa", ("ML-DSA-44", "ML-DSA-65"),
    ("keygen", "sign", "verify"), "given", True,
)  # fmt: skip
WORKER = WorkerRow("w", "Rust", "rustc", "-O", "ns", "mono", "thread", (VARIANT,))
INPUT = InputRow("ML-DSA-65", 3, "design", b"\x01" * 32, b"\x02", b"", ("z0r2", "ok"))
SIGN = ("a:b:compact", "ML-DSA-65", "sign")
ROWS: list[Row] = [
    RUN,
    WORKER,
    Skipped("go", "go is not installed"),
    INPUT,
    Gate("a:b:compact", "ML-DSA-65", True, (Check("acvp-keygen", 25, 0, None),)),
    Load(0, 0.25),
    Samples(0, 1, *SIGN, 2, (3, 3), {"wall": (10, 11), "cpu": (9, 9), "stack": (700,)}),
    Samples(0, 2, *SIGN, 1, (), {"wall": (7,)}, shape={"threads": 2}),
    Definition("block", "b", {"uses": 3}),
    Definition("memory", "traffic", {}, "a:b:compact", "ML-DSA-65", "sign", (), "no Valgrind"),
    Fault("a:b:compact", None, "sign", 1, "it ended"),
    End("2026-11-21T21:41:00Z", "complete", 1),
]


PUBLISHED = [
    min(paths, key=lambda path: path.stat().st_size)
    for folder in sorted((Path(__file__).parents[2] / "records").iterdir())
    if (paths := [p for p in folder.glob("*.jsonl.xz") if p.name != "kernels.jsonl.xz"])
]
"""The smallest record of each folder; golden figures are of all."""


def broken(path: Path, change: dict[int, Any]) -> Path:
    """A file of ROWS as JSON objects where line `n` (from 1) is replaced by `change[n]`."""
    lines = []
    for number, row in enumerate(ROWS, start=1):
        value = change.get(number, to_json(row))
        lines.append(value if isinstance(value, str) else json.dumps(value))
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def lines_of(record: Record) -> dict[str, list[Any]]:
    return {
        "run": [record.run], "worker": record.workers, "skipped": record.skipped,
        "input": record.inputs, "gate": record.gates, "definition": record.definitions,
        "samples": record.samples, "fault": record.faults, "load": record.loads,
        "end": [record.end],
    }  # fmt: skip


def test_round_trip(tmp_path: Path) -> None:
    record = read_record(write(tmp_path / "r.jsonl", ROWS))
    kept = [row for rows in lines_of(record).values() for row in rows]
    assert sorted(map(repr, kept)) == sorted(map(repr, ROWS))
    assert not record.is_interrupted
    assert record.variant("a:b:compact") == VARIANT
    assert record.input("ML-DSA-65", 3) == INPUT
    with pytest.raises(LabError, match="unknown variant 'x'"):
        record.variant("x")
    block = record.definition("block")
    assert block is not None and record.definition("pipeline") is None
    with pytest.raises(LabError, match="'b': Object missing required field `verifications`"):
        block.read(BlockContent)


def test_compressed_records(tmp_path: Path) -> None:
    plain = write(tmp_path / "r.jsonl", ROWS)
    packed = tmp_path / "r.jsonl.xz"
    packed.write_bytes(lzma.compress(plain.read_bytes()))
    assert read_record(packed) == read_record(plain)
    packed.write_bytes(packed.read_bytes()[:-9])
    with pytest.raises(LabError, match=r"r\.jsonl\.xz: is not a complete \.xz file"):
        read_record(packed)


@pytest.mark.parametrize("path", first_of(PUBLISHED), ids=lambda p: f"{p.parent.name}/{p.name}")
def test_published_records_are_read_and_written_again_as_they_are(path: Path) -> None:
    record = read_record(path)
    rows = {kind: iter(found) for kind, found in lines_of(record).items()}
    for line in lzma.decompress(path.read_bytes()).splitlines():
        value = json.loads(line)
        again = to_json(next(rows[value["type"]]))
        if value.get("drawn"):  # the reader has put the message in its place
            assert len(again["message"]) == 2 * value.pop("drawn")["bytes"]
            assert not value.pop("message")
            again["message"] = None
        added = [again[name] for name in again.keys() - value.keys()]
        assert again == again | value and not any(added)  # what older schemas lacked
    assert not any(list(rest) for rest in rows.values())


_OF = {"variant": "a:b:compact", "set": "ML-DSA-65"}
OLD: list[dict[str, Any]] = [
    to_json(WORKER),
    to_json(INPUT),
    {"type": "samples", "round": 0, "turn": 1, **_OF, "operation": "sign", "calls": 2,
     "inputs": [3, 3], "wall": [10, 11], "cpu": None},
    {"type": "pipeline", "pipeline": "p", "keys": "shared", "threads": [1], "checks": [],
     "stages": [{"name": "s", **_OF, "operation": "sign", "batch": 0, "message": 0,
                 "signature": 0, "inputs": [3]}]},
    {"type": "chains", "round": 0, "turn": 0, "pipeline": "p", "threads": 1, "elapsed": 9,
     "first": [0], "wall": [8], "cpu": [8], "stages": [[7]]},
    {"type": "block", "block": "b", "verifications": 10, "uses": 1, "message_bytes": 32,
     "stride": 7, "slot_seconds": {"s": 1.0}, "cache_bytes": None, "cold_bytes": None},
    {"type": "verifier", **_OF, "batch": 8, "digest": None, "checks": [], "lacking": "none"},
    {"type": "validation", "round": 1, "turn": 0, **_OF, "batch": 0, "threads": 2, "cold": True,
     "wall": [5], "cpu": [9]},
    {"type": "memory", **_OF, "operation": "sign", "samples": 4, "stack": 5, "heap": 0,
     "allocations": 0, "allocated": 0, "kept": None, "lacking": None},
    {"type": "traffic", **_OF, "operation": "sign", "input": None, "attempts": None,
     "instructions": None, "read": None, "written": None, "first_misses": None,
     "last_misses": None, "lacking": "no"},
]  # fmt: skip


def test_older_records_are_converted(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    first = to_json(RUN) | {"schema": 7}
    path.write_text("".join(json.dumps(line) + "\n" for line in [first, *OLD]))
    with pytest.raises(
        LabError, match=r"line 1: schema version 7: .* lab/scripts/convert_records\.py"
    ):
        read_record(path)
    script = Path(__file__).parents[1] / "scripts" / "convert_records.py"
    subprocess.run([sys.executable, script, path], check=True, capture_output=True)
    record = read_record(path)
    assert record.run.schema == SCHEMA and record.run.tool == "mldsa-lab 0.1.0, schema 7"
    assert [(s.metrics, s.shape) for s in record.samples] == [
        ({"wall": (10, 11)}, {}),
        ({"wall": (8,), "cpu": (8,), "elapsed": (9,)}, {"pipeline": "p", "threads": 1}),
        ({"wall": (5,), "cpu": (9,)}, {"batch": 0, "threads": 2, "caches": "cold"}),
        ({"stack": (5,), "heap": (0,), "allocations": (0,), "allocated": (0,)},
         {"memory": "stack and heap", "samples": 4}),
    ]  # fmt: skip
    assert record.samples[1].phases == {"s": (7,), "between stages": (1,)}
    assert [(d.kind, d.name, d.lacking) for d in record.definitions] == [
        ("pipeline", "p", None), ("block", "b", None), ("verifier", "b", "none"),
        ("memory", "stack and heap", None), ("memory", "traffic", None),
        ("memory", "traffic", "no"),
    ]  # fmt: skip
    assert record.definitions[1].read(BlockContent).stride == 7


def test_rows_fit_the_schema() -> None:
    validator = jsonschema.Draft202012Validator(schema(Row, "One line of a record"))
    for row in ROWS:
        assert not list(validator.iter_errors(to_json(row)))
    assert list(validator.iter_errors(to_json(INPUT) | {"role": "other"}))


def test_the_writer_flushes_every_line_and_never_overwrites(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    with RecordWriter(path) as writer:
        writer.write(RUN)
        assert read_record(path).run == RUN
    with pytest.raises(LabError, match="cannot create it"):
        RecordWriter(path)


def test_the_writer_refuses_what_the_reader_would(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    large = Samples(0, 1, *SIGN, 1, (3,), {"wall": (2**63,)})
    with RecordWriter(path) as writer:
        for row in ROWS[:4]:
            writer.write(row)
        with pytest.raises(LabError, match="<= 9223372036854775807"):
            writer.write(large)
    assert read_record(path).samples == []


@pytest.mark.parametrize(
    ("changes", "left", "lost"),
    [
        ({7: to_json(ROWS[6]) | {"metrics": {"wall": [2**63]}}}, 1, "line 7 was left out: Exp"),
        ({7: "no JSON", 8: "{}"}, 0, "line 7 was left out, with 1 more: must be one JSON"),
        # What refers to its variants goes too.
        ({2: to_json(WORKER) | {"unit": "s"}}, 0, "line 2 was left out, with 5 more: "),
    ],
)
def test_a_lenient_reader_leaves_bad_lines_out(
    tmp_path: Path, changes: dict[int, Any], left: int, lost: str
) -> None:
    path = broken(tmp_path / "r.jsonl", changes)
    with pytest.raises(LabError, match="line"):
        read_record(path)
    record = read_record(path, lenient=True)
    assert len(record.samples) == left and record.end is not None
    (warning,) = record.warnings
    assert lost in warning


OTHER = to_json(ROWS[7]) | {"variant": "other:c:compact"}


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({8: to_json(ROWS[6])}, "line 8: "),
        ({5: to_json(ROWS[4]) | {"variant": "x"}}, "line 5: "),
        # A bad line of samples excuses no unannounced row: only a lost announcement does.
        ({7: to_json(ROWS[6]) | {"calls": 0}, 8: OTHER}, "line 8: variant 'other:c:compact' was"),
        ({7: '{"type":"samples","rou', 8: OTHER}, "line 8: variant 'other:c:compact' was not ann"),
    ],
)
def test_a_lenient_reader_refuses_what_contradicts(
    tmp_path: Path, changes: dict[int, Any], said: str
) -> None:
    with pytest.raises(LabError, match=said):
        read_record(broken(tmp_path / "r.jsonl", changes), lenient=True)


def test_every_prefix_reads_as_interrupted_or_is_not_a_record(tmp_path: Path) -> None:
    """A run can be killed at any byte; what stood before stays readable."""
    data = write(tmp_path / "r.jsonl", ROWS).read_bytes()
    path = tmp_path / "cut.jsonl"
    for size in range(len(data) - 1):
        path.write_bytes(data[:size])
        if b"\n" not in data[: size + 1]:
            with pytest.raises(LabError):
                read_record(path)
            continue
        record = read_record(path)
        is_cut = data[size : size + 1] != b"\n" != data[size - 1 : size]
        assert record.is_interrupted and len(record.warnings) == is_cut
        assert not is_cut or f"line {data[:size].count(bytes([10])) + 1}" in record.warnings[0]
    # Only the newline of the end line is missing.
    path.write_bytes(data[:-1])
    assert read_record(path).end is not None and read_record(path).warnings == []


@pytest.mark.parametrize(
    ("line", "value", "rule"),
    [
        (1, to_json(RUN) | {"schema": SCHEMA + 1}, f"schema version {SCHEMA + 1}: this mldsa-lab"),
        (1, to_json(RUN) | {"schema": "1"}, "line 1, schema: Expected `int`"),
        (1, to_json(WORKER), "the first line must be of type 'run'"),
        (1, "not json", "must be one JSON object"),
        (2, to_json(RUN), "a second run line"),
        (2, to_json(WORKER) | {"unit": "s"}, "Invalid enum value 's' - at `$.unit`"),
        (4, '{"type":"input","set"', "must be one JSON object"),
        (2, to_json(WORKER) | {"build": "tuned"}, "id of its fields, 'a:b:compact:tuned'"),
        (3, to_json(WORKER), "worker 'w' appears twice in the record"),
        (3, {"type": "remark"}, "Invalid value 'remark' - at `$.type`"),
        (4, to_json(INPUT) | {"seed": "ABC"}, "must be bytes in hexadecimal - at `$.seed`"),
        (4, to_json(INPUT) | {"set": "Ed25519"}, "trace must be null for Ed25519"),
        (5, to_json(ROWS[4]) | {"variant": "x:y:z"}, "variant 'x:y:z' was not announced"),
        (5, to_json(ROWS[4]) | {"set": "ML-DSA-87"}, "does not have ML-DSA-87"),
        (7, to_json(ROWS[6]) | {"metrics": {"wall": [10] * 3}}, "wall must have as many entries"),
        (7, to_json(ROWS[6]) | {"metrics": {"cpu": [1]}}, "cpu must have as many entries as wall"),
        (7, to_json(ROWS[6]) | {"phases": {"load": [1]}}, "load must have as many entries"),
        (7, to_json(ROWS[6]) | {"phases": {"load": [10, 12]}}, "phases must add up to wall"),
        (7, to_json(ROWS[6]) | {"inputs": [3, 4]}, "input 4 of ML-DSA-65 was not listed before"),
        (8, to_json(ROWS[6]) | {"turn": 9}, "appear twice, first in line 7; delete one"),
        (10, to_json(ROWS[9]) | {"variant": "x"}, "variant 'x' was not announced"),
        (11, to_json(ROWS[11]), "line 12: nothing may follow the end line"),
    ],
)
def test_broken_rules_are_named(tmp_path: Path, line: int, value: Any, rule: str) -> None:
    path = broken(tmp_path / "r.jsonl", {line: value})
    with pytest.raises(LabError) as caught:
        read_record(path)
    place = "" if rule.startswith("line") else f"line {line}"
    assert rule in str(caught.value) and f"{path}: {place}" in str(caught.value)


def test_files_that_are_no_records(tmp_path: Path) -> None:
    with pytest.raises(LabError, match="cannot read it"):
        read_record(tmp_path / "absent.jsonl")
    empty = tmp_path / "empty.jsonl"
    empty.write_bytes(b"")
    with pytest.raises(LabError, match="it is empty"):
        read_record(empty)


@pytest.fixture(scope="module")
def fuzzed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("fuzz") / "r.jsonl"


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=8,
)


@given(data=st.data())
def test_any_field_of_any_type_reads_or_is_refused(fuzzed: Path, data: st.DataObject) -> None:
    """No value in any field gets past as something else than LabError."""
    number = data.draw(st.integers(1, len(ROWS)))
    value = to_json(ROWS[number - 1])
    value[data.draw(st.sampled_from(list(value)))] = data.draw(json_values)
    try:
        read_record(broken(fuzzed, {number: value}))
    except LabError as error:
        assert "line" in str(error)
