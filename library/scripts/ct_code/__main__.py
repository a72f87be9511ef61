"""make ct-code: reads the compiled code of every kernel for branches, indirect jumps, addresses, lengths,
comparisons and divisions that may depend on a secret (library/evidence/constant-time.md). It runs nothing of it, so
it reads AVX-512 and NEON on any machine.

    python scripts/ct_code [--machine x86_64|aarch64]... [--build default|tuned]... [--toolchain NAME]...
    python scripts/ct_code --read PROGRAM     # a program that is there; --why prints each finding's source

Builds a program with every operation on every backend, and deliberate leaks on each
(scripts/ct_code/planted.rs). The check must find each of those. In the library it may find only the
entries of scripts/ct_code/known.toml, which have reasons. Exit code 1 otherwise, 2 if something is
missing.
"""

from __future__ import annotations

import argparse
import re
import struct
import subprocess
import sys
import tomllib
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

try:
    import elf
    import flow
    from flow import Finding
    from program import HERE, ROOT, TARGETS, build, buildable
except ImportError as error:
    print(f"ct-code: {error.name} is missing: make setup", file=sys.stderr)
    sys.exit(2)

SOURCE = ROOT / "crates/mldsa-lanes/src"
BACKENDS = {"x86_64": ["Avx2", "Avx512"], "aarch64": ["Neon", "NeonSha3"]}
# Kernels, and permutations by the name `entry`. Not of portable, which Valgrind runs.
KERNEL = re.compile(
    r"^(?!.*Portable).*mldsa_lanes::backend::.*(::entry|engine::Kernels for .*>::\w+)(::|$)"
)
PLANTED = re.compile(r"planted::(\w+)::(leaks_\w+|clean_\w+)")


@dataclass
class Rule:
    """Lines of the library's source where what the code depends on is public."""

    file: str
    within: re.Pattern[str]  # a source function around it
    lines: list[str]
    kinds: set[str]
    why: str

    def excuses(self, finding: Finding, frames: list[tuple[str, str, str]]) -> bool:
        """Return whether the innermost of the library's own frames is one of the lines."""
        if not frames or finding.kind not in self.kinds:
            return False
        _, file, text = frames[0]
        return (
            file == self.file
            and text in self.lines
            and any(self.within.search(name) for name, _, _ in frames)
        )


def rules() -> tuple[list[Rule], list[tuple[re.Pattern[str], set[int]]]]:
    listed = tomllib.loads((HERE / "known.toml").read_text(encoding="utf-8"))
    known = [
        Rule(r["file"], re.compile(r.get("within", "")), r["lines"], set(r["kinds"]), r["why"])
        for r in listed["known"]
    ]
    public = [(re.compile(r["function"]), set(r["arguments"])) for r in listed["public"]]
    return known, public


@cache
def text_of(file: Path) -> list[str]:
    return file.read_text(encoding="utf-8").splitlines()


def own_frames(chain: list[tuple[str, str]]) -> list[tuple[str, str, str]]:
    """Function, file and line's text of each frame in the library, the innermost first."""
    frames = []
    for name, place in chain:
        file, _, number = place.rpartition(":")
        if file.startswith(str(SOURCE)) and number.isdecimal():
            text = text_of(Path(file))[int(number) - 1].strip()
            function = re.sub(
                r"<.*", "", name.rsplit("::", 1)[-1] if "<" not in name else name.split("<")[0]
            )
            frames.append((function, str(Path(file).relative_to(SOURCE)), text))
    return frames


@dataclass
class Judged:
    wrong: list[str] = field(default_factory=list)
    kernels: int = 0
    leaks: int = 0


def judge(path: Path, why: bool) -> Judged:
    """Return the faults; print the counts."""
    program = elf.read(path)
    known, public = rules()
    wrong = []

    def ours(name: str) -> bool:
        return bool(PLANTED.search(name) or KERNEL.search(name))

    def arguments(name: str) -> set[int]:
        return {n for pattern, numbers in public if pattern.search(name) for n in numbers}

    reader = flow.Reader(program, ours, arguments)
    findings = reader.run()
    source = elf.lines(program, sorted({f.address for f in findings}))
    excused: Counter[str] = Counter()
    leaking: defaultdict[str, set[str]] = defaultdict(set)
    for finding in findings:
        if m := PLANTED.search(finding.function):
            leaking[m[1]].add(m[2])
            continue
        frames = own_frames(source.get(finding.address, []))
        rule = next((r for r in known if r.excuses(finding, frames)), None)
        if why:
            where = "".join(f"\n    {name}, {file}: {text}" for name, file, text in frames)
            print(
                f"{'known' if rule else 'NEW'}: {finding.kind}: {short(finding.function)}: {finding.text}{where}"
            )
        if rule:
            excused[rule.why] += 1
            continue
        at = f"{frames[0][1]}: {frames[0][2]}" if frames else "no source"
        wrong.append(
            f"{finding.kind} in {short(finding.function)}, {finding.address:#x} {finding.text}\n      {at}"
        )
    names = [f.name for a, f in program.functions.items() if a in reader.ours]
    for backend in BACKENDS[program.machine]:
        count = sum(bool(re.search(rf"Kernels for .*token::{backend}>", n)) for n in names)
        if not count:
            wrong.append(f"no entry point of {backend}, so nothing was read")
    planted = defaultdict(set)
    for name in names:
        if m := PLANTED.search(name):
            planted[m[1]].add(m[2])
    for backend, expected in sorted(planted.items()):
        leaks = {n for n in expected if n.startswith("leaks_")}
        leaking[backend] &= expected
        print(
            f"  {backend}: {len(leaks & leaking[backend])} of {len(leaks)} leaks made on purpose are found"
        )
        wrong += [f"{backend}: {n} is not found" for n in sorted(leaks - leaking[backend])]
        wrong += [f"{backend}: {n} is found" for n in sorted((expected - leaks) & leaking[backend])]
    if not planted:
        wrong.append("no leak made on purpose is in the program")
    kernels = len(names) - sum(map(len, planted.values()))
    print(
        f"  {kernels} functions, {reader.instructions} instructions, {reader.branches} conditional branches: "
        f"{sum(excused.values())} findings on what is public, {len(wrong)} on anything else"
    )
    return Judged(wrong, kernels, sum(map(len, leaking.values())))


def short(name: str) -> str:
    return re.sub(r"<impl .* for .*::(\w+)>", r"\1", re.sub(r"::h[0-9a-f]{16}$", "", name))


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="ct_code", description="Reads compiled kernels for leaks."
    )
    parser.add_argument("--machine", action="append", choices=TARGETS)
    parser.add_argument("--build", action="append", choices=["default", "tuned"])
    parser.add_argument("--toolchain", action="append")
    parser.add_argument("--read", type=Path, help="a program that is there")
    parser.add_argument("--why", action="store_true", help="print each finding with its source")
    return parser.parse_args()


def main() -> int:
    options = arguments()
    programs: list[tuple[str, str, str | None]] = [
        (machine, kind, toolchain)
        for toolchain in options.toolchain or [None]
        for machine in options.machine or [m for m in TARGETS if buildable(m)]
        for kind in options.build or ["default"]
    ]
    judged = []
    for program in [options.read] if options.read else programs:
        name = str(program) if options.read else ", ".join(p or "rustc" for p in program)
        print(f"ct-code: {name}", flush=True)
        try:
            judged.append(judge(options.read or build(*program), options.why))
        except (
            subprocess.CalledProcessError,
            ValueError,
            IndexError,
            OSError,
            struct.error,
        ) as error:
            print(f"ct-code: {error}", file=sys.stderr)
            return 2
        for fault in judged[-1].wrong:
            print(f"ct-code: {name}: {fault}", file=sys.stderr)
    if any(each.wrong for each in judged):
        return 1
    print(
        f"ct-code: no finding on a secret in {sum(each.kernels for each in judged)} functions of {len(judged)} "
        f"programs; {sum(each.leaks for each in judged)} leaks made on purpose are found"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
