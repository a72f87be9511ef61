"""The inputs of a run, and the correctness reference that confirms them.

Inputs are drawn, traced, chosen and signed as `select` does it, by the library in this process.
Nothing of that is believed: the reference makes keys, signature and trace of every input again
before anything is measured, and where it finds something else the run ends.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from mldsa_lab.bench.examination import ACCEPTED
from mldsa_lab.bench.fleet import Fleet
from mldsa_lab.bench.options import REFERENCE
from mldsa_lab.choice.build import build, complete
from mldsa_lab.choice.choice import Wish, choose
from mldsa_lab.errors import LabError
from mldsa_lab.inputs.candidates import candidates
from mldsa_lab.inputs.input import ZERO_RND, Input, SigningInput
from mldsa_lab.inputs.library import Library
from mldsa_lab.inputs.selection import Selection
from mldsa_lab.inputs.spec import Spec
from mldsa_lab.inputs.tracing import trace_pool
from mldsa_lab.records import MANY_KEYS, ONE_KEY, InputRow, Record, Variant
from mldsa_lab.records.rows import DESIGN, RANDOM
from mldsa_lab.sets import LOOKUP, SCHEMES
from mldsa_lab.theory.trace import format_trace
from mldsa_lab.worker.protocol import Announced, JobInput, Output

_RUNS_POOL = 4  # candidates for each input of a run
_FEW = 4  # random inputs where an operation takes seconds


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


def input_sizes(message_bytes: int) -> Sizes:
    """Those of an ordinary run."""
    return Sizes(design=12, random=24, pool=1000, message_bytes=message_bytes)


GATE_SIZES = Sizes(design=0, random=8, pool=0, message_bytes=32)
"""Of runs that have inputs of their own: those that the gate takes beside these."""


def keygen_job(item: Input) -> JobInput:
    """What key generation is handed of an input."""
    return JobInput(item.id, seed=item.what.seed)


def sign_job(item: Input, variant: Variant | Announced, rnd: bytes | None = None) -> JobInput:
    """What this variant's signing is handed: the input's rnd or another, none where it draws its
    own."""
    what, made = item.what, item.made
    return JobInput(
        item.id,
        seed=what.xi,
        sk=made.sk,
        pk=made.pk,
        message=what.message,
        context=what.context,
        rnd=(rnd or what.rnd) if variant.rnd != "none" else None,
    )


def check_taken(item: Input, variant: Variant | Announced, where: str) -> None:
    """LabError if this variant cannot sign an input as it is given."""
    if item.what.rnd != ZERO_RND and variant.rnd == "zero":
        raise LabError(f"{where}: its rnd is not zero, and {variant.id} takes no other")
    if item.what.context and not variant.context:
        raise LabError(f"{where}: it has a context, and {variant.id} takes none")


def verify_job(item: Input, signature: bytes | None = None) -> JobInput:
    """What verification is handed: the input's signature or another."""
    return JobInput(
        item.id,
        pk=item.made.pk,
        message=item.what.message,
        context=item.what.context,
        signature=item.made.signature if signature is None else signature,
    )


def input_row(item: Input, set_name: str) -> InputRow:
    """An input's line in a record."""
    what, words = item.what, tuple(map(str, item.trace))
    rnd = None if what.rnd == ZERO_RND else what.rnd
    return InputRow(set_name, item.id, item.role, what.seed, what.message, what.context, words, rnd)


def selection_of(record: Record, set_name: str, library: Library) -> Selection:
    """The designed inputs of a run as a selection, under the record's ids. LabError if the record
    has none of this set, or a trace that is not that of signing."""
    rows = [r for r in record.inputs if r.set == set_name and r.role == DESIGN]
    if not rows:
        raise LabError(f"the record has no inputs of {set_name} that were chosen by their traces")
    inputs = [SigningInput(r.seed, r.message, r.context, r.rnd or ZERO_RND) for r in rows]
    made = [replace(i, id=r.id) for i, r in zip(library.make(set_name, inputs), rows, strict=True)]
    for item, r in zip(made, rows, strict=True):
        if tuple(map(str, item.trace)) != r.trace:
            raise LabError(f"input {r.id} of {set_name}: its trace is not that of signing it")
    run = {"started": record.run.started, "seed": record.run.seed}
    return Selection(
        set_name, "regression", tuple(made), made={"tool": record.run.tool, "run": run}
    )


class Reference:
    """The correctness reference as a service: keys, signatures, traces, verdicts."""

    def __init__(self, fleet: Fleet) -> None:
        """Takes the reference from the fleet's workers; LabError if none has it."""
        found = [v for v in fleet.variants.values() if v.implementation == REFERENCE]
        if not found:
            raise LabError(f"no worker has the correctness reference {REFERENCE}")
        self.variant = found[0]
        self._fleet = fleet

    @property
    def library(self) -> Path | None:
        """The library of traces, where the build of the reference's worker makes it too."""
        return self._fleet.station(self.variant.id).library

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

    def confirm(self, set_name: str, inputs: Sequence[Input]) -> None:
        """LabError that names the first input whose keys, signature or trace are not what the
        reference makes of it."""
        if not inputs:
            return
        name = self.variant.id

        def same(item: Input, what: str, found: bytes, right: bytes | None) -> None:
            if found != right:
                raise LabError(
                    f"{set_name}, input {item.id}: the {what} has SHA-256 {_digest(found)}, the "
                    f"correctness reference {name} makes one with {_digest(right)}"
                )

        keys = self.outputs(set_name, "keygen", [keygen_job(i) for i in inputs])
        for item in inputs:
            same(item, "public key", item.made.pk, keys[item.id].value)
            same(item, "private key", item.made.sk, keys[item.id].private_key)
        jobs = [sign_job(i, self.variant) for i in inputs]
        signatures = self.values(set_name, "sign", jobs)
        traces = self._fleet.station(name).trace(name, set_name, jobs)
        for item in inputs:
            same(item, "signature", item.made.signature, signatures[item.id])
            if traces[item.id] != item.trace:
                raise LabError(
                    f"{set_name}, input {item.id}: its trace is {format_trace(item.trace)}, by the "
                    f"correctness reference {name} {format_trace(traces[item.id])}"
                )


def _value(output: Output) -> bytes:
    assert output.value is not None
    return output.value


def _digest(value: bytes | None) -> str:
    return "of nothing" if value is None else hashlib.sha256(value).hexdigest()[:16]


def choose_inputs(
    library: Library,
    set_name: str,
    run_seed: bytes,
    sizes: Sizes,
    given: GivenSelection | None = None,
    threads: int = 1,
) -> list[Input]:
    """The inputs of an ML-DSA set: those to sign, of a selection if one is ``given``, else chosen
    by their traces, in the order to measure; those drawn at random; then those of runs.

    Everything follows from the run's seed. Inputs that are not the selection's are numbered on from
    its highest id.
    """

    def spec(stream: str, per_key: int = 1) -> Spec:
        seed = hashlib.sha256(b"mldsa-lab bench " + stream.encode() + b" " + run_seed).digest()
        return Spec(set_name, seed, sizes.message_bytes, per_key=per_key)

    def chosen(drawn: Spec, size: int, wish: Wish) -> tuple[Input, ...]:
        pool = trace_pool(drawn, size, threads=threads)
        return build(pool, wish, choose(pool.table, pool.checks, wish), library).inputs

    found: list[Input] = []

    def add(role: str, inputs: Sequence[Input]) -> None:
        first = max((item.id for item in found), default=0) + 1
        found.extend(replace(item, id=i, role=role) for i, item in enumerate(inputs, first))

    if given is not None:
        try:
            found += complete(given.selection, library).inputs
        except LabError as error:
            raise LabError(f"{given}: {error}") from None
    elif sizes.design:
        add(DESIGN, chosen(spec(DESIGN), sizes.pool, Wish("regression", sizes.design)))
    add(RANDOM, library.make(set_name, spec(RANDOM).inputs(0, sizes.random)))
    for role, count, per_key in ((MANY_KEYS, sizes.many_keys, 1), (ONE_KEY, sizes.one_key, 0)):
        if count:
            add(role, chosen(spec(role, per_key), _RUNS_POOL * count, Wish("mean", count)))
    return found


@dataclass(frozen=True, slots=True)
class GivenSelection:
    """A selection whose inputs are to be measured, and the file that it is from."""

    path: Path
    selection: Selection

    def __str__(self) -> str:
        return str(self.path)

    def check(self, variants: Iterable[Variant]) -> None:
        """LabError if one of these variants cannot sign an input as it is given."""
        for v in variants:
            if self.selection.set not in v.sets or "sign" not in v.operations:
                continue
            for item in self.selection.inputs:
                check_taken(item, v, f"{self}, input {item.id}")


def read_selections(paths: Sequence[Path]) -> dict[str, GivenSelection]:
    """The selections in these files by their parameter set. LabError if two are of one set, or a
    run cannot measure an input."""
    found: dict[str, GivenSelection] = {}
    for path in paths:
        selection = Selection.read(path)
        if selection.set in found:
            raise LabError(f"{path}: is of {selection.set}, as {found[selection.set]} is")
        for item in selection.inputs:
            if item.what.xi is None:
                raise LabError(
                    f"{path}, input {item.id}: has no xi; workers are handed the key's seed too"
                )
        found[selection.set] = GivenSelection(path, selection)
    return found


@dataclass(frozen=True, slots=True)
class PlainInput:
    """An input of a scheme without traces, and what the gate's first sound implementation made of
    it: keys, ``output`` (a signature, or a ciphertext) and, of a ciphertext, the shared ``secret``.

    All None where keys never leave a worker, which makes them of the seed.
    """

    row: InputRow
    pk: bytes | None = None
    sk: bytes | None = None
    output: bytes | None = None
    secret: bytes | None = None

    @property
    def id(self) -> int:
        """Its number in the set."""
        return self.row.id

    @property
    def role(self) -> str:
        """What it is for, as in a record."""
        return self.row.role

    def job(self, operation: str, variant: Variant | Announced) -> JobInput:
        """What this variant is handed for the operation."""
        row, kin = self.row, SCHEMES[self.row.set].kin
        if operation == LOOKUP:
            return JobInput(row.id)
        if operation == "keygen":
            return JobInput(row.id, seed=row.seed)
        if operation == "hash":
            return JobInput(row.id, message=row.message)
        if operation == "encaps":
            return JobInput(row.id, pk=self.pk, rnd=row.rnd if variant.rnd == "given" else None)
        private = JobInput(
            row.id, seed=row.seed if "seed" in kin.private_keys else None, sk=self.sk, pk=self.pk
        )
        if operation == "decaps":
            return replace(private, ciphertext=self.output)
        signed = replace(private, message=row.message, context=row.context)
        if operation == "sign":
            return replace(signed, rnd=None if variant.rnd == "none" else kin.plain_rnd)
        return replace(
            signed, seed=None if kin.encoded else row.seed, sk=None, signature=self.output
        )

    def expected(self, operation: str, variant: Variant | Announced) -> bytes | None:
        """The output that must come out; None where it is not known, or another each time."""
        match operation:
            case "lookup":
                return b""
            case "keygen":
                return self.pk if "seed" in SCHEMES[self.row.set].kin.private_keys else None
            case "sign":
                return None if variant.rnd == "none" else self.output
            case "verify":
                return ACCEPTED
            case "hash":
                return hashlib.sha3_256(self.row.message).digest()
            case "encaps":
                both = None not in (self.output, self.secret) and variant.rnd == "given"
                return (self.output or b"") + (self.secret or b"") if both else None
            case _:
                return self.secret


def plain_inputs(set_name: str, run_seed: bytes, sizes: Sizes) -> list[PlainInput]:
    """The inputs of a scheme without traces, drawn at random."""
    scheme = SCHEMES[set_name]
    assert scheme.family != "ml-dsa"
    kem = "encaps" in scheme.kin.operations  # its m, which FIPS 203 calls randomness, is rnd
    drawn = candidates(
        run_seed,
        set_name,
        min(sizes.random, _FEW) if scheme.slow else sizes.random,
        message_bytes=scheme.rnd_bytes if kem else sizes.message_bytes,
        stream=RANDOM,
    )
    return [
        PlainInput(
            InputRow(set_name, i, RANDOM, c.seed, b"", b"", None, c.message)
            if kem
            else InputRow(set_name, i, RANDOM, c.seed, c.message, c.context, None)
        )
        for i, c in enumerate(drawn)
    ]
