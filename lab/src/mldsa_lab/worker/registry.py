"""`workers/registry.toml`: which workers there are, how each is built and run, what it needs."""

from __future__ import annotations

import importlib.util
import os
import re
import shlex
import shutil
import subprocess
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Self

from mldsa_lab.errors import LabError
from mldsa_lab.extras import need
from mldsa_lab.sets import BUILDS, DEFAULT_BUILD

_PLACEHOLDER = re.compile(r"\{([^{}]*)\}")
_PLACES = ("root", "target", "folder", "profile", "libclang", "cc_include")
_VERSION = re.compile(r"(?<![\w.])(?:go|v)?(\d+(?:\.\d+)+)")
_MINIMUM = re.compile(r"\d+(\.\d+)*")
_NAME = re.compile(r"[a-z0-9][a-z0-9-]*")
_VERSION_TIMEOUT_S = 60.0


@dataclass(frozen=True, slots=True)
class Need:
    """A tool that building or running a worker takes."""

    tool: str
    hint: str  # how to get it, as an instruction
    version: tuple[str, ...] = ()  # the command that prints its version
    minimum: str | None = None


@dataclass(frozen=True, slots=True)
class Build:
    """A way to build a worker: what `{profile}` stands for, and what it adds to `env`."""

    name: str
    profile: str
    env: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class WorkerEntry:
    """One `[[worker]]` in one of its builds. The commands and values of `env` are templates until
    they are filled."""

    name: str
    language: str
    folder: str  # relative to the repository's root; absolute where the worker is outside it
    build: tuple[str, ...]  # empty where nothing has to be built
    run: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=dict)
    needs: tuple[Need, ...] = ()
    default: bool = False  # part of a run in which no workers are named
    test: tuple[str, ...] = ()  # the worker's own tests, run as its build is
    builds: tuple[Build, ...] = ()  # none where there is but one
    chosen: Build | None = None  # one of them: the default one as the registry is read

    @property
    def label(self) -> str:
        """Its name in a run, where two builds of it may take part: `rust`, `rust:tuned`."""
        return self.name + build_mark(self.chosen.name if self.chosen else None)

    def with_build(self, name: str) -> Self:
        """The same in another build; itself where it has but one."""
        found = next((build for build in self.builds if build.name == name), self.chosen)
        return replace(self, chosen=found)

    def build_command(self, root: Path, target: Path) -> list[str]:
        """The build command, to be run in `root` with `environment` added to the environment."""
        return [self._fill(part, root, target) for part in self.build]

    def test_command(self, root: Path, target: Path) -> list[str]:
        """The command that runs the worker's own tests, as `build_command`; may be empty."""
        return [self._fill(part, root, target) for part in self.test]

    def run_command(self, root: Path, target: Path) -> list[str]:
        """The command that starts the worker, to be run in `root`."""
        return [self._fill(part, root, target) for part in self.run]

    def environment(self, root: Path, target: Path) -> dict[str, str]:
        """What building adds to the environment."""
        env = {**self.env, **(self.chosen.env if self.chosen else {})}
        return {name: self._fill(value, root, target) for name, value in env.items()}

    def unmet(self) -> list[str]:
        """For each tool that is missing or too old, what is wrong and how to get it."""
        found = (unmet_need(need) for need in self.needs)
        return [text for text in found if text is not None]

    def _fill(self, template: str, root: Path, target: Path) -> str:
        def place(name: str) -> str:
            match name:
                case "libclang":
                    return str(libclang_folder())
                case "cc_include":
                    return compiler_include()
                case "profile":
                    return self.chosen.profile if self.chosen else ""
                case _:
                    return {"root": str(root), "target": str(target), "folder": self.folder}[name]

        return _PLACEHOLDER.sub(lambda match: place(match[1]), template)


def build_mark(build: str | None) -> str:
    """What a build adds to the name of a worker and to the ids of its variants: the default one,
    and the only one of a worker that has one, add nothing."""
    return "" if build in (None, DEFAULT_BUILD) else f":{build}"


def libclang_folder() -> Path:
    """The folder of libclang's shared library, from the package of that name beside the lab.

    Raises LabError if it is not installed.
    """
    need("bench", "building a worker that reads C headers")
    spec = importlib.util.find_spec("clang")
    folder = Path(spec.origin).parent / "native" if spec and spec.origin else None
    if folder is None or not folder.is_dir():
        raise LabError("the Python package libclang lacks its shared library: install it anew")
    return folder


def compiler_include() -> str:
    """The folder of the C compiler's own headers, which libclang's package does not carry.

    Raises LabError if the compiler does not name one.
    """
    compiler = os.environ.get("CC") or "cc"
    try:
        done = subprocess.run(
            [*shlex.split(compiler), "-print-file-name=include"],
            capture_output=True,
            stdin=subprocess.DEVNULL,
            text=True,
            errors="replace",
            timeout=_VERSION_TIMEOUT_S,
        )
    except (OSError, ValueError, subprocess.TimeoutExpired) as error:
        raise LabError(f"the C compiler {compiler} does not work: {error}") from None
    folder = done.stdout.strip()
    if done.returncode != 0 or not Path(folder).is_dir():
        raise LabError(f"the C compiler {compiler} does not name the folder of its headers")
    return folder


def read_registry(path: Path) -> list[WorkerEntry]:
    """All entries in the file's order. Raises LabError naming the file, the entry and the key."""
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise LabError(f"{path}: there is no such worker registry") from None
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise LabError(f"{path}: not a readable TOML file: {error}") from None
    for key in document:
        if key != "worker":
            raise LabError(f"{path}: unknown key `{key}`; the file holds [[worker]] entries alone")
    tables = document.get("worker")
    if not isinstance(tables, list) or not tables:
        raise LabError(f"{path}: holds no [[worker]] entry")
    entries: list[WorkerEntry] = []
    for number, table in enumerate(tables, 1):
        if not isinstance(table, dict):
            raise LabError(f"{path}: `worker` must be [[worker]] tables")
        entry = _entry(_Table(path, f"worker {number}", table))
        if any(entry.name == other.name for other in entries):
            raise LabError(f"{path}, worker `{entry.name}`: the name is given to two entries")
        entries.append(entry)
    return entries


def unmet_need(need: Need) -> str | None:
    """None where the tool is there and new enough, else what is wrong and the hint."""
    if shutil.which(need.tool) is None:
        return f"{need.tool} is not installed: {need.hint}"
    if not need.version:
        return None
    command = " ".join(need.version)
    try:
        done = subprocess.run(
            need.version,
            capture_output=True,
            stdin=subprocess.DEVNULL,
            text=True,
            errors="replace",
            timeout=_VERSION_TIMEOUT_S,
            # Both switch off a download that the question would otherwise set off.
            env={**os.environ, "GOTOOLCHAIN": "local", "RUSTUP_AUTO_INSTALL": "0"},
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"{need.tool} does not work (`{command}`: {error}): {need.hint}"
    if done.returncode != 0:
        said = (done.stderr.strip() or done.stdout.strip() or "no output").splitlines()[0]
        return f"{need.tool} does not work (`{command}` said: {said}): {need.hint}"
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


class _Table:
    """A TOML table whose faults name file, entry and key."""

    def __init__(self, path: Path, label: str, values: dict[str, Any]) -> None:
        self.path = path
        self.label = label
        self.values = dict(values)

    def fault(self, key: str, rule: str) -> LabError:
        return LabError(f"{self.path}, {self.label}, key `{key}`: {rule}")

    def take(self, key: str) -> Any:
        if key not in self.values:
            raise self.fault(key, "is missing")
        return self.values.pop(key)

    def text(self, key: str) -> str:
        value = self.take(key)
        if not isinstance(value, str) or not value.strip() or "\n" in value:
            raise self.fault(key, "must be a text of one line")
        return value

    def texts(self, key: str) -> tuple[str, ...]:
        value = self.take(key)
        if not isinstance(value, list) or not all(isinstance(part, str) for part in value):
            raise self.fault(key, "must be a list of texts")
        return tuple(value)

    def finish(self) -> None:
        for key in self.values:
            raise self.fault(key, "is not known")


def _entry(table: _Table) -> WorkerEntry:
    name = table.text("name")
    if not _NAME.fullmatch(name):
        raise table.fault("name", f"must be small letters, digits and hyphens, got `{name}`")
    table.label = f"worker `{name}`"
    language = table.text("language")
    folder = table.text("folder")
    if ".." in Path(folder).parts:
        rule = "must be a path inside the repository or an absolute path, without `..`"
        raise table.fault("folder", f"{rule}, got `{folder}`")
    build = _templates(table, "build", table.texts("build"))
    test = table.texts("test") if "test" in table.values else ()
    test = _templates(table, "test", test)
    run = _templates(table, "run", table.texts("run"))
    if not run:
        raise table.fault("run", "must name a program")
    env = _environment(table)
    builds = _builds(table)
    if not builds and any("{profile}" in part for part in (*build, *test, *run, *env.values())):
        raise table.fault("builds", "is missing: {profile} stands for that of a build")
    default = table.values.pop("default", False)
    if not isinstance(default, bool):
        raise table.fault("default", "must be true or false")
    needs = table.values.pop("needs", [])
    if not isinstance(needs, list) or not all(isinstance(need, dict) for need in needs):
        raise table.fault("needs", "must be a list of tables")
    parsed = tuple(
        _need(_Table(table.path, f"{table.label}, need {number}", need))
        for number, need in enumerate(needs, 1)
    )
    table.finish()
    chosen = next((b for b in builds if b.name == DEFAULT_BUILD), None)
    return WorkerEntry(
        name, language, folder, build, run, env, parsed, default, test, builds, chosen
    )


def _environment(table: _Table) -> dict[str, str]:
    env = table.values.pop("env", {})
    if not isinstance(env, dict) or not all(isinstance(value, str) for value in env.values()):
        raise table.fault("env", "must be a table of texts")
    for variable, value in env.items():
        _templates(table, f"env.{variable}", (value,))
    return env


def _builds(table: _Table) -> tuple[Build, ...]:
    """The builds in the order of `BUILDS`; none where the entry names none."""
    given = table.values.pop("builds", None)
    if given is None:
        return ()
    if not isinstance(given, dict) or not all(isinstance(build, dict) for build in given.values()):
        raise table.fault("builds", "must be a table of tables")
    if DEFAULT_BUILD not in given:
        raise table.fault("builds", f"must have the build `{DEFAULT_BUILD}`")
    for name in given:
        if name not in BUILDS:
            raise table.fault("builds", f"unknown build `{name}`: known are {', '.join(BUILDS)}")
    made = []
    for name in (name for name in BUILDS if name in given):
        part = _Table(table.path, f"{table.label}, build `{name}`", given[name])
        made.append(Build(name, part.text("profile"), _environment(part)))
        part.finish()
    return tuple(made)


def _need(table: _Table) -> Need:
    tool = table.text("tool")
    hint = table.text("hint")
    version = table.texts("version") if "version" in table.values else ()
    minimum = table.text("minimum") if "minimum" in table.values else None
    if minimum is not None and not _MINIMUM.fullmatch(minimum):
        raise table.fault("minimum", f"must be numbers and dots, got `{minimum}`")
    if minimum is not None and not version:
        raise table.fault("version", "is missing, and `minimum` needs it")
    table.finish()
    return Need(tool, hint, version, minimum)


def _templates(table: _Table, key: str, parts: tuple[str, ...]) -> tuple[str, ...]:
    for part in parts:
        for place in _PLACEHOLDER.findall(part):
            if place not in _PLACES:
                known = ", ".join(f"{{{name}}}" for name in _PLACES)
                raise table.fault(key, f"unknown place `{{{place}}}`; known are {known}")
    return parts
