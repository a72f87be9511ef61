"""The program whose machine code is read: every operation on every backend, and deliberate leaks on each."""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
import tomllib
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
PLACE = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "ct-code"
MANIFEST = """\
[workspace]

[package]
name = "{name}"
version = "0.0.0"
edition = "2024"

[dependencies]
{package} = {{ {options}path = "{root}/crates/{package}" }}

[profile.release]
debug = "line-tables-only"
"""
TARGETS = {"x86_64": "x86_64-unknown-linux-gnu", "aarch64": "aarch64-unknown-linux-gnu"}
# Flags that a tuned build adds to those of Cargo.toml's profile.
TUNED = {"x86_64": "-C target-cpu=x86-64-v4", "aarch64": "-C target-cpu=neoverse-v1"}


def build(machine: str, kind: str, toolchain: str | None) -> Path:
    """The program's path."""
    operations = (ROOT / "crates/mldsa-lanes/examples/operations.rs").read_text(encoding="utf-8")
    planted = f'#[path = "{HERE / "planted.rs"}"]\nmod planted;\n'
    program = ("operations", "mldsa-lanes", "", operations + planted)
    return compiled(*program, machine, kind, toolchain)


def compiled(
    name: str,
    package: str,
    options: str,
    main: str,
    machine: str,
    kind: str,
    toolchain: str | None,
) -> Path:
    """The path of a program that uses a package. Flags and profiles of this shell are kept out."""
    project = PLACE / name
    (project / "src").mkdir(parents=True, exist_ok=True)
    manifest = MANIFEST.format(name=name, package=package, options=options, root=ROOT)
    for file, text in {"Cargo.toml": manifest, "src/main.rs": main}.items():
        if not (project / file).exists() or (project / file).read_text(encoding="utf-8") != text:
            (project / file).write_text(text, encoding="utf-8")
    shutil.copy(ROOT / "Cargo.lock", project)
    ours = re.compile(r"(CARGO_ENCODED_)?RUSTFLAGS|CARGO_(BUILD|PROFILE|TARGET|INCREMENTAL)(_|$)")
    environment = {k: v for k, v in os.environ.items() if not ours.match(k)}
    environment["CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER"] = "aarch64-linux-gnu-gcc"
    if kind == "tuned":
        tuned = tomllib.loads((ROOT / "Cargo.toml").read_text(encoding="utf-8"))["profile"]["tuned"]
        tuned.pop("inherits")
        for key, value in tuned.items():
            environment[f"CARGO_PROFILE_RELEASE_{key.upper().replace('-', '_')}"] = str(value)
        environment["RUSTFLAGS"] = TUNED[machine]
    target = PLACE / (f"{kind}-{toolchain}" if toolchain else kind)
    command = ["cargo", *([f"+{toolchain}"] if toolchain else []), "build", "--quiet", "--release"]
    command += ["--target-dir", str(target)]
    if machine != platform.machine():
        if shutil.which("rustup"):
            add = [
                "rustup",
                "target",
                "add",
                *(["--toolchain", toolchain] if toolchain else []),
                TARGETS[machine],
            ]
            subprocess.run(add, check=True, stderr=subprocess.DEVNULL)
        command += ["--target", TARGETS[machine]]
        target /= TARGETS[machine]
    subprocess.run(command, cwd=project, env=environment, check=True)
    return target / "release" / name


def buildable(machine: str) -> bool:
    """Return whether a linker for the machine is there; print a line if not."""
    if machine == platform.machine() or (
        shutil.which("aarch64-linux-gnu-gcc") and machine == "aarch64"
    ):
        return True
    print(f"{machine} is left out: apt-get install gcc-aarch64-linux-gnu")
    return False
