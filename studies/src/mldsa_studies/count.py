"""Instruction counts of a selection's inputs, as measurements."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from mldsa_lab.errors import LabError
from mldsa_lab.files import write_text
from mldsa_lab.inputs.selection import Selection
from mldsa_lab.worker.protocol import Variant
from mldsa_studies import jobs
from mldsa_studies.callgrind import Counter


def count_selection(
    counter: Counter,
    variant: Variant,
    selection: Selection,
    on_part: Callable[[int], object] = lambda done: None,
) -> NDArray[np.uint64]:
    """Instructions (inputs,) of signing each input of a selection, in its order.

    LabError if a signature is not the expected one, or what the selection expects is not what
    FIPS 204 makes of its inputs.
    """
    signed = jobs.sign(selection.set, [item.what for item in selection.inputs])
    for item, made in zip(selection.inputs, signed.outputs, strict=True):
        if made.digests != item.digests:
            raise LabError(
                f"selection, input {item.id}: its keys and signature do not belong to it"
            )
    return counter.count(variant, signed, on_part)


def write_counts(selection: Selection, counts: NDArray[np.uint64], path: Path) -> None:
    """The counts as a file of measurements: id, cost, unit."""
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(("id", "cost", "unit"))
    for item, cost in zip(selection.inputs, counts, strict=True):
        rows.writerow((item.id, int(cost), "instructions"))
    write_text(path, text.getvalue())
