"""Numbers in the prose of documents: phrases, and the figures that fill them.

`documents.py` writes them. A document contains each of its phrases once, word for word, with a
number for each `{}`. In these documents `lab/tests/test_documents.py` rejects any other number.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from pathlib import Path

from mldsa_lab import LabError
from mldsa_lab.bench.fleet import BATCH_SIZES
from mldsa_lab.estimate.compare import agreement_figures, compare
from mldsa_lab.estimate.summary import MeasuredCell, Summary, summarise
from mldsa_lab.records import read_record
from mldsa_lab.sets import DEFAULT_BASELINE, PARAMETER_SETS, SCHEMES, SEED_BYTES
from mldsa_lab.show.grid import number
from mldsa_lab.show.report import headline_batch_size
from mldsa_lab.theory.rejection import RejectionModel

ROOT = Path(__file__).resolve().parents[2]
CONFIDENCE = 0.95
NUMBER = r"\d(?:[\d.,]*\d)?"
Phrase = tuple[str, Callable[[], Iterable[str]]]


@cache
def loaded(path: Path) -> Summary:
    """Read and summarise a record, once."""
    return summarise(read_record(path), baseline=DEFAULT_BASELINE, confidence=CONFIDENCE)


# --- records --------------------------------------------------------------------------------------


class Run:
    """A published record, read when a figure is asked for."""

    def __init__(self, name: str) -> None:
        self.path = ROOT / "records" / f"{name}.jsonl.xz"

    @property
    def summary(self) -> Summary:
        """The record's cells."""
        return loaded(self.path)

    def rows(self, operation: str, *, deterministic: bool = False) -> list[MeasuredCell]:
        """Return the rows of ML-DSA of single calls on one thread, every build."""
        return [
            row
            for row in self.summary.cells
            if row.operation == operation
            and row.set in PARAMETER_SETS
            and row.mean is not None
            and row.variant.mode == "single"
            and row.variant.batch_size == row.variant.threads == 1
            and (row.variant.deterministic or not deterministic)
        ]

    def best(self, name: str, operation: str, set_name: str = "ML-DSA-65") -> MeasuredCell:
        """Return an implementation's cheapest row in the reference build, with compact keys if it
        has such a row."""
        rows = [
            row
            for row in self.summary.cells
            if (row.variant.implementation, row.operation, row.set) == (name, operation, set_name)
            and row.mean is not None
            and not row.is_duplicate_build
            and row.variant.mode == "single"
            and row.variant.batch_size == row.variant.threads == 1
        ]
        if not rows:
            raise LabError(f"{self.path}: no row of {name}, {operation}, {set_name}")
        return min(rows, key=lambda row: (row.variant.key != "compact", row.cost))

    def ratios(self, *names: str) -> list[str]:
        """Return each implementation's ratios of signing and verification with ML-DSA-65."""
        rows = [self.best(name, operation) for name in names for operation in ("sign", "verify")]
        return [ratio_text(row.value("ratio") or 0) for row in rows]

    def over(self, operation: str, name: str, other: str) -> float:
        """Return an implementation's mean over that of another, ML-DSA-65."""
        return self.best(name, operation).cost / self.best(other, operation).cost

    def version(self, name: str) -> str:
        """Return the version of an implementation."""
        return self.best(name, "sign").variant.version

    @property
    def rounds(self) -> str:
        """The number of rounds."""
        return str(1 + max(row.round for row in self.summary.record.samples))

    @property
    def message_bytes(self) -> str:
        """The size of its messages, bytes."""
        return f"{self.summary.record.run.options['message_bytes']:,}"


ZEN5 = Run("2026-11-22-epyc-zen5/both-builds")
BATCHES = Run("2026-11-22-epyc-zen5/batches")
ZEN4 = Run("2026-11-22-epyc-zen4/all-languages")
BINDINGS = Run("2026-11-25-xeon-emr/bindings")
NEWEST = Run("2026-11-28-xeon-amx/native")


# --- figures --------------------------------------------------------------------------------------


def ratio_text(value: float) -> str:
    """Return a ratio as tables show it: two decimals below 10, one above."""
    return number(value, 2 if value < 10 else 1)


def ends(values: Iterable[float], decimals: int) -> list[str]:
    """Return the least and the largest value."""
    listed = list(values)
    return [number(value, decimals) for value in (min(listed), max(listed))]


def over_mean(percentile: float, *runs: Run) -> list[float]:
    """Return a percentile over the mean for each deterministic way of signing."""
    cells = [cell for run in runs for cell in run.rows("sign", deterministic=True)]
    quantiles = ((cell.value("quantile", percentile=percentile), cell.cost) for cell in cells)
    return [value / cost for value, cost in quantiles if value is not None]


def aws_lc_over(operation: str, *classical: str) -> list[str]:
    """Return the least and the largest mean of aws-lc's ML-DSA over its classical schemes'."""
    names = {
        "Ed25519": "aws-lc-ed25519",
        "ECDSA-P256": "aws-lc-ecdsa-p256",
        "RSA-2048-PSS": "aws-lc-rsa",
    }
    ratios = [
        ZEN5.best("aws-lc", operation, name).cost / ZEN5.best(names[old], operation, old).cost
        for name in PARAMETER_SETS
        for old in classical
    ]
    return [ratio_text(min(ratios)), ratio_text(max(ratios))]


def iterations(share: float) -> list[str]:
    """Return the quantile of the number of iterations, least and largest of the three sets."""
    return ends(
        (RejectionModel.for_set(name).iterations_quantile(share) for name in PARAMETER_SETS), 0
    )


def make_times(*names: str) -> list[str]:
    """Return values of make_times.toml."""
    known = tomllib.loads(
        (ROOT / "lab" / "scripts" / "make_times.toml").read_text(encoding="utf-8")
    )
    return [f"{known[name]:,}" for name in names]


def bench_seconds(profile: str) -> str:
    """Return the duration of a profile of `bench`, seconds."""
    known = tomllib.loads((ROOT / "lab" / "studies" / "bench.toml").read_text(encoding="utf-8"))
    return str(known["profiles"][profile]["seconds"])


def stack_rows(heading: str) -> dict[str, list[list[int]]]:
    """Return a table of library/evidence/stack.md, which `make figures PART=stack` writes: KiB in each cell by row."""
    text = (ROOT / "library" / "evidence" / "stack.md").read_text(encoding="utf-8")
    lines = re.findall(
        r"^\| (.*) \|$", text.partition(f"## {heading}\n")[2].partition("\n## ")[0], re.M
    )
    cells = [line.split(" | ") for line in lines]
    return {
        name: [[int(n) for n in re.findall(r"\b\d+", c)] for c in rest] for name, *rest in cells
    }


def memory_without_heap(row: str) -> list[int]:
    """Return the memory of a program without a heap, KiB for each parameter set."""
    return [cell[0] for cell in stack_rows("Without a heap")[row]]


def most_stack(pattern: str) -> str:
    """Return the most stack that an operation of this name takes in release builds, KiB."""
    rows = stack_rows("Release builds")
    return str(
        max(n for row, cells in rows.items() if re.match(pattern, row) for c in cells for n in c)
    )


def overlapping_ratios() -> list[str]:
    """Return the number of overlapping ratio intervals and the number of pairs, in the two runs on
    the Zen 3."""
    runs = [Run(f"2026-11-21-epyc-zen3/{name}").summary for name in ("first", "second")]
    figures = [f for f in agreement_figures(compare(runs)) if f.keys["quantity"] == "ratio"]
    return [
        str(sum(int(f.value or 0) for f in figures if f.keys["statistic"] == name))
        for name in ("overlapping", "cells")
    ]


def sizes(name: str) -> list[str]:
    """Return the bytes of a scheme's public key, signature, private key and, of ML-DSA, seed."""
    scheme = SCHEMES[name]
    known = [scheme.public_key_bytes, scheme.output_bytes, scheme.private_key_bytes]
    if name in PARAMETER_SETS:
        known.append(scheme.seed_bytes)
    return [f"{n:,}" for n in known]


def ecdsa_sizes() -> list[str]:
    """Return the bytes of ECDSA's keys and signatures: compressed and whole points, r and s, and
    DER. In DER each of r and s may need a zero byte before it."""
    key, signature, private = sizes("ECDSA-P256")
    whole, der = 1 + 2 * int(private), 2 + 2 * (2 + 1 + int(private))
    return [key, str(whole), signature, str(der), private]


# --- phrases --------------------------------------------------------------------------------------

README: Sequence[Phrase] = (
    ("{} to {} iterations on average",
     lambda: ends((RejectionModel.for_set(name).expected_iterations for name in PARAMETER_SETS), 1)),
    ("{} to {} at p99.9", lambda: iterations(0.999)),
    ("`make bench` takes {} s of wall time and `make test` {} s of CPU time. With nothing "
     "changed, `make test` takes {} s of CPU time",
     lambda: make_times("bench_wall_s", "test_cpu_s", "test_again_cpu_s")),
    ("at {} GHz", lambda: make_times("gigahertz")),
    ("mldsa-lanes {} on an AMD EPYC", lambda: [ZEN5.version("mldsa-lanes")]),
    ("{} rounds, {}-byte messages", lambda: [ZEN5.rounds, ZEN5.message_bytes]),
    ("the ratios of mldsa-lanes {} with", lambda: [NEWEST.version("mldsa-lanes")]),
    ("are {} for signing and {} for verification", lambda: NEWEST.ratios("mldsa-lanes")),
    ("with mldsa-lanes {}, on a Zen 4", lambda: [ZEN4.version("mldsa-lanes")]),
    ("| Rust | mldsa-lanes | {} | {} | fastest in this run; libcrux ({}, {})",
     lambda: ZEN4.ratios("mldsa-lanes", "libcrux")),
    ("[libmldsa](docs/c.md) | {} | {} | C with proofs; wolfSSL signs faster ({}, {})",
     lambda: ZEN4.ratios("mldsa-native", "wolfssl")),
    ("libmldsa is mldsa-lanes ({}†, {}†)", lambda: BINDINGS.ratios("mldsa-lanes-c")),
    ("| circl | {} | {} |", lambda: ZEN4.ratios("circl")),
    ("`crypto/mldsa` ({}\\*, {}, Go 1.27) and filippo.io/mldsa ({}\\*, {})",
     lambda: ZEN4.ratios("go-ml-dsa", "filippo")),
    ("else BouncyCastle | {} | {} |", lambda: ZEN4.ratios("jdk")),
    ("BouncyCastle {}, {} here", lambda: ZEN4.ratios("bouncycastle")),
    ("[mldsa-lanes](docs/python.md) | {}† | {}† |", lambda: BINDINGS.ratios("mldsa-lanes-python")),
    ("`cryptography` ({}†, {}†)", lambda: BINDINGS.ratios("cryptography")),
    ("{} and {} times as fast",
     lambda: [number(BINDINGS.over(operation, "cryptography", "mldsa-lanes-python"), 1)
              for operation in ("sign", "verify")]),
    ("| liboqs-js | {} | {} |", lambda: ZEN4.ratios("liboqs-js")),
    ("node:crypto {}, {} |", lambda: ZEN4.ratios("node-crypto")),
    ("{} KiB in all", lambda: [str(memory_without_heap("all")[1])]),
    ("{} KiB of stack", lambda: [str(memory_without_heap("stack, the most of all steps")[1])]),
    ("† mldsa-lanes {} on a Xeon", lambda: [BINDINGS.version("mldsa-lanes")]),
)  # fmt: skip

CHOOSE: Sequence[Phrase] = (
    ("# measures for {} s after the build", lambda: [bench_seconds("quick")]),
    ("# measures for {} s\n", lambda: [bench_seconds("default")]),
    ("batches of {} to {}; 1 thread to all cores",
     lambda: [f"{BATCH_SIZES[0]:,}", f"{BATCH_SIZES[-1]:,}"]),
    ("takes {}, {} or {} KiB of memory",
     lambda: map(str, memory_without_heap("`Place<ExpandedSigningKey>`"))),
    ("is {} to {} times the mean", lambda: ends(over_mean(99, ZEN5, ZEN4), 1)),
    ("pqcrypto's p99 is {} to {} times its mean",
     lambda: ends((value / row.cost for name in PARAMETER_SETS
                   if (row := ZEN4.best("pqcrypto", "sign", name))
                   and (value := row.value("quantile", percentile=99))), 2)),
    ("{} rounds, messages of {} bytes, thread CPU time, default builds",
     lambda: [ZEN4.rounds, ZEN4.message_bytes]),
    ("{} of {} pairs of ratio intervals overlap", overlapping_ratios),
)  # fmt: skip

RUNS: Sequence[Phrase] = (
    ("mldsa-lanes {}, 2026-11-22", lambda: [ZEN5.version("mldsa-lanes")]),
    ("{} rounds, messages of {} bytes, thread CPU time; Cargo",
     lambda: [ZEN5.rounds, ZEN5.message_bytes]),
    ("**Batches of {}**", lambda: [f"{headline_batch_size(c.variant for c in BATCHES.summary.cells):,}"]),
    ("same machine, {} rounds", lambda: [BATCHES.rounds]),
    ("{} rounds, messages of {} bytes, thread CPU time, default builds",
     lambda: [ZEN4.rounds, ZEN4.message_bytes]),
    ("{} rounds, messages of {} bytes, default builds. `mldsa-lanes-c`",
     lambda: [BINDINGS.rounds, BINDINGS.message_bytes]),
)  # fmt: skip

MIGRATION: Sequence[Phrase] = (
    ("| Ed25519 | {} | {} | {} | – |", lambda: sizes("Ed25519")),
    ("| ECDSA P-256, secp256k1 | {} or {} | {} (to {} in DER) | {} |", ecdsa_sizes),
    ("| RSA-2048 | {} (modulus) | {} | {} (exponent) |", lambda: sizes("RSA-2048-PSS")),
    ("| ML-DSA-44 | {} | {} | {} | {} |", lambda: sizes("ML-DSA-44")),
    ("| ML-DSA-65 | {} | {} | {} | {} |", lambda: sizes("ML-DSA-65")),
    ("| ML-DSA-87 | {} | {} | {} | {} |", lambda: sizes("ML-DSA-87")),
    ("its seed of {} bytes", lambda: [str(SEED_BYTES)]),
    ("messages of {} bytes, on the machine", lambda: [ZEN5.message_bytes]),
    ("{} to {} times as much as with elliptic curves",
     lambda: aws_lc_over("verify", "Ed25519", "ECDSA-P256")),
    ("{} to {} times as much as with RSA", lambda: aws_lc_over("verify", "RSA-2048-PSS")),
    ("{} to {} times as much as with the curves",
     lambda: aws_lc_over("sign", "Ed25519", "ECDSA-P256")),
    ("{} to {} of RSA's", lambda: aws_lc_over("sign", "RSA-2048-PSS")),
    ("mldsa-lanes {} in the same rounds", lambda: [ZEN5.version("mldsa-lanes")]),
    ("the median is {} to {} of the mean", lambda: ends(over_mean(50, ZEN5), 2)),
    ("p99 {} to {} times and", lambda: ends(over_mean(99, ZEN5), 1)),
    ("p99.9 {} to {} times the mean", lambda: ends(over_mean(99.9, ZEN5), 1)),
    ("up to {} KiB of stack", lambda: [most_stack("(?!batch)")]),
    ("signing up to {} KiB with a workspace", lambda: [most_stack("sign_in a workspace")]),
    ("private key takes {}, {} or {} KiB",
     lambda: map(str, memory_without_heap("`Place<ExpandedSigningKey>`"))),
)  # fmt: skip

PHRASES = {
    "README.md": README,
    "docs/choose-a-library.md": CHOOSE,
    "docs/migration-cost.md": MIGRATION,
    "lab/notes/runs.md": RUNS,
}
"""The phrases of each document."""


def holes(phrase: str) -> re.Pattern[str]:
    """Return the pattern of a phrase, with a group for each text between its numbers."""
    return re.compile(NUMBER.join(f"({re.escape(part)})" for part in phrase.split("{}")))


def filled(path: Path, text: str) -> str:
    """Return the text of a document with its phrases filled. LabError for a phrase that the
    document does not have exactly once."""
    for phrase, figures in PHRASES.get(str(path).removeprefix(f"{ROOT}/"), ()):
        matches = list(holes(phrase).finditer(text))
        if len(matches) != 1:
            raise LabError(
                f"phrase {phrase!r} of lab/scripts/prose.py: found {len(matches)} times, expected "
                "once; change the document or the phrase"
            )
        (match,) = matches
        parts = zip(match.groups(), (*figures(), ""), strict=True)
        new = "".join(part + figure for part, figure in parts)
        text = text[: match.start()] + new + text[match.end() :]
    return text
