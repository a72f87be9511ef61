"""`make dist`: build everything that is published into `dist/`, check it, and write SHA256SUMS.

`dist.py [PART...]`: `crates`, `python`, `maturin`, `c`; without a name all. A distribution is
entered in the lists below alone; a folder that is not there is skipped.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
OUT = ROOT / "dist"
BIN = Path(sys.executable).parent

HATCH = ("lab", "lab/impact", "rtl/bench")
"""Python packages that hatchling builds."""
OF_WORKSPACE = ("mldsa-lab", "pqc-impact", "mldsa-lab-rtl")
"""Distributions whose version is that of lab/Cargo.toml."""
MATURIN = ("library/bindings/python", "library/crates/mldsa-cli")
"""Rust programs and modules that maturin builds: folders with a pyproject.toml."""
C_LIBRARY = "library/bindings/c"
"""The crate of the C library."""
PLACEHOLDER = "example.org/mldsa-lab"
"""The placeholder of the repository's address until a maintainer sets it (docs/release.md)."""


class DistError(Exception):
    """A distribution that cannot be built, or fails a check."""


def run(*command: str, cwd: Path = ROOT, **environment: str) -> None:
    """Run a command; the environment's own tools come first. DistError if it fails."""
    path = os.pathsep.join([str(BIN), os.environ["PATH"]])
    env = {**os.environ, "PATH": path, **environment}
    print(f"dist: {' '.join(command)}", flush=True)
    try:
        done = subprocess.run(command, cwd=cwd, env=env, check=False)
    except FileNotFoundError:
        raise DistError(f"{command[0]} is not installed: `make setup-dist` installs it") from None
    if done.returncode:
        raise DistError(f"status {done.returncode}: {' '.join(command)}")


def publishable() -> dict[str, str]:
    """Return name and version of the workspace's crates that a registry may get."""
    command = ["cargo", "metadata", "--no-deps", "--locked", "--format-version", "1"]
    metadata = json.loads(subprocess.check_output(command, cwd=ROOT / "library"))
    return {p["name"]: p["version"] for p in metadata["packages"] if p["publish"] != []}


def build_crates() -> None:
    """Rehearse publication of all crates together: they may depend on each other."""
    crates = publishable()
    target = ROOT / "library" / "target" / "publish"
    names = [word for name in crates for word in ("-p", name)]
    # Into a folder of its own: a build of the package must not see the workspace's.
    run("cargo", "publish", "--dry-run", "--locked", "--allow-dirty", *names,
        cwd=ROOT / "library", CARGO_TARGET_DIR=str(target))  # fmt: skip
    for name, version in crates.items():
        archive = f"{name}-{version}.crate"
        places = (target / "package" / archive, target / "package" / "tmp-crate" / archive)
        shutil.copy(next(path for path in places if path.is_file()), OUT)


def build_python() -> None:
    """Build source distributions and wheels; of mldsa-lab one for this platform and one for all."""
    build = ("uv", "build", "--no-build-isolation", "--quiet", "--python", sys.executable)
    for folder in HATCH:
        run(*build, "--sdist", "-o", str(OUT), folder)
        run(*build, "--wheel", "-o", str(OUT), folder, MLDSA_LAB_PURE="1")
    with tempfile.TemporaryDirectory() as folder:
        run(*build, "--wheel", "-o", folder, HATCH[0])
        (wheel,) = Path(folder).glob("*.whl")
        if "-linux_" in wheel.name:
            run("auditwheel", "repair", "--wheel-dir", str(OUT), str(wheel))
        else:
            shutil.copy(wheel, OUT)


def build_maturin() -> None:
    """Build what maturin builds, with source distributions."""
    for folder in MATURIN:
        if (ROOT / folder / "pyproject.toml").is_file():
            # Each from the checkout: a source distribution has too few crates for the lock file.
            run("maturin", "build", "--release", "--locked", "--out", str(OUT), cwd=ROOT / folder)
            run("maturin", "sdist", "--out", str(OUT), cwd=ROOT / folder)


def build_c() -> None:
    """Build the C library's tarball: what `make install-c` installs."""
    manifest = ROOT / C_LIBRARY / "Cargo.toml"
    if not manifest.is_file():
        return
    with tempfile.TemporaryDirectory() as stage:
        run("sh", "library/scripts/c_library.sh", "build")
        run(
            "sh",
            "library/scripts/c_library.sh",
            "install",
            DESTDIR=stage,
            PREFIX="/usr",
            LIBDIR="lib",
        )
        # Wherever the tarball is unpacked.
        described = Path(stage) / "usr/lib/pkgconfig/mldsa_lanes.pc"
        lines = described.read_text(encoding="utf-8").splitlines(keepends=True)
        lines = ["prefix=${pcfiledir}/../..\n" if x.startswith("prefix=") else x for x in lines]
        described.write_text("".join(lines), encoding="utf-8")
        package = tomllib.loads(manifest.read_text(encoding="utf-8"))["package"]
        version = package["version"]
        if isinstance(version, dict):
            version = workspace_version()
        name = f"libmldsa-{version}-{platform.system().lower()}-{platform.machine()}"
        with tarfile.open(OUT / f"{name}.tar.gz", "w:gz") as archive:
            archive.add(Path(stage) / "usr", arcname=name)
            for file in ("docs/c.md", "LICENSE-APACHE", "LICENSE-MIT"):
                archive.add(ROOT / file, arcname=f"{name}/share/doc/libmldsa/{Path(file).name}")


def workspace_version() -> str:
    """Return the version that the packages of the lab share."""
    workspace = tomllib.loads((ROOT / "lab" / "Cargo.toml").read_text(encoding="utf-8"))[
        "workspace"
    ]
    return str(workspace["package"]["version"])


def check() -> None:
    """Check all distributions of Python, their versions and platforms."""
    wheels = sorted(OUT.glob("*.whl"))
    sources = [p for p in sorted(OUT.glob("*.tar.gz")) if not p.name.startswith("libmldsa-")]
    if wheels or sources:
        run("twine", "check", "--strict", *map(str, [*wheels, *sources]))
    for wheel in wheels:
        if re.search(r"-(many|musl)?linux", wheel.name):
            run("auditwheel", "show", str(wheel))
            if "-linux_" in wheel.name:
                raise DistError(f"{wheel.name}: is for this machine alone, not a manylinux wheel")
        if "-abi3-" in wheel.name:
            run("abi3audit", "--strict", str(wheel))
    # The interfaces of the library in other languages have its version.
    library = publishable()["mldsa-lanes"]
    expected = {name.replace("-", "_"): workspace_version() for name in OF_WORKSPACE}
    expected |= {"mldsa_lanes": library, "libmldsa": library}
    for path in sorted(OUT.glob("*-*")):
        name, version = path.name.removesuffix(".tar.gz").split("-")[:2]
        if version != expected.get(name, version):
            raise DistError(f"{path.name}: version {version}, must be {expected[name]}")


def write_sums() -> list[Path]:
    """Write SHA256SUMS; return the files that it lists."""
    files = sorted(
        p for p in OUT.iterdir() if p.is_file() and p.suffix in (".whl", ".gz", ".crate")
    )
    lines = (f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}" for path in files)
    (OUT / "SHA256SUMS").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return files


PARTS = {"crates": build_crates, "python": build_python, "maturin": build_maturin, "c": build_c}


def main(names: list[str]) -> int:
    """Build the parts, check them and print a table of files and sizes."""
    if unknown := [name for name in names if name not in PARTS]:
        print(f"dist: unknown part {unknown[0]!r}: known are {', '.join(PARTS)}", file=sys.stderr)
        return 2
    shutil.rmtree(OUT, ignore_errors=True)
    OUT.mkdir()
    try:
        for name in names or PARTS:
            PARTS[name]()
        check()
    except DistError as error:
        print(f"dist: error: {error}", file=sys.stderr)
        return 1
    for path in write_sums():
        print(f"{path.stat().st_size:>10,}  {path.name}")
    if PLACEHOLDER in (ROOT / "lab/src/mldsa_lab/checkout.py").read_text(encoding="utf-8"):
        print("dist: the repository's address is a placeholder: docs/release.md, step 1")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
