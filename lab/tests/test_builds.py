"""Workers in two builds: options, ids and labels, references, tables, findings."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from fake_worker import HELLO
from lab_runs import variant
from msgspec import structs
from report_records import SIGNERS, TUNED, Shape, build, in_both_builds

from mldsa_lab.bench.fleet import Fleet, WorkerHandle, in_runs
from mldsa_lab.bench.options import select
from mldsa_lab.estimate.summary import Summary, summarise
from mldsa_lab.records import Record, Variant
from mldsa_lab.show.operations.findings import find
from mldsa_lab.show.operations.remarks import headline_cells
from mldsa_lab.worker.protocol import JobInput
from mldsa_lab.worker.registry import Build, BuildDirs, WorkerEntry
from mldsa_lab.worker.worker import Limits, WorkerFault

SET = "ML-DSA-65"
SETS = ("ML-DSA-44", SET)
NAMES = ("mldsa-lanes", "mldsa-native", "aws-lc", "circl")
FEW = tuple(s for s in SIGNERS if s.implementation in NAMES)
BUILDS = {"default": Build("plain"), "tuned": Build("quick")}


def worker(  # type: ignore[no-untyped-def]
    folder: Path,
    build: str | None,
    *,
    asked: str = "default",
    backend: str = "avx2",
    more: str = "",
):
    """A worker of two builds that announces `build` and answers with the variant asked of it."""
    line = f"build {build}\n" if build else ""
    hello = HELLO.replace("unit ns", f"{line}unit ns").replace("python", backend)
    hello = hello.replace("end\n", f"{more}end\n")
    path = folder / f"{asked}.py"
    path.write_text(
        "import sys\n"
        "jobs = {}\n"
        "for text in sys.stdin:\n"
        "    key, _, value = text.rstrip().partition(' ')\n"
        f"    if key == 'hello': print({hello!r}, end='')\n"
        "    elif key == 'prepare': job = value\n"
        "    elif key == 'variant': jobs[job] = value\n"
        "    elif key == 'end': print('ready', job)\n"
        "    elif key == 'answer': print('output 0', jobs[value].encode().hex()); "
        "print('done', value)\n"
        "    elif key == 'forget': print('done', value)\n"
        "    elif key == 'quit': break\n"
        "    sys.stdout.flush()\n",
        encoding="utf-8",
    )
    entry = WorkerEntry("fake", "Python", ".", (), (sys.executable, str(path)), builds=BUILDS)
    return WorkerHandle(entry.with_build(asked), BuildDirs(folder, folder), Limits(hello=20))


def test_a_note_during_hello_reaches_the_fleet(tmp_path: Path) -> None:
    handle, notes = worker(tmp_path, "default"), []
    program = tmp_path / "default.py"
    note = "import sys\nprint('note starts slowly', file=sys.stderr, flush=True)\n"
    program.write_text(note + program.read_text(encoding="utf-8"), encoding="utf-8")
    with Fleet() as fleet:
        fleet.on_note = notes.append
        fleet.add(handle)
        fleet.stop()
    assert notes == ["worker fake: starts slowly"]


def test_two_builds_of_a_worker_take_part_side_by_side(tmp_path: Path) -> None:
    with Fleet() as fleet:
        fleet.add(worker(tmp_path, "default"))
        fleet.add(worker(tmp_path, "tuned", asked="tuned"))
        assert [s.name for s in fleet.handles] == ["fake", "fake:tuned"]
        ids = ["fake:avx2:compact", "fake:avx2:compact:tuned"]
        assert list(fleet.variants) == ids
        for name in ids:
            handle = fleet.handle(name)
            single = fleet.variants[name]
            outputs = handle.answer(single, "ML-DSA-44", "sign", [JobInput(0)])
            assert outputs[0].value == b"fake:avx2:compact"  # the name that its worker knows
            shaped = fleet.add_in_runs(in_runs(single, "loop", 100))
            assert shaped.id == f"{name}:loop-100" and shaped.base == name
            assert fleet.handle(shaped.id) is handle
            answer = handle.answer(shaped, "ML-DSA-44", "sign", [JobInput(0)])
            assert answer == outputs
        rows = [handle.row() for handle in fleet.handles]
    assert [(r.worker, r.build) for r in rows] == [("fake", "default"), ("fake:tuned", "tuned")]
    assert [v.id for v in rows[1].variants] == [ids[1], f"{ids[1]}:loop-100"]


@pytest.mark.parametrize(
    ("build", "asked", "said"),
    [
        ("tuned", "default", "the registry's build 'default' announces build 'tuned'"),
        ("default", "tuned", "the registry's build 'tuned' announces build 'default'"),
        (None, "default", "the registry's build 'default' announces no build"),
    ],
)
def test_a_worker_built_otherwise_than_asked_is_a_fault(
    tmp_path: Path, build: str | None, asked: str, said: str
) -> None:
    with Fleet() as fleet, pytest.raises(WorkerFault, match=said):
        fleet.add(worker(tmp_path, build, asked=asked))


def test_ids_are_computed_from_build_and_runs() -> None:
    single = variant("a:b:compact")
    for name, base in (("default", "a:b:compact"), ("tuned", "a:b:compact:tuned")):
        v = structs.replace(single, id=single.id_in(name))
        assert v.names == (base, base, "a:b:compact", "a") and v.build == name
        for shape, runs in ((("batch", 8), "batch-8"), (("loop", 100, 2), "loop-100:threads-2")):
            made = in_runs(v, *shape)
            assert (made.id, made.base, made.build) == (f"{base}:{runs}", base, name)


# --- a record of both builds --------------------------------------------------------------------


@pytest.fixture(scope="module")
def record(tmp_path_factory: pytest.TempPathFactory) -> Record:
    shape = Shape(
        sets=(*SETS, "Ed25519"), signers=in_both_builds(), rounds=6, batch_sizes=(8, 1000)
    )
    return build(tmp_path_factory.mktemp("builds") / "run.jsonl", shape)


def ratio(summary: Summary, variant: str) -> float | None:
    """Signing over that of the reference."""
    return summary.by_id[variant, SET, "sign"].value("ratio")


def variants(record: Record) -> list[Variant]:
    return [v for w in record.workers for v in w.variants if not v.runs]


@pytest.mark.e2e
def test_ratios_are_to_the_default_build_unless_the_other_is_named(tmp_path: Path) -> None:
    record = build(tmp_path / "r.jsonl", Shape(sets=(SET,), signers=in_both_builds(FEW), rounds=6))
    default, tuned = "mldsa-native:native:compact", "mldsa-native:native:compact:tuned"
    for reference in ("mldsa-native", default):
        found = summarise(record, reference=reference)
        assert ratio(found, default) == 1.0
        assert ratio(found, tuned) == pytest.approx(TUNED, rel=0.02)
    found = summarise(record, reference=tuned)
    assert ratio(found, tuned) == 1.0
    assert ratio(found, default) == pytest.approx(1 / TUNED, rel=0.02)


def test_patterns_without_a_build_mean_every_build(record: Record) -> None:
    def chosen(pattern: str) -> list[str]:
        return [v.id for v in select(variants(record), [pattern], [SET])]

    both = ["aws-lc:native:compact", "aws-lc:native:compact:tuned"]
    assert chosen("aws-lc") == both and chosen("aws-lc:native:compact") == both
    assert chosen("aws-lc:native:compact:tuned") == both[1:]
    assert len(chosen("*:tuned")) == len([s for s in SIGNERS if s.worker == "rust"])
    assert chosen("mldsa-lanes:avx2*") == [
        "mldsa-lanes:avx2:compact",
        "mldsa-lanes:avx2+native:compact:tuned",
    ]


def test_what_is_said_of_an_implementation_is_of_its_default_build(record: Record) -> None:
    summary = summarise(record)
    found = find(summary)
    # Every tuned build is a fifth faster than all of this.
    assert "ML-DSA-65 fastest" in found.headline and "tuned" not in found.headline
    assert all("tuned" not in sentence for sentence in found.sentences[:-1])
    for name in SETS:
        for operation in ("sign", "verify"):
            cells = headline_cells(summary, name, operation)
            assert not any(cell.variant.is_tuned for cell in cells)
    compared = [r.variant for c in summary.classical for r in (c.cell, c.against)]
    assert compared and not any(v.is_tuned for v in compared)
