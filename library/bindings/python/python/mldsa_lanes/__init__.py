"""ML-DSA (FIPS 204). The names are those of `cryptography.hazmat.primitives.asymmetric.mldsa`."""

import enum as _enum

from ._exceptions import AlreadyFinalized, InvalidSignature

try:
    from ._native import (
        MLDSA44PrivateKey,
        MLDSA44PublicKey,
        MLDSA65PrivateKey,
        MLDSA65PublicKey,
        MLDSA87PrivateKey,
        MLDSA87PublicKey,
        MLDSAMuHasher,
        PrivateKey,
        PublicKey,
        __version__,
        backend,
        load_der_private_key,
        load_der_public_key,
        load_pem_private_key,
        load_pem_public_key,
        sign_batch,
        verify_batch,
    )
except ModuleNotFoundError as _error:
    if _error.name != f"{__name__}._native":
        raise
    raise ImportError(
        f"{__path__[0]} has no compiled module for this Python. Install the wheel with "
        "`pip install mldsa-lanes`, or build it from a checkout with "
        "`pip install ./library/bindings/python` (needs Rust)",
        name=_error.name,
    ) from None


class Encoding(_enum.Enum):
    """How a key is written."""

    PEM = "PEM"
    DER = "DER"
    Raw = "Raw"


class PrivateFormat(_enum.Enum):
    """The structure of a private key: PKCS#8 (RFC 9881), or the 32-byte seed."""

    PKCS8 = "PKCS8"
    Raw = "Raw"


class PublicFormat(_enum.Enum):
    """The structure of a public key: SubjectPublicKeyInfo (RFC 9881), or the bytes of FIPS 204."""

    SubjectPublicKeyInfo = "SubjectPublicKeyInfo"
    Raw = "Raw"


class NoEncryption:
    """Write a private key without encryption."""


class BestAvailableEncryption:
    """Write a private key under a password: PKCS#8 (PBES2) with scrypt and AES-256-CBC.

    ValueError: the password is empty or no `bytes`.
    """

    def __init__(self, password: bytes) -> None:
        if not isinstance(password, bytes) or not password:
            raise ValueError("password must be bytes, at least one")
        self.password = password


__all__ = [
    "AlreadyFinalized",
    "BestAvailableEncryption",
    "Encoding",
    "InvalidSignature",
    "MLDSA44PrivateKey",
    "MLDSA44PublicKey",
    "MLDSA65PrivateKey",
    "MLDSA65PublicKey",
    "MLDSA87PrivateKey",
    "MLDSA87PublicKey",
    "MLDSAMuHasher",
    "NoEncryption",
    "PrivateFormat",
    "PrivateKey",
    "PublicFormat",
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
