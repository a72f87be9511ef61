"""make model-arm: cycles that LLVM's model of a CPU predicts for kernels and operations on AArch64,
into library/evidence/arm.md.

QEMU runs the counted worker (lab/workers/counted) with a plugin that writes down the instructions of
one call as they are executed. The tool llvm-mca predicts the cycles of a CPU for them. It assumes
that every branch is predicted, every access hits the first cache, and no load waits for a store. A
store that also moves its address is given to it as two instructions: else the new address would
wait for the data. Nothing is measured. LLVM's model of Apple's cores is left out: it expects 3,000
cycles for one Keccak state in integer registers. Fills the tables between the markers `<!--
model:kernels -->` and `<!-- model:operations -->`.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DOCUMENT = ROOT / "library/evidence/arm.md"
TARGET = ROOT / "lab/target/workers"
WORKER = TARGET / "aarch64-unknown-linux-gnu/release/mldsa-worker-rust"
# SVE is left out: the C library's copies use it, and few models know it.
EMULATOR = ["qemu-aarch64", "-L", "/usr/aarch64-linux-gnu", "-cpu", "max,sve=off"]

# Names of LLVM, and CPUs with such cores.
CPUS = {
    "neoverse-n1": "Neoverse N1 (Graviton 2)",
    "neoverse-n2": "Neoverse N2 (Cobalt 100)",
    "neoverse-v1": "Neoverse V1 (Graviton 3)",
    "neoverse-v2": "Neoverse V2 (Graviton 4, Axion)",
}
WITH_SHA3 = ("neoverse-n2", "neoverse-v1", "neoverse-v2")
SHA3, PLAIN, PEER = (
    "mldsa-lanes:neon-sha3:compact",
    "mldsa-lanes:neon:compact",
    "mldsa-native:aarch64:compact",
)

_PERMUTE = "mldsa_lanes::backend::neon::keccak::<impl mldsa_lanes::kernels::sampling::Permute<4_usize> for mldsa_lanes::backend::neon::token::"
_ENGINE = "mldsa_lanes::backend::neon::_::<impl mldsa_lanes::backend::engine::Kernels for mldsa_lanes::backend::neon::token::"
_SCHEME = "<mldsa_lanes::params::MlDsa65 as mldsa_lanes::sets::Scheme>::"

# What is called; whose; the variant that calls it as it generates a key; its symbol; the Keccak states that
# one call permutes; whether it needs the SHA3 extension. Where two backends have the same code they share
# a function, which has the name of either.
KERNELS = (
    ("NTT", "mldsa-lanes", SHA3, f"{_ENGINE}Neon(Sha3)?>::ntt", 1, False),
    ("NTT", "mldsa-native", PEER, "mldsa_ntt_aarch64_asm", 1, False),
    ("inverse NTT", "mldsa-lanes", SHA3, f"{_ENGINE}Neon(Sha3)?>::inverse_ntt", 1, False),
    ("inverse NTT", "mldsa-native", PEER, "mldsa_intt_aarch64_asm", 1, False),
    ("row of Â, five products", "mldsa-lanes", SHA3, f"{_ENGINE}Neon(Sha3)?>::dot", 1, False),
    ("row of Â, five products", "mldsa-native", PEER, "mldsa_polyvecl_pointwise_acc_montgomery_l5_aarch64_asm", 1, False),
    ("Keccak, one state", "mldsa-lanes", SHA3, "mldsa_lanes::backend::neon::keccak::PERMUTE_ONE::entry", 1, False),
    ("Keccak, one state", "mldsa-native", PEER, "mldsa_keccak_f1600_x1_scalar_aarch64_asm", 1, False),
    ("Keccak, a state of four, `neon`", "mldsa-lanes", PLAIN, f"{_PERMUTE}Neon>::permute::entry", 4, False),
    ("Keccak, a state of four, `neon-sha3`", "mldsa-lanes", SHA3, f"{_PERMUTE}NeonSha3>::permute::entry", 4, True),
    ("Keccak, a state of four", "mldsa-native", PEER, "mldsa_keccak_f1600_x4_v8a_v84a_scalar_hybrid_aarch64_asm", 4, True),
)  # fmt: skip
# By operation: the functions of mldsa-lanes and mldsa-native.
OPERATIONS = {
    "keygen": ("keygen", "mldsa65_keypair_internal"),
    "sign": ("sign_internal", "mldsa65_signature_internal"),
    "verify": ("verify_compact", "mldsa65_verify_internal"),
}
# Attempts of the signature: as many as the mean of ML-DSA-65.
ATTEMPTS = 5


class ModelError(Exception):
    """A missing tool or a failed command, with the remedy."""


def run_tool(argv: list[str], text: str) -> str:
    """Return what a program prints. ModelError with its last lines if it fails."""
    done = subprocess.run(argv, input=text, capture_output=True, text=True, check=False)
    if done.returncode:
        last = "\n".join(done.stderr.strip().splitlines()[-3:])
        raise ModelError(f"{Path(argv[0]).name} failed: {last}")
    return done.stdout


def tool(*names: str, hint: str) -> str:
    """Return the first program that is there."""
    for name in names:
        if shutil.which(name):
            return name
    raise ModelError(f"{names[0]} is missing: {hint}")


@cache
def symbols() -> dict[str, int]:
    """Return where each global function begins, in bytes after the first executable segment."""
    segments = run_tool(["aarch64-linux-gnu-readelf", "-lW", str(WORKER)], "")
    code = re.search(r"^ +LOAD +\S+ +(0x[0-9a-f]+) .*R E", segments, re.M)
    if code is None:
        raise ModelError(f"{WORKER.name} has no executable segment")
    names = run_tool(["aarch64-linux-gnu-nm", "-C", str(WORKER)], "")
    symbols = re.findall(r"^([0-9a-f]+) T (.*)$", names, re.M)
    return {name: int(place, 16) - int(code[1], 16) for place, name in symbols}


def place_of(symbol: str) -> int:
    """Return the place of the only function of that name, a pattern with parts of names in brackets."""
    pattern = re.escape(symbol).replace(r"\(Sha3\)\?", "(Sha3)?")
    places = {place for name, place in symbols().items() if re.fullmatch(pattern, name)}
    if len(places) != 1:
        raise ModelError(f"{WORKER.name} has {len(places)} functions {symbol}")
    return places.pop()


def ask(variant: str, operation: str, fields: dict[str, str], plugin: list[str]) -> list[str]:
    """Return the words of the worker's answer to one input (lab/workers/PROTOCOL.md)."""
    lines = [
        "hello 1",
        "prepare 1",
        f"variant {variant}",
        "set ML-DSA-65",
        f"operation {operation}",
    ]
    lines += ["input 0", *(f"{key} {value}" for key, value in fields.items()), "end"]
    lines += ["answer 1", "quit", ""]
    replies = run_tool([*EMULATOR, *plugin, str(WORKER), "rust"], "\n".join(lines)).splitlines()
    answers = [line.split() for line in replies if line.split()[0] in ("output", "trace", "failed")]
    if len(answers) != 1 or answers[0][0] == "failed":
        raise ModelError(f"{variant}, {operation}: {replies[-2:]}")
    return answers[0][2:]


def instructions(
    variant: str, operation: str, fields: dict[str, str], symbol: str, folder: Path
) -> str:
    """Return the instructions that the first call of a function executes, as assembly."""
    out = folder / f"{abs(hash((variant, operation, symbol)))}.bin"
    plugin = f"{folder / 'trace.so'},out={out},start={place_of(symbol)}"
    ask(variant, operation, fields, ["-plugin", plugin])
    words = out.read_bytes()
    out.unlink()
    if not words:
        raise ModelError(f"{variant}, {operation}: {symbol} was not called")
    text = "\n".join(
        " ".join(f"0x{b:02x}" for b in words[i : i + 4]) for i in range(0, len(words), 4)
    )
    mc = tool("llvm-mc-19", "llvm-mc", hint="on Debian `apt-get install llvm-19`")
    listing = run_tool([mc, "--disassemble", "--triple=aarch64", "--mattr=+all"], text)
    lines = [line for line in listing.splitlines() if line.startswith("\t") and line[1] != "."]
    if 4 * len(lines) != len(words):
        raise ModelError(
            f"llvm-mc knows {len(lines)} of {len(words) // 4} instructions of {symbol}"
        )
    return "\n".join(lines) + "\n"


_MOVES = re.compile(r"^\t(st.*\[(\w+))(?:\], #(-?\w+)|, #(-?\w+)\]!)$", re.M)


def split_stores(assembly: str) -> str:
    """Split each store that moves its address into a store and an addition; one whose address a register
    moves stays as it is."""

    def split(match: re.Match[str]) -> str:
        store, address, after, before = match.groups()
        moved = int(after or before, 0)
        add = f"\t{'add' if moved >= 0 else 'sub'}\t{address}, {address}, #{abs(moved)}"
        return f"\t{store}]\n{add}" if after else f"{add}\n\t{store}]"

    return _MOVES.sub(split, assembly)


def cycles(cpu: str, assembly: str) -> int:
    """Return the modelled cycles of instructions, once."""
    mca = tool("llvm-mca-19", "llvm-mca", hint="on Debian `apt-get install llvm-19`")
    options = [
        "--mtriple=aarch64",
        f"--mcpu={cpu}",
        "--mattr=+sha3",
        "--iterations=1",
        "--skip-unsupported-instructions=any",
    ]
    report = run_tool(
        [mca, *options, "--all-views=false", "--summary-view"], split_stores(assembly)
    )
    total = re.search(r"^Total Cycles: +(\d+)$", report, re.M)
    if total is None:
        raise ModelError(f"llvm-mca has no total for {cpu}")
    return int(total[1])


def row(cells: list[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def kernels(folder: Path, pool: ThreadPoolExecutor) -> list[str]:
    lines = [
        row(["kernel", "", "instructions", *CPUS.values()]),
        row(["---"] * 2 + ["---:"] * (1 + len(CPUS))),
    ]
    for name, whose, variant, symbol, states, sha3 in KERNELS:
        text = instructions(variant, "keygen", {"seed": "00" * 32}, symbol, folder)
        known = [cpu for cpu in CPUS if not sha3 or cpu in WITH_SHA3]
        counts = dict(zip(known, pool.map(cycles, known, [text] * len(known)), strict=True))
        figures = [text.count("\n"), *(counts.get(cpu) for cpu in CPUS)]
        cells = [f"{figure / states:,.0f}" if figure else "–" for figure in figures]
        lines.append(row([name, whose, *cells]))
        print(lines[-1], flush=True)
    return lines


def inputs() -> dict[str, dict[str, str]]:
    """Return the fields of the operations' inputs: a key, and a message that takes `ATTEMPTS`."""
    pk, sk = ask(SHA3, "keygen", {"seed": "00" * 32}, [])
    for number in range(256):
        fields = {"sk": sk, "pk": pk, "message": f"{number:064x}", "context": "-", "rnd": "00" * 32}
        if len(ask(SHA3, "trace", fields, [])) == ATTEMPTS:
            (signature,) = ask(SHA3, "sign", fields, [])
            parts = {key: fields[key] for key in ("pk", "message", "context")}
            return {
                "keygen": {"seed": "00" * 32},
                "sign": fields,
                "verify": parts | {"signature": signature},
            }
    raise ModelError(f"none of 256 messages takes {ATTEMPTS} attempts")


def operations(folder: Path, pool: ThreadPoolExecutor) -> list[str]:
    requests = inputs()
    variants = {
        "mldsa-lanes, `neon-sha3`": SHA3,
        "mldsa-lanes, `neon`": PLAIN,
        "mldsa-native": PEER,
    }
    names = [CPUS[cpu] for cpu in WITH_SHA3]
    lines = [
        row(["operation", "", "instructions", *names]),
        row(["---"] * 2 + ["---:"] * (1 + len(names))),
    ]
    for operation, (ours, theirs) in OPERATIONS.items():
        results: dict[str, list[int]] = {}
        for name, variant in variants.items():
            symbol = theirs if variant == PEER else f"{_SCHEME}{ours}"
            text = instructions(variant, operation, requests[operation], symbol, folder)
            results[name] = [
                text.count("\n"),
                *pool.map(cycles, WITH_SHA3, [text] * len(WITH_SHA3)),
            ]
            print(name, operation, results[name], flush=True)
        for name, figures in results.items():
            ratios = [
                figure / peer for figure, peer in zip(figures, results["mldsa-native"], strict=True)
            ]
            cells = [f"{f / 1000:,.1f} ({r:.2f})" for f, r in zip(figures, ratios, strict=True)]
            lines.append(row([operation, name, *cells]))
    return lines


def main() -> int:
    try:
        tool("aarch64-linux-gnu-nm", hint="on Debian `apt-get install binutils-aarch64-linux-gnu`")
        tool("qemu-aarch64", hint="on Debian `apt-get install qemu-user`")
        if not WORKER.exists():
            raise ModelError(f"{WORKER} is missing: run `make model-arm`")
        with tempfile.TemporaryDirectory() as name, ThreadPoolExecutor() as pool:
            folder, source = Path(name), ROOT / "lab/workers/counted/trace.c"
            run_tool(
                ["cc", "-O2", "-fPIC", "-shared", "-o", str(folder / "trace.so"), str(source)], ""
            )
            tables = {"kernels": kernels(folder, pool), "operations": operations(folder, pool)}
        text = DOCUMENT.read_text(encoding="utf-8")
        for what, lines in tables.items():
            marked = re.compile(rf"(<!-- model:{what} -->\n).*?(<!-- /model -->)", re.S)
            if not marked.search(text):
                raise ModelError(f"{DOCUMENT.name} has no marker model:{what}")
            body = "\n".join(lines)
            text = marked.sub(lambda match, body=body: f"{match[1]}{body}\n{match[2]}", text)
        DOCUMENT.write_text(text, encoding="utf-8")
    except ModelError as error:
        print(f"model-arm: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
