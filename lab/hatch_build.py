"""Build hook: files of the checkout that a distribution of mldsa-lab carries, and programs.

A distribution holds `mldsa_lab/tree`, the files of the checkout that commands read. A wheel that is
built in a checkout with cargo also holds the trace library and the Rust worker, without the
implementations of others, and is for one platform. Without cargo, from a source distribution, or
with MLDSA_LAB_PURE=1 it is for every platform and has neither.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from packaging.tags import platform_tags

FILES = (
    "lab/scenarios/blocks",
    "lab/studies/bench.toml",
    "lab/studies/life-cycle.toml",
    "lab/workers/meter/meter.c",
    "lab/workers/python/packages.py",
    "lab/workers/python/requirements.lock",
    "lab/workers/python/worker.py",
    # What pqc-impact and mldsa-lab-rtl read.
    "records/2026-11-22-epyc-zen5/both-builds.jsonl.xz",
    "records/2026-11-22-epyc-zen5/batches.jsonl.xz",
    "records/2026-11-23-epyc-zen4/impact.jsonl.xz",
    "records/2026-11-23-rtl/cores.jsonl.xz",
    "records/2026-11-28-xeon-amx/traffic.jsonl.xz",
    "rtl/core",
    "rtl/harness",
)
PROGRAMS = "lab/workers/prebuilt"
"""The folder of what was compiled."""
_ENTRY = """\
[[worker]]
name = "rust"
language = "Rust"
folder = "lab/workers/prebuilt"
build = []
run = ["{root}/{folder}/mldsa-worker-rust"]
implementations = ["mldsa-lanes", "mldsa-lanes-hardened", "mldsa-oracle"]
families = ["ml-dsa"]
default = true

"""
_OWN = '  "mldsa-lanes", "mldsa-lanes-hardened", '


class Tree(BuildHookInterface[Any]):
    """The hook, for wheels and source distributions."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add the tree, and to a wheel what is compiled for it."""
        root = Path(self.root).parent
        registry = root / "lab" / "workers" / "registry.toml"
        if version == "editable" or not registry.is_file():
            return
        place = f"{'src/' if self.target_name == 'sdist' else ''}mldsa_lab/tree"
        made = root / "lab" / "target" / "wheel"
        made.mkdir(parents=True, exist_ok=True)
        written = made / "registry.toml"
        written.write_text(shipped_registry(registry.read_text(encoding="utf-8")), encoding="utf-8")
        include = {str(root / name): f"{place}/{name}" for name in FILES}
        include[str(written)] = f"{place}/lab/workers/registry.toml"
        if self.target_name == "wheel" and not os.environ.get("MLDSA_LAB_PURE"):
            if shutil.which("cargo") is None:
                self.app.display_warning("cargo is missing: the wheel has no trace library")
            else:
                for path in compile_programs(root, made):
                    include[str(path)] = f"{place}/{PROGRAMS}/{path.name}"
                build_data["pure_python"] = False
                build_data["tag"] = f"py3-none-{next(platform_tags())}"
        build_data["force_include"].update(include)


def shipped_registry(text: str) -> str:
    """The registry of a wheel: its own Rust worker first, and the checkout's as `rust-peers`."""
    head, found, rest = text.partition('[[worker]]\nname = "rust"\n')
    assert found and 'like = "rust"\n' in rest and _OWN in rest
    rest = rest.replace('like = "rust"\n', 'like = "rust-peers"\n').replace(_OWN, "  ")
    rest = rest.replace('  "mldsa-oracle",\n', "")
    return f'{head}{_ENTRY}[[worker]]\nname = "rust-peers"\n{rest}'


def compile_programs(root: Path, target: Path) -> list[Path]:
    """Compile the trace library and the worker with cargo; return where they are."""
    command = ["cargo", "build", "--release", "--locked", "--config", "profile.release.strip=true"]
    environment = {**os.environ, "CARGO_TARGET_DIR": str(target)}
    for words in (["mldsa-trace"], ["mldsa-worker-rust", "--no-default-features"]):
        subprocess.run([*command, "-p", *words], cwd=root / "lab", env=environment, check=True)
    library = {"darwin": "libmldsa_trace.dylib", "win32": "mldsa_trace.dll"}
    names = (library.get(sys.platform, "libmldsa_trace.so"), "mldsa-worker-rust")
    return [target / "release" / name for name in names]
