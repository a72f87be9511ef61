"""Parameter sets (Tables 1 and 2 of FIPS 204), and the other names that files and workers use."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from mldsa_lab.errors import LabError

Q = 8380417
"""The modulus q."""
N = 256
"""Coefficients of a polynomial."""
D = 13
"""Bits dropped from t (FIPS 204 Table 1)."""

SEED_BYTES = 32
"""Bytes of xi and of rnd."""
CONTEXT_BYTES_MAX = 255
"""The longest context string, bytes."""

OPERATIONS = ("keygen", "sign", "verify")
"""The operations that are timed, in the order they are shown."""
WORKER_OPERATIONS = (*OPERATIONS, "trace", "z_violation")
"""All operations that a worker may have."""
KEY_FORMS = ("compact", "expanded")
"""What a key is before the clock starts: its bytes, or with matrix and NTT forms cached."""
FAMILIES = ("ml-dsa", "classical")
RND_FORMS = ("given", "zero", "none")
"""The `rnd` that a signer takes: any, 32 zero bytes alone, or its own."""
MODES = ("single", "batch")
"""How operations are called: one by one, or by a batch interface."""
UNITS = ("ns", "cycles", "instructions")
"""Units of a worker's ticks."""
DEFAULT_BUILD, TUNED_BUILD = BUILDS = ("default", "tuned")
"""How a worker may be built: as a project that merely depends on a library gets it, or tuned."""


@dataclass(frozen=True, slots=True)
class ParameterSet:
    """One parameter set, with FIPS 204's names; `lam` is lambda, the bits of collision strength."""

    name: str
    tau: int
    lam: int
    gamma1: int
    gamma2: int
    k: int
    l: int  # noqa: E741 - FIPS 204's name
    eta: int
    omega: int

    @property
    def beta(self) -> int:
        """The bound tau * eta on the coefficients of c*s1 and c*s2."""
        return self.tau * self.eta

    @property
    def c_tilde_bytes(self) -> int:
        """Bytes of c_tilde, the first part of a signature."""
        return self.lam // 4

    @property
    def z_poly_bytes(self) -> int:
        """Bytes of one packed polynomial of z (BitPack with bounds gamma1 - 1, gamma1)."""
        return 32 * self.gamma1.bit_length()

    @property
    def z_bytes(self) -> int:
        """Bytes of the packed vector z."""
        return self.l * self.z_poly_bytes

    @property
    def hint_offset(self) -> int:
        """The byte at which a signature's hint begins: omega indices, then k counters."""
        return self.c_tilde_bytes + self.z_bytes

    @property
    def signature_bytes(self) -> int:
        """Bytes of a signature."""
        return self.hint_offset + self.omega + self.k

    @property
    def public_key_bytes(self) -> int:
        """Bytes of an encoded public key."""
        return 32 + 32 * self.k * (Q.bit_length() - D)

    @property
    def private_key_bytes(self) -> int:
        """Bytes of an encoded private key (skEncode)."""
        eta_bits = (2 * self.eta).bit_length()
        return 128 + 32 * ((self.k + self.l) * eta_bits + D * self.k)


ML_DSA_44 = ParameterSet("ML-DSA-44", 39, 128, 1 << 17, (Q - 1) // 88, 4, 4, 2, 80)
ML_DSA_65 = ParameterSet("ML-DSA-65", 49, 192, 1 << 19, (Q - 1) // 32, 6, 5, 4, 55)
ML_DSA_87 = ParameterSet("ML-DSA-87", 60, 256, 1 << 19, (Q - 1) // 32, 8, 7, 2, 75)

PARAMETER_SETS: dict[str, ParameterSet] = {p.name: p for p in (ML_DSA_44, ML_DSA_65, ML_DSA_87)}
"""The three sets by name."""
CLASSICAL_SETS = ("Ed25519", "ECDSA-P256", "ECDSA-secp256k1", "RSA-2048-PSS")
"""Classical references, outside the ML-DSA gate."""
ALL_SETS = (*PARAMETER_SETS, *CLASSICAL_SETS)
"""Every name that `set` may have in a record or on the protocol."""

# What msgspec holds a field to; to the type checker they are texts, as most come from variables.
if TYPE_CHECKING:
    SetName = str
    Operation = str
    WorkerOperation = str
    Unit = str
    KeyForm = str
    BuildName = str
    Family = str
    Rnd = str
    Mode = str
else:
    SetName = Literal[ALL_SETS]
    Operation = Literal[OPERATIONS]
    WorkerOperation = Literal[WORKER_OPERATIONS]
    Unit = Literal[UNITS]
    KeyForm = Literal[KEY_FORMS]
    BuildName = Literal[BUILDS]
    Family = Literal[FAMILIES]
    Rnd = Literal[RND_FORMS]
    Mode = Literal[MODES]


def parameter_set(name: str) -> ParameterSet:
    """The ML-DSA set called `name` ("ML-DSA-65"); LabError if there is none."""
    try:
        return PARAMETER_SETS[name]
    except KeyError:
        known = ", ".join(PARAMETER_SETS)
        raise LabError(f"unknown parameter set {name!r}: known are {known}") from None


def parse_set_names(words: Iterable[str], *, ml_dsa: bool = False) -> tuple[str, ...]:
    """Full set names, in canonical order, from names as typed.

    Takes full names in any case, `44 65 87`, `ml-dsa` (the three) and, unless ``ml_dsa`` alone is
    wanted, the classical ones, `classical` (the four) and `all`; also several in one word separated
    by commas. LabError names the first unknown word.
    """
    aliases: dict[str, tuple[str, ...]] = {
        name.removeprefix("ML-DSA-"): (name,) for name in PARAMETER_SETS
    }
    aliases["ml-dsa"] = tuple(PARAMETER_SETS)
    if not ml_dsa:
        aliases |= {"classical": CLASSICAL_SETS, "all": ALL_SETS}
    full = tuple(PARAMETER_SETS) if ml_dsa else ALL_SETS
    known = ", ".join((*aliases, *full))
    aliases |= {name.lower(): (name,) for name in full}
    chosen: set[str] = set()
    for word in (part for text in words for part in text.split(",")):
        names = aliases.get(word.strip().lower())
        if names is None:
            raise LabError(f"unknown parameter set {word.strip()!r}: known are {known}")
        chosen.update(names)
    return tuple(name for name in ALL_SETS if name in chosen)
