"""Figures of a server that signs: response times under load, and the load that keeps them within a
limit.

`pqc_impact.queue` has the theory. The distribution of ML-DSA's signing times follows exactly from
its rejections, at the costs of a record's fit. Other schemes sign in a constant time.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from mldsa_lab.estimate.figure import Figure, Key, as_key
from mldsa_lab.estimate.fit import Fit
from mldsa_lab.theory.trace import Array
from pqc_impact.base import SigningServer
from pqc_impact.figures import figure_keys, make_figure
from pqc_impact.queue import ServiceLaw, responses
from pqc_impact.schemes import ImpactScheme
from pqc_impact.times import RecordTimes

_ATOMS = 20_000
_LOADS = (0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.94, 0.97)
"""Utilisations at which the percentile is computed; between them its inverse is interpolated, which
is nearly linear as it goes to 0 at full load. No utilisation above the last is given."""


def signing_law(fit: Fit | None) -> ServiceLaw:
    """Return the law of signing times, of mean 1."""
    if fit is None:
        return ServiceLaw(np.ones(1), np.ones(1))
    shares = (np.arange(_ATOMS) + 0.5) / _ATOMS
    time = fit.law(float(shares[-1])).curve(shares)
    return ServiceLaw(time / time.mean(), np.full(_ATOMS, 1 / _ATOMS))


def server_figures(
    name: str, server: SigningServer, scheme: ImpactScheme, times: RecordTimes
) -> Iterator[Figure]:
    """Yield the figures of a server that signs with a scheme, by single calls and in batches."""
    make = partial(make_figure, figure_keys(name, scheme))
    asked: dict[str, Key] = {"percentile": as_key(server.percentile)}
    single = times.signer(scheme, server.implementations)
    for size in (1, *server.batches):
        result = times.signer(scheme, server.implementations, size)
        keys = {**asked, "batch": size if size > 1 else None}
        response = partial(make, "quantile", unit="s", of="response", **keys)
        loads = {as_key(100 * load): load for load in server.loads}
        if isinstance(result, str) or isinstance(single, str):
            for utilisation in loads:
                yield response(value=None, source=str(result), utilisation=utilisation)
            continue
        law = signing_law(single.fit)
        # In units of the mean time of an operation, by single calls or in a batch.
        whole = law if size == 1 else law.of_batch(size)
        how = "one by one" if size == 1 else f"when {size} wait, at their measured mean time"
        kind = "constant" if single.fit is None else "exact law of rejections at fitted costs"
        source = f"{result.source}; {how}; service times: {kind}; one core, {server.source}"

        timed = {"source": source, "rates": [result]}

        def percentile(load: float, whole: ServiceLaw = whole, size: int = size) -> float:
            return responses(whole, load, size).percentile(server.percentile)

        gain = float(result.draws[0] / single.draws[0])
        for utilisation, load in loads.items():
            # The load is a share of what single calls can do.
            value = percentile(load / gain) / result.draws if load < gain else None
            yield response(value=value, utilisation=utilisation, **timed)
        curve = np.array([percentile(load) for load in _LOADS])
        share = _largest_load(server.seconds.value * result.draws, curve)
        safe = partial(make, within=server.limit, **timed, **keys)
        yield safe("share", share, "", of="core")
        yield safe("per_second", share * result.draws, "1/s", operation="sign")


def _largest_load(limit: Array, curve: Array) -> Array:
    """Return the largest utilisation whose percentile is within the limit (draws,), 0 if none is.
    A batch waits long at a low load, too, so the curve falls before it rises."""
    lowest = int(np.argmin(curve))
    loads = np.interp(-1 / limit, -1 / curve[lowest:], _LOADS[lowest:])
    return np.where(limit < curve[lowest], 0.0, loads)
