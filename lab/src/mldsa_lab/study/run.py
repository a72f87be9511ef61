"""Running a study: one run of the bench after another; finished runs are kept."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mldsa_lab import LabError
from mldsa_lab.bench.bench import RECORD_NAME, run_bench
from mldsa_lab.bench.jmh import JmhPlan
from mldsa_lab.bench.options import DEFAULT_SETS, GATE_SIZES, Options, Sizes, parse_seed
from mldsa_lab.bench.workload import WorkloadPlan
from mldsa_lab.files import read_text, write_text
from mldsa_lab.kinds.pipeline import PipelinePlan
from mldsa_lab.records import read_record
from mldsa_lab.screen import Screen
from mldsa_lab.sets import DEFAULT_BASELINE, USUAL_OPERATIONS, parse_set_names
from mldsa_lab.study.file import Measure, StudyFile, parse_study

_PROFILE = "# profile "
_WORKER = " --jdk "  # as copies of earlier studies have it
COPY = "study.toml"
"""The study file next to its records, by which a resumed run recognises the study."""


@dataclass(frozen=True)
class Step:
    """One run of the bench: a process of a measure, with messages of one size."""

    folder: Path
    measure: Measure
    message_bytes: int
    process: int
    seed: bytes

    def record(self) -> Path | None:
        """The record of the step where it was measured to its end."""
        for path in sorted(self.folder.glob(f"*/{RECORD_NAME}")):
            with suppress(LabError):  # cut off within its first line
                if not read_record(path).is_interrupted:
                    return path
        return None

    def __str__(self) -> str:
        return f"process {self.process + 1}, messages of {self.message_bytes} bytes"


def steps(study: StudyFile, profile: str, out: Path, seed: str) -> list[Step]:
    """Return all runs in the order to measure: every measure once before any twice.

    Each turn begins with another measure, so that no drift affects only one of them.
    """
    effort = study.amount(profile)
    measures = filter(None, map(effort.narrow, study.measures))
    kinds = [(m, size) for m in measures for size in m.message_bytes]
    listed = []
    for process in range(effort.processes):
        turned = range(process, process + len(kinds))
        for number in (n % len(kinds) for n in turned):
            measure, size = kinds[number]
            own = hashlib.sha256(f"{seed} {number} {process}".encode()).digest()
            folder = out / f"{number + 1:02}-{process + 1:02}"
            listed.append(Step(folder, measure, size, process, own))
    return listed


def begin(path: Path, profile: str, out: Path, added: Sequence[str] = ()) -> str:
    """Take the folder for this study and return its seed. LabError for another study's folder."""
    text = f"{_PROFILE}{''.join([profile, *(_WORKER + text for text in added)])}\n{read_text(path)}"
    copy, seed = out / COPY, out / "seed"
    if copy.exists() and (old := read_text(copy)) != text:
        if any(out.glob(f"*/*/{RECORD_NAME}")) and _measured(text, path) != _measured(old, copy):
            raise LabError(
                f"{out}: holds measurements of another profile, or from before what {path} "
                "measures, or --worker, was changed; --out names another folder"
            )
        write_text(copy, text)
    if copy.exists():
        return read_text(seed).strip()
    if out.exists() and any(out.iterdir()):
        raise LabError(f"{out}: is neither empty nor a study's folder; --out names another")
    out.mkdir(parents=True, exist_ok=True)
    drawn = secrets.token_hex(32)
    write_text(seed, f"{drawn}\n")
    write_text(copy, text)
    return drawn


def _measured(text: str, path: Path) -> tuple[object, ...]:
    """The parts that a study's runs depend on, without comparisons, tables and figures."""
    options = text.partition("\n")[0].removeprefix(_PROFILE)
    study = parse_study(text, path)
    return options, study.measure, study.pipeline, study.amount(options.partition(_WORKER)[0])


def measure(listed: list[Step], run: Callable[[Step], bool]) -> Iterator[tuple[Step, Path]]:
    """Carry out what is not done yet; each step with its record. ``run`` measures one and tells
    whether it came to its end; what was measured before an interrupt stays."""
    for step in listed:
        path = step.record()
        if path is None:
            if not run(step):
                raise KeyboardInterrupt
            path = step.record()
        if path is None:
            raise LabError(f"{step.folder}: the run left no whole record")
        yield step, path


def find_records(folder: Path) -> list[Path]:
    """Return the records in a folder and below it. LabError if there are none."""
    paths = sorted(p for kind in ("*.jsonl", "*.jsonl.xz") for p in folder.rglob(kind))
    if not paths:
        raise LabError(f"{folder}: has no records (*.jsonl, *.jsonl.xz)")
    return paths


# A step of a study as a run of the bench.


def run_step(step: Step, screen: Screen, study: StudyFile, profile: str, **others: Any) -> bool:
    """Measure a step; return whether it came to its end. ``others``: the options of the bench that
    are not in the file."""
    m, effort = step.measure, study.amount(profile)
    options = Options(
        sets=parse_set_names(m.sets or DEFAULT_SETS),
        operations=m.operations or USUAL_OPERATIONS,
        implementations=m.implementations,
        workers=m.workers,
        profile=effort.profile(profile),
        rounds=None,
        sizes=GATE_SIZES if study.pipeline else Sizes(message_bytes=step.message_bytes),
        baseline=DEFAULT_BASELINE,
        seed=parse_seed(step.seed.hex()),
        out=step.folder,
        build=m.build,
        jmh=effort.jmh,
        pipelines=study.pipeline,
        **others,
    )
    kind = PipelinePlan if study.pipeline else JmhPlan if effort.jmh else WorkloadPlan
    return not run_bench(options, screen, lambda record: None, kind).is_interrupted
