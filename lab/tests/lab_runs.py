"""Runs of the real command with real workers, for the tests."""

from __future__ import annotations

import importlib.util
import io
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

import msgspec
import pytest

from mldsa_lab.bench.fleet import Fleet, WorkerHandle
from mldsa_lab.checkout import find_root
from mldsa_lab.cli.main import main
from mldsa_lab.records import Record, Variant, read_record
from mldsa_lab.show.report import FiguresFile
from mldsa_lab.worker.build import build
from mldsa_lab.worker.protocol import AnnouncedVariant
from mldsa_lab.worker.registry import BuildDirs, WorkerEntry, read_registry
from mldsa_lab.worker.worker import Limits

MODES = (
    "flip-byte", "skip-z-check", "wrong-key", "accept-all", "spoil-batch", "hang", "crash",
    "garbage", "short",
)  # fmt: skip
"""The modes of lab/workers/broken."""


@dataclass(frozen=True)
class Ran:
    """A finished command: status, output, and the run's folder if it made one."""

    status: int
    out: str
    err: str
    folder: Path | None

    @property
    def record(self) -> Record:
        assert self.folder is not None, self.err
        return read_record(self.folder / "record.jsonl")

    @property
    def rows(self) -> list[dict[str, Any]]:
        assert self.folder is not None, self.err
        return rows_in(self.folder / "figures.json")


_QUALIFIERS = (
    "percentile", "clock", "object", "of", "slot", "level", "per", "against", "phase", "attempt",
)  # fmt: skip
"""Keys that `rows_in` has in the names of figures."""


def rows_in(file: Path | str) -> list[dict[str, Any]]:
    """The figures of a file, or of its text: an object for each combination of keys that are no
    `_QUALIFIERS`, with the attributes of what they name. A figure's name has its qualifiers behind
    it, as `bytes public key`; `p99` is the quantile of this percentile."""
    rows: dict[tuple[object, ...], dict[str, Any]] = {}
    text = file if isinstance(file, str) else file.read_bytes()
    for one in msgspec.json.decode(text, type=FiguresFile).lists:
        for group in one.groups:
            keys = {k: v for k, v in group.keys.items() if k not in _QUALIFIERS}
            further = {k: group.keys[k] for k in _QUALIFIERS if k in group.keys}
            named = (one.about.get(key, {}).get(str(value), {}) for key, value in keys.items())
            place = (one.name, *sorted(keys.items(), key=str))
            row = rows.setdefault(place, {**one.head, **keys})
            row |= {name: value for of in named for name, value in of.items() if name not in keys}
            percentile, clock = (further.pop(key, None) for key in ("percentile", "clock"))
            row |= {"clock": clock} if clock else {}
            for name, f in group.figures.items():
                title = " ".join([name, *map(str, further.values())])
                title = title if percentile is None else f"p{str(percentile).replace('.', '')}"
                row |= {title: f.value, f"{title}_low": f.low, f"{title}_high": f.high}
                row |= {f"{title}_verdict": f.verdict, f"{title}_notes": "; ".join(f.notes)}
                row |= {f"{title}_kind": f.kind}
                row |= {f"{title}_source": "" if f.source is None else one.sources[f.source]}
    return list(rows.values())


def groups_in(file: Path) -> list[dict[str, Any]]:
    """The groups of a file of figures, each as an object of its keys and figures."""
    return [
        {**group.keys}
        | {name: f.value for name, f in group.figures.items()}
        | {f"{name}_low": f.low for name, f in group.figures.items()}
        | {f"{name}_high": f.high for name, f in group.figures.items()}
        | {f"{name}_notes": "; ".join(f.notes) for name, f in group.figures.items()}
        for one in msgspec.json.decode(file.read_bytes(), type=FiguresFile).lists
        for group in one.groups
    ]


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "mldsa_lab.cli.main", *arguments]


def lab(*arguments: str, env: dict[str, str] | None = None) -> Ran:
    """Run the command; nothing but its arguments decides what it does."""
    done = subprocess.run(
        command(*arguments),
        capture_output=True,
        text=True,
        timeout=600,
        env={**os.environ, **(env or {})},
    )
    return Ran(done.returncode, done.stdout, done.stderr, None)


def here(*arguments: str) -> Ran:
    """Run the command in this process, where nothing is measured: to load it anew takes longer than
    most of what it does."""
    out, err = io.StringIO(), io.StringIO()
    on_end = signal.getsignal(signal.SIGTERM)
    try:
        with (
            mock.patch.object(sys, "argv", ["mldsa-lab", *arguments]),
            redirect_stdout(out),
            redirect_stderr(err),
            pytest.raises(SystemExit) as end,
        ):
            main()
    finally:
        signal.signal(signal.SIGTERM, on_end)
    return Ran(int(end.value.code or 0), out.getvalue(), err.getvalue(), None)


def bench(out: Path, *arguments: str, by: Callable[..., Ran] = lab) -> Ran:
    """`mldsa-lab bench` with its folder."""
    ran = by("bench", "--out", str(out), "--seed", "tests", *arguments)
    folders = sorted(out.iterdir()) if out.is_dir() else []
    return Ran(ran.status, ran.out, ran.err, folders[-1] if folders else None)


def _fields(identity: str) -> dict[str, object]:
    implementation, backend, key = identity.split(":")
    return {
        "id": identity, "implementation": implementation, "version": "1", "backend": backend,
        "key": key, "family": "ml-dsa", "sets": ("ML-DSA-44",),
        "operations": ("keygen", "sign", "verify"), "rnd": "given", "context": True,
    }  # fmt: skip


def variant(identity: str, **more: object) -> Variant:
    """A made-up variant."""
    return Variant(**{**_fields(identity), **more})  # type: ignore[arg-type]


def announced(identity: str, **more: object) -> AnnouncedVariant:
    """The same as its worker announces it."""
    return AnnouncedVariant(**{**_fields(identity), **more})  # type: ignore[arg-type]


def load_script(path: Path) -> Any:
    """A program of the tree as a module."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module  # dataclasses look their module up
    if str(path.parent) not in sys.path:
        sys.path.append(str(path.parent))  # as Python has it for a program that it runs
    spec.loader.exec_module(module)
    return module


def place() -> BuildDirs:
    return BuildDirs.for_tree(find_root())


def entry_of(name: str) -> WorkerEntry:
    """A worker of the tree."""
    entries = read_registry(place().root / "lab" / "workers" / "registry.toml")
    return next(e for e in entries if e.name == name)


def rust_entry() -> WorkerEntry:
    """The tree's Rust worker."""
    return entry_of("rust")


def signers_of(name: str) -> list[str]:
    """The implementations of ML-DSA that a worker of the tree has on this machine; builds it."""
    build(entry_of(name), place(), lambda _: None)
    with Fleet() as fleet:
        fleet.add(WorkerHandle(entry_of(name), place(), Limits()))
        signers = [v for v in fleet.variants.values() if v.family == "ml-dsa"]
    return list(dict.fromkeys(v.implementation for v in signers))


def build_rust(name: str = "rust") -> None:
    """Build it, or another Rust worker; quick where nothing has changed."""
    build(entry_of(name), place(), lambda _: None)


def rust_station(name: str = "rust") -> WorkerHandle:
    """It, as a run has it."""
    return WorkerHandle(entry_of(name), place(), Limits())


def broken_registry(path: Path, modes: tuple[str, ...] = MODES) -> Path:
    """A registry of the broken workers, one entry for each mode, and the tree's Rust worker."""
    rust = rust_entry()
    assert rust.chosen is not None
    profile = rust.builds[rust.chosen].profile
    env = rust.env | rust.builds[rust.chosen].env
    listed = ", ".join(f"{name} = {json.dumps(value)}" for name, value in env.items())
    broken = [*rust.build[:-1], "mldsa-worker-broken"]
    tables = [("rust", rust.build, rust.run)]
    tables += [
        (f"broken-{mode}", broken, ["{target}/{profile}/mldsa-worker-broken", mode])
        for mode in modes
    ]
    text = ""
    for name, build_command, run in tables:
        text += (
            f'[[worker]]\nname = "{name}"\nlanguage = "Rust"\nfolder = "lab/workers/rust"\n'
            f"build = {json.dumps(build_command)}\nrun = {json.dumps(run)}\n"
            f"env = {{ {listed} }}\ndefault = true\n"
        ).replace("{profile}", profile)
    path.write_text(text, encoding="utf-8")
    return path
