"""The worker of Python's packages: it performs and times their operations for the lab, as
workers/PROTOCOL.md defines. A package that is not installed is left out."""

import importlib
import re
import sys
import time
from contextlib import suppress
from functools import partial
from hashlib import sha256
from importlib.metadata import version

SETS = ("ML-DSA-44", "ML-DSA-65", "ML-DSA-87")
KEM_SETS = ("ML-KEM-512", "ML-KEM-768", "ML-KEM-1024")
SLH_SETS = tuple(
    f"SLH-DSA-{hashing}-{level}{kind}"
    for level in (128, 192, 256)
    for hashing in ("SHA2", "SHAKE")
    for kind in "sf"
)
# For each operation the fields that an input has, and those that it may have.
FIELDS = {
    "keygen": ({"seed"}, set()),
    "sign": ({"message", "context"}, {"seed", "sk", "pk", "rnd"}),
    "verify": ({"pk", "message", "context", "signature"}, set()),
    "encaps": ({"pk"}, {"rnd"}),
    "decaps": ({"ciphertext"}, {"seed", "sk", "pk"}),
}
ZERO = bytes(32)


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


class Item:
    """An input made ready: a call, or why there is none."""

    def __init__(self, package, name, operation, fields):
        self.operation = operation
        self.package = package
        try:
            if operation in ("sign", "decaps") and package.private_keys not in fields:
                raise ValueError(f"it reads private keys as {package.private_keys} alone")
            if operation == "sign" and package.rnd == "zero" and fields["rnd"] != ZERO:
                raise ValueError("rnd must be zero")
            if package.context == "no" and fields.get("context"):
                raise ValueError("the context must be empty")
            self.call = getattr(package, operation)(name, fields)
        except Exception as error:
            self.call = partial(self.fail, error)

    @staticmethod
    def fail(error):
        raise error

    def timed(self, calls):
        """Wall and CPU ticks of so many calls, and the last one's outputs, encoded."""
        call = self.call
        cpu, wall = time.thread_time_ns(), time.perf_counter_ns()
        for _ in range(calls):
            try:
                output = call()
            except Exception as error:  # whatever a package raises
                output = error
        wall, cpu = time.perf_counter_ns() - wall, time.thread_time_ns() - cpu
        refused = isinstance(output, Exception)
        if self.operation == "verify":
            return wall, cpu, (b"\0" if refused or output is False else b"\1",)
        if refused:
            raise output
        match self.operation:
            case "keygen":
                outputs = self.package.encoded(output)
            case "encaps":
                outputs = (self.package.joined(output),)
            case _:
                outputs = (output,)
        return wall, cpu, outputs


class Worker:
    def __init__(self, packages):
        self.packages = packages
        self.jobs = {}  # by number: the inputs' numbers and items

    def hello(self, number):
        if number != 1:
            raise ValueError("this worker speaks version 1 of the protocol")
        head = (
            "worker python\nprotocol 1\nlanguage Python\n"
            f"compiler {' '.join(sys.version.split())}\nunit ns\n"
            "clock time.perf_counter_ns\ncpu_clock time.thread_time_ns"
        )
        return [head, *(package.announce() for package in self.packages.values()), "end"]

    def prepare(self, job, lines):
        head, rest = lines[:3], lines[3:]
        keys, values = zip(*(line.split(" ") for line in head), strict=True)
        variant, name, operation = values
        package = self.packages[variant]
        known = name in package.sets and operation in package.operations.split()
        if keys != ("variant", "set", "operation") or not known:
            raise ValueError("no such variant, set or operation")
        required, optional = FIELDS[operation]
        if operation in ("sign", "encaps"):
            required = required | ({"rnd"} if package.rnd != "none" else set())
        inputs, fields = {}, None
        for line in rest:
            key, value = line.split(" ")
            if key == "input":
                number = count(value)
                if number in inputs:
                    raise ValueError("an input is given twice")
                fields = inputs[number] = {}
                continue
            if key in fields or key not in required | optional:
                raise ValueError(f"the field {key} is unknown or given twice")
            if not re.fullmatch(r"-|([0-9a-f]{2})+", value):
                raise ValueError(f"the field {key} is not hexadecimal")
            fields[key] = bytes.fromhex(value.strip("-"))
        if not all(fields.keys() >= required for fields in inputs.values()):
            raise ValueError("a field is missing")
        made = [(n, Item(package, name, operation, fields)) for n, fields in inputs.items()]
        self.jobs[job] = made
        return [f"ready {job}"]

    def answer(self, job):
        said = []
        for number, item in self.jobs[job]:
            try:
                _, _, outputs = item.timed(1)
                said.append(f"output {number} {' '.join(part.hex() or '-' for part in outputs)}")
            except Exception as error:
                said.append(failed(number, error))
        return [*said, f"done {job}"]

    def measure(self, job, passes, calls, warmup):
        if not calls:
            raise ValueError("CALLS is 0")
        items = self.jobs[job]
        end = time.perf_counter_ns() + warmup
        warm = not items
        while not warm:
            for _, item in items:
                with suppress(Exception):  # one that fails is skipped
                    item.timed(1)
                warm = time.perf_counter_ns() >= end
                if warm:
                    break
        said = []
        for _ in range(passes):
            for number, item in items:
                try:
                    wall, cpu, outputs = item.timed(calls)
                    digest = sha256(outputs[0]).hexdigest()
                    said.append(f"sample {number} {wall} {cpu} {calls} {digest}")
                except Exception as error:
                    said.append(failed(number, error))
        return [*said, f"done {job}"]

    def forget(self, job):
        del self.jobs[job]
        return [f"done {job}"]

    def reply(self, line, lines):
        """The lines that answer a request; `lines` are those between `prepare` and `end`."""
        word, *numbers = line.split(" ")
        arguments = [count(n) for n in numbers]
        if word == "prepare":
            return self.prepare(*arguments, lines)
        if word not in ("hello", "answer", "measure", "forget"):
            raise ValueError("no such request")
        return getattr(self, word)(*arguments)


def count(text):
    if not re.fullmatch(r"[0-9]{1,20}", text) or int(text) >= 1 << 64:
        raise ValueError(f"{text!a} is no number")
    return int(text)


def failed(number, error):
    return f"failed {number} {' '.join(str(error).split()) or type(error).__name__}"


def main():
    worker = Worker(installed())
    # Bytes that are no text are an error of the request, not the worker's end.
    sys.stdin.reconfigure(encoding="ascii", errors="replace", newline="\n")
    requests = (line.rstrip("\n") for line in sys.stdin)
    for line in requests:
        if line == "quit":
            return
        lines = []
        if line.split(" ")[0] == "prepare":
            for text in requests:
                if text == "end":
                    break
                lines.append(text)
        try:
            said = worker.reply(line, lines)
        except (KeyError, TypeError, ValueError) as error:
            text = " ".join(str(error).split())
            said = [f"error not a request, or of no job or variant that is here: {text!a}"]
        print(*said, sep="\n", flush=True)


main()
