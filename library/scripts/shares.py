"""make figures PART=shares: where the time of each operation goes, into library/evidence/performance.md.

Builds crates/mldsa-lanes/examples/shares.rs twice as a dependent would, once with a timer around
every kernel (`--cfg mldsa_shares`). It runs both in turn and fills the tables between the markers
`<!-- shares:BACKEND -->`. Exit code 1 if the phases of an operation do not add up to its time in
the ordinary build within 3 %. Then something else ran on the CPU, or timers keep kernels apart.
"""

from __future__ import annotations

import platform
import re
import statistics
import sys
from collections import defaultdict
from pathlib import Path

from dependent import ROOT, cargo_build, output_lines

DOCUMENT = ROOT / "evidence/performance.md"
ROUNDS = 5
WITHIN = 0.03

# By set, backend and operation: the times of the rounds, and the ticks of each phase.
Cell = tuple[str, str, str]


def processor() -> str:
    text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    known = dict(re.findall(r"^(cpu family|model|model name)\s*: (.*)$", text, re.M))
    return f"{known['model name']} (family {known['cpu family']}, model {known['model']})"


def run(
    program: Path, times: dict[Cell, list[float]], phases: dict[Cell, list[dict[str, float]]]
) -> None:
    for line in output_lines(program):
        name, backend, operation, nanoseconds, *rest = line.split("\t")
        cell = name, backend, operation
        times[cell].append(float(nanoseconds))
        if rest:
            phases[cell].append({rest[i + 1]: float(rest[i]) for i in range(0, len(rest), 2)})


def table(
    backend: str,
    plain: dict[Cell, float],
    timed: dict[Cell, float],
    phases: dict[Cell, dict[str, float]],
) -> str:
    cells = [cell for cell in plain if cell[1] == backend]
    operations = list(dict.fromkeys(cell[2] for cell in cells))
    sets = list(dict.fromkeys(cell[0] for cell in cells))

    def row(name: str, text) -> str:
        columns = (
            ", ".join(text((s, backend, operation)) for s in sets) for operation in operations
        )
        return f"| {name} | {' | '.join(columns)} |"

    def share(phase: str):
        return lambda cell: f"{100 * phases[cell][phase] / sum(phases[cell].values()):.0f}"

    names = [name for name in phases[cells[0]] if any(phases[cell][name] for cell in cells)]
    rows = [f"| | {' | '.join(operations)} |", f"|---|{'---|' * len(operations)}"]
    rows.append(row("time, µs", lambda cell: f"{plain[cell] / 1000:.1f}"))
    rows += [row(f"{name}, %", share(name)) for name in names]
    rows.append(row("sum of the phases / time", lambda cell: f"{timed[cell] / plain[cell]:.2f}"))
    return "\n".join(rows)


def main() -> None:
    flags = [{}, {"RUSTFLAGS": "--cfg mldsa_shares"}]
    builds = [cargo_build(options, f"shares-{i}", "shares") for i, options in enumerate(flags)]
    times: list[dict[Cell, list[float]]] = [defaultdict(list), defaultdict(list)]
    phases: dict[Cell, list[dict[str, float]]] = defaultdict(list)
    for _ in range(ROUNDS):
        for program, its in zip(builds, times, strict=True):
            run(program, its, phases)
    plain, timed = ({cell: min(all_times) for cell, all_times in its.items()} for its in times)
    middle = {
        cell: {name: statistics.median(one[name] for one in rounds) for name in rounds[0]}
        for cell, rounds in phases.items()
    }
    text = DOCUMENT.read_text(encoding="utf-8")
    compiler = output_lines("rustc", "--version")[0]
    source = f"Measured on: {processor()}; {compiler}; {platform.system()}."
    for backend in dict.fromkeys(cell[1] for cell in plain):
        marked = re.compile(rf"(<!-- shares:{backend} -->\n).*?(<!-- /shares -->)", re.S)
        filled = f"{table(backend, plain, timed, middle)}\n\n{source}\n"
        text, count = marked.subn(lambda m, filled=filled: m[1] + filled + m[2], text)
        if not count:
            sys.exit(f"shares.py: {DOCUMENT} has no marker for {backend}")
    DOCUMENT.write_text(text, encoding="utf-8")
    ratios = {cell: timed[cell] / plain[cell] for cell in plain}
    off = {cell: ratio for cell, ratio in ratios.items() if abs(ratio - 1) > WITHIN}
    for cell, ratio in off.items():
        print(f"{', '.join(cell)}: the phases add up to {ratio:.3f} of the time", file=sys.stderr)
    sys.exit(1 if off else 0)


main()
