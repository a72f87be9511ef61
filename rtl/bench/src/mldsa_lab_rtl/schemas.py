"""The JSON Schemas of manifests, resources, clock rates and random signatures."""

from __future__ import annotations

from typing import Any

from mldsa_lab.files import schema
from mldsa_lab_rtl.clock_rate import ClockRate
from mldsa_lab_rtl.manifest import CoreFile
from mldsa_lab_rtl.study_files import RandomFile, Round3File
from mldsa_lab_rtl.synth import Resources


def schemas() -> dict[str, dict[str, Any]]:
    """The schemas by the names of their files."""
    return {
        "core.json": schema(CoreFile, "The manifest of a hardware core"),
        "resources.json": schema(Resources, "What a hardware core takes of an FPGA"),
        "clock-rate.json": schema(ClockRate, "The clock rate of a hardware core"),
        "random.json": schema(RandomFile, "Random signatures of hardware cores"),
        "round-3.json": schema(Round3File, "Cycles of hardware cores of round 3"),
    }
