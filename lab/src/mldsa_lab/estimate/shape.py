"""Whether the cost is the sum of attempts that the model takes it for."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from mldsa_lab.estimate.findings import CHANCE, SURE, Evidence, Remark, added, note, warning
from mldsa_lab.estimate.posterior import BENT, NO_INDEX, NO_STEPS
from mldsa_lab.theory.arrays import Flags
from mldsa_lab.theory.terms import CONTRAST, LINEAR, MEAN, SLOPE, to_costs
from mldsa_lab.wording import join_words

# Probability that must speak for a kind of model against the others.
_CERTAIN = 0.95
# Of an attempt: what an attempt lacking to a group costs at least if attempts come in groups.
_IN_FULL = 0.5
# Share of the longest input's cost that a curvature must make up.
_BENT = 0.05
# c_r and c_z differ by at most 1.4 in the committed records.
_UNLIKE = 2.0
# How far outside its bounds a signature accepted at once may cost.
_UNDER_BOUND = 0.9
_OVER_BOUND = 1.15


def _index_effects(data: Evidence) -> Iterator[Remark]:
    posterior = data.fit.posterior
    without = float(posterior.weight[posterior.index <= NO_INDEX].sum())
    if len(data.ids) < 5 or without > 1 - _CERTAIN:
        return
    named = _named_terms(data, data.fit.prior.of_index)
    if named:
        text = f"the cost depends on which polynomial fails first: {join_words(named)}"
        yield note("abort-index", f"{text}, in attempts. The estimates include it")


_TERM_TEXTS = {
    "first failing z": "{:+.3f} per polynomial of z before the one that fails",
    "first failing r0, z passed": "{:+.3f} per polynomial of r0 before the one that fails",
    "r0 fails too": "{:+.3f} where r0 fails beside z",
    "first failing r0, z failed": "{:+.3f} per polynomial of r0 before the one that fails beside z",
    "curvature": "{:+.4f} times the square of the number of attempts",
    "pairs": "{:+.2f} for an attempt that an odd number lacks to a pair",
    "fours": "{:+.2f} for each attempt that is lacking to a multiple of four",
    "masks by eight": "{:+.3f} for each mask polynomial that is lacking to a multiple of eight",
}


def _named_terms(data: Evidence, which: Flags) -> list[str]:
    """The terms among ``which`` that are certainly not zero, with their size in attempts."""
    known = data.fit.prior
    attempt = max(float(data.fit.coefficients[SLOPE]), 1e-300)
    found = []
    for place in np.flatnonzero(which):
        row = np.zeros(len(known.names))
        row[place] = 1.0
        low, high = data.sure(row)
        if low > 0 or high < 0:
            size = float(data.fit.coefficients[place]) / attempt
            found.append(_TERM_TEXTS[known.names[place]].format(size))
    return found


def _steps(data: Evidence) -> Iterator[Remark]:
    posterior = data.fit.posterior
    chances = {
        kind: float(posterior.weight[posterior.steps == kind].sum())
        for kind in (NO_STEPS, BENT, "pairs", "fours")
    }
    # A bend is `curvature`'s to find.
    straight = chances.pop(NO_STEPS) + chances.pop(BENT)
    likely, chance = max(chances.items(), key=lambda item: item[1])
    known = data.fit.prior
    named = _named_terms(data, known.of_attempts & (np.array(known.names) != BENT))
    size = float(data.fit.coefficients[known.names.index(likely)])
    if chance > _CERTAIN and size > _IN_FULL * float(data.fit.coefficients[SLOPE]):
        reason = f"attempts computed in {likely}"
    elif straight < 1 - SURE and (named or chance > _CERTAIN):
        reason = "several attempts, or masks, computed at a time"
    else:
        return
    terms = f": {join_words(named)}, in attempts" if named else ""
    text = f"the cost goes up in steps ({reason}){terms}"
    yield warning("steps", f"{text}. Percentiles between steps are the least certain")


def curvature(data: Evidence) -> Iterator[Remark]:
    """Whether a square of the number of attempts explains what a line leaves."""
    attempts = data.attempts
    if len(data.ids) < 8 or len(set(attempts)) < 5:
        return
    fit = data.fit
    scale = 1 / np.sqrt(fit.cost)
    # Abort indexes, as far as they are known, must not be taken for it.
    which = fit.prior.of_index
    cost = fit.cost - fit.values[:, which] @ fit.coefficients[which]
    columns = fit.values[:, [MEAN, SLOPE, CONTRAST]]
    if len(data.ids) >= 12:
        columns = np.hstack([columns, fit.values[:, which]])
    centred = (attempts - attempts.mean()) ** 2
    found = added(columns * scale[:, None], centred * scale, cost * scale)
    if found is None:
        return
    bend = found[1] * float(centred.max())
    longest = float(fit.cost.max())
    if found[0] > CHANCE or abs(bend) < _BENT * longest:
        return
    how = "more" if bend > 0 else "less"
    text = f"each further attempt costs {how} than the one before"
    share = f"the square makes {100 * bend / longest:+.0f} % of the longest input"
    yield warning("curvature", f"{text} ({share}). Percentiles in the tail are uncertain")


def _attempt_costs(data: Evidence) -> Iterator[Remark]:
    """Costs of attempts that no signer has."""
    matrix = np.zeros((4, len(data.fit.coefficients)))
    matrix[:, :LINEAR] = to_costs(data.fit.model)
    _, z, r, _ = matrix
    negative = [name for name, row in (("z", z), ("r0", r)) if data.sure(row)[1] < 0]
    for name in negative:
        text = f"an attempt rejected at {name} seems to cost less than nothing"
        yield warning("negative-attempt", f"{text}: costs and traces do not belong together")
    if negative:
        return
    for costly, cheap, names in ((r, z, ("r0", "z")), (z, r, ("z", "r0"))):
        if data.sure(costly - _UNLIKE * cheap)[0] > 0:
            text = f"an attempt rejected at {names[0]} costs more than {_UNLIKE:.0f} times one"
            known = "up to 1.4 is known. Check that the ids belong to their costs"
            yield warning("unlike-classes", f"{text} rejected at {names[1]}; {known}")


def _setup(data: Evidence) -> Iterator[Remark]:
    known = data.fit.prior
    first = np.zeros(len(data.fit.coefficients))
    first[:LINEAR] = to_costs(data.fit.model)[0]
    slope = np.eye(len(first))[SLOPE]
    attempt = float(data.fit.coefficients[SLOPE])
    if attempt <= 0:
        return  # said of the attempts
    ratio = float(first @ data.fit.coefficients) / attempt
    text = f"a signature accepted at once costs {ratio:.2f} attempts"
    if data.sure(first - _OVER_BOUND * known.first.high * slope)[0] > 0:
        most = f"hashing explains {known.first.high:.2f}"
        yield warning("first-large", f"{text}; {most}. Was more than signing measured?")
    elif data.sure(first - _UNDER_BOUND * known.first.low * slope)[1] < 0:
        least = f"it contains {known.first.low:.0f}"
        yield warning("first-small", f"{text}; {least}. Was something subtracted from the costs?")


CHECKS: tuple[Callable[[Evidence], Iterator[Remark]], ...] = (
    _attempt_costs,
    curvature,
    _steps,
    _setup,
    _index_effects,
)
"""All checks of this kind, the gravest first."""
