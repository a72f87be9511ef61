"""Keys and signatures by `cryptography`, for the tests of `mldsa`.

`keygen SET` writes other.pem and other.pub; `decrypt KEY OUTPUT` and `encrypt KEY OUTPUT` write a
private key under the password "password" without it and with it; `sign KEY SIGNATURE CONTEXT` and
`verify PUBLIC SIGNATURE CONTEXT` take the file `message`. Exit code 1: the signature is not valid.
"""

import sys
from pathlib import Path

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import mldsa


def main(command: str, file: str, *rest: str) -> int:
    """Perform one command in the current folder."""
    if command == "keygen":
        key = getattr(mldsa, f"{file.replace('-', '')}PrivateKey").generate()
        pem = serialization.Encoding.PEM
        private = key.private_bytes(
            pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        spki = serialization.PublicFormat.SubjectPublicKeyInfo
        Path("other.pem").touch(mode=0o600)
        Path("other.pem").write_bytes(private)
        Path("other.pub").write_bytes(key.public_key().public_bytes(pem, spki))
        return 0
    if command in ("decrypt", "encrypt"):
        is_encrypted = command == "decrypt"
        encrypted = serialization.BestAvailableEncryption(b"password")
        encryption = serialization.NoEncryption() if is_encrypted else encrypted
        password = b"password" if is_encrypted else None
        key = serialization.load_pem_private_key(Path(file).read_bytes(), password)
        encoding, kind = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
        Path(rest[0]).touch(mode=0o600)
        Path(rest[0]).write_bytes(key.private_bytes(encoding, kind, encryption))
        return 0
    signature, context = Path(rest[0]), rest[1].encode()
    key_bytes, message = Path(file).read_bytes(), Path("message").read_bytes()
    if command == "sign":
        key = serialization.load_pem_private_key(key_bytes, None)
        signature.write_bytes(key.sign(message, context))
        return 0
    public = serialization.load_pem_public_key(key_bytes)
    try:
        public.verify(signature.read_bytes(), message, context)
    except InvalidSignature:
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
