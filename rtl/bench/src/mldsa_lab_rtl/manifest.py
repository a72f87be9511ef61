"""The manifest of a core, as docs/measure-your-core.md describes it."""

from __future__ import annotations

import hashlib
import re
from functools import cached_property
from pathlib import Path
from typing import Annotated, Literal

from msgspec import Meta, Struct

from mldsa_lab.errors import LabError
from mldsa_lab.files import Count, Positive, Text, read_text, reading
from mldsa_lab.sets import PARAMETER_SETS
from mldsa_lab.toml import decode_toml
from mldsa_lab_rtl.parts import PARTS, STORED

_PORT = re.compile(r"[A-Za-z]\w*", re.ASCII)
_NAME = re.compile(r"[a-z0-9][a-z0-9.-]*")
_WORD_BITS_MAX = 512
_INCLUDED = (".v", ".vh", ".sv", ".svh", ".h", ".inc")
_MAKES = {"keygen": ("pk", "sk"), "load_key": (), "sign": ("signature",), "verify": ("verdict",)}

Ports = dict[str, Count]
"""Values that ports have: always, or during an operation."""


class _CoreTable(Struct, frozen=True, forbid_unknown_fields=True):
    """A table of a manifest."""


def _check_ports(table: Struct, names: tuple[str, ...]) -> None:
    for name in names:
        port = getattr(table, name)
        if port is not None and (not _PORT.fullmatch(port) or "__" in port):
            rule = "must be the name of a port: letters, digits and single underscores"
            raise ValueError(f"{name}: {rule}, is {port!r}")


class Clock(_CoreTable, frozen=True):
    """The clock, on whose rising edge everything happens."""

    port: str

    def __post_init__(self) -> None:
        _check_ports(self, ("port",))


class Reset(_CoreTable, frozen=True):
    """The reset, held for so many ``cycles`` before the first operation. One that is not
    ``complete`` leaves something behind: every operation then gets a new model."""

    port: str
    active: Literal["high", "low"] = "high"
    cycles: Positive = 4
    complete: bool = True

    def __post_init__(self) -> None:
        _check_ports(self, ("port",))


class Command(_CoreTable, frozen=True):
    """The handshake by which an operation begins; without ``ready`` a pulse of one cycle."""

    valid: str
    ready: str | None = None

    def __post_init__(self) -> None:
        _check_ports(self, ("valid", "ready"))


class CoreStream(_CoreTable, frozen=True):
    """A stream of words of ``width`` bits. ``order``: where the first byte of a word stands, in its
    lowest or its highest bits. ``last`` marks the final word of each part or (``packet``) of them
    all; of that word ``bytes`` is how many count, or ``keep`` has a bit for each that does.
    ``steady``: a word that was offered stays until it is taken, which is checked."""

    data: str
    valid: str
    ready: str | None = None
    last: str | None = None
    bytes: str | None = None
    keep: str | None = None
    width: Positive = 64
    order: Literal["little", "big"] = "little"
    packet: Literal["part", "all"] = "part"
    steady: bool = True

    def __post_init__(self) -> None:
        _check_ports(self, ("data", "valid", "ready", "last", "bytes", "keep"))
        if self.width % 8 or self.width > _WORD_BITS_MAX:
            rule = f"must be a multiple of 8, {_WORD_BITS_MAX} at most"
            raise ValueError(f"width: {rule}, is {self.width}")
        if self.bytes is not None and self.keep is not None:
            raise ValueError("keep: a stream has either bytes or keep")
        for name in ("bytes", "keep"):
            if getattr(self, name) is not None and self.last is None:
                raise ValueError(f"{name}: is told of the last word, and there is no last")


class Response(_CoreTable, frozen=True):
    """The handshake by which an operation ends, without ``ready`` a level or a pulse. ``status``:
    the port that tells how: ``ok``, one of ``refused`` (a verification that refuses), anything
    else is a failure. ``names``: of the values from 0 on."""

    valid: str
    ready: str | None = None
    status: str | None = None
    ok: Count = 0
    refused: tuple[Count, ...] = ()
    names: tuple[Text, ...] = ()

    def __post_init__(self) -> None:
        _check_ports(self, ("valid", "ready", "status"))


class CoreVerdict(_CoreTable, frozen=True):
    """The word of the results that tells whether a signature was accepted: that of these bits
    (``mask``; 0: all) is ``accepted``."""

    accepted: Count
    mask: Count = 0


class CoreCounters(_CoreTable, frozen=True):
    """Ports with what the core itself counted since the operation began: cycles of each phase,
    attempts, and those that were rejected by the check that failed first. Read as it ends."""

    load: str | None = None
    compute: str | None = None
    store: str | None = None
    attempts: str | None = None
    z: str | None = None
    r0: str | None = None
    ct0: str | None = None
    hint: str | None = None

    def __post_init__(self) -> None:
        _check_ports(self, CoreCounters.__struct_fields__)


class CoreOperation(_CoreTable, frozen=True):
    """An operation: values of ports, the parts that are handed over in their order, a number being
    a word as it is, and the parts of the results."""

    ports: Ports = {}
    load: tuple[str | Count, ...] = ()
    store: tuple[str, ...] = ()


class CoreSet(_CoreTable, frozen=True):
    """A parameter set: values of ports, and words of its own that parts may name."""

    ports: Ports = {}
    words: dict[str, Count] = {}


class CoreOperations(_CoreTable, frozen=True):
    """Those that the core has; ``load_key`` is what signing needs before."""

    keygen: CoreOperation | None = None
    load_key: CoreOperation | None = None
    sign: CoreOperation | None = None
    verify: CoreOperation | None = None

    def __post_init__(self) -> None:
        if self.load_key is not None and self.sign is None:
            raise ValueError("load_key: there is no operation sign")
        for name, makes in _MAKES.items():
            operation = getattr(self, name)
            if operation is None:
                continue
            for part in operation.store:
                if part not in STORED or part.partition(".")[0] not in makes:
                    raise ValueError(f"{name}: store has {part!r}, which it does not make")
            for whole in makes:
                parts = {p for p in STORED if p.startswith(f"{whole}.")} or {whole}
                needed = whole in ("pk", "signature")
                if needed and whole not in operation.store and not parts <= set(operation.store):
                    raise ValueError(f"{name}: store lacks {whole}, or one of its parts")


class CoreFile(_CoreTable, frozen=True):
    """A whole manifest. Paths are relative to its folder."""

    format: Literal["mldsa-lab core"]
    version: Literal[1]
    name: str
    top: str
    sources: Annotated[tuple[Text, ...], Meta(min_length=1)]
    standard: Literal["FIPS 204", "round 3"]
    clock: Clock
    reset: Reset
    input: CoreStream
    output: CoreStream
    sets: dict[str, CoreSet]
    operations: CoreOperations
    configuration: str = "core"
    release: str = ""
    language: Text = "SystemVerilog"
    parameters: dict[str, int | str] = {}
    ports: Ports = {}
    include: tuple[Text, ...] = ()
    command: Command | None = None
    response: Response | None = None
    verdict: CoreVerdict | None = None
    counters: CoreCounters = CoreCounters()
    limit: Positive = 5_000_000
    note: str = ""

    def __post_init__(self) -> None:
        for key in ("name", "configuration"):
            if not _NAME.fullmatch(getattr(self, key)):
                rule = "must be small letters, digits, hyphens and dots"
                raise ValueError(f"{key}: {rule}, is {getattr(self, key)!r}")
        for key in ("top", *self.parameters):
            text = self.top if key == "top" else key
            if not _PORT.fullmatch(text):
                where = "top" if key == "top" else "parameters"
                raise ValueError(f"{where}: {text!r} is no name of a module or parameter")
        for port in self.ports:
            if not _PORT.fullmatch(port) or "__" in port:
                raise ValueError(f"ports: {port!r} is no port's name")
        if not self.sets or not set(self.sets) <= set(PARAMETER_SETS):
            raise ValueError(f"sets: must be of {', '.join(PARAMETER_SETS)}")
        if not any((self.operations.keygen, self.operations.sign, self.operations.verify)):
            raise ValueError("operations: there is none of keygen, sign and verify")
        for name, operation in self.listed():
            self._check_operation(name, operation)

    def listed(self) -> list[tuple[str, CoreOperation]]:
        """The operations that it has, by name."""
        found = (
            (name, getattr(self.operations, name)) for name in CoreOperations.__struct_fields__
        )
        return [(name, operation) for name, operation in found if operation is not None]

    def _check_operation(self, name: str, operation: CoreOperation) -> None:
        words = {word for of in self.sets.values() for word in of.words}
        for part in operation.load:
            if isinstance(part, str) and part not in PARTS and part not in words:
                known = ", ".join((*PARTS, *sorted(words)))
                raise ValueError(f"operations: {name} loads {part!r}; known are {known}")
            for set_name, of in self.sets.items():
                if part in words and part not in of.words:
                    raise ValueError(
                        f"sets: {set_name} lacks the word {part!r}, which {name} loads"
                    )
        for port in (*operation.ports, *(port for of in self.sets.values() for port in of.ports)):
            if not _PORT.fullmatch(port) or "__" in port:
                raise ValueError(f"operations: {name} sets {port!r}, which is no port's name")
        status = self.response is not None and self.response.status is not None
        if name == "verify" and "verdict" not in operation.store and not status:
            raise ValueError("response: verify has neither a status nor a verdict")
        if "verdict" in operation.store and self.verdict is None:
            raise ValueError("verdict: is missing, and verify stores one")


class Manifest:
    """A manifest that was read, with the files that it names."""

    def __init__(self, path: Path, file: CoreFile) -> None:
        self.path = path
        self.file = file

    @classmethod
    def read(cls, path: Path) -> Manifest:
        """LabError names the file, the line and the rule, or what of the sources is missing."""
        made = cls(path, decode_toml(read_text(path), CoreFile, str(path)))
        made.sources()
        made.included()
        return made

    @property
    def worker(self) -> str:
        """The name of the core as a worker."""
        return f"{self.file.name}-{self.file.configuration}"

    def parameters(self) -> list[str]:
        """Each as `NAME=VALUE`, a text in quotes, as a tool's option takes it."""
        given = self.file.parameters.items()
        return [f'{name}="{v}"' if isinstance(v, str) else f"{name}={v}" for name, v in given]

    def sources(self) -> list[Path]:
        """The files of the text, each once, in the order given, those of a pattern by name."""
        folder = self.path.resolve().parent
        found: dict[Path, None] = {}
        for pattern in self.file.sources:
            if Path(pattern).is_absolute():
                rule = "must be relative to the manifest's folder"
                raise LabError(f"{self.path}: sources: {pattern!r}: {rule}")
            try:
                files = sorted(p.resolve() for p in folder.glob(pattern) if p.is_file())
            except (ValueError, OSError) as error:
                raise LabError(f"{self.path}: sources: {pattern!r}: {error}") from None
            if not files:
                raise LabError(f"{self.path}: sources: {pattern!r} names no file")
            found |= dict.fromkeys(files)
        return list(found)

    def included(self) -> dict[Path, list[Path]]:
        """The folders of ``include``, with the Verilog text below each."""
        found = {}
        for name in self.file.include:
            folder = self.path.resolve().parent / name
            if not folder.is_dir():
                raise LabError(f"{self.path}: include: {name!r} is no folder")
            texts = (p for p in folder.rglob("*") if p.suffix in _INCLUDED and p.is_file())
            found[folder] = sorted(texts)
        return found

    @cached_property
    def digest(self) -> str:
        """The SHA-256 of the manifest, its sources and what they may include."""
        whole = hashlib.sha256()
        included = (path for texts in self.included().values() for path in texts)
        for path in (self.path, *self.sources(), *included):
            with reading(path):
                data = path.read_bytes()
            whole.update(f"{path.name} {len(data)} ".encode() + data)
        return whole.hexdigest()

    @property
    def release(self) -> str:
        """Its version, or where it tells none the beginning of its digest."""
        return self.file.release or f"sha256-{self.digest[:12]}"
