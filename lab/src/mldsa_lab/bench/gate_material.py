"""What the correctness gate puts to every variant of a set, made by the reference."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from mldsa_lab.bench.alter import Altered, alter, suits
from mldsa_lab.bench.alter import Signed as Given
from mldsa_lab.bench.material import Reference, Signed
from mldsa_lab.errors import LabError
from mldsa_lab.inputs.candidates import candidates
from mldsa_lab.records import MANY_KEYS, ONE_KEY
from mldsa_lab.sets import PARAMETER_SETS, ParameterSet

RND = bytes(range(1, 33))
"""An rnd other than zeros."""
_FIRST_OTHER = 10_000  # the gate's own inputs are numbered from here, beyond those of a run


@dataclass(frozen=True, slots=True)
class Material:
    """What the gate puts to every variant of one ML-DSA set, from the reference.

    `inputs`: the run's own. `others`: with contexts of 0, 1 and 255 bytes and messages of 0 to
    200 bytes. `hedged`: the signatures of `others` with `RND`. `altered` and `altered_plain`:
    inputs to be refused, made from a signature with and without a context. `z_violations`:
    signatures whose only fault is the norm of z.
    """

    p: ParameterSet
    inputs: Sequence[Signed]
    others: Sequence[Signed]
    hedged: Sequence[bytes]
    altered: Sequence[Altered]
    altered_plain: Sequence[Altered]
    z_violations: Sequence[Given]
    groups: Mapping[str, Sequence[Signed]] = field(default_factory=dict)
    """The inputs of runs by their role."""


def make_material(
    reference: Reference, set_name: str, inputs: Sequence[Signed], run_seed: bytes
) -> Material:
    """All that the gate needs for a set. LabError if the reference cannot make it."""
    p = PARAMETER_SETS[set_name]
    shapes = ((200, 255), (48, 16), (33, 0), (1, 1), (0, 0), (100, 3))
    drawn = [
        (
            "random",
            next(
                candidates(
                    run_seed,
                    set_name,
                    1,
                    message_bytes=message,
                    context_bytes=context,
                    stream="gate",
                )
            ),
        )
        for message, context in shapes
    ]
    others = reference.sign(set_name, drawn, first_id=_FIRST_OTHER)
    hedged_by_id = reference.values(
        set_name, "sign", [s.sign_input(reference.variant, RND) for s in others]
    )
    hedged = [hedged_by_id[s.id] for s in others]
    made = reference.values(
        set_name, "z_violation", [s.sign_input(reference.variant) for s in others if not s.context]
    )
    by_id = {s.id: s for s in others}
    violations = [
        Given(by_id[i].pk, by_id[i].message, by_id[i].context, signature)
        for i, signature in made.items()
    ]
    return Material(
        p,
        [s for s in inputs if s.role not in (MANY_KEYS, ONE_KEY)],
        others,
        hedged,
        _altered(reference, p, run_seed, context_bytes=16),
        _altered(reference, p, run_seed, context_bytes=0),
        violations,
        {role: [s for s in inputs if s.role == role] for role in (MANY_KEYS, ONE_KEY)},
    )


def _altered(
    reference: Reference, p: ParameterSet, run_seed: bytes, context_bytes: int
) -> list[Altered]:
    """Alterations of the first signature that allows all of them."""
    for start in range(0, 64, 4):
        drawn = candidates(
            run_seed,
            p.name,
            4,
            message_bytes=48,
            context_bytes=context_bytes,
            stream="altered",
            start=start,
        )
        signed = reference.sign(p.name, [("random", c) for c in drawn], traced=False)
        for base, other in itertools.pairwise(signed):
            if suits(p, base.signature):
                given = Given(base.pk, base.message, base.context, base.signature)
                return alter(p, given, other.pk)
    raise LabError(f"the correctness reference made no {p.name} signature with two hints in a row")
