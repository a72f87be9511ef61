"""Sizes of the shipped protocols against what well-kept libraries encode and send."""

from __future__ import annotations

import datetime
import ssl
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import asyncssh
import cbor2
import dns.flags
import dns.message
import dns.rdata
import dns.rdataclass
import dns.rdatatype
import dns.rrset
import jwt
import pytest
from asyncssh.packet import String
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, mldsa, rsa
from cryptography.hazmat.primitives.serialization import pkcs7
from cryptography.x509 import ocsp
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID
from imgtool.image import Image
from imgtool.keys.ecdsa import ECDSA256P1
from imgtool.keys.ed25519 import Ed25519 as ImageEd25519
from imgtool.keys.rsa import RSA
from msgspec.structs import replace

from mldsa_lab.sets import der
from pqc_impact.file import find_scenario, read_scenario
from pqc_impact.protocol import Protocol
from pqc_impact.schemes import scheme_of, signature_der

SERIAL = int.from_bytes(b"\x5a" * 16, "big")
CLASSICAL = ("ECDSA-P256", "Ed25519", "RSA-2048-PSS")
ML_DSA = ("ML-DSA-44", "ML-DSA-65", "ML-DSA-87")
DNS_NUMBER = {"ECDSA-P256": 13, "Ed25519": 15, "RSA-2048-PSS": 8}


@cache
def scenario(name: str) -> Protocol:
    result = read_scenario(find_scenario(name))
    assert isinstance(result, Protocol)
    return result


def names(name: str, template: str, scheme: str, /, **numbers: float) -> dict[str, float]:
    """Evaluate a scenario's formulas with these numbers, for the longest usual signatures."""
    result = scenario(name)
    assert set(numbers) <= set(result.numbers)
    changed = replace(result, numbers=result.numbers | numbers)
    return changed.names(scheme_of(scheme), changed.all_templates[template], 1)


def some(size: float) -> bytes:
    assert size == int(size)
    return b"\x5a" * int(size)


@cache
def key(scheme: str) -> Any:
    make: dict[str, Callable[[], Any]] = {
        "ECDSA-P256": lambda: ec.generate_private_key(ec.SECP256R1()),
        "Ed25519": ed25519.Ed25519PrivateKey.generate,
        "RSA-2048-PSS": lambda: rsa.generate_private_key(65537, 2048),
        "ML-DSA-44": mldsa.MLDSA44PrivateKey.generate,
        "ML-DSA-65": mldsa.MLDSA65PrivateKey.generate,
        "ML-DSA-87": mldsa.MLDSA87PrivateKey.generate,
    }
    return make[scheme]()


def digest(scheme: str) -> hashes.SHA256 | None:
    return hashes.SHA256() if scheme in ("ECDSA-P256", "RSA-2048-PSS") else None


def longest(scheme: str, make: Callable[[], Any], signature: Callable[[Any], bytes]) -> Any:
    """Made again until its signature is the longest usual one: a quarter of ECDSA's are."""
    while True:
        built = make()
        if len(signature(built)) == signature_der(scheme)[1]:
            return built


# --- X.509, TLS, OCSP --------------------------------------------------------------------------


def subject(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def extension_bytes(certificate: x509.Certificate) -> int:
    """The extensions one behind the other (RFC 5280, 4.1)."""
    total = 0
    for result in certificate.extensions:
        arcs = [int(arc) for arc in result.oid.dotted_string.split(".")]
        oid = 1 + sum(max(1, -(-arc.bit_length() // 7)) for arc in arcs[2:])
        value = len(result.value.public_bytes())
        total += der(der(oid) + (3 if result.critical else 0) + der(value))
    return total


def certificate(
    scheme: str, owner: str, issuer: str, *more: x509.ExtensionType, ca: bool = False
) -> x509.Certificate:
    start = datetime.datetime(2026, 1, 1)

    def make() -> x509.Certificate:
        builder = (
            x509.CertificateBuilder(subject_name=subject(owner), issuer_name=subject(issuer))
            .serial_number(SERIAL)
            .public_key(key(scheme).public_key())
            .not_valid_before(start)
            .not_valid_after(start + datetime.timedelta(days=3650))
            .add_extension(x509.BasicConstraints(ca, None), critical=True)
        )
        for one in more:
            builder = builder.add_extension(one, critical=False)
        return builder.sign(key(scheme), digest(scheme))

    built: x509.Certificate = longest(scheme, make, lambda c: c.signature)
    return built


def scts(scheme: str, count: int) -> x509.ExtensionType:
    """So many timestamps of logs with dummy signatures (RFC 6962, 3.3)."""
    signature = some(signature_der(scheme)[1])
    one = bytes(1 + 32 + 8 + 2 + 2) + len(signature).to_bytes(2, "big") + signature
    each = len(one).to_bytes(2, "big") + one
    listed = (len(each) * count).to_bytes(2, "big") + each * count
    size = len(listed)
    wide = -(-size.bit_length() // 8)
    head = bytes([size]) if size < 0x80 else bytes([0x80 + wide]) + size.to_bytes(wide, "big")
    oid = x509.ObjectIdentifier("1.3.6.1.4.1.11129.2.4.2")
    return x509.UnrecognizedExtension(oid, b"\x04" + head + listed)


SITE = x509.SubjectAlternativeName([x509.DNSName("example.com")])


@pytest.mark.parametrize("count", [0, 1, 2])
@pytest.mark.parametrize("scheme", [*CLASSICAL, *ML_DSA])
def test_certificates(scheme: str, count: int) -> None:
    bare = certificate(scheme, "leaf", "sub1", SITE)
    leaf = certificate(scheme, "leaf", "sub1", SITE, *([scts(scheme, count)] if count else []))
    ca = certificate(scheme, "sub1", "root", ca=True)
    result = names(
        "tls", "Full handshake", scheme, scts=count, serial=16,
        name=len(bare.subject.public_bytes()), leaf_extensions=extension_bytes(bare),
        ca_extensions=extension_bytes(ca),
    )  # fmt: skip
    assert result["leaf"] == len(leaf.public_bytes(serialization.Encoding.DER))
    assert result["ca"] == len(ca.public_bytes(serialization.Encoding.DER))


@pytest.mark.parametrize("scheme", CLASSICAL)
def test_ocsp_responses(scheme: str) -> None:
    leaf = certificate(scheme, "leaf", "root", SITE)
    root = certificate(scheme, "root", "root", ca=True)
    when = datetime.datetime(2026, 1, 2)

    def make() -> ocsp.OCSPResponse:
        return (
            ocsp.OCSPResponseBuilder()
            .add_response(
                leaf, root, hashes.SHA1(), ocsp.OCSPCertStatus.GOOD, when, when, None, None
            )
            .responder_id(ocsp.OCSPResponderEncoding.HASH, root)
            .sign(key(scheme), digest(scheme))
        )

    built = longest(scheme, make, lambda r: r.signature)
    result = names("tls", "Full handshake", scheme, serial=16)
    assert result["ocsp_response"] == len(built.public_bytes(serialization.Encoding.DER))


def handshake(folder: Path, scheme: str, chain: list[x509.Certificate]) -> list[int]:
    """The bytes of a handshake in memory: the client's first, the server's, the client's last."""
    pem = serialization.Encoding.PEM
    (folder / "chain.pem").write_bytes(b"".join(c.public_bytes(pem) for c in chain))
    (folder / "key.pem").write_bytes(
        key(scheme).private_bytes(
            pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
    )
    server, client = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), ssl.create_default_context()
    server.load_cert_chain(folder / "chain.pem", folder / "key.pem")
    server.num_tickets = 0
    client.check_hostname, client.verify_mode = False, ssl.CERT_NONE
    client.minimum_version = ssl.TLSVersion.TLSv1_3
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    one = client.wrap_bio(to_client, to_server)
    other = server.wrap_bio(to_server, to_client, server_side=True)
    sizes = []
    with pytest.raises(ssl.SSLWantReadError):
        one.do_handshake()
    sizes.append(to_server.pending)
    with pytest.raises(ssl.SSLWantReadError):
        other.do_handshake()
    sizes.append(to_client.pending)
    one.do_handshake()
    sizes.append(to_server.pending)
    other.do_handshake()
    assert one.version() == "TLSv1.3" and one.cipher()[0] == "TLS_AES_256_GCM_SHA384"
    return sizes


@pytest.mark.parametrize("depth", [0, 1, 2, 30])
@pytest.mark.parametrize("scheme", ["Ed25519", "RSA-2048-PSS"])
def test_tls_handshake(tmp_path: Path, scheme: str, depth: int) -> None:
    bare = certificate(scheme, "leaf", "sub1", SITE)
    leaf = certificate(scheme, "leaf", "sub1", SITE, scts(scheme, 1))
    between = certificate(scheme, "sub1", "root", ca=True)
    first, flight, last = handshake(tmp_path, scheme, [leaf] + [between] * depth)
    result = names(
        "tls", "Full handshake", scheme, intermediates=depth, scts=1, ocsp=0, serial=16,
        name=len(bare.subject.public_bytes()), leaf_extensions=extension_bytes(bare),
        ca_extensions=extension_bytes(between), client_hello=first - 5 - 32,
    )  # fmt: skip
    assert result["ClientHello_bytes"] == first
    assert result["last_messages_of_the_client_bytes"] == last
    assert result["bytes"] - first - last == flight


# --- DNSSEC ------------------------------------------------------------------------------------


def rrsig(covered: str, algorithm: int, signature: bytes) -> dns.rdata.Rdata:
    wire = (
        int(dns.rdatatype.from_text(covered)).to_bytes(2, "big")
        + bytes([algorithm, 3]) + bytes(14) + b"\x07example\x03com\x00" + signature
    )  # fmt: skip
    return dns.rdata.from_wire("IN", "RRSIG", wire, 0, len(wire))


def answer(name: str, question: str, *sections: list[tuple[str, str, list[Any]]]) -> int:
    """The bytes of a response with an OPT record, of records by name and type in two sections."""
    query = dns.message.make_query(name, question, want_dnssec=True)
    response = dns.message.make_response(query)
    for section, records in zip((response.answer, response.authority), sections, strict=False):
        for owner, kind, values in records:
            data = [dns.rdata.from_text("IN", kind, v) if isinstance(v, str) else v for v in values]
            section.append(dns.rrset.from_rdata_list(owner, 300, data))
    return len(response.to_wire(max_size=65535))


@pytest.mark.parametrize("scheme", scenario("dnssec").schemes)
def test_dnssec(scheme: str) -> None:
    number = DNS_NUMBER.get(scheme, 253)
    result = names("dnssec", "Address", scheme)
    signature = some(result["signature"])

    def signed(kind: str) -> dns.rdata.Rdata:
        return rrsig(kind, number, signature)

    zone, host = "example.com.", "www.example.com."
    address = [(host, "A", ["192.0.2.1"]), (host, "RRSIG", [signed("A")])]
    assert result["bytes"] == answer(host, "A", address)

    def keys(count: int) -> list[dns.rdata.Rdata]:
        built = []
        for place in range(count):
            raw = bytes([place]) + some(result["dnskey"] - 1)
            if scheme == "RSA-2048-PSS":
                raw = b"\x03\x01\x00\x01" + bytes([place + 1]) + some(255)
            wire = b"\x01\x01\x03" + bytes([number]) + raw
            built.append(dns.rdata.from_wire("IN", "DNSKEY", wire, 0, len(wire)))
        return built

    for template, count, signers in (("Keys", 2, 1), ("Keys during a rollover", 3, 2)):
        signatures = [rrsig("DNSKEY", number, bytes([i]) + signature[1:]) for i in range(signers)]
        records = [(zone, "DNSKEY", keys(count)), (zone, "RRSIG", signatures)]
        assert names("dnssec", template, scheme)["bytes"] == answer(zone, "DNSKEY", records)


NSEC3 = f"1 0 0 - {'d' * 32} A RRSIG"


@pytest.mark.parametrize("scheme", scenario("dnssec").all_templates["No such name (NSEC3)"].schemes)
def test_dnssec_denials(scheme: str) -> None:
    zone, number = "example.com.", DNS_NUMBER.get(scheme, 253)
    signature = some(scheme_of(scheme).signature_bytes[0])
    records: list[tuple[str, str, list[Any]]] = [
        (zone, "SOA", ["ns1.example.com. hostmast.example.com. 1 2 3 4 5"]),
        (zone, "RRSIG", [rrsig("SOA", number, signature)]),
    ]
    for letter in "abc":
        owner = letter * 32 + "." + zone
        records.append((owner, "NSEC3", [NSEC3]))
        records.append((owner, "RRSIG", [rrsig("NSEC3", number, signature)]))
    types = len(dns.rdata.from_text("IN", "NSEC3", NSEC3).to_wire()) - 26
    result = names("dnssec", "No such name (NSEC3)", scheme, nsec3_types=types)
    assert result["bytes"] == answer("www.example.com.", "A", [], records)


# --- tokens ------------------------------------------------------------------------------------

JOSE = {"ECDSA-P256": "ES256", "Ed25519": "EdDSA", "RSA-2048-PSS": "PS256"}


@pytest.mark.parametrize("scheme", scenario("jose").schemes)
def test_json_web_tokens(scheme: str) -> None:
    claims = {"iss": "https://example.com", "sub": "1234567890", "exp": 1893456000}
    algorithm = JOSE.get(scheme, scheme)
    if scheme in JOSE:
        token = jwt.encode(claims, key(scheme), algorithm=algorithm)
    else:
        kit = jwt.PyJWS()

        class Dummy(jwt.algorithms.Algorithm):
            def prepare_key(self, key: Any) -> Any:
                return key

            def sign(self, msg: bytes, key: Any) -> bytes:
                built: bytes = key.sign(msg)
                return built

            def verify(self, msg: bytes, key: Any, sig: bytes) -> bool:
                raise AssertionError("nothing is verified here")

            to_jwk = from_jwk = staticmethod(lambda *args: NotImplemented)  # type: ignore[assignment]

        kit.register_algorithm(algorithm, Dummy())
        text = jwt.PyJWT()._encode_payload(claims)  # the same JSON as above
        token = kit.encode(text, key(scheme), algorithm=algorithm)
    body = token.split(".")[1]
    size = len(jwt.utils.base64url_decode(body))
    assert names("jose", "JSON Web Token", scheme, claims=size)["bytes"] == len(token)


@pytest.mark.parametrize("scheme", [*CLASSICAL, *ML_DSA])
def test_json_web_keys(scheme: str) -> None:
    kinds = {
        "ECDSA-P256": jwt.algorithms.ECAlgorithm, "Ed25519": jwt.algorithms.OKPAlgorithm,
        "RSA-2048-PSS": jwt.algorithms.RSAAlgorithm,
    }  # fmt: skip
    public = key(scheme).public_key()
    if scheme in kinds:
        result = kinds[scheme].to_jwk(public, as_dict=True)
        requested = {n: result[n] for n in ("kty", "crv", "x", "y", "n", "e") if n in result}
    else:
        pub = jwt.utils.base64url_encode(public.public_bytes_raw()).decode()
        requested = {"kty": "AKP", "alg": scheme, "pub": pub}
    text = jwt.PyJWT()._encode_payload(requested)
    assert names("jose", "JSON Web Key", scheme)["bytes"] == len(text)


COSE = {
    "ECDSA-P256": -7, "Ed25519": -8, "RSA-2048-PSS": -37,
    "ML-DSA-44": -48, "ML-DSA-65": -49, "ML-DSA-87": -50,
}  # fmt: skip


@pytest.mark.parametrize("claims", [20, 90, 300])
@pytest.mark.parametrize("scheme", scenario("jose").schemes)
def test_cose(scheme: str, claims: int) -> None:
    result = names("jose", "COSE_Sign1", scheme, cbor_claims=claims)
    protected = cbor2.dumps({1: COSE[scheme]})
    values = [protected, {4: some(16)}, some(claims), some(result["signature"])]
    assert result["bytes"] == len(cbor2.dumps(cbor2.CBORTag(18, values)))


# --- SSH ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("scheme", scenario("ssh").schemes)
def test_ssh(scheme: str) -> None:
    result = names("ssh", "Login with a key", scheme)
    if scheme in CLASSICAL:
        algorithm = {"RSA-2048-PSS": "rsa-sha2-256"}.get(scheme, "")
        built = asyncssh.import_private_key(
            key(scheme).private_bytes(
                serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8,
                serialization.NoEncryption(),
            )
        )  # fmt: skip
        name = algorithm.encode() or built.algorithm
        blob = built.public_data
        # Numbers of ECDSA of 33 bytes each are the longest usual ones.
        signature = longest_ssh(built, name, int(result["blob"]))
    else:
        name = ("ssh-" + scheme.lower().replace("-", "", 1)).encode()
        blob = String(name) + String(key(scheme).public_key().public_bytes_raw())
        signature = String(name) + String(key(scheme).sign(b"hash"))
    login = b"\x32" + String("somebody") + String("ssh-connection") + String("publickey") + b"\x01"
    login += String(name) + String(blob) + String(signature)
    assert result["bytes"] == len(login)
    reply = b"\x1f" + String(blob) + String(some(32)) + String(signature)
    padded = 5 + len(reply) + 4
    assert names("ssh", "Key exchange reply", scheme)["bytes"] == padded + -padded % 8
    line = names("ssh", "Line of authorized_keys", scheme)["bytes"]
    if scheme in CLASSICAL:
        assert line == len(built.export_public_key().split(b" me")[0].strip())


def longest_ssh(built: asyncssh.SSHKey, name: bytes, size: int) -> bytes:
    while True:
        signature: bytes = built.sign(b"hash", name)
        if len(signature) == size:
            return signature


# --- firmware ----------------------------------------------------------------------------------


@pytest.mark.parametrize("scheme", CLASSICAL)
def test_mcuboot_images(tmp_path: Path, scheme: str) -> None:
    kinds = {"ECDSA-P256": ECDSA256P1, "Ed25519": ImageEd25519, "RSA-2048-PSS": RSA}
    program = tmp_path / "program.bin"
    program.write_bytes(some(5000))

    def make() -> bytes:
        image = Image(version=None, header_size=32, pad_header=True, slot_size=1 << 17)
        image.load(str(program))
        image.create(kinds[scheme](key(scheme)), "hash", None)
        return bytes(image.payload)

    requested = names("firmware", "Image", scheme, image=5000)["bytes"]
    sizes = {len(make()) for _ in range(1 if scheme != "ECDSA-P256" else 40)}
    assert max(sizes) == requested


# --- S/MIME ------------------------------------------------------------------------------------


@pytest.mark.parametrize("scheme", ["ECDSA-P256", "RSA-2048-PSS"])
def test_smime(scheme: str) -> None:
    mail = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.EMAIL_PROTECTION])
    leaf = certificate(scheme, "leaf", "sub1", mail)
    between = certificate(scheme, "sub1", "root", ca=True)
    result = names(
        "smime", "Signature of a mail", scheme, serial=16, capabilities=0, parameters=2,
        name=len(leaf.subject.public_bytes()), leaf_extensions=extension_bytes(leaf),
        ca_extensions=extension_bytes(between),
    )  # fmt: skip
    options = [
        pkcs7.PKCS7Options.DetachedSignature, pkcs7.PKCS7Options.Binary,
        pkcs7.PKCS7Options.NoCapabilities,
    ]  # fmt: skip
    builder = (
        pkcs7.PKCS7SignatureBuilder()
        .set_data(b"a mail")
        .add_signer(leaf, key(scheme), hashes.SHA256())
        .add_certificate(between)
    )
    sizes = {
        len(builder.sign(serialization.Encoding.DER, options))
        for _ in range(1 if scheme != "ECDSA-P256" else 40)
    }
    assert max(sizes) == result["cms"]
