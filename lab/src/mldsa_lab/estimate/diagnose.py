"""What in the measurements contradicts the model of a deterministic signer, and why it might.

Each check looks for one fault and says nothing unless the data show it clearly: with few inputs
they often cannot, and the intervals are wide instead.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from mldsa_lab.estimate.drift import drift
from mldsa_lab.estimate.findings import Evidence, Remark, note, warning
from mldsa_lab.estimate.fit import Fit
from mldsa_lab.estimate.follows import ignores_trace
from mldsa_lab.estimate.outliers import outliers
from mldsa_lab.estimate.reader import Measurements
from mldsa_lab.estimate.shape import CHECKS, curvature

# Residuals, and noise of a measurement, are remarked upon from this relative size on.
_LACK_OF_FIT = 0.05
_NOISY = 0.1
# With fewer inputs no single one can be told to be off, and, each measured once, residuals do not
# show the noise; unless they leave no room for more of it than this.
_SHOW_NOISE = 8
_EXACT = 0.005
# With fewer inputs the fit goes through every cost.
_JUDGED = 4
FEW_INPUTS = "few-inputs"
"""The warning that all measurements of one to three inputs have."""
# Probability of a usual signer below which so few inputs are remarked upon.
_UNUSUAL = 0.1


def diagnose(data: Evidence) -> tuple[list[Remark], Evidence | None]:
    """All remarks, the gravest first, and the inputs without outliers if there are any."""
    broken = list(ignores_trace(data))
    if broken:
        return [*broken, *(r for r in drift(data) if r.code == "drift")], None
    off, rest = outliers(data)
    clean = rest or data
    if rest is not None and (any(curvature(clean)) or (off[0].ids[1:] and any(curvature(data)))):
        # It is not single inputs that are off.
        off, rest, clean = [], None, data
    found = [*drift(clean), *off, *_of_model(clean)]
    if not any(remark.severity == "warning" for remark in found):
        found += [*_lack_of_fit(clean)] or _unusual(clean)
    return [*found, *_noise_unknown(data), *_few_inputs(data), *_notes(data)], rest


def contradictions(fit: Fit, ids: tuple[int, ...]) -> list[Remark]:
    """The warnings that the fit of a record's cell deserves, by the costs in the typical round;
    what rounds and single inputs do is in its intervals."""
    costs = fit.cost[None, :]
    data = Evidence(fit, Measurements(ids, (0,), costs, np.zeros_like(costs)))
    found = list(ignores_trace(data)) or _of_model(data)
    warnings = [remark for remark in found if remark.severity == "warning"]
    return warnings or list(_lack_of_fit(data))


def _of_model(data: Evidence) -> list[Remark]:
    return [remark for check in CHECKS for remark in check(data)]


def _lack_of_fit(data: Evidence) -> Iterator[Remark]:
    fit = data.fit
    relative = (fit.cost - fit.fitted) / np.maximum(fit.fitted, 1e-300)
    size = float(np.sqrt(np.mean(relative**2)))
    noise = (data.scatter or 0.0) / math.sqrt(float(fit.typical.repeats.mean()))
    if size > _LACK_OF_FIT and size > 3 * noise:
        advice = ": measure each input several times" if data.scatter is None else ""
        text = f"the linear model leaves residuals of {100 * size:.0f} % for no known reason"
        yield warning("lack-of-fit", text + advice)


def _unusual(data: Evidence) -> Iterator[Remark]:
    if len(data.ids) < _SHOW_NOISE and data.fit.posterior.usual() < _UNUSUAL:
        text = (
            f"no known signer has these costs, and {len(data.ids)} inputs are too few to tell why"
        )
        yield warning("unusual", f"{text}. Measure again, and more inputs")


def _noise_unknown(data: Evidence) -> Iterator[Remark]:
    if data.fit.typical.noise.known or len(data.ids) >= _SHOW_NOISE:
        return
    if data.fit.posterior.error(0.95) > _EXACT:
        yield warning(
            "noise-unknown",
            "the noise of one measurement is unknown; the intervals assume usual noise. Measure "
            "again (column round), or give it: --noise 2 for 2 %, --noise 0 for exact counts",
        )


def _few_inputs(data: Evidence) -> Iterator[Remark]:
    inputs = len(data.ids)
    if inputs < _JUDGED:
        count = f"{inputs} input{'s are' if inputs > 1 else ' is'}"
        text = f"{count} too few to check the fit: curvature, steps or an outlier would not show"
        yield warning(FEW_INPUTS, f"{text}. Measure ten")


def _notes(data: Evidence) -> Iterator[Remark]:
    seen, keys, inputs = data.fit.typical.seen, data.fit.keys, len(data.ids)
    lengths = len(set(data.attempts))
    if seen is not None and seen > _NOISY:
        yield note("noise", f"repeats of one input differ by {100 * seen:.0f} %")
    if lengths < 2:
        yield note("one-length", "all inputs have equally many attempts: their cost is assumed")
    if not data.fit.counts[:, 2].any():
        text = "no input fails at the hint: the cost of such an attempt and of the final one is"
        yield note("hint-assumed", f"{text} assumed from known signers")
    if keys.keys < inputs:
        count = f"{keys.keys} key{'s' if keys.keys > 1 else ''}"
        known = f"{100 * keys.size:.2g} %, as {'seen here' if keys.seen else 'is usual'}"
        text = f"{inputs} inputs have {count}: costs of keys are taken to differ by {known}"
        yield note("few-keys", f"{text}. More keys would narrow the intervals")
