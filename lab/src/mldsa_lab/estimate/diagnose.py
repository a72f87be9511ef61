"""What in the measurements contradicts the model of a deterministic signer, and why it might.

Each check looks for one fault and says nothing unless the data show it clearly: with few inputs
they often cannot, and the intervals are wide instead.
"""

from __future__ import annotations

import math

import numpy as np

from mldsa_lab.estimate.findings import Data, Finding
from mldsa_lab.estimate.fit import Fit
from mldsa_lab.estimate.follows import drift, ignores_trace
from mldsa_lab.estimate.outliers import outliers, without
from mldsa_lab.estimate.shape import CHECKS, curvature

# Residuals, and noise of a measurement, are remarked upon from this relative size on.
_LACK_OF_FIT = 0.05
_NOISY = 0.1


def diagnose(data: Data) -> tuple[list[Finding], Fit | None]:
    """All findings, the gravest first, and the fit without outliers if there are any."""
    broken = ignores_trace(data)
    found = [*broken, *drift(data)]
    if broken:
        return found, None
    off, rest = outliers(data)
    clean = data if rest is None else without(data, off[0].ids, rest)
    if rest is not None and (curvature(clean) or (off[0].ids[1:] and curvature(data))):
        # It is not single inputs that are off.
        off, rest, clean = [], None, data
    found += off
    for check in CHECKS:
        found += check(clean)
    if not any(f.severity == "warning" for f in found):
        found += _lack_of_fit(clean)
    return [*found, *_remarks(data)], rest


def _lack_of_fit(data: Data) -> list[Finding]:
    fit = data.fit
    relative = (fit.cost - fit.fitted) / np.maximum(fit.fitted, 1e-300)
    size = float(np.sqrt(np.mean(relative**2)))
    seen = fit.typical.seen
    noise = 0.0 if seen is None else seen / math.sqrt(float(fit.typical.repeats.mean()))
    if size < _LACK_OF_FIT or size < 3 * noise:
        return []
    return [
        Finding(
            "lack-of-fit",
            "warning",
            f"the linear model does not hold: residuals of {100 * size:.0f} % about the line, for "
            "which no reason was found",
        )
    ]


def _remarks(data: Data) -> list[Finding]:
    found = []
    seen = data.fit.typical.seen
    if seen is not None and seen > _NOISY:
        found.append(Finding("noise", "note", f"repeats of one input differ by {100 * seen:.0f} %"))
    if len(set(data.attempts)) < 2:
        found.append(
            Finding(
                "one-length",
                "note",
                "all inputs have the same number of attempts: what an attempt costs is taken from "
                "what is known of signers, and so are the other figures as far as they rest on it",
            )
        )
    if not data.fit.counts[:, 2].any():
        found.append(
            Finding(
                "hint-assumed",
                "note",
                "no input fails at the hint: what such an attempt costs, and with it the final "
                "attempt, is taken from what is known of signers",
            )
        )
    if 1 < len(data.ids) < 4 and len(set(data.attempts)) > 1:
        found.append(
            Finding(
                "few-inputs",
                "note",
                f"{len(data.ids)} inputs leave nothing over to judge the fit by: the intervals "
                "rest on what is known of signers and of measurements",
            )
        )
    return found
