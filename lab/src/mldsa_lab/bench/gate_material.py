"""What the correctness gate puts to every variant of a set, confirmed by the reference."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from mldsa_lab.bench.alter import Altered, alter, suits
from mldsa_lab.bench.material import Reference, sign_job, verify_job
from mldsa_lab.errors import LabError
from mldsa_lab.inputs.candidates import candidates
from mldsa_lab.inputs.input import Input, SigningInput
from mldsa_lab.inputs.library import Library
from mldsa_lab.records import MANY_KEYS, ONE_KEY
from mldsa_lab.sets import PARAMETER_SETS, ParameterSet
from mldsa_lab.worker.protocol import JobInput

RND = bytes(range(1, 33))
"""An rnd other than zeros."""
# Bytes of message and context of the gate's own inputs.
_SHAPES = ((200, 255), (48, 16), (33, 0), (1, 1), (0, 0), (100, 3))


@dataclass(frozen=True, slots=True)
class Material:
    """What the gate puts to every variant of one ML-DSA set, from the reference.

    `inputs`: the run's own. `others`: with contexts of 0, 1 and 255 bytes and messages of 0 to
    200 bytes. `hedged`: the same signed with `RND`. `altered` and `altered_plain`: inputs to be
    refused, made from a signature with and without a context. `z_violations`: signatures whose
    only fault is the norm of z.
    """

    p: ParameterSet
    inputs: Sequence[Input]
    others: Sequence[Input]
    hedged: Sequence[Input]
    altered: Sequence[Altered]
    altered_plain: Sequence[Altered]
    z_violations: Sequence[JobInput]
    groups: Mapping[str, Sequence[Input]] = field(default_factory=dict)
    """The inputs of runs by their role."""


def make_material(
    library: Library,
    reference: Reference,
    set_name: str,
    inputs: Sequence[Input],
    run_seed: bytes,
) -> Material:
    """All that the gate needs for a set, `inputs` being those of the run. LabError if one of them
    is not what the reference makes of it, or the reference cannot make what is needed."""
    p = PARAMETER_SETS[set_name]
    drawn = [
        next(
            candidates(
                run_seed,
                set_name,
                1,
                message_bytes=message,
                context_bytes=context,
                stream="gate",
            )
        )
        for message, context in _SHAPES
    ]
    first = max((item.id for item in inputs), default=0) + 1
    others = library.make(set_name, drawn, first_id=first, role="random")
    with_rnd: list[SigningInput] = [replace(what, rnd=RND) for what in drawn]
    hedged = library.make(set_name, with_rnd, first_id=first, role="random")
    reference.confirm(set_name, [*inputs, *others])
    reference.confirm(set_name, hedged)
    plain = [sign_job(s, reference.variant) for s in others if not s.what.context]
    made = reference.values(set_name, "z_violation", plain)
    by_id = {s.id: s for s in others}
    return Material(
        p,
        [s for s in inputs if s.role not in (MANY_KEYS, ONE_KEY)],
        others,
        hedged,
        _altered(library, reference, p, run_seed, context_bytes=16),
        _altered(library, reference, p, run_seed, context_bytes=0),
        [verify_job(by_id[i], signature) for i, signature in made.items()],
        {role: [s for s in inputs if s.role == role] for role in (MANY_KEYS, ONE_KEY)},
    )


def _altered(
    library: Library, reference: Reference, p: ParameterSet, run_seed: bytes, context_bytes: int
) -> list[Altered]:
    """Alterations of the first signature that allows all of them."""
    drawn = candidates(
        run_seed, p.name, 64, message_bytes=48, context_bytes=context_bytes, stream="altered"
    )
    for base, other in itertools.pairwise(library.make(p.name, list(drawn))):
        if suits(p, base.made.signature):
            reference.confirm(p.name, [base, other])
            return alter(p, base, other.made.pk)
    raise LabError(f"no {p.name} signature of this seed has two hints in a row to alter")
