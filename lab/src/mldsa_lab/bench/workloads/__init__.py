"""Kinds of workload, each a module that registers its plan here by the name of the option."""

from __future__ import annotations

from mldsa_lab.bench.workloads.block import BlockPlan
from mldsa_lab.bench.workloads.cold import ColdPlan
from mldsa_lab.bench.workloads.jmh import JmhPlan
from mldsa_lab.bench.workloads.memory import MemoryPlan
from mldsa_lab.bench.workloads.pipeline import PipelinePlan
from mldsa_lab.bench.workloads.plan import WorkloadPlan

PLANS: dict[str, type[WorkloadPlan]] = {
    "operations": WorkloadPlan,
    "block": BlockPlan,
    "cold": ColdPlan,
    "jmh": JmhPlan,
    "memory": MemoryPlan,
    "pipeline": PipelinePlan,
}
"""By `Options.workload`."""
