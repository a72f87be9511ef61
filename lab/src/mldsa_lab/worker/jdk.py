"""Virtual machines of Java that are on the machine already: each becomes a worker like `java`."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from msgspec import structs

from mldsa_lab.checkout import in_tree
from mldsa_lab.errors import LabError, located
from mldsa_lab.files import reading
from mldsa_lab.worker.registry import NAME, WorkerEntry, ask

OLDEST = 17
"""The oldest release that the worker runs on."""
_LIKE = "java"
_MODULES = ("java.management", "java.compiler")  # clocks and settings; Eclipse's compiler
_PROPERTY = re.compile(r"^ +([\w.]+) = (.*)$", re.MULTILINE)
_FOLDERS = ("usr/lib/jvm/*", "Library/Java/JavaVirtualMachines/*/Contents/Home")
_OF_USER = ".sdkman/candidates/java/*"


@dataclass(frozen=True, slots=True)
class Jdk:
    """A virtual machine that the worker can run on, with a name by version and vendor."""

    folder: Path
    name: str

    @classmethod
    def at(cls, folder: Path) -> Jdk:
        """By asking the machine itself. LabError, with the folder and the rule, for anything else,
        for one older than `OLDEST`, and for one that lacks a module that the worker needs."""
        java = folder / "bin" / "java"
        with reading(folder):  # which may be forbidden, or its name too long
            there, whole = folder.is_dir(), java.is_file()
        if not there:
            raise LabError(f"{folder}: there is no such folder")
        if not whole:
            raise LabError(f"{folder} is no JDK: it has no bin/java")
        properties = dict(_PROPERTY.findall(_output(java, "-XshowSettings:properties", "-version")))
        release, version = (
            properties.get(f"java.{key}", "") for key in ("specification.version", "version")
        )
        if not release or not version:
            raise LabError(f"{folder}: its bin/java does not tell its version, as Java does")
        major = release.removeprefix("1.").partition(".")[0]
        if not major.isdigit() or int(major) < OLDEST:
            raise LabError(f"{folder} is Java {version}: the worker needs {OLDEST} or newer")
        modules = {line.partition("@")[0] for line in _output(java, "--list-modules").splitlines()}
        for module in _MODULES:
            if module not in modules:
                raise LabError(f"{folder}: the worker needs the module {module}, which it lacks")
        # `Temurin-25.0.3+9`, where the vendor names its product, else the vendor: `Debian`.
        vendor = re.match(r"[A-Za-z]+", properties.get("java.vendor.version", "")) or re.match(
            r"[A-Za-z]+", properties.get("java.vendor", "")
        )
        words = ["java", version, *([vendor[0]] if vendor else [])]
        return cls(folder, re.sub(r"[^a-z0-9.]+", "-", "-".join(words).lower()).strip("-."))

    @classmethod
    def from_text(cls, text: str) -> Jdk:
        """As `--worker` has it: `PATH`, or `NAME=PATH`."""
        name, equals, rest = text.partition("=")
        try:
            if not equals or Path(text).exists():
                return cls.at(Path(text).expanduser())
            if not NAME.fullmatch(name):
                rule = "must be small letters, digits, hyphens and dots"
                raise LabError(f"worker {text}: the name {rule}, is {name!r}")
            return replace(cls.at(Path(rest).expanduser()), name=name)
        except (OSError, RuntimeError) as error:  # a name that is too long; ~ of nobody
            why = error.strerror if isinstance(error, OSError) else str(error)
            raise LabError(f"worker {text}: {why}") from None

    def entry(self, java: WorkerEntry) -> WorkerEntry:
        """The worker on this machine, whose set-up is that of the registry's `java`."""
        program = str(self.folder.absolute() / "bin" / "java")
        changed = {"name": self.name, "program": program, "home_of": java.name, "needs": ()}
        return structs.replace(java, **changed, default=True)


def is_jdk(text: str) -> bool:
    """Return whether a text is `NAME=PATH`, or the path of a folder."""
    if "/" not in text or "=" in text.partition("/")[0]:
        return "/" in text
    try:
        return Path(text).expanduser().is_dir()
    except (OSError, RuntimeError):  # a name that is too long; ~ of nobody
        return True


def jdk_entries(texts: Sequence[str], own: Sequence[WorkerEntry]) -> list[WorkerEntry]:
    """A worker for each JDK; ``own`` are those of the tree. LabError also where two have one
    name."""
    if not texts:
        return []
    java = next((e for e in own if e.name == _LIKE), None)
    if java is None:
        raise LabError(f"worker {texts[0]}: the tree's registry has no worker {_LIKE!r}")
    in_tree(java.folder)
    entries: list[WorkerEntry] = []
    for text in texts:
        entry = Jdk.from_text(text).entry(java)
        if entry.name in {e.name for e in (*own, *entries)}:
            raise LabError(
                f"worker {text}: a worker is called {entry.name} already; NAME=PATH names another"
            )
        entries.append(entry)
    return entries


def find_jdks() -> Iterator[Jdk]:
    """Those that the worker can run on, where they usually are, each once."""
    own = os.environ.get("JAVA_HOME")
    folders = [Path(own)] if own else []
    for pattern in _FOLDERS:
        folders += sorted(Path("/").glob(pattern))
    with suppress(RuntimeError):  # a user without a home
        folders += sorted(Path.home().glob(_OF_USER))
    seen: set[Path] = set()
    for folder in folders:
        with suppress(LabError, OSError, RuntimeError):
            if (real := folder.resolve()) in seen:
                continue
            seen.add(real)
            yield Jdk.at(folder)


def _output(java: Path, *options: str) -> str:
    """Return the text on both of its outputs. LabError if it does not start."""
    with located(f"{java} does not start"):
        done = ask([str(java), *options])
    output = done.stdout + done.stderr
    if done.returncode != 0:
        first = (output.strip() or "no output").splitlines()[0]
        raise LabError(f"{java} does not start (status {done.returncode}): {first}")
    return output
