"""The manifest of a core, as docs/measure-your-core.md describes it."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated, Literal

from msgspec import Meta, Struct

from mldsa_lab import LabError
from mldsa_lab.files import Count, Positive, Text, decode_toml, read_text, reading
from mldsa_lab_rtl.parts import PARTS, RHO, STORED

_INCLUDED = (".v", ".vh", ".sv", ".svh", ".h", ".inc")
_MAKES = {
    "keygen": ("pk", "sk", RHO), "load_key": (), "sign": ("signature",), "verify": ("verdict",),
}  # fmt: skip

# Only `$` would take a line's end behind a name.
_PATTERNS = {
    r"^[A-Za-z](_?[A-Za-z0-9])*_?$(?!\n)": "a port's name: letters, digits and single underscores",
    r"^[A-Za-z][A-Za-z0-9_]*$(?!\n)": "a name in Verilog: letters, digits and underscores",
    r"^[a-z0-9][a-z0-9.-]*$(?!\n)": "a name: lower-case letters, digits, hyphens and dots",
}
_PORT, _IDENTIFIER, _NAME = _PATTERNS
Port = Annotated[str, Meta(pattern=_PORT)]
Identifier = Annotated[str, Meta(pattern=_IDENTIFIER)]
Name = Annotated[str, Meta(pattern=_NAME)]
Ports = dict[Port, Count]
"""Values of ports, constant or during an operation."""


class _CoreTable(Struct, frozen=True, forbid_unknown_fields=True):
    """A table of a manifest."""


class Clock(_CoreTable, frozen=True):
    """The clock, on whose rising edge everything happens."""

    port: Port


class Reset(_CoreTable, frozen=True):
    """The reset, active for so many ``cycles`` before the first operation. One that is not
    ``complete`` leaves state behind: every operation then gets a new model. ``power_up``: the
    values of registers before it."""

    port: Port
    active: Literal["high", "low"] = "high"
    cycles: Positive = 4
    complete: bool = True
    power_up: Literal["random", "zero"] = "random"


class Command(_CoreTable, frozen=True):
    """The handshake by which an operation begins; without ``ready`` a pulse of one cycle."""

    valid: Port
    ready: Port | None = None


class CoreStream(_CoreTable, frozen=True):
    """A stream of words of ``width`` bits. ``order``: place of a word's first byte, in its lowest
    or its highest bits. ``last`` marks the final word of each part or (``packet``) of them all.
    ``bytes`` counts the valid bytes of that word, or ``keep`` has a bit for each.
    ``steady``: a word that was offered stays until it is taken, which is checked.
    ``stalls``: false for a core that gives wrong results if words are offered late (or are left
    waiting): the harness then never does so."""

    data: Port
    valid: Port
    ready: Port | None = None
    last: Port | None = None
    bytes: Port | None = None
    keep: Port | None = None
    width: Annotated[int, Meta(ge=8, le=512, multiple_of=8)] = 64
    order: Literal["little", "big"] = "little"
    packet: Literal["part", "all"] = "part"
    steady: bool = True
    stalls: bool = True

    def __post_init__(self) -> None:
        if self.bytes is not None and self.keep is not None:
            raise ValueError("keep: a stream has either bytes or keep")
        if self.last is None and (self.bytes or self.keep) is not None:
            raise ValueError(f"{'bytes' if self.bytes else 'keep'}: needs a port last")


class Response(_CoreTable, frozen=True):
    """The handshake by which an operation ends, without ``ready`` a level or a pulse. ``status``:
    the port of the result: ``ok``, one of ``refused`` (a verification that rejects), or a failure.
    ``names``: of the values from 0 on."""

    valid: Port
    ready: Port | None = None
    status: Port | None = None
    ok: Count = 0
    refused: tuple[Count, ...] = ()
    names: tuple[Text, ...] = ()


class CoreVerdict(_CoreTable, frozen=True):
    """The word of the results that has the verdict: these bits (``mask``; 0: all) are
    ``accepted``."""

    accepted: Count
    mask: Count = 0


class CoreCounters(_CoreTable, frozen=True):
    """Ports with the core's own counts since the operation began: cycles of each phase, attempts,
    and rejections by the check that failed first. Read as the operation ends."""

    load: Port | None = None
    compute: Port | None = None
    store: Port | None = None
    attempts: Port | None = None
    z: Port | None = None
    r0: Port | None = None
    ct0: Port | None = None
    hint: Port | None = None


class CoreOperation(_CoreTable, frozen=True):
    """An operation: values of ports, the operands in their order, a number being a word as it is,
    and the parts of the results."""

    ports: Ports = {}
    load: tuple[str | Count, ...] = ()
    store: tuple[str, ...] = ()


class CoreSet(_CoreTable, frozen=True):
    """A parameter set: values of ports, and words of its own that operands may name."""

    ports: Ports = {}
    words: dict[str, Count] = {}


class CoreOperations(_CoreTable, frozen=True):
    """The core's operations; signing needs ``load_key`` before."""

    keygen: CoreOperation | None = None
    load_key: CoreOperation | None = None
    sign: CoreOperation | None = None
    verify: CoreOperation | None = None

    def __post_init__(self) -> None:
        if self.load_key is not None and self.sign is None:
            raise ValueError("load_key: there is no operation sign")
        for name, operation in self.listed().items():
            for part in operation.store:
                if part not in STORED or part.partition(".")[0] not in _MAKES[name]:
                    raise ValueError(f"{name}: store has {part!r}, which it does not make")
            for whole in {"pk", "signature"}.intersection(_MAKES[name]):
                parts = {p for p in STORED if p.startswith(f"{whole}.")}
                stored = {f"{whole}.rho" if part == RHO else part for part in operation.store}
                if whole not in stored and not parts <= stored:
                    raise ValueError(f"{name}: store lacks {whole}, or one of its parts")

    def listed(self) -> dict[str, CoreOperation]:
        """Return the operations that it has, by name."""
        result = {name: getattr(self, name) for name in CoreOperations.__struct_fields__}
        return {name: operation for name, operation in result.items() if operation is not None}


class CoreZeroize(_CoreTable, frozen=True):
    """Zeroization: a command with these values of ``ports``, or without ``command`` the ports
    themselves, for so many ``cycles``. Then nothing happens for ``wait`` cycles."""

    ports: Ports
    command: bool = True
    cycles: Positive = 1
    wait: Count = 0


class CoreFile(_CoreTable, frozen=True):
    """A whole manifest. Paths are relative to its folder."""

    format: Literal["mldsa-lab core"]
    version: Literal[1]
    name: Name
    top: Identifier
    sources: Annotated[tuple[Text, ...], Meta(min_length=1)]
    standard: Literal["FIPS 204", "round 3"]
    clock: Clock
    reset: Reset
    input: CoreStream
    output: CoreStream
    sets: Annotated[
        dict[Literal["ML-DSA-44", "ML-DSA-65", "ML-DSA-87"], CoreSet], Meta(min_length=1)
    ]
    operations: CoreOperations
    configuration: Name = "core"
    release: str = ""
    language: Text = "SystemVerilog"
    parameters: dict[Identifier, int | str] = {}
    ports: Ports = {}
    include: tuple[Text, ...] = ()
    command: Command | None = None
    response: Response | None = None
    verdict: CoreVerdict | None = None
    counters: CoreCounters = CoreCounters()
    zeroize: CoreZeroize | None = None
    limit: Positive = 5_000_000
    note: str = ""

    def __post_init__(self) -> None:
        operations = self.operations.listed()
        if not operations.keys() - {"load_key"}:
            raise ValueError("operations: there is none of keygen, sign and verify")
        words = {word for own in self.sets.values() for word in own.words}
        for name, operation in operations.items():
            for part in operation.load:
                if isinstance(part, str) and part not in PARTS and part not in words:
                    known = ", ".join((*PARTS, *sorted(words)))
                    raise ValueError(f"operations: {name} loads {part!r}; known are {known}")
                lacking = [s for s, own in self.sets.items() if part in words - own.words.keys()]
                if lacking:
                    rule = f"lacks the word {part!r}, which {name} loads"
                    raise ValueError(f"sets: {lacking[0]} {rule}")
        if (z := self.zeroize) is not None and z.command and self.command is None:
            raise ValueError("zeroize: command = true needs the table command")
        if z is not None and not z.command and (idle := z.ports.keys() - self.ports.keys()):
            raise ValueError(f"ports: needs the idle value of {min(idle)!r}, which zeroize sets")
        if z is not None and not self.reset.complete:
            raise ValueError("zeroize: needs reset.complete = true")
        stored = self.operations.verify.store if self.operations.verify else ("verdict",)
        if "verdict" not in stored and (self.response is None or self.response.status is None):
            raise ValueError("response: verify has neither a status nor a verdict")
        if self.operations.verify and "verdict" in stored and self.verdict is None:
            raise ValueError("verdict: is missing, and verify stores one")


@dataclass(frozen=True, eq=False)
class Manifest:
    """A manifest that was read, with the files that it names."""

    path: Path
    file: CoreFile

    @classmethod
    def read(cls, path: Path) -> Manifest:
        """Read a manifest. LabError names the file, the place and the rule, or a missing source."""
        try:
            built = cls(path, decode_toml(read_text(path), CoreFile, str(path)))
        except LabError as error:
            text = str(error)
            for pattern, words in _PATTERNS.items():
                text = text.replace(f"`str` matching regex {pattern!r}", words)
            raise LabError(text) from None
        built.sources()
        built.included()
        return built

    @property
    def worker(self) -> str:
        """The name of the core as a worker."""
        return f"{self.file.name}-{self.file.configuration}"

    def parameters(self) -> list[str]:
        """Each as `NAME=VALUE`, a text in quotes, as a tool's option takes it."""
        chosen = self.file.parameters.items()
        return [f'{name}="{v}"' if isinstance(v, str) else f"{name}={v}" for name, v in chosen]

    def sources(self) -> list[Path]:
        """The files of the text, each once, in the order given, those of a pattern by name."""
        folder = self.path.resolve().parent
        result: dict[Path, None] = {}
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
            result |= dict.fromkeys(files)
        return list(result)

    def included(self) -> dict[Path, list[Path]]:
        """The folders of ``include``, with the Verilog text below each."""
        result = {}
        for name in self.file.include:
            folder = self.path.resolve().parent / name
            if not folder.is_dir():
                raise LabError(f"{self.path}: include: {name!r} is no folder")
            texts = (p for p in folder.rglob("*") if p.suffix in _INCLUDED and p.is_file())
            result[folder] = sorted(texts)
        return result

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
