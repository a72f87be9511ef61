"""The code in a crate that depends on the library. Makes a fresh project outside the workspace,
with one line of dependency and Cargo's own release profile, whose program is
crates/mldsa-lanes/examples/operations.rs.

    python3 scripts/dependent.py check         # looks at the program's object code
    python3 scripts/dependent.py compare 40    # times it beside the profile `tuned`

`check` fails if code of a kernel is outside the kernel's entry point. Only entry points are
compiled with a backend's CPU features. Code that the compiler did not inline into them passes
registers through memory. It fails too where a part of the scheme or of a kernel is compiled in the
dependent's own crate. The program has every operation on every backend of the architecture,
whatever this CPU can run. It is built and looked at for this machine and, elsewhere than on Arm,
for AArch64 too.
"""

from __future__ import annotations

import os
import platform
import re
import shutil
import statistics
import subprocess
import sys
import tomllib
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LIBRARY = ROOT / "crates/mldsa-lanes"
PLACE = ROOT / "target/dependent"
MANIFEST = """\
[workspace]

[package]
name = "operations"
version = "0.0.0"
edition = "2024"

[dependencies]
mldsa-lanes = {{ path = "{library}" }}

[lints.rust]
unexpected_cfgs = {{ level = "warn", check-cfg = ["cfg(mldsa_shares)"] }}
"""

BACKENDS = {"x86_64": ["Avx2", "Avx512"], "aarch64": ["Neon", "NeonSha3"]}
ARM = "aarch64-unknown-linux-gnu"
# What needs CPU features that only entry points have: registers of AVX, and the SHA3 extension. NEON is
# part of every AArch64.
VECTORS = re.compile(r"%[yz]mm\d|\t(eor3|rax1|xar|bcax)\t")
# What asks for the features itself, in assembly: it overwrites the registers that the CPU has.
WIPER = "backend::wiper::"
# Not of portable, which needs no feature.
ENTRY = re.compile(
    r"^(?!.*Portable).*mldsa_lanes::backend::.*(::entry|engine::Kernels for .*>::\w+)(::<.*>)?$"
)
# Asked once, to detect a feature.
DETECTION = r"core_arch::x86(_64)?::(cpuid|xsave)::"
# What an entry point may call: failures, memory, entry points and permutations, hashes and wiping
# of what is in memory.
CALLED = re.compile(
    r"(::entry|engine::Kernels for .*>::\w+)(::<.*>)?$|(^|<)(core|alloc)::(panicking|slice|option|result|str|ptr::drop_in_place)|^zeroize::"
    r"|^(mem(cpy|set|move|cmp)|bcmp|_Unwind_Resume)\b|^mldsa_lanes::kernels::(sponge::|keccak::permute_one)"
)

# What has to be in the library alone; its callers may have what wipes, moves and drops.
PARTS = re.compile(
    r"^(?!.*(drop_in_place|::drop$|::wipe$|::overwrite$|message::Input as core::convert::From<))"
    r".*mldsa_lanes::(backend|kernels|scheme|batch::(sign|verify|keygen|rows)::)"
)


def cargo_build(
    profile: dict[str, str], name: str, example: str = "operations", target: str = ""
) -> Path:
    """The program's path; ``target``: for another architecture. Flags and profiles of this shell are
    kept out."""
    project = PLACE / "project"
    (project / "src").mkdir(parents=True, exist_ok=True)
    (project / "Cargo.toml").write_text(MANIFEST.format(library=LIBRARY))
    shutil.copy(ROOT / "Cargo.lock", project)
    shutil.copy(LIBRARY / f"examples/{example}.rs", project / "src/main.rs")
    ours = re.compile(r"(CARGO_ENCODED_)?RUSTFLAGS|CARGO_(BUILD|PROFILE|TARGET|INCREMENTAL)(_|$)")
    environment = {k: v for k, v in os.environ.items() if not ours.match(k)} | profile
    # With the object files of the program's own crate.
    command = ["cargo", "rustc", "--release", "--target-dir", str(PLACE / name)]
    if target:
        subprocess.run(["rustup", "target", "add", target], check=True)
        linker = f"CARGO_TARGET_{target.upper().replace('-', '_')}_LINKER"
        environment[linker] = f"{binutils(target)}gcc"
        command += ["--target", target]
    command += ["--", "-C", "save-temps"]
    subprocess.run(command, cwd=project, env=environment, check=True)
    return PLACE / name / target / "release/operations"


def binutils(target: str) -> str:
    """Return the prefix of Debian's tools for a target; empty for this machine."""
    return target.replace("-unknown", "") + "-" if target else ""


def output_lines(*command: str | Path) -> list[str]:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()


def plain(name: str) -> str:
    """Without the hash at its end."""
    return re.sub(r"::h[0-9a-f]{16}$", "", name)


def faults(program: Path, target: str) -> set[str]:
    """Return the faults of the object code."""
    tools = binutils(target)
    at = {}
    faults = set()
    for line in output_lines(f"{tools}nm", "-C", "--defined-only", program):
        address, kind, name = line.split(maxsplit=2)
        if kind in "tTwW":
            at[int(address, 16)] = name = plain(name)
            intrinsic = "core_arch::" in name and not re.search(DETECTION, name)
            kernel = re.search(r"mldsa_lanes::(kernels|backend::(avx|neon|portable))", name)
            if intrinsic or (kernel and "{{closure}}" in name):
                faults.add(f"{name} is a function of its own")
    entries = [name for name in at.values() if ENTRY.search(name)]
    for backend in BACKENDS.get(target.partition("-")[0] or platform.machine(), []):
        count = sum(bool(re.search(rf"token::{backend}\b", name)) for name in entries)
        print(f"{backend}: {count} entry points")
        if not count:
            sys.exit(f"{program}: no entry point of {backend}, so nothing was checked")
    # Calls between parts of a program go through a table of addresses.
    table = {}
    for line in output_lines(f"{tools}objdump", "-R", program):
        if slot := re.match(r"([0-9a-f]+) R_\w+_RELATIVE\s+\*ABS\*\+0x([0-9a-f]+)", line):
            table[int(slot[1], 16)] = at.get(int(slot[2], 16))
    function = ""
    for line in output_lines(f"{tools}objdump", "-d", "-C", "--no-show-raw-insn", program):
        if head := re.match(r"[0-9a-f]+ <(.*)>:$", line):
            function = plain(head[1])
            continue
        is_entry = ENTRY.search(function)
        ours = re.search("mldsa_lanes|^core::|^operations|^<", function)
        if ours and not is_entry and WIPER not in function and VECTORS.search(line):
            faults.add(f"{function} has vector instructions and is no entry point")
        if not is_entry:
            continue
        direct = re.search(r"\t(?:call|jmp|bl|b)\s+[0-9a-f]+ <(.*)>$", line)
        slot = re.search(r"\t(?:call|jmp)\s+\*0x[0-9a-f]+\(%rip\)\s+# ([0-9a-f]+)", line)
        callee = plain(direct[1]) if direct else table.get(int(slot[1], 16)) if slot else None
        if callee and not callee.startswith(function) and not CALLED.search(callee):
            faults.add(f"{function} calls {callee}")
    return faults


def compiled_again(program: Path, target: str) -> set[str]:
    """Parts of the library that are in the object files of the program's own crate."""
    objects = list((program.parent / "deps").glob("operations-*.rcgu.o"))
    if not objects:
        sys.exit(f"{program}: no object files of its own, so nothing was checked")
    nm = [f"{binutils(target)}nm", "-C", "--defined-only"]
    names = (plain(line.split(maxsplit=2)[2]) for o in objects for line in output_lines(*nm, o))
    return {f"{name} is compiled in the dependent's crate" for name in names if PARTS.search(name)}


def check() -> None:
    failures = set()
    targets = [""]
    if platform.machine() != "aarch64":
        if shutil.which(f"{binutils(ARM)}gcc"):
            targets.append(ARM)
        else:
            print(
                f"AArch64: skipped, {binutils(ARM)}gcc is missing: apt-get install gcc-aarch64-linux-gnu libc6-dev-arm64-cross"
            )
    for target in targets:
        program = cargo_build({}, "default", target=target)
        failures |= faults(program, target) | compiled_again(program, target)
    for fault in sorted(failures):
        print(fault, file=sys.stderr)
    if failures:
        sys.exit(f"{len(failures)} faults in a dependent's object code")


def compare(rounds: int) -> None:
    """Both builds in turn; the quotient of the least times, and the median of the rounds'."""
    tuned = tomllib.loads((ROOT / "Cargo.toml").read_text())["profile"]["tuned"]
    tuned.pop("inherits")
    names = (f"CARGO_PROFILE_RELEASE_{key.upper().replace('-', '_')}" for key in tuned)
    ours = dict(zip(names, map(str, tuned.values()), strict=True))
    programs = [cargo_build({}, "default"), cargo_build(ours, "tuned")]
    times: dict[str, tuple[list[int], list[int]]] = defaultdict(lambda: ([], []))
    for number in range(rounds):
        for i in (0, 1) if number % 2 else (1, 0):
            for line in output_lines(programs[i]):
                cell, nanoseconds = line.rsplit("\t", 1)
                times[cell][i].append(int(nanoseconds))
    print("set\tbackend\toperation\tdefault, ns\ttuned, ns\tof least\tmedian")
    for cell, (default, tuned) in times.items():
        median = statistics.median(a / b for a, b in zip(default, tuned, strict=True))
        least = min(default), min(tuned)
        print(cell, *least, f"{least[0] / least[1]:.3f}", f"{median:.3f}", sep="\t")


def main() -> None:
    try:
        match sys.argv[1:]:
            case ["check"]:
                check()
            case ["compare", rounds] if rounds.isdecimal() and int(rounds) > 0:
                compare(int(rounds))
            case _:
                sys.exit("usage: dependent.py check | compare ROUNDS")
    except FileNotFoundError as error:
        sys.exit(f"dependent.py: {error.filename} is missing")
    except subprocess.CalledProcessError as error:
        sys.exit(f"dependent.py: failed: {' '.join(map(str, error.cmd))}")


if __name__ == "__main__":
    main()
