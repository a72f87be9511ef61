"""Types of the compiled module. The docstrings are in the module itself: `help(mldsa_lanes)`."""

from collections.abc import Iterable
from typing import Literal, TypeAlias, final

from typing_extensions import Buffer, Self, disjoint_base

_Hash: TypeAlias = Literal[
    "SHA2-224",
    "SHA2-256",
    "SHA2-384",
    "SHA2-512",
    "SHA2-512/224",
    "SHA2-512/256",
    "SHA3-224",
    "SHA3-256",
    "SHA3-384",
    "SHA3-512",
    "SHAKE128",
    "SHAKE-128",
    "SHAKE256",
    "SHAKE-256",
]
# Members of our enumerations or of those of `cryptography`.
_Enumeration: TypeAlias = object

__all__ = [
    "MLDSA44PrivateKey",
    "MLDSA44PublicKey",
    "MLDSA65PrivateKey",
    "MLDSA65PublicKey",
    "MLDSA87PrivateKey",
    "MLDSA87PublicKey",
    "MLDSAMuHasher",
    "PrivateKey",
    "PublicKey",
    "__version__",
    "backend",
    "load_der_private_key",
    "load_der_public_key",
    "load_pem_private_key",
    "load_pem_public_key",
    "sign_batch",
    "verify_batch",
]

__version__: str

@disjoint_base
class PrivateKey:
    @property
    def parameter_set(self) -> str: ...
    @property
    def backend(self) -> str: ...
    @property
    def is_expanded(self) -> bool: ...
    def sign(
        self,
        data: Buffer,
        context: Buffer | None = None,
        *,
        prehash: _Hash | None = None,
        is_digest: bool = False,
    ) -> bytes: ...
    def sign_deterministic(
        self,
        data: Buffer,
        context: Buffer | None = None,
        *,
        prehash: _Hash | None = None,
        is_digest: bool = False,
    ) -> bytes: ...
    def sign_mu(self, mu: Buffer, *, deterministic: bool = False) -> bytes: ...
    def public_key(self) -> PublicKey: ...
    def expand(self) -> Self: ...
    def private_bytes(
        self,
        encoding: _Enumeration,
        format: _Enumeration,
        encryption_algorithm: object,
        *,
        form: Literal["seed", "expandedKey", "both"] | None = None,
    ) -> bytes: ...
    def private_bytes_raw(self) -> bytes: ...
    def encoded_bytes(self) -> bytes: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def __copy__(self) -> Self: ...
    def __deepcopy__(self, _memo: object) -> Self: ...

@disjoint_base
class PublicKey:
    @property
    def parameter_set(self) -> str: ...
    @property
    def backend(self) -> str: ...
    @property
    def is_expanded(self) -> bool: ...
    def verify(
        self,
        signature: Buffer,
        data: Buffer,
        context: Buffer | None = None,
        *,
        prehash: _Hash | None = None,
        is_digest: bool = False,
    ) -> None: ...
    def verify_mu(self, signature: Buffer, mu: Buffer) -> None: ...
    def expand(self) -> Self: ...
    def public_bytes(self, encoding: _Enumeration, format: _Enumeration) -> bytes: ...
    def public_bytes_raw(self) -> bytes: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def __copy__(self) -> Self: ...
    def __deepcopy__(self, _memo: object) -> Self: ...

@final
class MLDSA44PrivateKey(PrivateKey):
    @staticmethod
    def generate() -> MLDSA44PrivateKey: ...
    @staticmethod
    def generate_batch(count: int, *, threads: int = 1) -> list[MLDSA44PrivateKey]: ...
    @staticmethod
    def from_seed_bytes(data: Buffer) -> MLDSA44PrivateKey: ...
    @staticmethod
    def from_encoded_bytes(data: Buffer) -> MLDSA44PrivateKey: ...
    def public_key(self) -> MLDSA44PublicKey: ...

@final
class MLDSA44PublicKey(PublicKey):
    @staticmethod
    def from_public_bytes(data: Buffer) -> MLDSA44PublicKey: ...

@final
class MLDSA65PrivateKey(PrivateKey):
    @staticmethod
    def generate() -> MLDSA65PrivateKey: ...
    @staticmethod
    def generate_batch(count: int, *, threads: int = 1) -> list[MLDSA65PrivateKey]: ...
    @staticmethod
    def from_seed_bytes(data: Buffer) -> MLDSA65PrivateKey: ...
    @staticmethod
    def from_encoded_bytes(data: Buffer) -> MLDSA65PrivateKey: ...
    def public_key(self) -> MLDSA65PublicKey: ...

@final
class MLDSA65PublicKey(PublicKey):
    @staticmethod
    def from_public_bytes(data: Buffer) -> MLDSA65PublicKey: ...

@final
class MLDSA87PrivateKey(PrivateKey):
    @staticmethod
    def generate() -> MLDSA87PrivateKey: ...
    @staticmethod
    def generate_batch(count: int, *, threads: int = 1) -> list[MLDSA87PrivateKey]: ...
    @staticmethod
    def from_seed_bytes(data: Buffer) -> MLDSA87PrivateKey: ...
    @staticmethod
    def from_encoded_bytes(data: Buffer) -> MLDSA87PrivateKey: ...
    def public_key(self) -> MLDSA87PublicKey: ...

@final
class MLDSA87PublicKey(PublicKey):
    @staticmethod
    def from_public_bytes(data: Buffer) -> MLDSA87PublicKey: ...

@final
class MLDSAMuHasher:
    def __new__(
        cls,
        public_key: PublicKey,
        context: Buffer | None = None,
        *,
        prehash: _Hash | None = None,
    ) -> Self: ...
    def update(self, data: Buffer) -> None: ...
    def copy(self) -> MLDSAMuHasher: ...
    def finalize(self) -> bytes: ...

def sign_batch(
    jobs: Iterable[tuple[PrivateKey, Buffer] | tuple[PrivateKey, Buffer, Buffer | None]],
    *,
    deterministic: bool = False,
    threads: int = 1,
) -> list[bytes]: ...
def verify_batch(
    jobs: Iterable[
        tuple[PublicKey, Buffer, Buffer] | tuple[PublicKey, Buffer, Buffer, Buffer | None]
    ],
    *,
    threads: int = 1,
) -> list[bool]: ...
def backend() -> str: ...
def load_pem_private_key(
    data: Buffer,
    password: Buffer | None = None,
    backend: object = None,
    *,
    unsafe_skip_rsa_key_validation: bool = False,
) -> PrivateKey: ...
def load_der_private_key(
    data: Buffer,
    password: Buffer | None = None,
    backend: object = None,
    *,
    unsafe_skip_rsa_key_validation: bool = False,
) -> PrivateKey: ...
def load_pem_public_key(data: Buffer, backend: object = None) -> PublicKey: ...
def load_der_public_key(data: Buffer, backend: object = None) -> PublicKey: ...
