"""Print what dependency groups need, as uv.lock pins it, in the form that pip reads.

`requirements.py GROUP...` prints packages of registries for this interpreter, `requirements.py
--local GROUP...` the folders of the workspace's own. setup.sh takes it where uv cannot run.
"""

import sys
import tomllib
from pathlib import Path
from typing import Any

from pip._vendor.packaging.markers import Marker

LOCK = Path(__file__).parents[1] / "uv.lock"


def needed(groups: list[str]) -> dict[str, Any]:
    """The lock's entries of all packages that the groups need here, by name."""
    lock = tomllib.loads(LOCK.read_text(encoding="utf-8"))
    todo = [entry for group in groups for entry in lock["manifest"]["dependency-groups"][group]]
    seen, packages = set(), {}
    while todo:
        dependency = todo.pop()
        if not holds([dependency.get("marker")]):
            continue
        package = chosen(lock["package"], dependency)
        packages[package["name"]] = package
        for extra in ("", *dependency.get("extras", ()), *dependency.get("extra", ())):
            if (package["name"], extra) not in seen:
                seen.add((package["name"], extra))
                extras = package.get("optional-dependencies", {})
                todo += extras[extra] if extra else package.get("dependencies", [])
    return dict(sorted(packages.items()))


def chosen(packages: list[Any], dependency: Any) -> Any:
    """The one that is wanted; of several versions the one of this interpreter."""
    named = [p for p in packages if p["name"] == dependency["name"]]
    for package in named:
        # The workspace's own packages have no version in the lock.
        if dependency.get("version", package.get("version")) == package.get("version") and (
            "version" in dependency or holds(package.get("resolution-markers", [None]))
        ):
            return package
    raise SystemExit(f"requirements: uv.lock has no {dependency['name']} for this Python")


def holds(markers: list[str | None]) -> bool:
    """Return whether one of the markers is true here; None always is."""
    return any(marker is None or Marker(marker).evaluate() for marker in markers)


def line(package: Any) -> str:
    """A requirement with the hashes of its files."""
    files = [*package.get("wheels", ()), *([package["sdist"]] if "sdist" in package else ())]
    pin = f"{package['name']}=={package['version']}"
    return " ".join([pin, *(f"--hash={file['hash']}" for file in files)])


if __name__ == "__main__":
    local = sys.argv[1:2] == ["--local"]
    for entry in needed(sys.argv[1 + local :]).values():
        if local and "editable" in entry["source"]:
            print(entry["source"]["editable"])
        elif not local and "registry" in entry["source"]:
            print(line(entry))
