"""The inputs of a run: of a selection, written out as one, and confirmed by the reference."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from lab_runs import bench, build_rust, here, rust_station
from msgspec.structs import replace
from test_order import drift_correlations
from test_runs import measured

from mldsa_lab import LabError
from mldsa_lab.bench.fleet import Fleet
from mldsa_lab.bench.material import (
    choose_inputs,
    confirm,
    find_oracle,
    input_row,
    plain_inputs,
    subject_of,
)
from mldsa_lab.bench.options import SelectionFile, Sizes, read_selections
from mldsa_lab.choice.choice import ready_path
from mldsa_lab.inputs.input import Input
from mldsa_lab.inputs.selection import Selection
from mldsa_lab.inputs.tracing import load
from mldsa_lab.records import MANY_KEYS, ONE_KEY
from mldsa_lab.theory.trace import TraceTable, parse_trace
from mldsa_lab.worker.cases import flip
from mldsa_lab.worker.examination import Items

LANES = ("--implementations", "mldsa-lanes:portable:compact", "--workers", "rust")
SIZES = Sizes(design=12, random=6, pool=400, message_bytes=40, many_keys=10, one_key=10)


def selection(folder: Path, *options: str) -> Path:
    """A selection of four inputs of ML-DSA-44."""
    ran = here("select", "44", "-n", "4", "--out", str(folder), "--formats", "json", *options)
    assert ran.status == 0, ran.err
    return folder / "selection.json"


@pytest.mark.e2e
def test_a_run_measures_a_selection_and_gives_it_back(tmp_path: Path) -> None:
    build_rust()
    asked = ("--rnd", "given", "--context-bytes", "3", "-n", "500", "--checks", "all")
    assert here("trace", "44", *asked, "--out", str(tmp_path)).status == 0
    path = selection(tmp_path / "in", "--from", str(tmp_path / "ml-dsa-44.parquet"))
    given = Selection.read(path)
    ran = bench(tmp_path / "out", *LANES, "--selection", str(path), "--rounds", "2")
    assert ran.status == 0, ran.err
    record = ran.record
    designed = [i for i in record.inputs if i.role == "design"]
    assert [(i.id, i.seed, i.rnd, i.context) for i in designed] == [
        (i.id, i.seed, i.rnd, i.context) for i in given.inputs
    ]
    assert {i.set for i in record.inputs} == {"ML-DSA-44"}
    for s in record.samples:
        role = "design" if s.operation == "sign" else "random"
        assert set(s.inputs) == {i.id for i in record.inputs if i.role == role}
        assert s.operation != "sign" or list(s.inputs) == list(given.ids)
    assert record.run.options["selections"] == {"ML-DSA-44": "selection.json"}
    assert ran.folder is not None
    from_run = ("--from", str(ran.folder / "record.jsonl"))
    back = here("select", "44", *from_run, "--out", str(tmp_path / "b"))
    assert back.status == 0, back.err
    assert Selection.read(tmp_path / "b" / "selection.json").inputs == given.inputs
    assert {p.suffix for p in (tmp_path / "b").iterdir()} == {".json", ".rsp", ".h", ".hex", ".map"}
    none = here("select", "65", *from_run)
    assert none.status == 2 and "record.jsonl: the record has no inputs of ML-DSA-65" in none.err


def test_what_a_run_cannot_measure_is_named_before_anything_is(tmp_path: Path) -> None:
    ready = str(ready_path("ML-DSA-44", "mean", 2))
    for options, said in (
        (("--sets", "65", "--selection", ready), "is of ML-DSA-44, which is not among the sets"),
        (("--selection", ready, "--selection", ready), f"{ready}: is of ML-DSA-44, as {ready} is"),
        (("--selection", "none.json"), "none.json: cannot read it"),
    ):
        ran = bench(tmp_path / "o", *options, by=here)
        assert (ran.status, ran.folder) == (2, None) and said in ran.err
    compact = json.loads(Path(ready).read_text())
    compact["inputs"][1]["signature_sha256"] = "00" * 32
    wrong = tmp_path / "wrong.json"
    wrong.write_text(json.dumps(compact))
    (given,) = read_selections([wrong]).values()
    with pytest.raises(LabError, match=r"wrong\.json: input 2: wrong signature"):
        choose_inputs(load(), "ML-DSA-44", bytes(32), SIZES, given)
    known = Selection.read(Path(ready))
    bare = [replace(i, seed=None) for i in _inputs(known)]
    wrong.write_text(dataclasses.replace(known, inputs=tuple(bare)).to_json())
    with pytest.raises(LabError, match=r"wrong\.json, input 1: has no xi; workers are handed"):
        read_selections([wrong])


def _inputs(known: Selection) -> tuple[Input, ...]:
    return load().make(known.set, known.inputs)


def test_a_signer_that_cannot_take_an_input_is_named(tmp_path: Path) -> None:
    known = Selection.read(ready_path("ML-DSA-44", "mean", 1))
    (item,) = _inputs(known)
    signer = measured(sets=("ML-DSA-44",), rnd="zero", context=False)
    with_rnd = replace(item, rnd=bytes([1] * 32))
    with_context = replace(item, context=b"c")
    for other, rule in ((with_rnd, "its rnd is not zero"), (with_context, "it has a context")):
        given = SelectionFile(tmp_path / "s.json", dataclasses.replace(known, inputs=(other,)))
        with pytest.raises(LabError, match=rf"s\.json, input 1: {rule}, and {signer.id} takes no"):
            given.check([signer])
        given.check([measured(sets=("ML-DSA-65",), rnd="zero", context=False)])
        given.check([measured(sets=("ML-DSA-44",), rnd="given", context=True)])


def test_inputs_of_a_run_follow_from_its_seed() -> None:
    one, two, other = (
        choose_inputs(load(), "ML-DSA-65", bytes([n] * 32), SIZES, threads=t)
        for n, t in ((1, 1), (1, 2), (2, 1))
    )
    assert one == two and {i.seed for i in one}.isdisjoint({i.seed for i in other})
    assert [i.id for i in one] == list(range(1, 12 + 6 + 20 + 1))
    names = ("design", "random", MANY_KEYS, ONE_KEY)
    roles = {role: [i for i in one if i.role == role] for role in names}
    assert [len(inputs) for inputs in roles.values()] == [12, 6, 10, 10]
    assert len({i.seed for i in roles[ONE_KEY]}) == 1 and len({i.seed for i in one}) == 29
    assert {len(i.message) for i in one} == {40}
    table = TraceTable.from_traces("ML-DSA-65", [i.trace for i in roles["design"]])
    assert abs(drift_correlations(table)).max() < 0.25


def test_the_reference_confirms_or_names_what_differs() -> None:
    build_rust()
    made = _inputs(Selection.read(ready_path("ML-DSA-44", "mean", 2)))
    item, other = made
    with Fleet() as fleet:
        fleet.add(rust_station())
        reference = subject_of(fleet, find_oracle(fleet), "ML-DSA-44")
        confirm(reference, Items("reference", [item, other]))
        wrong: dict[str, Any] = {
            "the public key differs": {"pk": flip(other.pk or b"", -1)},
            "the private key differs": {"sk": flip(other.sk or b"", -1)},
            "the signature differs": {"output": flip(other.output or b"", -1)},
            "trace .*, must be z0 ": {"trace": (*parse_trace(["z0", "ok"])[:1], *other.trace)},
        }
        for what, changed in wrong.items():
            items = Items("reference", [item, replace(other, **changed)])
            with pytest.raises(LabError, match=f"makes something else: .*input 2 .*: {what}"):
                confirm(reference, items)


def test_a_long_message_is_not_written_out() -> None:
    sizes = Sizes(message_bytes=2000, pool=60)
    seed = bytes(range(32))
    items = choose_inputs(load(), "ML-DSA-44", seed, sizes)
    items += plain_inputs("Ed25519", seed, sizes)
    rows = [input_row(item, seed, sizes) for item in items]
    assert {len(row.message) for row in rows} == {0}
    assert [row.whole().message for row in rows] == [item.message for item in items]
    short = dataclasses.replace(sizes, message_bytes=32)
    (row, *_) = [input_row(item, seed, short) for item in plain_inputs("Ed25519", seed, short)]
    assert row.drawn is None and len(row.message) == 32
    strange = msgspec.structs.replace(rows[0], seed=bytes(32))
    with pytest.raises(LabError, match="its seed is not that of what is drawn"):
        strange.whole()
