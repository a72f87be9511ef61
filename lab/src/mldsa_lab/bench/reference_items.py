"""Gate inputs that the correctness reference makes."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from contextlib import AbstractContextManager

from mldsa_lab.bench.fleet import Fleet, Station
from mldsa_lab.bench.material import (
    GATE_SIZES,
    choose_inputs,
    find_reference,
    make_items_of_gate,
    subject_of,
)
from mldsa_lab.bench.options import REFERENCE
from mldsa_lab.errors import LabError
from mldsa_lab.inputs.library import load
from mldsa_lab.worker.build import build
from mldsa_lab.worker.examination import Items
from mldsa_lab.worker.registry import Place, read_registry
from mldsa_lab.worker.worker import Limits

_SEED = hashlib.sha256(b"mldsa-lab workers conform").digest()


class ReferenceItems(AbstractContextManager["ReferenceItems"]):
    """Makes `Items` of ML-DSA sets by the tree's worker that has the correctness reference.

    The worker is built and started when items are first asked for. ``show`` gets what its build
    says.
    """

    def __init__(self, place: Place, show: Callable[[str], None] = lambda line: None) -> None:
        self._place = place
        self._show = show
        self._fleet = Fleet()
        self._items: dict[str, Items] = {}
        self._broken: str | None = None

    def items(self, set_name: str) -> Items:
        """Return the gate's items of a set. LabError if the reference cannot make them."""
        if self._broken is not None:
            raise LabError(self._broken)
        try:
            if set_name not in self._items:
                self._items[set_name] = self._make(set_name)
        except LabError as error:
            self._broken = f"the correctness reference cannot be asked: {error}"
            raise LabError(self._broken) from None
        return self._items[set_name]

    def _make(self, set_name: str) -> Items:
        if not self._fleet.stations:
            entries = read_registry(self._place.root / "workers" / "registry.toml")
            entry = next(e for e in entries if REFERENCE in e.implementations)
            build(entry, self._place, self._show)
            self._fleet.add(Station(entry, self._place, Limits()))
        library = load(built=self._fleet.stations[0].library)
        judge = subject_of(self._fleet, find_reference(self._fleet), set_name)
        inputs = choose_inputs(library, set_name, _SEED, GATE_SIZES)
        return make_items_of_gate(library, judge, inputs, _SEED)

    def __exit__(self, *error: object) -> None:
        self._fleet.__exit__(None)
