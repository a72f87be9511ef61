"""The text of the worker protocol: types, requests, announcements and replies.

`lab/workers/PROTOCOL.md` is the definition. Nothing here reads, writes or waits. An input that
failed has the line `failed INPUT TEXT` in place of its output, trace, sample or link.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

from msgspec import Struct

from mldsa_lab import LabError
from mldsa_lab.files import Count, check_unique, convert
from mldsa_lab.inputs.input import Input, positions
from mldsa_lab.sets import (
    LOOKUP,
    SCHEME_FAMILIES,
    TLS_GROUPS,
    TLS_OPERATIONS,
    BuildName,
    Implementation,
    Unit,
    list_sets,
)
from mldsa_lab.theory import trace
from mldsa_lab.theory.trace import Trace

PROTOCOL_VERSION = 1
MAX_LINE_BYTES = 16 * 1024 * 1024  # without the line end
DIGEST_BYTES = 32  # SHA-256

INPUT_FIELDS = ("seed", "sk", "pk", "message", "context", "rnd", "signature", "ciphertext")

_NUMBER_MAX = 2**63 - 1  # the limit of records, `files.Count`
_HEX_DIGITS = set("0123456789abcdef")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]*", re.ASCII)
CONTROL = re.compile(r"[\x00-\x1f\x7f]+")
"""Control characters, which a line must not have."""


class ProtocolError(LabError):
    """A line or reply that is not of the protocol's form; the text says which rule it breaks."""


class AnnouncedVariant(Implementation, frozen=True, forbid_unknown_fields=True):
    """One implementation with one backend and one key form, as its worker announces it.

    ``mode`` "batch" has a batch interface. ``batch_size`` and ``threads`` are the most that a run
    may have; a batch_size of 1 means no runs at all. ``language``: the implementation's, where
    it is not the worker's. ``private_keys``: the forms that signing can start from. ``warmup``:
    ticks for which its cells together run in a new process before any is measured.
    """

    language: str = ""
    private_keys: tuple[Literal["seed", "sk"], ...] = ("seed", "sk")
    warmup: Count = 0

    def __post_init__(self) -> None:
        if not self.version:
            raise ProtocolError("version is empty")
        for key in ("implementation", "backend"):
            _check_name(getattr(self, key), key)
        if self.id != self.announced_id:
            rule = "its name must be implementation:backend:key"
            raise ProtocolError(f"{rule}, {self.announced_id}")
        family = SCHEME_FAMILIES[self.family]
        allowed = {"sets": list_sets(self.family), "operations": family.worker_operations}
        for key in ("sets", "operations", "private_keys"):
            names = getattr(self, key)
            check_unique(names, key)
            if not set(names) <= set(allowed.get(key, names)):
                listed = ", ".join(allowed[key])
                raise ProtocolError(f"{key} of family {self.family} are {listed}")
        if self.rnd not in family.rnd_forms:
            listed = " or ".join(family.rnd_forms)
            raise ProtocolError(f"rnd of family {self.family} must be {listed}, got {self.rnd}")


class Announcement(Struct, frozen=True, forbid_unknown_fields=True):
    """The reply to `hello`: the worker, its build, and its variants. ``phases``: the parts into
    which the ticks of each single call are divided."""

    worker: str
    protocol: int
    language: str
    compiler: str
    unit: Unit
    clock: str
    variants: tuple[AnnouncedVariant, ...]
    flags: str = ""
    cpu_clock: str | None = None
    build: BuildName | None = None
    chains: bool = False
    phases: tuple[str, ...] = ()
    blocks: bool = False

    def __post_init__(self) -> None:
        _check_name(self.worker, "worker")
        for phase in self.phases:
            _check_name(phase, "phases")
        check_unique(self.phases, "phases")
        check_unique((variant.id for variant in self.variants), "variants")


@dataclass(frozen=True, slots=True)
class JobInput:
    """One input of a job; a field that is None is left out of the request."""

    id: int
    seed: bytes | None = None
    sk: bytes | None = None
    pk: bytes | None = None
    message: bytes | None = None
    context: bytes | None = None
    rnd: bytes | None = None
    signature: bytes | None = None
    ciphertext: bytes | None = None


class Words:
    """A part of a request that is written as the values of its fields."""

    __slots__ = ()

    def text(self) -> str:
        """Return the words that ask for it."""
        return " ".join(str(getattr(self, name)) for name in self.__match_args__)  # type: ignore[attr-defined]


@dataclass(frozen=True, slots=True)
class Runs(Words):
    """Operations timed together: on each of `threads` threads `count` runs of `size` operations,
    by single calls (`loop`) or by calls of the batch interface (`batch`)."""

    form: str
    size: int
    count: int
    threads: int = 1

    def positions(self, number: int, inputs: int, thread: int = 0) -> list[int]:
        """The positions in a job of `inputs` inputs that a thread performs in run `number`."""
        shape = {"count": self.count, "threads": self.threads}
        return positions(inputs, self.size, number=number, thread=thread, **shape)


@dataclass(frozen=True, slots=True)
class Output:
    """One output of `answer`. `failure` is the implementation's error, and `value` then is None."""

    input: int
    # keygen: pk; sign: signature; verify: 01 or 00; encaps: ciphertext and secret; decaps: secret
    value: bytes | None = None
    private_key: bytes | None = None  # keygen only: its encoding, where the worker gives it
    failure: str | None = None
    trace: Trace = ()  # trace only, instead of a value


@dataclass(frozen=True, slots=True)
class Sample:
    """One timed sample: ticks for all `calls` calls together, a call being one operation or a run.

    The `input` of a run is its first one.
    Where the implementation failed, `failure` is its error, the ticks are 0 and the digest empty.
    `phases`: the parts of `wall`, of single calls of a worker that announces any.
    """

    input: int
    wall: int = 0
    cpu: int | None = None
    calls: int = 0
    digest: bytes = b""  # SHA-256 of the last output; of a run all outputs of its last call
    failure: str | None = None
    phases: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class ChainStage(Words):
    """A stage of a chain: its job, and the operations in each call of the batch interface (0:
    single calls). It also has the stages (from 1; 0: none) that give it its message and its
    signature."""

    job: int
    batch: int = 0
    message: int = 0
    signature: int = 0


@dataclass(frozen=True, slots=True)
class BlockShape(Words):
    """The way in which a job's inputs are performed as a block. Each call of the batch interface
    has ``batch`` operations (0: single calls), on so many ``threads``, in the order of `turns`.
    Every thread reads ``cold`` bytes of other memory first."""

    batch: int
    threads: int
    stride: int
    cold: int = 0

    def turns(self, inputs: int) -> list[int]:
        """The positions of so many inputs in the order in which they are performed."""
        return [turn * self.stride % inputs for turn in range(inputs)]


@dataclass(frozen=True, slots=True)
class Link:
    """Inputs of a chain that went through it together: the thread, the first input, and the ticks
    of all. Each stage has the ticks of `clock` and the SHA-256 of its outputs.

    Where the implementation failed, `failure` is its error and there are no stages.
    """

    thread: int = 0
    input: int = 0
    wall: int = 0
    cpu: int | None = None
    stages: tuple[tuple[int, bytes], ...] = ()
    failure: str | None = None


@dataclass(frozen=True, slots=True)
class Pass:
    """One pass of a chain over its inputs: the links of each thread, and the ticks of the pass.
    These are from the common start of the threads to the end of the last."""

    links: tuple[Link, ...]
    wall: int


def quote(line: str) -> str:
    """The line as shown in an error: escaped, and cut where it is long."""
    text = line.encode("unicode_escape").decode("ascii")
    return f"`{text}`" if len(text) <= 120 else f"`{text[:100]}…` ({len(line)} characters)"


def decode_line(raw: bytes) -> str:
    """The text of a line without its line end: UTF-8 without control characters."""
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ProtocolError(f"line is not UTF-8 at byte {error.start}") from None
    if CONTROL.search(text):
        raise ProtocolError(f"line has a control character: {quote(text)}")
    return text


def parse_number(text: str, what: str) -> int:
    """A decimal number without sign, below 2^63."""
    if not (text.isascii() and text.isdecimal() and len(text) <= 20):
        raise ProtocolError(f"{what} must be a decimal number without sign, got {quote(text)}")
    number = int(text)
    if number > _NUMBER_MAX:
        raise ProtocolError(f"{what} must be below 2^63, got {text}")
    return number


def parse_hex(text: str, what: str) -> bytes:
    """Lower-case hexadecimal; `-` is the empty string."""
    if text == "-":
        return b""
    if not text or len(text) % 2 or not set(text) <= _HEX_DIGITS:
        raise ProtocolError(f"{what} must be lower-case hexadecimal or `-`, got {quote(text)}")
    return bytes.fromhex(text)


def format_prepare(
    job: int, variant: str, set_name: str, operation: str, inputs: Sequence[JobInput]
) -> bytes:
    """The whole `prepare` request, `end` line included.

    Raises LabError for repeated or negative numbers and for a field too long for one line.
    """
    lines = [f"prepare {job}", f"variant {variant}", f"set {set_name}", f"operation {operation}"]
    seen: set[int] = set()
    for item in inputs:
        if item.id < 0 or item.id in seen:
            raise LabError(f"job {job}: input number {item.id} is negative or repeated")
        seen.add(item.id)
        lines.append(f"input {item.id}")
        for field in INPUT_FIELDS:
            value: bytes | None = getattr(item, field)
            if value is None:
                continue
            if len(field) + 1 + 2 * len(value) > MAX_LINE_BYTES:
                raise LabError(
                    f"job {job}, input {item.id}: {field} of {len(value)} bytes does not fit "
                    f"a protocol line of {MAX_LINE_BYTES} bytes"
                )
            lines.append(f"{field} {value.hex() or '-'}")
    lines.append("end")
    return "".join(line + "\n" for line in lines).encode("ascii")


def parse_hello(lines: Iterable[str]) -> Announcement:
    """The announcement from the lines before `end`. Raises ProtocolError naming the broken rule."""
    head: dict[str, str] = {}
    variants: list[tuple[str, dict[str, str]]] = []
    for line in lines:
        key, _, value = line.partition(" ")
        if key == "variant":
            variants.append((value, {}))
            continue
        target = variants[-1][1] if variants else head
        if key in target:
            where = f"variant {variants[-1][0]}" if variants else "hello"
            raise ProtocolError(f"{where}: key `{key}` is given twice")
        target[key] = value
    if head.get("protocol", "") != str(PROTOCOL_VERSION):
        version = quote(head.get("protocol", ""))
        raise ProtocolError(f"hello: protocol must be {PROTOCOL_VERSION}, got {version}")
    if not variants:
        raise ProtocolError("hello: no variant is announced")
    known = Announcement.__struct_fields__  # an empty value of these is as none
    stated = {key: value for key, value in head.items() if value or key not in known}
    fields = _values(stated, "hello")
    fields["protocol"] = PROTOCOL_VERSION
    if fields.get("cpu_clock") == "none":
        fields["cpu_clock"] = None
    try:
        fields["variants"] = [_announced(identity, values) for identity, values in variants]
        return convert(fields, Announcement, "hello")
    except LabError as error:
        raise ProtocolError(str(error)) from None


def _announced(identity: str, values: dict[str, str]) -> AnnouncedVariant:
    where = f"variant {identity}"
    return convert({"id": identity} | _values(values, where), AnnouncedVariant, where)


def _values(texts: dict[str, str], where: str) -> dict[str, Any]:
    """Return the values of keys: lists, numbers, yes or no, and texts."""
    values: dict[str, Any] = dict(texts)
    for key, value in texts.items():
        match key:
            case "sets" | "operations" | "private_keys" | "phases":
                values[key] = value.split(" ")
            case "batch_size" | "threads" | "warmup":
                values[key] = parse_number(value, f"{where}: {key}")
            case "context" | "chains" | "blocks":
                if value not in ("yes", "no"):
                    raise ProtocolError(f"{where}: {key} must be yes or no, got {quote(value)}")
                values[key] = value == "yes"
    return values


def _check_name(value: str, what: str) -> None:
    if not _NAME.fullmatch(value):
        raise ProtocolError(f"{what} must be letters, digits and . _ + -, got {quote(value)}")


ACCEPTED, REFUSED = b"\x01", b"\x00"
"""The outputs of verification."""
_TLS13, _AES_256_GCM_SHA384 = b"\x03\x04", b"\x13\x02"


def make_job(item: Input, operation: str, variant: Implementation, **changed: Any) -> JobInput:
    """Return the input as this variant gets it for an operation, with other fields where some
    are ``changed``."""
    family = item.scheme.traits
    seed = item.seed if "seed" in family.private_keys else None
    signed = {"message": item.message, "context": item.context}
    match operation:
        case "keygen":
            fields: dict[str, Any] = {"seed": item.seed}
        case "hash":
            fields = {"message": item.message}
        case "encaps":
            fields = {"pk": item.pk, "rnd": item.rnd if variant.rnd == "given" else None}
        case "decaps":
            fields = {"seed": seed, "sk": item.sk, "pk": item.pk, "ciphertext": item.output}
        case "verify":
            fields = {"pk": item.pk, "signature": item.output, **signed}
            fields["seed"] = None if family.has_bytes else item.seed
        case _ if operation == LOOKUP or operation in TLS_OPERATIONS:
            fields = {}
        case _:
            fields = {"seed": seed, "sk": item.sk, "pk": item.pk, **signed}
            fields["rnd"] = item.signing_rnd if variant.deterministic else None
    return JobInput(item.id, **fields | changed)


def expected_output(item: Input, operation: str, variant: Implementation) -> bytes | None:
    """Return the output that must come out; None where it is not known, or another each time."""
    match operation:
        case "keygen":
            return item.pk if "seed" in item.scheme.traits.private_keys else None
        case "sign":
            return item.output if variant.deterministic else None
        case "verify":
            return ACCEPTED if item.is_valid else REFUSED
        case "hash":
            return hashlib.sha3_256(item.message).digest()
        case "encaps":
            known = variant.rnd == "given" and item.output is not None
            return (item.output or b"") + (item.secret or b"") if known else None
        case "decaps":
            return item.secret
        case _ if operation in TLS_OPERATIONS:
            group = next(g for name, g in TLS_GROUPS.items() if f"-{name}-" in item.set)
            return _TLS13 + _AES_256_GCM_SHA384 + group.to_bytes(2, "big")
        case _:
            return b""  # of a lookup


Reply = TypeVar("Reply", Output, Sample, Link)


def parse_output(line: str, operation: str) -> Output:
    """Parse `output INPUT HEX`; for keygen two values, pk and sk; of a trace `trace INPUT …`."""
    if failed := _failed(line, Output):
        return failed
    if operation == "trace":
        return _trace(line)
    keys = ("PK", "SK") if operation == "keygen" else ("HEX",)
    number_text, text, *rest = _words(line, " ".join(("output INPUT", *keys)))
    number = parse_number(number_text, "input number")
    value = parse_hex(text, f"output {number}")
    if operation == "verify" and value not in (b"\x00", b"\x01"):
        raise ProtocolError(f"output {number} of verify must be 00 or 01, got {quote(text)}")
    private = [key for key in rest if key != "-"]
    return Output(
        number, value, parse_hex(private[0], f"private key {number}") if private else None
    )


def _trace(line: str) -> Output:
    """Parse `trace INPUT ATTEMPT …`; the last iteration is `ok`."""
    iterations = line.split(" ")[2:]
    number_text, *_ = _words(line, "trace INPUT" + " ATTEMPT" * len(iterations))
    number = parse_number(number_text, "input number")
    try:
        return Output(number, trace=trace.parse_trace(iterations))
    except LabError as error:
        raise ProtocolError(f"trace {number}: {error}") from None


def parse_sample(line: str, phases: int = 0) -> Sample:
    """Parse `sample INPUT WALL CPU CALLS DIGEST`, behind it the ticks of so many phases."""
    if failed := _failed(line, Sample):
        return failed
    words = _words(line, "sample INPUT WALL CPU CALLS DIGEST" + " TICKS" * phases)
    wall = parse_number(words[1], "wall ticks")
    of_phases = tuple(parse_number(word, "ticks of a phase") for word in words[5:])
    if of_phases and sum(of_phases) != wall:
        raise ProtocolError(f"the phases of a sample must add up to its ticks, got {quote(line)}")
    return Sample(
        input=parse_number(words[0], "input number"),
        wall=wall,
        cpu=_cpu(words[2]),
        calls=parse_number(words[3], "calls"),
        digest=_digest(words[4], line),
        phases=of_phases,
    )


def parse_link(line: str, stages: int) -> Link:
    """Parse `link THREAD INPUT WALL CPU` with WALL and DIGEST of each stage."""
    if failed := _failed(line, Link):
        return failed
    words = _words(line, "link THREAD INPUT WALL CPU" + " WALL DIGEST" * stages)
    pairs = zip(words[4::2], words[5::2], strict=True)
    return Link(
        thread=parse_number(words[0], "thread"),
        input=parse_number(words[1], "input number"),
        wall=parse_number(words[2], "wall ticks"),
        cpu=_cpu(words[3]),
        stages=tuple((parse_number(w, "wall ticks"), _digest(d, line)) for w, d in pairs),
    )


def _failed(line: str, reply: type[Reply]) -> Reply | None:
    """Return the reply of `failed INPUT TEXT`; None for another line."""
    key, _, rest = line.partition(" ")
    if key != "failed":
        return None
    number, _, text = rest.partition(" ")
    if not text:
        raise ProtocolError(f"expected `failed INPUT TEXT`, got {quote(line)}")
    return reply(input=parse_number(number, "input number"), failure=text)


def _words(line: str, form: str) -> list[str]:
    """Return the words behind the first. ProtocolError unless the line has this form."""
    key, *words = line.split(" ")
    first, *rest = form.split(" ")
    if key != first or len(words) != len(rest):
        raise ProtocolError(f"expected `{form}` or `failed INPUT TEXT`, got {quote(line)}")
    return words


def _cpu(text: str) -> int | None:
    return None if text == "-" else parse_number(text, "CPU ticks")


def _digest(text: str, line: str) -> bytes:
    digest = parse_hex(text, "sample digest")
    if len(digest) != DIGEST_BYTES:
        raise ProtocolError(f"sample digest must be {DIGEST_BYTES} bytes, got {quote(line)}")
    return digest
