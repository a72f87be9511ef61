"""The classes of each parameter set, with sizes in bytes (FIPS 204, Table 2)."""

from dataclasses import dataclass

import mldsa_lanes
import pytest


@dataclass(frozen=True)
class ParameterSet:
    """The classes of a parameter set and its sizes in bytes."""

    number: int
    public_key_bytes: int
    private_key_bytes: int
    signature_bytes: int

    @property
    def name(self) -> str:
        return f"ML-DSA-{self.number}"

    @property
    def private(self):
        return getattr(mldsa_lanes, f"MLDSA{self.number}PrivateKey")

    @property
    def public(self):
        return getattr(mldsa_lanes, f"MLDSA{self.number}PublicKey")


SETS = (
    ParameterSet(44, 1312, 2560, 2420),
    ParameterSet(65, 1952, 4032, 3309),
    ParameterSet(87, 2592, 4896, 4627),
)


@pytest.fixture(params=SETS, ids=lambda s: s.name)
def parameter_set(request):
    return request.param


@pytest.fixture
def key(parameter_set):
    return parameter_set.private.from_seed_bytes(bytes(range(32)))
