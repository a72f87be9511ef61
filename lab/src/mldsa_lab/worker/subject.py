"""A variant of a running worker with one of its sets, as what is asked and judged."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import cycle

from msgspec.structs import replace

from mldsa_lab.errors import LabError
from mldsa_lab.implementation import Implementation
from mldsa_lab.inputs.input import Input
from mldsa_lab.sets import SCHEMES, Scheme, SchemeFamily
from mldsa_lab.worker import vectors
from mldsa_lab.worker.protocol import JobInput, Output
from mldsa_lab.worker.request import make_job

Answer = Callable[[Implementation, str, str, Sequence[JobInput]], dict[int, Output]]
"""Returns the outputs of a job of its own, by input number. Takes a variant, a set, an operation
and the inputs."""


@dataclass(frozen=True, slots=True)
class Subject:
    """``answer``: of the worker that runs it. ``private_keys``: the forms that it reads."""

    answer: Answer
    variant: Implementation
    set: str
    private_keys: tuple[str, ...] = ("seed", "sk")

    def __str__(self) -> str:
        return f"{self.variant.id} {self.set}"

    @property
    def scheme(self) -> Scheme:
        """The scheme of its set."""
        return SCHEMES[self.set]

    @property
    def kin(self) -> SchemeFamily:
        """What holds for the family of its set."""
        return self.scheme.kin

    def has(self, operation: str) -> bool:
        """Whether it announces an operation."""
        return operation in self.variant.operations

    def ask(self, operation: str, jobs: Sequence[JobInput]) -> dict[int, Output]:
        """The outputs, by input number. WorkerRefusal or WorkerFault where there are none."""
        return self.answer(self.variant, self.set, operation, jobs)

    def reads(self, item: Input) -> bool:
        """Whether it can start from the item's private key."""
        forms = {"seed": item.seed if "seed" in self.kin.private_keys else None, "sk": item.sk}
        return any(forms[form] is not None for form in self.private_keys)

    def outputs(self, operation: str, items: Sequence[Input]) -> dict[int, Output]:
        """Its outputs of these items; none if it fails on one or cannot be asked."""
        if not self.has(operation):
            return {}
        try:
            found = self.ask(operation, [make_job(item, operation, self.variant) for item in items])
        except LabError:  # its own checks find out why
            return {}
        return found if all(o.failure is None for o in found.values()) else {}


_WITH_VECTORS = ("ml-dsa", "slh-dsa", "ml-kem")
"""Families for which NIST publishes key pairs."""


def make_items(
    drawn: Sequence[Input],
    subjects: Iterable[Subject],
    siblings: Iterable[Subject] = (),
    *,
    published: bool = True,
) -> list[Input]:
    """The items with keys, and signatures or ciphertexts, by the first of these subjects that can
    make them; of what nobody makes, without. ``siblings`` make keys alone.

    Where nobody gives both keys of a pair, they and their seeds are NIST's if these may be
    ``published`` ones. Keys that never leave a worker stay there.
    """
    made = list(drawn)
    scheme = made[0].scheme
    # Who is given its randomness first: its output is everybody's.
    able = sorted(subjects, key=lambda s: not s.variant.deterministic)
    for subject in [*able, *siblings] if scheme.kin.encoded else ():
        if all(m.pk and m.sk for m in made):
            break
        keys = subject.outputs("keygen", made)
        # Keys that do not follow from the seed are taken from one implementation.
        if keys and not any(m.pk for m in made):
            made = [replace(m, pk=keys[m.id].value, sk=keys[m.id].private_key) for m in made]
        elif keys and all(keys[m.id].value == m.pk for m in made):
            made = [replace(m, sk=m.sk or keys[m.id].private_key) for m in made]
    if published and scheme.family in _WITH_VECTORS and not all(m.pk and m.sk for m in made):
        # One pair for each seed, so that items that share a key go on sharing one.
        seeds = dict.fromkeys(m.seed for m in made)
        dealt = dict(zip(seeds, cycle(vectors.known_answers(made[0].set, "keygen")), strict=False))
        pairs = ((m, dealt[m.seed]) for m in made)
        made = [replace(m, seed=c.seed, pk=c.pk, sk=c.sk) for m, c in pairs]
    if scheme.kin.keyed and (all(m.pk for m in made) or not scheme.kin.encoded):
        for subject in able:
            outputs = subject.outputs(scheme.kin.operations[1], made)
            if outputs:
                return [m.with_output(outputs[m.id].value) for m in made]
    return made


def siblings_of(subject: Subject, others: Iterable[Subject]) -> Iterator[Subject]:
    """Those of the same implementation that make keys for one that does not."""
    for other in others if not subject.has("keygen") else ():
        alike = other.variant.implementation == subject.variant.implementation
        if alike and other.has("keygen") and other.set == subject.set:
            yield other
