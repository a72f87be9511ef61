"""OpenSSL as a server or a client of one TLS 1.3 connection, for the tests of mldsa-rustls.

openssl.py server KEY CERTIFICATE...   private key in PKCS#8, the leaf first; prints its port
openssl.py client ROOT PORT            verifies the server as `localhost`

All files are DER. The server sends a line, the client prints what it received.
"""

import socket
import sys
from pathlib import Path

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


if __name__ == "__main__":
    {"server": serve, "client": connect}[sys.argv[1]](*sys.argv[2:])
