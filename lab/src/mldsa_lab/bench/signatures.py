"""Real signatures of any scheme, for others than a run."""

from __future__ import annotations

from typing import NamedTuple

from mldsa_lab.checkout import find_root
from mldsa_lab.errors import LabError
from mldsa_lab.extras import need
from mldsa_lab.inputs.library import load
from mldsa_lab.inputs.spec import Spec
from mldsa_lab.sets import PARAMETER_SETS, SCHEMES


class SampleSignature(NamedTuple):
    """A signature and the public key that verifies it."""

    public_key: bytes
    signature: bytes


def draw_signatures(set_name: str, seed: bytes, count: int) -> list[SampleSignature]:
    """Sign ``count`` inputs drawn from ``seed``: with ML-DSA by the library, which is built if need
    be, with the others by a Rust worker, which is not. LabError if neither can sign."""
    if set_name in PARAMETER_SETS:
        signed = load().sign(set_name, Spec(set_name, seed).inputs(0, count))
        return [SampleSignature(one.pk, one.signature) for one in signed]
    return _by_worker(set_name, seed, count)


def _by_worker(set_name: str, seed: bytes, count: int) -> list[SampleSignature]:
    need("bench", f"signing with {set_name}")
    from mldsa_lab.bench.fleet import Fleet, Station
    from mldsa_lab.bench.gate_plain import make
    from mldsa_lab.bench.material import Sizes, plain_inputs
    from mldsa_lab.worker.build import Place
    from mldsa_lab.worker.registry import read_registry
    from mldsa_lab.worker.worker import Limits

    root = find_root()
    entries = read_registry(root / "workers" / "registry.toml")
    entry = next(e for e in entries if SCHEMES[set_name].family in e.families)
    with Fleet() as fleet:
        fleet.add(Station(entry, Place.of(root), Limits()))
        able = [v for v in fleet.variants.values() if set_name in v.sets]
        if not able:
            raise LabError(f"worker {entry.name} has no {set_name}")
        drawn = plain_inputs(set_name, seed, Sizes(0, count, 0, message_bytes=32))
        made = make(fleet, set_name, drawn, able)
    if not all(m.pk and m.output for m in made):
        raise LabError(f"worker {entry.name} gives no keys and signatures of {set_name}")
    return [SampleSignature(m.pk or b"", m.output or b"") for m in made]
