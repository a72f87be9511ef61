"""Cores as workers: each manifest becomes one, as if it stood in a registry."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from mldsa_lab import LabError
from mldsa_lab.checkout import find_root
from mldsa_lab.worker.registry import WorkerEntry
from mldsa_lab_rtl.build import PROGRAM
from mldsa_lab_rtl.manifest import Manifest

_RESETS = ":resets"


def core_entry(manifest: Manifest, options: Sequence[str] = ()) -> WorkerEntry:
    """The core as a worker, whose program takes these options."""
    path = manifest.path.resolve()
    return WorkerEntry(
        name=manifest.worker,
        language=manifest.file.language,
        folder=str(path.parent),
        build=("{python}", "-m", "mldsa_lab_rtl.build", str(path), "{home}"),
        run=(f"{{home}}/{PROGRAM}", *options),
        implementations=(manifest.file.name,),
        locks=tuple(_shown(p) for p in (path, *manifest.sources())),
        default=True,
    )


def core_entries(texts: Sequence[str], others: Sequence[WorkerEntry]) -> list[WorkerEntry]:
    """Return a worker for each manifest; one with the suffix `:resets` is reset in operations.
    LabError also where two have one name."""
    entries: list[WorkerEntry] = []
    for text in texts:
        path = Path(text.removesuffix(_RESETS))
        options = ("--resets",) if text.endswith(_RESETS) else ()
        entry = core_entry(Manifest.read(path), options)
        if entry.name in {e.name for e in (*others, *entries)}:
            raise LabError(f"worker {path}: a worker is called {entry.name} already")
        entries.append(entry)
    return entries


def _shown(path: Path) -> str:
    root = find_root().resolve()
    return str(path.relative_to(root)) if path.is_relative_to(root) else str(path)
