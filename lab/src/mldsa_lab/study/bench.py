"""A step of a study as a run of the bench."""

from __future__ import annotations

from typing import Any

from mldsa_lab.bench.bench import run_bench
from mldsa_lab.bench.material import GATE_SIZES, Sizes
from mldsa_lab.bench.options import DEFAULT_SETS, Options, parse_seed
from mldsa_lab.bench.workloads.jmh import JmhPlan
from mldsa_lab.bench.workloads.pipeline import PipelinePlan
from mldsa_lab.bench.workloads.plan import WorkloadPlan
from mldsa_lab.records.reference import DEFAULT_REFERENCE
from mldsa_lab.screen import Screen
from mldsa_lab.sets import USUAL_OPERATIONS, parse_set_names
from mldsa_lab.study.file import StudyFile
from mldsa_lab.study.run import Step


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
        reference=DEFAULT_REFERENCE,
        seed=parse_seed(step.seed.hex()),
        out=step.folder,
        build=m.build,
        jmh=effort.jmh,
        pipelines=study.pipeline,
        **others,
    )
    kind = PipelinePlan if study.pipeline else JmhPlan if effort.jmh else WorkloadPlan
    return not run_bench(options, screen, lambda record: None, kind).interrupted
