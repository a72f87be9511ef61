"""The packages that the worker measures: what each announces, and its operations as calls."""

import importlib
import sys
from functools import partial
from importlib.metadata import version

SETS = ("ML-DSA-44", "ML-DSA-65", "ML-DSA-87")
KEM_SETS = ("ML-KEM-512", "ML-KEM-768", "ML-KEM-1024")
SLH_SETS = tuple(
    f"SLH-DSA-{hashing}-{level}{kind}"
    for level in (128, 192, 256)
    for hashing in ("SHA2", "SHAKE")
    for kind in "sf"
)


class Package:
    """A package behind the protocol: what it announces, and its operations as calls.

    Its operations take an input's fields and give a call without arguments, which is all that is
    timed: the signature, whether the signature is accepted, the secret, for keygen what `encoded`
    turns into the public key and, where the package gives it so, the private key, and for encaps
    what `joined` turns into the ciphertext with the secret behind it. What a package raises is the
    input's failure; of a verification it is a refusal.
    """

    family = "ml-dsa"
    sets = SETS
    suffix = ""  # of its name where the package has several families
    modules = ()  # what it imports
    language = "Python"
    backend = "portable"
    key = "compact"
    operations = "keygen sign verify"
    rnd = "none"
    context = "yes"
    private_keys = "sk"

    def __init__(self):
        for name in self.modules:
            setattr(self, name.rpartition(".")[2], importlib.import_module(name))
        self.version = version(self.name)

    def encoded(self, output):
        return output

    def joined(self, output):
        return b"".join(output)

    @property
    def implementation(self):
        return self.name + self.suffix

    def announce(self):
        about = (
            f"implementation {self.implementation}\nversion {self.version}\nbackend {self.backend}"
        )
        language = "" if self.language == "Python" else f"\nlanguage {self.language}"
        return (
            f"variant {self.id}\n{about}\nkey {self.key}{language}\nfamily {self.family}\n"
            f"sets {' '.join(self.sets)}\noperations {self.operations}\nrnd {self.rnd}\n"
            f"context {self.context}\nprivate_keys {self.private_keys}\nnote {self.note}"
        )

    @property
    def id(self):
        return f"{self.implementation}:{self.backend}:{self.key}"


class Cryptography(Package):
    """Key objects are OpenSSL's, which keep no matrix."""

    name = "cryptography"
    modules = ("cryptography.hazmat.primitives.asymmetric.mldsa",)
    language = "C"
    backend = "native"
    private_keys = "seed"
    about = (
        "signs hedged only; private keys are seeds, from which the key object is made before the "
        "clock starts; keygen gives the key object and the encoded public key"
    )

    def __init__(self):
        super().__init__()
        from cryptography.hazmat.backends.openssl import backend

        library = f"{backend.openssl_version_text()}, as the package's wheel has it"
        self.note = f"of {library}; {self.about}"

    def class_of(self, name, which):
        return getattr(self.mldsa, f"MLDSA{name[-2:]}{which}Key")

    def keygen(self, name, f):
        make = self.class_of(name, "Private").from_seed_bytes
        return lambda: make(f["seed"]).public_key().public_bytes_raw()

    def encoded(self, output):
        return output, b""

    def sign(self, name, f):
        key = self.class_of(name, "Private").from_seed_bytes(f["seed"])
        return partial(key.sign, f["message"], f["context"])

    def verify(self, name, f):
        key = self.class_of(name, "Public").from_public_bytes(f["pk"])
        # It raises what it refuses, and else gives None.
        return partial(key.verify, f["signature"], f["message"], f["context"])


class CryptographyKem(Cryptography):
    """Key objects of ML-KEM hold the matrix."""

    modules = ("cryptography.hazmat.primitives.asymmetric.mlkem",)
    family = "ml-kem"
    sets = KEM_SETS[1:]
    suffix = "-ml-kem"
    key = "expanded"
    operations = "encaps decaps"
    context = "no"
    about = (
        "draws m itself; private keys are seeds; key objects, which hold the matrix, are made "
        "before the clock starts"
    )

    def class_of(self, name, which):
        return getattr(self.mlkem, f"{name.replace('-', '')[:5]}{name[7:]}{which}Key")

    def encaps(self, name, f):
        return self.class_of(name, "Public").from_public_bytes(f["pk"]).encapsulate

    def joined(self, output):
        secret, ciphertext = output
        return ciphertext + secret

    def decaps(self, name, f):
        key = self.class_of(name, "Private").from_seed_bytes(f["seed"])
        return partial(key.decapsulate, f["ciphertext"])


class CryptographyKemKeys(CryptographyKem):
    key = "compact"
    operations = "keygen"
    about = "keygen gives the key object and the encoded public key"


class DilithiumPy(Package):
    name = "dilithium-py"
    modules = ("dilithium_py.ml_dsa",)
    rnd = "zero"
    note = "pure Python, with SHAKE of hashlib; takes keys as bytes; signs with deterministic=True"

    def scheme(self, name):
        return getattr(self.ml_dsa, name.replace("-", "_"))

    def keygen(self, name, f):
        return partial(self.scheme(name).key_derive, f["seed"])

    def sign(self, name, f):
        sign = self.scheme(name).sign
        return partial(sign, f["sk"], f["message"], f["context"], deterministic=True)

    def verify(self, name, f):
        verify = self.scheme(name).verify
        return partial(verify, f["pk"], f["message"], f["signature"], f["context"])


class FastMldsa(Package):
    name = "fast-mldsa"
    modules = ("fast_mldsa", "fast_mldsa.rust")
    language = "Rust"
    key = "expanded"
    rnd = "zero"
    note = (
        "its key objects keep the matrix and are made before the clock starts: it has no other "
        "interface; signs with deterministic=True; keygen gives both objects and the encoded "
        "public key"
    )

    def keygen(self, name, f):
        make = getattr(self.fast_mldsa, f"MlDsa{name[-2:]}").key_gen

        def call():
            public, private = make(f["seed"])
            return public.to_bytes(), private

        return call

    def encoded(self, output):
        return output[0], bytes(output[1].to_bytes())

    def sign(self, name, f):
        key = self.rust.SigningKey.from_bytes(self.of_size(name, f["sk"], 1))
        return partial(key.sign, f["message"], f["context"], deterministic=True)

    def verify(self, name, f):
        key = self.rust.VerificationKey.from_bytes(self.of_size(name, f["pk"], 0))
        return partial(key.verify, f["signature"], f["message"], f["context"])

    def of_size(self, name, key, which):
        """The key; it takes the set from the key's length, which so must be the asked set's."""
        sizes = {"44": (1312, 2560), "65": (1952, 4032), "87": (2592, 4896)}[name[-2:]]
        if len(key) != sizes[which]:
            raise ValueError(f"a key of {name} has {sizes[which]} bytes")
        return key


class MldsaLanes(Package):
    """The binding of mldsa-lanes, whose keys are expanded on request."""

    name = "mldsa-lanes"
    suffix = "-python"
    modules = ("mldsa_lanes",)
    language = "Rust"
    rnd = "zero"
    private_keys = "seed sk"
    note = (
        "the wheel of bindings/python; key objects are made before the clock starts; signs with "
        "sign_deterministic; keygen gives the key object and the encoded public key"
    )

    def __init__(self):
        super().__init__()
        self.backend = self.mldsa_lanes.backend()

    def class_of(self, name, which):
        return getattr(self.mldsa_lanes, f"MLDSA{name[-2:]}{which}Key")

    def keygen(self, name, f):
        make = self.class_of(name, "Private").from_seed_bytes

        def call():
            key = make(f["seed"])
            return key.public_key().public_bytes_raw(), key

        return call

    def encoded(self, output):
        return output[0], output[1].encoded_bytes()

    def sign(self, name, f):
        kind = self.class_of(name, "Private")
        seed = f.get("seed")
        key = kind.from_seed_bytes(seed) if seed else kind.from_encoded_bytes(f["sk"])
        return partial(self.held(key).sign_deterministic, f["message"], f["context"])

    def verify(self, name, f):
        key = self.held(self.class_of(name, "Public").from_public_bytes(f["pk"]))
        # It raises what it refuses, and else gives None.
        return partial(key.verify, f["signature"], f["message"], f["context"])

    @staticmethod
    def held(key):
        """The form of the key that is measured."""
        return key


class MldsaLanesExpanded(MldsaLanes):
    key = "expanded"
    operations = "sign verify"
    note = (
        "the wheel of bindings/python; keys are expanded before the clock starts; signs with "
        "sign_deterministic"
    )

    @staticmethod
    def held(key):
        return key.expand()


class Mldsa(Package):
    name = "mldsa"
    modules = ("mldsa",)
    key = "expanded"
    operations = "verify"
    note = (
        "pure Python, with SHAKE of hashlib; verifies only; its key object keeps the matrix and is "
        "made before the clock starts: it has no other interface"
    )

    def verify(self, name, f):
        parameters = self.mldsa.ParameterSet[name.replace("-", "_")]
        key = self.mldsa.VerificationKey(f["pk"], parameters=parameters)
        # It raises what it refuses, and else gives None.
        return partial(key.verify, f["signature"], f["message"], context=f["context"])


class Pqcrypto(Package):
    name = "pqcrypto"
    modules = ("pqcrypto",)
    language = "Rust"
    backend = "native"
    operations = "sign verify"
    context = "no"
    note = (
        "takes keys as bytes; signs hedged only; makes keys from its own randomness only; refuses "
        "contexts of 255 bytes, so that it is used without contexts"
    )

    def module(self, name):
        return importlib.import_module(f"pqcrypto.sign.{name.lower().replace('-', '_')}")

    def sign(self, name, f):
        return partial(self.module(name).sign, f["sk"], f["message"])

    def verify(self, name, f):
        # It raises what it refuses, and else gives None.
        return partial(self.module(name).verify, f["pk"], f["message"], f["signature"])


class PqcryptoSlh(Pqcrypto):
    family = "slh-dsa"
    sets = SLH_SETS
    suffix = "-slh-dsa"
    note = (
        "takes keys as bytes; signs hedged only; makes keys from its own randomness only; is used "
        "without contexts"
    )


class PqcryptoKem(Pqcrypto):
    family = "ml-kem"
    sets = KEM_SETS
    suffix = "-ml-kem"
    operations = "encaps decaps"
    note = "takes keys as bytes; draws m itself; makes keys from its own randomness only"

    def module(self, name):
        return importlib.import_module(f"pqcrypto.kem.{name.lower().replace('-', '_')}")

    def encaps(self, name, f):
        return partial(self.module(name).encaps, f["pk"])

    def decaps(self, name, f):
        return partial(self.module(name).decaps, f["sk"], f["ciphertext"])


class Qybersafe(Package):
    name = "qybersafe"
    modules = ("qybersafe",)
    language = "C"
    backend = "native"
    operations = "sign verify"
    context = "no"
    note = (
        "the ML-DSA of liboqs, as the package's wheel has it, in a version that it does not tell; "
        "signs hedged only; makes keys from its own randomness only"
    )

    def key_of(self, name, which, key):
        """The key object; its bytes are FIPS 204's behind a head, as a fresh key's has it."""
        kind = getattr(self.qybersafe.SignAlg, name.replace("-", "_"))
        fresh = getattr(self.qybersafe.generate_signing_keypair(kind), which)
        encoded = fresh.to_bytes()
        if len(key) > len(encoded):
            raise ValueError("the key is too long")
        size = int.from_bytes(encoded[4:8], "big")
        return type(fresh).from_bytes(encoded[: len(encoded) - size] + key)

    def sign(self, name, f):
        key = self.key_of(name, "private_key", f["sk"])
        return partial(self.qybersafe.sign, key, f["message"])

    def verify(self, name, f):
        key = self.key_of(name, "public_key", f["pk"])
        return partial(self.qybersafe.verify, key, f["message"], f["signature"])


def installed():
    """The packages that are here, by the ids of their variants."""
    found = {}
    for kind in (
        Cryptography,
        CryptographyKem,
        CryptographyKemKeys,
        DilithiumPy,
        FastMldsa,
        MldsaLanes,
        MldsaLanesExpanded,
        Mldsa,
        Pqcrypto,
        PqcryptoSlh,
        PqcryptoKem,
        Qybersafe,
    ):
        try:
            package = kind()
        except ImportError as error:
            print(f"{kind.__name__} is left out: {error}", file=sys.stderr)
            continue
        found[package.id] = package
    return found
