"""The plan of a study, and the inputs of each method in each draw.

Only traces matter for a choice, so that one plan serves all implementations of a parameter set. The
greedy method looks only at how often each check failed. So each draw gives it a fresh pool as large
as the published one, from the distribution of rejections. Measured inputs that failed alike replace
the candidates that it takes. Balanced selections for a percentile get fresh pools of about 10,000
in the same way. Designs, and balanced selections for the mean, look at the whole trace. Their pool
is a quarter of the measured inputs, and four quarters in a row share none. Random inputs are taken
from the random sample, none twice in a draw.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mldsa_lab import LabError
from mldsa_lab.choice import greedy
from mldsa_lab.choice.choice import SelectionRequest
from mldsa_lab.choice.choice import choose as select
from mldsa_lab.theory.rejection import RejectionModel
from mldsa_lab.theory.trace import TraceTable
from mldsa_studies.signers import random_table

MEAN = 0.0
"""The target that is the mean; other targets are percentiles."""
PERCENTILES = (50.0, 95.0, 99.0)
TARGETS = (MEAN, *PERCENTILES)
SIZES = (1, 2, 3, 10, 100)
"""Numbers of inputs that are studied."""
PARTS = 4
"""Disjoint pools that the measured inputs are cut into for our own methods."""
RANDOM, GREEDY, BALANCED, REGRESSION = METHODS = ("random", "greedy", "balanced", "regression")
"""Ways to choose n inputs and to estimate from their costs, from the plainest to ours."""
FOR_ALL = (RANDOM, REGRESSION)
"""Methods whose one choice serves the mean and all percentiles."""
_MANY = 50
POOL = 10_000
"""Candidates of a balanced selection at a percentile: what `mldsa-lab trace` makes by default."""
_EACH = 300  # candidates for each input of a larger one
_PILOTS = 6  # greedy selections of each kind that tell which classes will be wanted
_LAW_TAIL = 1e-7
Positions = NDArray[np.int64]


class Task(NamedTuple):
    """One choice to make."""

    method: str
    n: int
    target: float


@dataclass(frozen=True)
class Plan:
    """How a study draws: ``sizes`` of the choices, ``draws`` of each, the ``pool`` of the greedy
    method, the ``seed`` of all randomness."""

    sizes: tuple[int, ...] = SIZES
    draws: int = 40
    pool: int = greedy.POOL
    seed: int = 1

    def draws_of(self, n: int) -> int:
        """Return the draws of selections of ``n`` inputs: a quarter for large ones, which take long
        to choose and differ little."""
        return self.draws if n < _MANY else max(2, self.draws // 4)

    def check(self, inputs: int) -> None:
        """LabError unless so many measured inputs are enough."""
        if self.draws < 2:
            raise LabError(f"{self.draws} draws: must be at least 2")
        if not self.sizes or min(self.sizes) < 1:
            raise LabError("sizes of selections: must be at least 1")
        most = max(self.sizes)
        if inputs // PARTS < most:
            raise LabError(
                f"selections of {most} inputs: need costs of {PARTS * most} inputs, a pool for "
                f"each of {PARTS} draws; there are {inputs}"
            )
        if self.pool < 3 * most:
            raise LabError(f"greedy selection of {most} inputs: needs a pool of {3 * most}")

    def tasks(self) -> list[Task]:
        """Return all choices, in the order of the table."""
        return [
            Task(method, n, target)
            for n in self.sizes
            for method in METHODS
            for target in ((MEAN,) if method in FOR_ALL else TARGETS)
        ]


class Stock:
    """Inputs at hand by their class: which checks failed first, and how often.

    A method that looks only at classes may take its inputs from a pool of any size. A random
    measured input of the same class replaces one that was not measured.
    """

    def __init__(self, classes: NDArray[np.int64]) -> None:
        """``classes``: (inputs, columns) the class of each input at hand."""
        self.classes, self._class_of_input, self._sizes = np.unique(
            classes, axis=0, return_inverse=True, return_counts=True
        )
        """(classes, columns) all classes at hand, in ascending order."""
        self._members = np.argsort(self._class_of_input.reshape(-1), kind="stable")
        self._starts = np.cumsum(self._sizes) - self._sizes

    def stand_in(self, classes: NDArray[np.int64], rng: np.random.Generator) -> Positions:
        """Inputs of these classes (numbers in `classes`), each drawn anew; none twice as long as
        the class has others."""
        result = np.empty(len(classes), dtype=np.int64)
        for requested in np.unique(classes):
            places = np.flatnonzero(classes == requested)
            start, size = self._starts[requested], self._sizes[requested]
            members = self._members[start : start + size]
            turns = -(-len(places) // size)
            order = np.concatenate([rng.permutation(members) for _ in range(turns)])
            result[places] = order[: len(places)]
        return result


def greedy_classes(
    stock: Stock,
    model: RejectionModel,
    n: int,
    target: float,
    draws: int,
    pool: int,
    rng: np.random.Generator,
) -> Positions:
    """(draws, n) greedy selections as numbers of classes of ``stock``, each from ``pool`` random
    candidates of its classes."""
    rates = (
        greedy.mean_rates(model.name)
        if target == MEAN
        else greedy.percentile_rates(model.name, target)
    )
    z, r, ct0, h = stock.classes.T
    chance = np.where(ct0 == 0, model.class_probability(np.column_stack([z, r, h])), 0.0)
    limits = np.cumsum(chance)
    chosen = np.empty((draws, n), dtype=np.int64)
    for row in chosen:
        members = np.searchsorted(limits, limits[-1] * rng.random(pool), side="right")
        row[:] = members[greedy.select(stock.classes, members, n, rates)]
    return chosen


def wanted_classes(model: RejectionModel, plan: Plan) -> set[tuple[int, ...]]:
    """The classes (`greedy.first_failures`) that the greedy method takes from unlimited pools:
    a study needs inputs of each."""
    law = model.class_table(_LAW_TAIL).counts
    z, r, h = law.T
    stock = Stock(np.column_stack([z, r, np.zeros_like(z), h]))
    rng = np.random.default_rng(plan.seed)
    result: set[tuple[int, ...]] = set()
    for n in plan.sizes:
        for target in TARGETS:
            taken = greedy_classes(stock, model, n, target, _PILOTS, plan.pool, rng)
            result |= set(map(tuple, stock.classes[np.unique(taken)].tolist()))
    return result


def choose(table: TraceTable, sample: int, plan: Plan, task: Task) -> Positions:
    """Make a choice in every draw, from the inputs of these traces, of which the first ``sample``
    are a random sample.

    Returns (draws, n) positions; no draws where too few inputs fit the method. The result depends
    only on the arguments.
    """
    plan.check(sample)
    method, n, target = task
    model = RejectionModel.for_set(table.set)
    draws = plan.draws_of(n)
    rng = np.random.default_rng([plan.seed, METHODS.index(method), n, int(target)])
    rows: list[Positions] = []
    if method == RANDOM:
        rows = [rng.choice(sample, n, replace=False) for _ in range(draws)]
    elif method == GREEDY:
        stock = Stock(greedy.first_failures(table))
        result = greedy_classes(stock, model, n, target, draws, plan.pool, rng)
        rows = [stock.stand_in(classes, rng) for classes in result]
    elif target != MEAN:
        try:
            rows = [_at_percentile(table, model, n, target, rng) for _ in range(draws)]
        except LabError:  # too few at this percentile
            return np.empty((0, n), dtype=np.int64)
    goal = "regression" if method == REGRESSION else "mean"
    while len(rows) < draws:
        for part in np.array_split(rng.permutation(len(table)), PARTS):
            taken = select(table.take(part), "reached", SelectionRequest(goal, n)).positions
            rows.append(part[np.array(taken)])
    return np.array(rows[:draws], dtype=np.int64)


def _at_percentile(
    table: TraceTable, model: RejectionModel, n: int, percentile: float, rng: np.random.Generator
) -> Positions:
    """Return a balanced selection at a percentile from a pool of random candidates.

    Candidates that fail as no measured input does are excluded. Inputs of the same classes replace
    the selected ones.
    """
    stock = Stock(table.counts().astype(np.int64))
    known = {tuple(row): number for number, row in enumerate(stock.classes.tolist())}
    drawn = random_table(model, max(POOL, _EACH * n), rng)
    counts = drawn.counts().astype(np.int64)
    places = np.array([known.get(tuple(row), -1) for row in counts.tolist()])
    pool = np.flatnonzero(places >= 0)
    request = SelectionRequest("percentile", n, percentile)
    result = np.array(select(drawn.take(pool), "reached", request).positions)
    return stock.stand_in(places[pool[result]], rng)
