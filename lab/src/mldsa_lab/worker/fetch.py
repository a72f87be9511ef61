"""Jars from Maven Central, each checked against the SHA-256 that a lock file gives.

`python -m mldsa_lab.worker.fetch LOCKFILE FOLDER` is for the `setup` commands of the registry:
FOLDER then has the jars of the lock file, and no others. What is there is not fetched again. A line
of the lock file is `group:artifact:version[:classifier] SHA256`; one that begins with `#` is a
comment. MLDSA_LAB_MAVEN in the environment names another repository than Maven Central.
"""

from __future__ import annotations

import hashlib
import os
import re
import sys
from http.client import HTTPException
from pathlib import Path
from urllib.request import urlopen

from mldsa_lab import LabError
from mldsa_lab.files import read_text, write_whole, writing

_CENTRAL = "https://repo1.maven.org/maven2"
_PART = r"[A-Za-z0-9_.-]*[A-Za-z0-9]"
_LINE = re.compile(rf"({_PART}):({_PART}):({_PART})(?::({_PART}))? +([0-9a-f]{{64}})")
_TIMEOUT_S = 60.0


def read_lock(path: Path) -> dict[str, tuple[str, str]]:
    """The jars by file name, each with its path in the repository and its SHA-256 in hexadecimal.

    LabError for a line that is malformed or gives a file name again.
    """
    jars: dict[str, tuple[str, str]] = {}
    for number, line in enumerate(read_text(path).splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        match = _LINE.fullmatch(line.rstrip())
        if match is None:
            rule = "must be `group:artifact:version[:classifier] SHA256`"
            raise LabError(f"{path}, line {number}: {rule}, is {line!r}")
        group, artifact, version, classifier, digest = match.groups()
        name = "-".join(part for part in (artifact, version, classifier) if part) + ".jar"
        if name in jars:
            raise LabError(f"{path}, line {number}: {name} is named by another line too")
        jars[name] = f"{group.replace('.', '/')}/{artifact}/{version}/{name}", digest
    return jars


def fetch(lock: Path, folder: Path, repository: str) -> None:
    """Give `folder` the jars of the lock file, and no others.

    LabError names the jar that cannot be had or is another than the lock file's; those fetched
    before it stay.
    """
    jars = read_lock(lock)
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
        for there in folder.glob("*.jar"):
            if there.name not in jars:
                there.unlink()
    for name, (path, digest) in jars.items():
        target = folder / name
        if target.is_file() and hashlib.sha256(target.read_bytes()).hexdigest() == digest:
            continue
        url = f"{repository.rstrip('/')}/{path}"
        print(url, flush=True)
        content = _download(url)
        if (got := hashlib.sha256(content).hexdigest()) != digest:
            raise LabError(f"{url}: its SHA-256 is {got}, {lock} has {digest}")
        write_whole(target, lambda file, content=content: file.write_bytes(content))  # type: ignore[misc]


def _download(url: str) -> bytes:
    try:
        with urlopen(url, timeout=_TIMEOUT_S) as reply:
            content: bytes = reply.read()
    except (OSError, HTTPException, ValueError) as error:  # URLError is an OSError
        raise LabError(f"{url}: cannot be fetched: {error}") from None
    return content


def main(arguments: list[str]) -> int:
    """The command line of this module; returns the exit status."""
    try:
        if len(arguments) != 2:
            raise LabError("the arguments are LOCKFILE and FOLDER")
        lock, folder = map(Path, arguments)
        fetch(lock, folder, os.environ.get("MLDSA_LAB_MAVEN") or _CENTRAL)
    except LabError as error:
        print(f"mldsa-lab: error: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
