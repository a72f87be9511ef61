"""How much an order of measuring lets costs follow a drift."""

from __future__ import annotations

import numpy as np

from mldsa_lab.theory.arrays import Array
from mldsa_lab.theory.signers import DESIGN_FIRST
from mldsa_lab.theory.table import TraceTable


def drift_correlations(table: TraceTable) -> Array:
    """(4, 4) correlations of attempts and of 1, n_z and n_r over the cost, for traces in their
    order, with a line and with warm-ups that decay fast to slowly."""
    n, attempts = len(table), table.attempts()
    n_z, n_r, _ = table.counts().T
    cost = DESIGN_FIRST.value + attempts - 1
    decays = [np.exp(-np.arange(n) / (share * n)) for share in (0.05, 0.15, 0.4)]
    rows = np.vstack([attempts, 1 / cost, n_z / cost, n_r / cost, np.arange(n), *decays])
    correlations: Array = np.corrcoef(rows)[:4, 4:]
    return correlations
