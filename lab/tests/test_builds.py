"""Workers in two builds: options, ids and labels, references, tables, findings."""

from __future__ import annotations

from pathlib import Path

import pytest
from fake_worker import HELLO, fake_worker
from lab_runs import variant
from msgspec import structs
from report_records import CLASSICAL, SIGNERS, TUNED, Shape, build, in_both_builds

from mldsa_lab.bench.fleet import Fleet, WorkerHandle, in_runs
from mldsa_lab.bench.options import select
from mldsa_lab.estimate.summary import Summary, summarise
from mldsa_lab.records import Record, Variant
from mldsa_lab.show.findings import find
from mldsa_lab.show.remarks import headline_cells
from mldsa_lab.worker.protocol import JobInput
from mldsa_lab.worker.registry import Build, BuildDirs, WorkerEntry
from mldsa_lab.worker.worker import Limits, WorkerFault

SET = "ML-DSA-65"
SETS = ("ML-DSA-44", SET)
NAMES = ("mldsa-lanes", "mldsa-native", "aws-lc", "circl")
FEW = tuple(s for s in SIGNERS if s.implementation in NAMES)
BUILDS = {"default": Build("plain"), "tuned": Build("quick")}


# Answers with the variant that it is asked for.
BODY = """
jobs = {}
while True:
    word, *rest = request()
    if word == "hello":
        sys.stderr.write("note starts slowly\\n"); sys.stderr.flush(); say(HELLO)
    elif word == "prepare":
        jobs[rest[0]] = dict(words for words in body if len(words) == 2)["variant"]
        say(f"ready {rest[0]}\\n")
    elif word == "answer": say(f"output 0 {jobs[rest[0]].encode().hex()}\\ndone {rest[0]}\\n")
    elif word == "forget": say(f"done {rest[0]}\\n")
    elif word == "quit": sys.exit(0)
"""


def worker(folder: Path, build: str | None, asked: str = "default") -> WorkerHandle:
    """Return a worker of two builds that announces `build`."""
    line = f"build {build}\n" if build else ""
    hello = HELLO.replace("unit ns", f"{line}unit ns").replace("python", "avx2")
    (folder / asked).mkdir()
    argv = fake_worker(folder / asked, f"HELLO = {hello!r}\n{BODY}")
    entry = WorkerEntry("fake", "Python", ".", (), tuple(argv), builds=BUILDS)
    return WorkerHandle(entry.with_build(asked), BuildDirs(folder, folder), Limits(hello=20))


def test_two_builds_of_a_worker_take_part_side_by_side(tmp_path: Path) -> None:
    notes: list[str] = []
    with Fleet() as fleet:
        fleet.on_note = notes.append
        fleet.add(worker(tmp_path, "default"))
        fleet.add(worker(tmp_path, "tuned", "tuned"))
        assert "worker fake: starts slowly" in notes
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
        fleet.add(worker(tmp_path, build, asked))


def test_ids_are_computed_from_build_and_runs() -> None:
    single = variant("a:b:compact")
    for name, base in (("default", "a:b:compact"), ("tuned", "a:b:compact:tuned")):
        v = structs.replace(single, id=single.id_in(name))
        assert v.names == (base, base, "a:b:compact", "a") and v.build == name
        for shape, runs in ((("batch", 8), "batch-8"), (("loop", 100, 2), "loop-100:threads-2")):
            built = in_runs(v, *shape)
            assert (built.id, built.base, built.build) == (f"{base}:{runs}", base, name)


# --- a record of both builds --------------------------------------------------------------------


@pytest.fixture(scope="module")
def record(tmp_path_factory: pytest.TempPathFactory) -> Record:
    signers = in_both_builds(FEW + CLASSICAL[:2])
    shape = Shape(sets=(*SETS, "Ed25519"), signers=signers, rounds=4, batch_sizes=(8,))
    return build(tmp_path_factory.mktemp("builds") / "run.jsonl", shape)


@pytest.fixture(scope="module")
def summary(record: Record) -> Summary:
    return summarise(record, baseline="mldsa-native")


def ratio(summary: Summary, variant: str) -> float | None:
    """Signing over that of the reference."""
    return summary.by_id[variant, SET, "sign"].value("ratio")


def variants(record: Record) -> list[Variant]:
    return [v for w in record.workers for v in w.variants if not v.runs]


@pytest.mark.e2e
def test_ratios_are_to_the_default_build_unless_the_other_is_named(
    record: Record, summary: Summary
) -> None:
    default, tuned = "mldsa-native:native:compact", "mldsa-native:native:compact:tuned"
    assert ratio(summary, default) == 1.0
    assert ratio(summary, tuned) == pytest.approx(TUNED, rel=0.02)
    result = summarise(record, baseline=tuned)
    assert ratio(result, tuned) == 1.0
    assert ratio(result, default) == pytest.approx(1 / TUNED, rel=0.02)


def test_patterns_without_a_build_mean_every_build(record: Record) -> None:
    def chosen(pattern: str) -> list[str]:
        return [v.id for v in select(variants(record), [pattern], [SET])]

    both = ["aws-lc:native:compact", "aws-lc:native:compact:tuned"]
    assert chosen("aws-lc") == both and chosen("aws-lc:native:compact") == both
    assert chosen("aws-lc:native:compact:tuned") == both[1:]
    assert len(chosen("*:tuned")) == len([s for s in FEW if s.worker == "rust"])
    assert chosen("mldsa-lanes:avx2*") == [
        "mldsa-lanes:avx2:compact",
        "mldsa-lanes:avx2+native:compact:tuned",
    ]


def test_what_is_said_of_an_implementation_is_of_its_default_build(summary: Summary) -> None:
    result = find(summary)
    # Every tuned build is a fifth faster than all of this.
    assert "ML-DSA-65 fastest" in result.headline and "tuned" not in result.headline
    assert all("tuned" not in sentence for sentence in result.sentences[:-1])
    for name in SETS:
        for operation in ("sign", "verify"):
            cells = headline_cells(summary, name, operation)
            assert not any(cell.variant.is_tuned for cell in cells)
    compared = [r.variant for c in summary.classical for r in (c.cell, c.against)]
    assert compared and not any(v.is_tuned for v in compared)
