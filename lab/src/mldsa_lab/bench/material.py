"""The inputs of a run and what must come out of them, by the correctness reference.

Candidates are derived from the run's seed and traced by the fastest variant that traces. The
signing inputs are chosen among them by their traces. What is recorded and expected of every
chosen input, its trace included, comes from the reference alone, so a wrong tracer can at most
spoil the choice, never a result.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

from mldsa_lab.bench.fleet import Fleet
from mldsa_lab.choice.balance import balanced
from mldsa_lab.choice.design import design
from mldsa_lab.errors import LabError
from mldsa_lab.inputs.candidates import Candidate, candidates
from mldsa_lab.records import MANY_KEYS, ONE_KEY, InputRow, Variant
from mldsa_lab.sets import PARAMETER_SETS, SEED_BYTES
from mldsa_lab.theory.rejection import RejectionModel
from mldsa_lab.theory.trace import Trace, parse_trace
from mldsa_lab.worker.protocol import JobInput, Output

ZERO_RND = bytes(SEED_BYTES)
REFERENCE = "mldsa-oracle"
"""The implementation that decides what is correct: FIPS 204 transcribed literally."""
TRACER = "mldsa-lanes"
_RUNS_POOL = 4  # candidates for each input of a run
_JOB_BYTES = 1 << 23  # inputs of one tracing request
_KEY_BYTES = 1 << 13  # of one input's keys, about
_FASTEST_LAST = ("portable", "neon", "neon-sha3", "avx2", "avx512", "avx512-vbmi")


@dataclass(frozen=True, slots=True)
class Signed:
    """One input with all that FIPS 204 makes of it (rnd of 32 zero bytes)."""

    id: int
    role: str
    seed: bytes
    message: bytes
    context: bytes
    pk: bytes
    sk: bytes
    signature: bytes
    trace: tuple[str, ...]

    def keygen_input(self) -> JobInput:
        """What key generation is handed."""
        return JobInput(self.id, seed=self.seed)

    def sign_input(self, variant: Variant, rnd: bytes = ZERO_RND) -> JobInput:
        """What this variant's signing is handed; no rnd where it draws its own."""
        return JobInput(
            self.id,
            seed=self.seed,
            sk=self.sk,
            pk=self.pk,
            message=self.message,
            context=self.context,
            rnd=rnd if variant.deterministic else None,
        )

    def verify_input(self, signature: bytes | None = None) -> JobInput:
        """What verification is handed."""
        return JobInput(
            self.id,
            pk=self.pk,
            message=self.message,
            context=self.context,
            signature=self.signature if signature is None else signature,
        )

    def row(self, set_name: str) -> InputRow:
        """Its line in a record."""
        return InputRow(
            set_name, self.id, self.role, self.seed, self.message, self.context, self.trace
        )


@dataclass(frozen=True, slots=True)
class Sizes:
    """How many inputs of each kind, and how long their messages are in bytes.

    `many_keys` and `one_key` are the inputs that runs take in turn.
    """

    design: int
    random: int
    pool: int
    message_bytes: int
    many_keys: int = 0
    one_key: int = 0


class Reference:
    """The correctness reference as a service: keys, signatures, traces, verdicts."""

    def __init__(self, fleet: Fleet) -> None:
        """Takes the reference from the fleet's workers; LabError if none has it."""
        found = [v for v in fleet.variants.values() if v.implementation == REFERENCE]
        if not found:
            raise LabError(f"no worker has the correctness reference {REFERENCE}")
        self.variant = found[0]
        self._fleet = fleet

    def outputs(
        self, set_name: str, operation: str, inputs: Sequence[JobInput]
    ) -> dict[int, Output]:
        """Its outputs; LabError if it fails on one."""
        if not inputs:
            return {}
        station = self._fleet.station(self.variant.id)
        try:
            outputs = station.answer(self.variant.id, set_name, operation, inputs)
        except LabError as error:  # not the fault of the variant that is being examined
            raise LabError(f"the correctness reference broke down: {error}") from None
        for output in outputs.values():
            if output.failure is not None:
                raise LabError(
                    f"the correctness reference {self.variant.id} failed at {operation} of "
                    f"{set_name}, input {output.input}: {output.failure}"
                )
        return outputs

    def values(self, set_name: str, operation: str, inputs: Sequence[JobInput]) -> dict[int, bytes]:
        """Its output bytes by input number."""
        outputs = self.outputs(set_name, operation, inputs)
        return {number: _value(output) for number, output in outputs.items()}

    def sign(
        self,
        set_name: str,
        chosen: Iterable[tuple[str, Candidate]],
        *,
        first_id: int = 0,
        traced: bool = True,
    ) -> list[Signed]:
        """Roles and candidates, numbered from `first_id`, with their keys, signatures, traces."""
        rows = list(enumerate(chosen, start=first_id))
        jobs = [JobInput(i, seed=c.seed) for i, (_, c) in rows]
        keys = self.outputs(set_name, "keygen", jobs)
        private: dict[int, bytes] = {}
        for i, key in keys.items():
            if key.private_key is None:
                raise LabError(f"the correctness reference {self.variant.id} gives no private key")
            private[i] = key.private_key
        jobs = [
            JobInput(
                i,
                seed=c.seed,
                sk=private[i],
                pk=_value(keys[i]),
                message=c.message,
                context=c.context,
                rnd=ZERO_RND,
            )
            for i, (_, c) in rows
        ]
        signatures = self.values(set_name, "sign", jobs)
        traces: dict[int, tuple[str, ...]] = {}
        if traced and jobs:
            station = self._fleet.station(self.variant.id)
            traces = station.trace(self.variant.id, set_name, jobs)
        return [
            Signed(
                i,
                role,
                c.seed,
                c.message,
                c.context,
                _value(keys[i]),
                private[i],
                signatures[i],
                traces.get(i, ()),
            )
            for i, (role, c) in rows
        ]


def _value(output: Output) -> bytes:
    assert output.value is not None
    return output.value


def tracers(fleet: Fleet, set_name: str) -> list[Variant]:
    """Variants to trace a pool with: the tracer's, the fastest first, then the reference."""

    def rank(variant: Variant) -> tuple[bool, int]:
        backend = variant.backend.removesuffix("+native")
        return (
            variant.implementation == TRACER,
            _FASTEST_LAST.index(backend) if backend in _FASTEST_LAST else -1,
        )

    able = [v for v in fleet.variants.values() if "trace" in v.operations and set_name in v.sets]
    trusted = [v for v in able if v.implementation in (TRACER, REFERENCE)]
    return sorted(trusted, key=rank, reverse=True)


def choose(
    fleet: Fleet, reference: Reference, set_name: str, run_seed: bytes, sizes: Sizes
) -> list[Signed]:
    """The inputs of an ML-DSA set: the random ones first, then those chosen by their traces, then
    those of runs."""
    drawn = candidates(
        run_seed, set_name, sizes.random, message_bytes=sizes.message_bytes, stream="random"
    )
    chosen = [("random", c) for c in drawn]
    if sizes.design:
        pool = _pool(run_seed, set_name, sizes.pool, sizes, "design")
        picked = _picked(fleet, set_name, pool, lambda t, m: design(t, m, sizes.design))
        chosen += [("design", c) for c in picked]
    for role, count in ((MANY_KEYS, sizes.many_keys), (ONE_KEY, sizes.one_key)):
        if count:
            pool = _pool(run_seed, set_name, _RUNS_POOL * count, sizes, role)
            if role == ONE_KEY:
                pool = [replace(c, seed=pool[0].seed) for c in pool]
            picked = _picked(fleet, set_name, pool, partial(_balanced, count))
            chosen += [(role, c) for c in picked]
    return reference.sign(set_name, chosen)


def _balanced(count: int, traces: Sequence[Trace], model: RejectionModel) -> list[int]:
    return balanced(traces, model, count)


def _pool(run_seed: bytes, set_name: str, count: int, sizes: Sizes, stream: str) -> list[Candidate]:
    return list(
        candidates(run_seed, set_name, count, message_bytes=sizes.message_bytes, stream=stream)
    )


def _picked(
    fleet: Fleet,
    set_name: str,
    pool: Sequence[Candidate],
    choice: Callable[[Sequence[Trace], RejectionModel], list[int]],
) -> list[Candidate]:
    """The candidates of a pool that a choice takes by their traces."""
    problem: LabError = LabError(f"no worker can trace {set_name}: inputs cannot be chosen")
    for variant in tracers(fleet, set_name):
        try:
            words = [w for part in _parts(pool) for w in _traced(fleet, variant, set_name, part)]
            traces = [parse_trace(w, set_name) for w in words]
        except LabError as error:
            problem = error  # the next one may do better; the gate will tell this one's fault
            continue
        return [pool[i] for i in choice(traces, RejectionModel.of(set_name))]
    raise problem


def _parts(pool: Sequence[Candidate]) -> Iterator[Sequence[Candidate]]:
    """The pool in parts of which each makes a request of a bounded size."""
    size = max(1, _JOB_BYTES // (_KEY_BYTES + len(pool[0].message))) if pool else 1
    for start in range(0, len(pool), size):
        yield pool[start : start + size]


def _traced(
    fleet: Fleet, variant: Variant, set_name: str, pool: Sequence[Candidate]
) -> list[tuple[str, ...]]:
    """The attempts of each candidate."""
    station = fleet.station(variant.id)
    keys = station.answer(
        variant.id, set_name, "keygen", [JobInput(i, seed=c.seed) for i, c in enumerate(pool)]
    )
    jobs = [
        JobInput(
            i,
            seed=c.seed,
            sk=keys[i].private_key,
            pk=keys[i].value,
            message=c.message,
            context=c.context,
            rnd=ZERO_RND,
        )
        for i, c in enumerate(pool)
    ]
    traces = station.trace(variant.id, set_name, jobs)
    return [traces[i] for i in range(len(pool))]


def classical_inputs(set_name: str, run_seed: bytes, sizes: Sizes) -> list[InputRow]:
    """The inputs of a classical reference: no traces, the worker makes keys of the seeds."""
    assert set_name not in PARAMETER_SETS
    drawn = candidates(
        run_seed, set_name, sizes.random, message_bytes=sizes.message_bytes, stream="random"
    )
    return [
        InputRow(set_name, i, "random", c.seed, c.message, c.context, None)
        for i, c in enumerate(drawn)
    ]
