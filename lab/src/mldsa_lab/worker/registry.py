"""`lab/workers/registry.toml`: the workers, with their builds, commands and needs."""

from __future__ import annotations

import importlib.util
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Self

from msgspec import Meta, Struct, structs

from mldsa_lab import LabError
from mldsa_lab.checkout import find_target, install_command
from mldsa_lab.files import Text, convert, decode_toml, read_text
from mldsa_lab.sets import BUILDS, DEFAULT_BUILD, Family, build_mark

_PLACEHOLDER = re.compile(r"\{([^{}]*)\}")
_PLACES_OF = {
    "profile": ("builds", "that of a build"),
    "lock": ("locks", "the first of them"),
    "program": ("program", "it"),
}
_OPTIONS = "{options}"  # means several parts of a command, or none
_REQUIRED = ("name", "language", "folder", "build", "run")
# A whole number counts only in quotes: `openjdk version "25"`.
_VERSION = re.compile(r'(?<![\w.])(?:go|v|")?(\d+(?:\.\d+)+|(?<=")\d+(?="))')
NAME = re.compile(r"[a-z0-9][a-z0-9.-]*")
_SEPARATOR = re.compile(r"[^a-z0-9.]+")
_ASK_TIMEOUT_S = 60.0

ALL = "all"
"""The name that means every worker."""
DEFAULT = "default"
"""The name that means the workers of a run in which no workers are named."""
ADDED = "jdks"
"""The name that means, in a study, the workers that `study --worker` adds."""


@dataclass(frozen=True, slots=True)
class BuildDirs:
    """The tree that workers are built and run in."""

    root: Path
    target: Path

    @classmethod
    def for_tree(cls, root: Path) -> BuildDirs:
        """The ordinary folders for build results of the tree at `root`."""
        # npm takes a folder behind a link for another package.
        return cls(root, (find_target(root) / "workers").resolve())


class Need(Struct, frozen=True, forbid_unknown_fields=True):
    """A tool that building or running a worker takes.

    `hint` is how to get it, as an instruction; `version` the command that prints its version.
    """

    tool: Text
    hint: Text
    version: tuple[str, ...] = ()
    minimum: str | None = None

    def __post_init__(self) -> None:
        if self.minimum is None:
            return
        if not all(part.isdecimal() for part in self.minimum.split(".")):
            raise LabError(f"minimum must be numbers and dots, is {self.minimum!r}")
        if not self.version:
            raise LabError("version is missing, and minimum needs it")


class Build(Struct, frozen=True, forbid_unknown_fields=True):
    """A way to build a worker: the value of `{profile}`, and additions to `env`."""

    profile: Text
    env: dict[str, str] = {}


class RegistryWorker(Struct, frozen=True, forbid_unknown_fields=True):
    """One `[[worker]]` as the file has it. The commands and values of `env` are templates.

    `folder` is relative to the repository's root, or absolute. `implementations`, where it is
    given, are all that the worker can announce: a run that asks for others need not build it.
    `families`, where they are given, are the families of its sets, likewise. `setup` are commands
    that fetch and make the worker's needs, only on request. `jmh` starts JMH, where the worker has
    it. `locks` are the files that pin its sources. A worker that is ``like`` another before it has
    that one's keys where it gives none; without it language, folder, build and run are required.
    """

    name: str
    language: Text = ""
    folder: Text = ""
    build: tuple[str, ...] = ()  # empty where nothing has to be built
    run: Annotated[tuple[str, ...], Meta(min_length=1)] = ()
    env: dict[str, str] = {}
    needs: tuple[Need, ...] = ()
    default: bool = False  # part of a run in which no workers are named
    test: tuple[str, ...] = ()  # the worker's own tests, run as its build is
    builds: dict[str, Build] = {}  # none where there is but one
    implementations: tuple[Text, ...] = ()
    families: tuple[Family, ...] = ()
    locks: tuple[str, ...] = ()
    like: str = ""
    program: str = ""  # the worker's platform, and the value of {program}
    options: tuple[str, ...] = ()  # the value of {options}, a part of a command by itself
    home_of: str = ""  # the worker whose folder, and with it whose set-up, this one shares
    jmh: tuple[str, ...] = ()
    setup: tuple[Annotated[tuple[str, ...], Meta(min_length=1)], ...] = ()

    def __post_init__(self) -> None:
        if not NAME.fullmatch(self.name):
            rule = "must be small letters, digits, hyphens and dots"
            raise LabError(f"name {rule}, is {self.name!r}")
        if self.name in (ALL, DEFAULT, ADDED):
            raise LabError(f"name must not be {self.name!r}, which means several workers")
        if ".." in Path(self.folder).parts:
            rule = "must be a path inside the repository or an absolute path, without `..`"
            raise LabError(f"folder {rule}, is {self.folder!r}")
        for name in self.builds:
            if name not in BUILDS:
                raise LabError(f"unknown build {name!r}: known are {', '.join(BUILDS)}")
        if self.builds and DEFAULT_BUILD not in self.builds:
            raise LabError(f"builds must have the build {DEFAULT_BUILD!r}")
        for key, template in self._templates():
            for place in _PLACEHOLDER.findall(template if template != _OPTIONS else ""):
                if place not in _PLACES:
                    known = ", ".join(f"{{{name}}}" for name in _PLACES)
                    raise LabError(f"{key}: unknown place {{{place}}}: known are {known}")
                if place in _PLACES_OF and not getattr(self, _PLACES_OF[place][0]):
                    key, what = _PLACES_OF[place]
                    raise LabError(f"{key} is missing: {{{place}}} stands for {what}")

    def _templates(self) -> list[tuple[str, str]]:
        """List every template with its key."""
        names = ("build", "test", "run", "jmh", "options", "locks")
        lists: dict[str, Sequence[str]] = {name: getattr(self, name) for name in names}
        lists["program"] = (self.program,)
        lists["setup"] = [part for command in self.setup for part in command]
        tables = {"env": self.env} | {f"builds.{n}.env": b.env for n, b in self.builds.items()}
        lists |= {f"{key}.{n}": (v,) for key, env in tables.items() for n, v in env.items()}
        return [(key, part) for key, parts in lists.items() for part in parts]


class WorkerEntry(RegistryWorker, frozen=True):
    """A worker of the registry in one of its builds: the default one as the registry is read."""

    chosen: str | None = None  # None where there is but one

    @property
    def label(self) -> str:
        """Its name in a run, where two builds of it may take part: `rust`, `rust:tuned`."""
        return self.name + build_mark(self.chosen)

    @property
    def is_listed(self) -> bool:
        """Return whether a registry lists it: a program that is named by its path is in none."""
        return bool(self.language)

    @property
    def title(self) -> str:
        """Its name as the screen has it, with the language that the registry declares; other
        programs tell theirs in their announcement."""
        return self.name + f" ({self.language})" * self.is_listed

    def with_build(self, name: str) -> Self:
        """The same in another build; itself where it has but one."""
        return structs.replace(self, chosen=name) if name in self.builds else self

    def home(self, target: Path) -> Path:
        """The worker's own folder for the results of `setup`."""
        return target / (self.home_of or self.name)

    def environment(self, dirs: BuildDirs) -> dict[str, str]:
        """Return the additions to the environment of building and setting up."""
        env = self.env | (self.builds[self.chosen].env if self.chosen else {})
        return {name: self.text(value, dirs) for name, value in env.items()}

    def unmet(self) -> list[str]:
        """For each tool that is missing or too old, the fault and the remedy."""
        texts = (unmet_need(need) for need in self.needs)
        return [text for text in texts if text is not None]

    def fill(self, parts: Sequence[str], dirs: BuildDirs) -> list[str]:
        """Return a command of the entry, or its `locks`, with the names in braces replaced.

        Commands run in `dirs.root`, with `environment` added.
        """
        listed = (self.options if part == _OPTIONS else (part,) for part in parts)
        return [self.text(part, dirs) for several in listed for part in several]

    def text(self, template: str, dirs: BuildDirs) -> str:
        """Return one template with the names in braces replaced."""
        return _PLACEHOLDER.sub(lambda match: _PLACES[match[1]](self, dirs), template)


_PLACES: dict[str, Callable[[WorkerEntry, BuildDirs], str]] = {
    "root": lambda entry, dirs: str(dirs.root),
    "target": lambda entry, dirs: str(dirs.target),
    "folder": lambda entry, dirs: entry.folder,
    "name": lambda entry, dirs: entry.name,
    "home": lambda entry, dirs: str(entry.home(dirs.target)),
    "profile": lambda entry, dirs: entry.builds[entry.chosen].profile if entry.chosen else "",
    "program": lambda entry, dirs: entry.text(entry.program, dirs),
    "lock": lambda entry, dirs: entry.text(entry.locks[0], dirs),
    "python": lambda entry, dirs: sys.executable,
    "libclang": lambda entry, dirs: str(libclang_folder()),
    "cc_include": lambda entry, dirs: compiler_include(),
}
"""The values of names in braces."""


def libclang_folder() -> Path:
    """The folder of libclang's shared library, from the package of that name next to the lab.

    Raises LabError if it is not installed.
    """
    spec = importlib.util.find_spec("clang")
    folder = Path(spec.origin).parent / "native" if spec and spec.origin else None
    if folder is None or not folder.is_dir():
        command = install_command("libclang==18.1.1", "setup-bench")
        raise LabError(
            "building a worker that reads C headers needs the shared library of the Python package "
            f"libclang: {command} installs it"
        )
    return folder


def compiler_include() -> str:
    """The folder of the C compiler's own headers, which libclang's package does not carry.

    Raises LabError if the compiler does not name one.
    """
    compiler = os.environ.get("CC") or "cc"
    try:
        done = ask([*shlex.split(compiler), "-print-file-name=include"])
    except (LabError, ValueError) as error:
        raise LabError(f"the C compiler {compiler} does not work: {error}") from None
    folder = done.stdout.strip()
    if done.returncode != 0 or not Path(folder).is_dir():
        raise LabError(f"the C compiler {compiler} does not name the folder of its headers")
    return folder


def ask(command: Sequence[str]) -> subprocess.CompletedProcess[str]:
    """Run a program that answers a question. LabError if it does not start or answer in time."""
    try:
        return subprocess.run(
            command,
            capture_output=True,
            stdin=subprocess.DEVNULL,
            text=True,
            errors="replace",
            timeout=_ASK_TIMEOUT_S,
            # Both switch off a download that the question would otherwise set off.
            env={**os.environ, "GOTOOLCHAIN": "local", "RUSTUP_AUTO_INSTALL": "0"},
        )
    except subprocess.TimeoutExpired:
        raise LabError(f"no answer in {_ASK_TIMEOUT_S:g} s") from None
    except OSError as error:
        raise LabError(error.strerror or str(error)) from None


class _Registry(Struct, frozen=True, forbid_unknown_fields=True):
    worker: Annotated[tuple[dict[str, Any], ...], Meta(min_length=1)]


def read_registry(path: Path) -> list[WorkerEntry]:
    """All entries in the file's order. LabError names the file, the entry and the key."""
    tables = decode_toml(read_text(path, "worker registry "), _Registry, str(path)).worker
    entries: list[WorkerEntry] = []
    whole: dict[str, dict[str, Any]] = {}
    for number, table in enumerate(tables, 1):
        name = str(table.get("name", number))
        where = f"{path}, worker {name}"
        whole[name] = _completed(table, whole, where)
        worker = convert(whole[name], RegistryWorker, where)
        earlier = [entry.name for entry in entries]
        if worker.name in earlier:
            raise LabError(f"{where}: the name is given to two entries")
        if worker.home_of and worker.home_of not in earlier:
            raise LabError(f"{where}: home_of names no worker before it: {worker.home_of!r}")
        chosen = DEFAULT_BUILD if worker.builds else None
        entries.append(WorkerEntry(**structs.asdict(worker), chosen=chosen))
    return entries


def every_build(entries: Sequence[WorkerEntry]) -> list[WorkerEntry]:
    """The entries, each in all of its builds."""
    return [b for e in entries for b in ([e.with_build(n) for n in e.builds] or [e])]


def _completed(
    table: dict[str, Any], before: Mapping[str, dict[str, Any]], where: str
) -> dict[str, Any]:
    """The table with the keys of the one that it is like; LabError where a required one is
    missing."""
    if (like := table.get("like")) is not None:
        if str(like) not in before:
            raise LabError(f"{where}: like names no worker before it: {like!r}")
        table = before[str(like)] | table
    for key in _REQUIRED:
        if key not in table:
            raise LabError(f"{where}: {key} is missing")
    return table


def named(entries: Sequence[WorkerEntry], names: Sequence[str]) -> list[WorkerEntry]:
    """The entries with these labels, in their order here, then the programs among the names, which
    have a slash; LabError for an unknown one."""
    known = [e.label for e in entries]
    programs = [name for name in names if "/" in name]
    for name in names:
        if name not in known and name not in programs:
            raise LabError(
                f"unknown worker {name!r}: the registry has {', '.join(known)}; the path of a "
                "program or JDK needs a slash: ./worker"
            )
    return [e for e in entries if e.label in names] + [_program(Path(name)) for name in programs]


def _program(path: Path) -> WorkerEntry:
    """A program that speaks the protocol, as a worker that a registry names after its file."""
    if not os.access(path, os.X_OK) or path.is_dir():
        raise LabError(
            f"worker {path}: must be a program, a JDK's folder or a core's manifest (.toml): no "
            "executable file has this path"
        )
    name = to_name(path.stem) or "program"
    program = str(path.resolve())
    return WorkerEntry(name=name, folder=str(Path(program).parent), run=(program,))


def to_name(text: str) -> str:
    """Return a text as the name of a worker, or "" if it has no letter or digit."""
    return _SEPARATOR.sub("-", text.lower()).strip("-.")


def unmet_need(need: Need) -> str | None:
    """None where the tool is there and new enough, else the fault and the hint."""
    if shutil.which(need.tool) is None:
        return f"{need.tool} is not installed: {need.hint}"
    if not need.version:
        return None
    command = " ".join(need.version)
    try:
        done = ask(need.version)
    except LabError as error:
        return f"{need.tool} does not work (`{command}`: {error}): {need.hint}"
    if done.returncode != 0:
        output = (done.stderr.strip() or done.stdout.strip() or "no output").splitlines()[0]
        return f"{need.tool} does not work (`{command}` said: {output}): {need.hint}"
    if need.minimum is None:
        return None
    match = _VERSION.search(done.stdout) or _VERSION.search(done.stderr)
    if match is None:
        return f"{need.tool}: `{command}` names no version, at least {need.minimum} is needed"
    if _numbers(match[1]) < _numbers(need.minimum):
        return f"{need.tool} is {match[1]}, at least {need.minimum} is needed: {need.hint}"
    return None


def _numbers(version: str) -> list[int]:
    return [int(part) for part in version.split(".")]
