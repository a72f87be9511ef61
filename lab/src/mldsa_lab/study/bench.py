"""A step of a study as a run of the bench."""

from __future__ import annotations

from dataclasses import dataclass

from rich.console import Console

from mldsa_lab.bench.bench import run_bench
from mldsa_lab.bench.material import GATE_SIZES, input_sizes
from mldsa_lab.bench.options import DEFAULT_SETS, Options, parse_seed
from mldsa_lab.bench.workloads.pipeline_file import Pipeline
from mldsa_lab.records.reference import DEFAULT_REFERENCE
from mldsa_lab.screen import Screen
from mldsa_lab.sets import USUAL_OPERATIONS, parse_set_names
from mldsa_lab.study.file import Effort
from mldsa_lab.study.run import Step


@dataclass(frozen=True)
class StudyBench:
    """What the steps of a study have in common."""

    profile: str
    amount: Effort
    clock: str
    confidence: float
    timeout: float
    console: Console
    jdks: tuple[str, ...] = ()
    pipelines: tuple[Pipeline, ...] = ()

    def options(self, step: Step) -> Options:
        """What the bench is asked to do in this step."""
        m = step.measure
        return Options(
            sets=parse_set_names(m.sets or DEFAULT_SETS),
            operations=m.operations or USUAL_OPERATIONS,
            implementations=m.implementations,
            workers=m.workers,
            profile=self.amount.profile(self.profile),
            rounds=None,
            sizes=GATE_SIZES if self.pipelines else input_sizes(step.message_bytes),
            reference=DEFAULT_REFERENCE,
            clock=self.clock,
            confidence=self.confidence,
            seed=parse_seed(step.seed.hex()),
            timeout=self.timeout,
            out=step.folder,
            jdks=self.jdks,
            build=m.build,
            jmh=self.amount.jmh,
            pipelines=self.pipelines,
            workload=self._workload,
        )

    @property
    def _workload(self) -> str:
        if self.pipelines:
            return "pipeline"
        return "operations" if self.amount.jmh is None else "jmh"

    def run(self, step: Step) -> bool:
        """Measure the step; whether it came to its end."""
        outcome = run_bench(self.options(step), Screen(self.console), lambda record: None)
        return not outcome.interrupted
