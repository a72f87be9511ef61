"""The JSON that JMH writes of one benchmark in one fork, and the ticks in it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Annotated, Literal, TypeVar

from msgspec import Meta, Struct

from mldsa_lab.errors import LabError
from mldsa_lab.files import Positive, Text, convert, parse_json, read_text

T = TypeVar("T")
One = Annotated[tuple[T, ...], Meta(min_length=1, max_length=1)]
_Above0 = Annotated[float, Meta(gt=0)]


class Primary(Struct, frozen=True, rename="camel"):
    """What was measured: ``raw_data`` has the iterations of each fork."""

    score_unit: Literal["ns/op"]
    raw_data: One[tuple[_Above0, ...]]


class Passes(Struct, frozen=True, rename="camel"):
    """How many passes over the inputs each iteration made, which JMH gives as broken numbers."""

    raw_data: One[tuple[_Above0, ...]]


class Secondary(Struct, frozen=True):
    """The benchmark's own counters."""

    passes: Passes


class JmhResult(Struct, frozen=True, rename="camel"):
    """One entry, as far as it is needed here."""

    jmh_version: Text
    mode: Literal["avgt"]
    threads: Literal[1]
    vm_name: Text
    vm_version: Text
    measurement_iterations: Positive
    primary_metric: Primary
    secondary_metrics: Secondary

    @property
    def machine(self) -> str:
        """The virtual machine, as the Java worker's `compiler` begins."""
        return f"{self.vm_name} {self.vm_version}"

    @property
    def nanoseconds(self) -> tuple[float, ...]:
        """Of an operation, by iteration."""
        return self.primary_metric.raw_data[0]

    @property
    def passes(self) -> tuple[int, ...]:
        """Passes over the inputs, by iteration."""
        return tuple(map(round, self.secondary_metrics.passes.raw_data[0]))


class _File(Struct, frozen=True):
    results: One[JmhResult]


def read_result(path: Path) -> JmhResult:
    """The one result in a file. LabError names the file, the place in it and the rule."""
    (found,) = convert(
        {"results": parse_json(read_text(path), str(path))}, _File, str(path)
    ).results
    for name, values in (
        ("primaryMetric", found.nanoseconds),
        ("secondaryMetrics.passes", found.secondary_metrics.passes.raw_data[0]),
    ):
        if len(values) != found.measurement_iterations:
            raise LabError(
                f"{path}, results[0].{name}.rawData[0]: must have measurementIterations "
                f"({found.measurement_iterations}) entries, has {len(values)}"
            )
    return found


def read_times(path: Path, inputs: int) -> list[tuple[int, ...]]:
    """The ns that each of so many inputs took, a line for each iteration. LabError names the file,
    the line and the rule."""
    found = []
    for number, line in enumerate(read_text(path).splitlines(), 1):
        words = line.split(" ")
        if len(words) != inputs or not all(w.isascii() and w.isdigit() for w in words):
            raise LabError(f"{path}, line {number}: must be {inputs} whole numbers of ns")
        found.append(tuple(map(int, words)))
    return found


def shared_out(result: JmhResult, times: Sequence[Sequence[int]], inputs: int) -> list[list[int]]:
    """For each iteration the ns of all passes by input: JMH's own, in the proportions of ``times``.

    LabError unless there is a line of times for each iteration.
    """
    if len(times) != result.measurement_iterations:
        raise LabError(
            f"{len(times)} lines of times for {result.measurement_iterations} iterations of JMH"
        )
    found = []
    for ns, passes, taken in zip(result.nanoseconds, result.passes, times, strict=True):
        whole, of = ns * inputs * passes, sum(taken)
        parts = taken if of else [1] * inputs
        # Differences of rounded sums: their own sum is the whole.
        ends = [round(whole * (end / (of or inputs))) for end in accumulate(parts)]
        found.append([b - a for a, b in pairwise([0, *ends])])
    return found
