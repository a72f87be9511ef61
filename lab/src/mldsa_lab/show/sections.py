"""The parts of a page as plain data for its template."""

from __future__ import annotations

import base64
import json
import shlex
from collections.abc import Sequence
from dataclasses import dataclass

from mldsa_lab.estimate.summary import SummaryRow
from mldsa_lab.records import Check, Record
from mldsa_lab.show.exports import of_run
from mldsa_lab.wording import join_words

KINDS = {
    "acvp": "NIST's known answers",
    "own": "signatures by its own keys verify",
    "others": "the keys that others make of the seed",
    "encaps": "encapsulation as others do it",
    "decaps": "its own secrets and others', and others its own",
    "rejects": "an altered ciphertext gives the secret of implicit rejection",
    "reference": "the same bytes and traces as the reference",
    "signs": "its own signatures verify",
    "verified": "others accept its signatures",
    "verifies": "it accepts theirs",
    "batch": "in batches, bad items spoil none beside them",
    "refuses": "altered signatures, keys, messages and contexts are refused",
}
"""What the kinds of check of the gate are, for a legend."""

_CROSSED = (
    "Measured in the same run, on random inputs. No reference of ours stands behind it: the gate "
    "asks for {known}, refusals of what was altered, and the other implementations' agreement, "
    "where there are any."
)
BESIDE = {
    "classical": "Measured in the same run for comparison. They have no attempts; the gate checks "
    "that they sign, verify, and refuse what was altered.",
    "slh-dsa": _CROSSED.format(known="NIST's known answers"),
    "fn-dsa": _CROSSED.format(known="signatures by its own keys")
    + " FIPS 206 is a draft without vectors.",
    "ml-kem": _CROSSED.format(known="NIST's known answers"),
    "hash": "What signers and pipelines hash with; the gate compares digests with Python's.",
}
"""What stands above the table of a family beside ML-DSA."""


@dataclass(frozen=True, slots=True)
class GateCell:
    """One variant's result in one kind of check; `cases` 0 where it was not checked. `names` are
    the checks that failed, `note` counts the cases of each."""

    cases: int
    failed: int
    names: str
    note: str


@dataclass(frozen=True, slots=True)
class GateRow:
    """One variant's way through the gate."""

    variant: str
    sets: str
    passed: bool
    cells: tuple[GateCell, ...]


def gate_matrix(record: Record) -> tuple[list[str], list[GateRow]]:
    """The kinds of check, and a row per variant, the refused ones first.

    A kind is the first word of a check's name (`refuses-z` and `refuses-hint` are of one kind);
    checks of one kind and several sets are added up.
    """
    kinds = list(dict.fromkeys(_kind(c) for g in record.gates for c in g.checks))
    rows = []
    for variant in dict.fromkeys(g.variant for g in record.gates):
        gates = [g for g in record.gates if g.variant == variant]
        checks = [c for g in gates for c in g.checks]
        cells = tuple(_gate_cell([c for c in checks if _kind(c) == kind]) for kind in kinds)
        sets = ", ".join(g.set.removeprefix("ML-DSA-") for g in gates)
        rows.append(GateRow(variant, sets, all(g.passed for g in gates), cells))
    return kinds, sorted(rows, key=lambda r: r.passed)


def _kind(check: Check) -> str:
    return check.check.split("-")[0]


def _gate_cell(checks: Sequence[Check]) -> GateCell:
    cases: dict[str, int] = {}
    for c in checks:
        cases[c.check] = cases.get(c.check, 0) + c.cases
    failed = [c.check for c in checks if c.failed]
    note = ", ".join(f"{name} {count}" for name, count in cases.items())
    return GateCell(
        sum(cases.values()), sum(c.failed for c in checks), join_words(dict.fromkeys(failed)), note
    )


def machine_facts(record: Record) -> list[tuple[str, str]]:
    """The machine as (name, value), values that are unknown said to be so."""
    machine = record.run.machine
    memory = machine.get("memory_bytes")
    gibibytes = f"{memory / 2**30:.1f} GiB" if isinstance(memory, (int, float)) else None
    loads = [row.load1 for row in record.loads if row.load1 is not None]
    load = None
    if loads:
        load = (
            f"{min(loads):.2f} to {max(loads):.2f} (average over a minute, at each round's start)"
        )
    elif machine.get("load1") is not None:
        load = f"{machine['load1']} at the start"
    named = (
        ("Processor", "cpu"), ("Architecture", "architecture"), ("Cores", "cores"),
        ("Frequency governor", "governor"), ("Operating system", "os"), ("Python", "python"),
    )  # fmt: skip
    facts = [(title, _shown(machine.get(key))) for title, key in named]
    facts[3:3] = [("Memory", _shown(gibibytes))]
    facts.append(("Load", _shown(load)))
    compilers = machine.get("compilers")
    if isinstance(compilers, dict):
        facts += [(f"Compiler {name}", _shown(text)) for name, text in compilers.items()]
    known = {key for _, key in named} | {"memory_bytes", "load1", "compilers", "features"}
    facts += [(str(k).replace("_", " "), _shown(v)) for k, v in machine.items() if k not in known]
    facts.append(("CPU features", _shown(machine.get("features"))))
    return facts


def _shown(value: object) -> str:
    if value is None or value == "" or value == []:
        return "not known"
    if isinstance(value, (list, tuple)):
        return " ".join(map(str, value))
    if isinstance(value, dict):
        return ", ".join(f"{k} {v}" for k, v in value.items())
    return str(value)


_FLAGS = (
    "sets", "operations", "implementations", "workers", "rounds", "message_bytes", "reference",
    "until", "limit", "clock", "confidence", "timeout", "batch_sizes", "thread_counts", "build",
)  # fmt: skip
_OPTIONS = {"batch_sizes": "--batch", "thread_counts": "--threads"}


def command(record: Record) -> str:
    """The command that measures the same again: same options and same seed, hence same inputs."""
    words = ["mldsa-lab", "bench"]
    if record.run.profile == "quick":
        words.append("--quick")
    for name in _FLAGS:
        value = record.run.options.get(name)
        if isinstance(value, (list, tuple)):
            value = ",".join(map(str, value))
        if value not in (None, ""):
            words += [_OPTIONS.get(name, "--" + name.replace("_", "-")), str(value)]
    return shlex.join([*words, "--seed", record.run.seed])


def data_link(record: Record, rows: Sequence[SummaryRow]) -> str:
    """The rows as a data: URI of JSON, the same rows that `--json` writes."""
    text = json.dumps(of_run(record, rows), ensure_ascii=False, indent=1)
    return "data:application/json;base64," + base64.b64encode(text.encode()).decode()


def why_empty(record: Record) -> str:
    """Why a run holds no measurements."""
    if record.gates and not any(gate.passed for gate in record.gates):
        return "no variant passed the correctness gate"
    if not record.workers:
        return "no worker took part"
    return "it ended before the first sample, or everything was left out"


def when(text: str) -> str:
    """`2026-11-21T21:40:00Z` as `2026-11-21 21:40 UTC`; anything else as it is."""
    if len(text) >= 20 and text[10] == "T" and text.endswith("Z"):
        return f"{text[:10]} {text[11:16]} UTC"
    return text


def options_of(record: Record) -> list[tuple[str, str]]:
    """The run's options as (name, value) for display."""
    return [
        (name.replace("_", " "), "default" if value in (None, "", []) else _shown(value))
        for name, value in record.run.options.items()
    ]
