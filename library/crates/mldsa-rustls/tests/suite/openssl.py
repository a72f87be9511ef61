"""OpenSSL as the other side of a TLS 1.3 connection, and its keys, for the tests of mldsa-rustls.

openssl.py server KEY CERTIFICATE...   private key in PKCS#8, the leaf first; prints its port
openssl.py client ROOT PORT            verifies the server as `localhost`
openssl.py certificate SET KEY ROOT    writes a key of set 44, 65 or 87 and its own certificate

All files are DER. The server sends a line, the client prints what it received.
"""

import socket
import sys
from datetime import datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import mldsa
from OpenSSL import SSL, crypto

HELLO = b"hello from OpenSSL\n"


def read_certificate(path: str) -> crypto.X509:
    return crypto.load_certificate(crypto.FILETYPE_ASN1, Path(path).read_bytes())


def context() -> SSL.Context:
    made = SSL.Context(SSL.TLS_METHOD)
    made.set_min_proto_version(SSL.TLS1_3_VERSION)
    return made


def serve(key: str, leaf: str, *others: str) -> None:
    ours = context()
    ours.use_certificate_file(leaf, crypto.FILETYPE_ASN1)
    for other in others:
        ours.add_extra_chain_cert(read_certificate(other))
    ours.use_privatekey_file(key, crypto.FILETYPE_ASN1)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        print(listener.getsockname()[1], flush=True)
        connection = SSL.Connection(ours, listener.accept()[0])
    connection.set_accept_state()
    connection.do_handshake()
    connection.sendall(HELLO)
    connection.shutdown()


def connect(root: str, port: str) -> None:
    ours = context()
    ours.get_cert_store().add_cert(read_certificate(root))
    ours.set_verify(SSL.VERIFY_PEER, None)
    connection = SSL.Connection(ours, socket.create_connection(("127.0.0.1", int(port))))
    connection.set_tlsext_host_name(b"localhost")
    connection.set_connect_state()
    connection.do_handshake()
    print(connection.recv(1000).decode(), end="")
    connection.shutdown()


def certify(parameter_set: str, key: str, root: str) -> None:
    private = getattr(mldsa, f"MLDSA{parameter_set}PrivateKey").generate()
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "OpenSSL")])
    certificate = (
        x509.CertificateBuilder(name, name, private.public_key(), 1)
        .not_valid_before(datetime(2026, 1, 1))
        .not_valid_after(datetime(2026, 1, 1) + timedelta(days=36500))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .sign(private, None)
    )
    der = serialization.Encoding.DER
    Path(root).write_bytes(certificate.public_bytes(der))
    pkcs8 = serialization.PrivateFormat.PKCS8
    Path(key).write_bytes(private.private_bytes(der, pkcs8, serialization.NoEncryption()))


if __name__ == "__main__":
    commands = {"server": serve, "client": connect, "certificate": certify}
    commands[sys.argv[1]](*sys.argv[2:])
