"""Static estimates of the AVX-512 kernels beside the AVX2 ones, for machines without AVX-512:
counts of instructions, and the cycles that llvm-mca expects. No figure here is a measurement.

    cargo rustc --profile tuned --locked -p mldsa-lanes --lib -- --emit asm -C debuginfo=0
    python3 scripts/estimate_avx512.py target/tuned/deps/mldsa_lanes-*.s llvm-mca-22

The second argument is the llvm-mca to ask (Debian: the package llvm-22). c++filt is needed too.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

CPUS = ["icelake-server", "sapphirerapids", "znver4"]
AVX2 = "backend::avx2::"
AVX512 = "backend::avx512::token::Avx512>"
# A name, the end of the symbol, and for each backend how often each innermost loop runs, in
# the order of the text. Code outside loops counts where there is no loop; elsewhere it is entry and
# exit.
Trips = list[int] | str
KERNELS: list[tuple[str, str, Trips | None, Trips | None]] = [
    ("Keccak-f[1600], ×4 / ×8", "permute::entry", [12], [12]),
    ("Keccak, one state (both alike)", "permutation::entry", [12], None),
    ("Keccak ×8 beside one state", "permute_beside::entry", None, [12]),
    ("NTT", ">::ntt", [8, 4], []),
    ("inverse NTT", ">::inverse_ntt", [4, 8], []),
    ("pointwise product", ">::product", [32], [16]),
    ("row of 7 products", ">::dot", "largest 32", "largest 16"),
]


def functions(path: Path) -> dict[str, list[str]]:
    """Each function's instructions and labels, by its demangled name."""
    bodies: dict[str, list[str]] = {}
    name = None
    for line in path.read_text().splitlines():
        if label := re.match(r"([_A-Za-z][\w.$]*):", line):
            name = label[1]
            bodies[name] = []
        elif name and line.startswith(".Lfunc_end"):
            name = None
        elif name and (line.startswith(".L") or re.match(r"\t[^.#]", line)):
            bodies[name].append(line)
    names = "\n".join(bodies)
    plain = subprocess.run(["c++filt"], input=names, capture_output=True, text=True, check=True)
    return dict(zip(plain.stdout.splitlines(), bodies.values(), strict=True))


def loops(lines: list[str]) -> list[list[str]]:
    """The bodies of the innermost loops."""
    labels: dict[str, int] = {}
    spans: list[tuple[int, int]] = []
    for i, line in enumerate(lines):
        if label := re.match(r"(\.L\w+):", line):
            labels[label[1]] = i
        elif (jump := re.match(r"\tj\w+\t(\.L\w+)", line)) and jump[1] in labels:
            start = labels[jump[1]]
            if not any(start <= inner for inner, _ in spans):
                spans.append((start, i))
    return [lines[start + 1 : end + 1] for start, end in spans]


def cycles(body: list[str], cpu: str, mca: str) -> float:
    """Return the cycles that llvm-mca expects for one iteration in a long row of them."""
    straight = r"(\.L|\t(j|call|ret))"
    text = "\n".join(line for line in body if not re.match(straight, line))
    command = [mca, "-mtriple=x86_64", f"-mcpu={cpu}", "-iterations=100", "-noalias=true"]
    report = subprocess.run(command, input=text, capture_output=True, text=True, check=True).stdout
    total = re.search(r"Total Cycles:\s+(\d+)", report)
    assert total, f"no cycles in what {mca} says for {cpu}"
    return int(total[1]) / 100


def parts(body: list[str], trips: Trips) -> list[tuple[list[str], int]]:
    """The pieces of a kernel and how often each runs."""
    inner = loops(body)
    if isinstance(trips, str):
        return [(max(inner, key=len), int(trips.split()[1]))]
    if len(inner) != len(trips):
        sys.exit(f"{len(inner)} loops where KERNELS expects {len(trips)}: the code has changed")
    return list(zip(inner, trips, strict=True)) if trips else [(body, 1)]


def main() -> None:
    assembly, mca = Path(sys.argv[1]), sys.argv[2]
    compiled = functions(assembly)
    head = ["kernel", "backend", "instructions", "of them on the stack", *CPUS]
    print(f"| {' | '.join(head)} |\n{'|---' * len(head)}|")
    for title, end, trips_avx2, trips_avx512 in KERNELS:
        for backend, trips in ((AVX2, trips_avx2), (AVX512, trips_avx512)):
            if trips is None:
                continue
            bodies = [v for k, v in compiled.items() if backend in k and f"{end}::h" in k]
            if len(bodies) != 1:
                sys.exit(f"{len(bodies)} functions are {backend}…{end}")
            pieces = parts(bodies[0], trips)
            count = sum(n * sum(line[0] == "\t" for line in body) for body, n in pieces)
            stack = sum(n * sum("mm" in x and "rsp" in x for x in body) for body, n in pieces)
            counts = [sum(n * cycles(body, cpu, mca) for body, n in pieces) for cpu in CPUS]
            name = "avx512" if backend == AVX512 else "avx2"
            print(f"| {title} | {name} | {count} | {stack} |", *(f"{c:.0f} |" for c in counts))


main()
