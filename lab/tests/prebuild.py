"""Build what the tests run, once, before pytest starts: `python lab/tests/prebuild.py [--all]`.

Without an option: the Rust worker, the broken worker and the trace library. With `--all`: also
every other worker of the registry that is set up and whose tools are installed.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path

from lab_runs import broken_registry, place

from mldsa_lab import LabError
from mldsa_lab.inputs.tracing import library_name, library_path
from mldsa_lab.worker.build import build, unmet
from mldsa_lab.worker.registry import read_registry


def keep_trace_library() -> None:
    """Copy the trace library from the Rust worker's build to its own place: compiling it there
    takes as long as the worker."""
    source = place().target / "release" / library_name()
    target = library_path(place().root)
    target.parent.mkdir(parents=True, exist_ok=True)
    # Cargo's file has a second name in `deps`: it must not be written to.
    partial = target.with_suffix(".partial")
    shutil.copyfile(source, partial)
    partial.replace(target)


def main(options: list[str]) -> int:
    if options not in ([], ["--all"]):
        print("usage: prebuild.py [--all]", file=sys.stderr)
        return 2
    try:
        with tempfile.TemporaryDirectory() as folder:
            chosen = read_registry(broken_registry(Path(folder) / "registry.toml", ("hang",)))
        if options:
            for entry in read_registry(place().root / "lab" / "workers" / "registry.toml"):
                if lacking := unmet(entry, place()):
                    print(f"{entry.label}: skipped: {'; '.join(lacking)}")
                elif entry.name != "rust":
                    chosen.append(entry)
        for entry in chosen:
            build(entry, place(), print)
        keep_trace_library()
    except LabError as error:
        print(f"prebuild: {error}", *getattr(error, "lines", ()), sep="\n", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
