"""make supply: what mldsa-lanes is made of, and that its package can be made again.

Writes an SBOM (CycloneDX 1.5, JSON) of the package with all its features to target/supply. It packages
two clones of HEAD at different paths and compares the archives. It also compares the table of
dependencies in library/evidence/supply.md with Cargo's graph and the crates' sources. `--write` rewrites the
table's figures.
Exit code 1 where something differs.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
WORK = ROOT / "target" / "supply"
PAGE = ROOT / "evidence" / "supply.md"
PACKAGE = "mldsa-lanes"
# The targets whose backends exist, and one that has none.
TARGETS = ("x86_64-unknown-linux-gnu", "aarch64-unknown-linux-gnu", "riscv64gc-unknown-none-elf")


class SupplyError(Exception):
    """A fault, in a line."""


def run(*command: str, cwd: Path = ROOT) -> str:
    """Return the output of a command. SupplyError if it fails."""
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True)
    if done.returncode:
        raise SupplyError(f"{' '.join(command)}: {done.stderr.strip()}")
    return done.stdout


def graph() -> dict[str, dict[str, Any]]:
    """The crates that the library is built from on any target, by name, with what each needs."""
    # Cargo's metadata has the sources of all crates; what the library needs of them, with features
    # of its own alone, only `cargo tree` tells.
    metadata = json.loads(
        run("cargo", "metadata", "--locked", "--all-features", "--format-version", "1")
    )
    packages = {(p["name"], p["version"]): p for p in metadata["packages"]}
    crates: dict[str, dict[str, Any]] = {}
    for target in TARGETS:
        arguments = ("-e", "normal", "--all-features", "--target", target, "--no-dedupe")
        shown = ("--prefix", "depth", "--format", " {p}")
        path: list[str] = []
        for line in run(
            "cargo", "tree", "--locked", "-p", PACKAGE, *arguments, *shown
        ).splitlines():
            depth, name, version, *_ = line.split()
            version = version.removeprefix("v")
            entry = crates.setdefault(name, packages[name, version] | {"needs": set()})
            if entry["version"] != version:
                raise SupplyError(f"{name} is there in two versions")
            path[int(depth) :] = [name]
            if len(path) > 1:
                crates[path[-2]]["needs"].add(name)
    return crates


def unsafe_lines(package: dict[str, Any]) -> int:
    """Lines of its sources with the word `unsafe`, comments and `forbid(unsafe_code)` left out."""
    sources = (Path(package["manifest_path"]).parent / "src").rglob("*.rs")
    texts = (path.read_text(encoding="utf-8") for path in sources)
    lines = (line.partition("//")[0] for text in texts for line in text.splitlines())
    return sum(1 for line in lines if re.search(r"\bunsafe\b", line))


def sbom(crates: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """The bill of materials: the same bytes for the same Cargo.lock."""
    locked = tomllib.loads((ROOT / "Cargo.lock").read_text(encoding="utf-8"))["package"]
    sums = {(p["name"], p["version"]): p.get("checksum") for p in locked}

    def reference(name: str) -> str:
        return f"pkg:cargo/{name}@{crates[name]['version']}"

    def component(name: str, kind: str) -> dict[str, Any]:
        crate = crates[name]
        value = {
            "type": kind,
            "bom-ref": reference(name),
            "name": name,
            "version": crate["version"],
            "purl": reference(name),
            "licenses": [{"expression": crate["license"].replace("/", " OR ")}],
        }
        if digest := sums[name, crate["version"]]:
            value["hashes"] = [{"alg": "SHA-256", "content": digest}]
        return value

    names = sorted(crates)
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {"component": component(PACKAGE, "library")},
        "components": [component(name, "library") for name in names if name != PACKAGE],
        "dependencies": [
            {"ref": reference(name), "dependsOn": sorted(map(reference, crates[name]["needs"]))}
            for name in names
        ],
    }


def table(crates: dict[str, dict[str, Any]], text: str) -> str:
    """The page with the versions and counts of its table as they are; SupplyError where it has not
    exactly the graph's crates."""
    rows = re.findall(r"^\| `([\w-]+)` \| ([^|]*) \| ([^|]*) \|", text, re.MULTILINE)
    if sorted(name for name, *_ in rows) != sorted(set(crates) - {PACKAGE}):
        odd = {name for name, *_ in rows} ^ (set(crates) - {PACKAGE})
        raise SupplyError(f"{PAGE.name}: the table and Cargo differ in {', '.join(sorted(odd))}")
    for name, version, count in rows:
        crate = crates[name]
        text = text.replace(
            f"| `{name}` | {version} | {count} |",
            f"| `{name}` | {crate['version']} | {unsafe_lines(crate)} |",
        )
    return text


def package_digest(folder: Path) -> str:
    """SHA-256 of the package that a fresh clone of HEAD at that place makes."""
    shutil.rmtree(folder, ignore_errors=True)
    run("git", "clone", "-q", "--no-hardlinks", str(ROOT.parent), str(folder))
    arguments = ("--locked", "--quiet", "--no-verify", "-p", PACKAGE, "--target-dir", "made")
    run("cargo", "package", *arguments, cwd=folder / "library")
    archives = list(folder.glob("library/made/package/*.crate"))
    if len(archives) != 1:
        raise SupplyError(f"{folder}: {len(archives)} packages were made")
    return hashlib.sha256(archives[0].read_bytes()).hexdigest()


def main() -> int:
    """Command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--write", action="store_true", help="rewrite the table's figures")
    options = parser.parse_args()
    try:
        crates = graph()
        WORK.mkdir(parents=True, exist_ok=True)
        bill = json.dumps(sbom(crates), indent=1) + "\n"
        name = f"{PACKAGE}-{crates[PACKAGE]['version']}.cdx.json"
        (WORK / name).write_text(bill, encoding="utf-8")
        text = PAGE.read_text(encoding="utf-8")
        rewritten = table(crates, text)
        if options.write:
            PAGE.write_text(rewritten, encoding="utf-8")
        elif rewritten != text:
            raise SupplyError(f"{PAGE.name} is not as Cargo has it: scripts/supply.py --write")
        digests = {package_digest(WORK / name) for name in ("one", "another/place")}
        if len(digests) != 1:
            raise SupplyError("two clones of HEAD make different packages")
    except (SupplyError, OSError) as error:
        print(f"supply: {error}", file=sys.stderr)
        return 1
    print(
        f"supply: {len(crates) - 1} crates besides {PACKAGE}, SBOM in {WORK.relative_to(ROOT)};"
        f" the package of two clones is {digests.pop()}"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
