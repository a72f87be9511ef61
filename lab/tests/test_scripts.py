"""Programs of scripts: golden.py compares every figure with tests/golden, model_arm.py splits
stores."""

from __future__ import annotations

import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from lab_runs import load_script

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "lab" / "scripts" / "golden.py"
KEYS = {"set": "ML-DSA-65", "threads": 2}


@pytest.fixture(scope="module")
def golden() -> Any:
    return load_script(SCRIPT)


@pytest.mark.e2e
def test_every_figure_is_as_it_was() -> None:
    done = subprocess.run([sys.executable, SCRIPT], capture_output=True, text=True, timeout=1800)
    assert done.returncode == 0, done.stdout + done.stderr


def test_setup_ends_with_what_is_ready_and_what_to_do_next() -> None:
    made = ("make", "--silent", "--old-file=setup-bench", "setup")
    text = subprocess.run(made, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert ".venv is ready" in text and "next: make bench" in text and "doctor" in text


def test_modules_that_make_runs_are_programs() -> None:
    text = (ROOT / "lab" / "Makefile").read_text(encoding="utf-8")
    modules = sorted(set(re.findall(r"-m ((?:mldsa_lab|mldsa_studies|pqc_impact)[\w.]*)", text)))
    assert "mldsa_lab.worker.build" in modules
    for module in modules:
        source = Path(str(find_spec(module).origin))  # type: ignore[union-attr]
        assert '__name__ == "__main__"' in source.read_text(encoding="utf-8"), module


def test_a_changed_figure_is_reported(
    golden: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    def source(mean: float, *more: Any) -> Any:
        return lambda: {"small": lambda: iter([golden.figure(KEYS, "mean", mean, *more)])}

    def run(*options: str) -> tuple[int, str]:
        status = golden.main(["--processes", "1", *options])
        return status, capsys.readouterr().out

    monkeypatch.setattr(golden, "GOLDEN", tmp_path)
    monkeypatch.setattr(golden, "sources", source(100.0, 99.0, 101.0, "ns"))
    assert run("--write")[0] == 0
    assert run() == (0, "golden: 1 files compared, 0 differences\n")
    monkeypatch.setattr(golden, "sources", source(100.0 * (1 + 1e-10), 99.0, 101.0, "ns"))
    assert run()[0] == 0
    monkeypatch.setattr(golden, "sources", source(100.0 * (1 + 1e-8), 99.0, 102.0, "us"))
    status, out = run()
    place = "small.json: set=ML-DSA-65 threads=2: mean: "
    changes = ("value 100.0 -> 100.000001", "high 101.0 -> 102.0", "unit ns -> us")
    assert status == 1 and out.splitlines()[:-1] == [f"{place}{change}" for change in changes]


@pytest.mark.parametrize(
    ("old", "new", "endings"),
    [
        # A difference is relative to the limits.
        ({"z": 4.0e-6}, {"z": 4.001e-6}, []),
        ({"z": 4.0e-6}, {"z": 5.0e-6}, ["value 4e-06 -> 5e-06"]),
        ({"mean": 1.0}, {"ratio": 1.0}, ["missing, 1.0", "new, 1.0"]),
    ],
)
def test_differences(
    golden: Any, old: dict[str, float], new: dict[str, float], endings: list[str]
) -> None:
    one, other = (
        golden.by_identity([golden.figure(KEYS, name, v, -9.0, 9.0) for name, v in of.items()])
        for of in (old, new)
    )
    assert [line.split(": ")[-1] for line in golden.differences(one, other)] == endings


def test_figures_of_json(golden: Any) -> None:
    row = {"variant": "a", "threads": 2, "unit": "ns", "mean": 3.0, "mean_low": 2.0, "cpu": "x"}
    row |= {
        "ratio": [1.0, 0.5, 2.0],
        "parts": {"z": 4, "text": "words"},
        "codes": ["few"],
        "p95": None,
    }
    keys = {"variant": "a", "threads": 2, "codes": "few"}
    found = list(golden.flatten([row], {}))
    assert found == [
        {"keys": keys, "name": "mean", "value": 3.0, "low": 2.0, "unit": "ns"},
        {"keys": keys, "name": "ratio", "value": 1.0, "low": 0.5, "high": 2.0},
        {"keys": keys, "name": "parts.z", "value": 4},
    ]
    figures = golden.by_identity([*found, *found[:1]])
    assert len(figures) == 4 and golden.from_text(golden.as_text(figures)) == figures


@pytest.mark.parametrize(
    ("store", "given"),
    [
        ("str\tq4, [x11], #16", "str\tq4, [x11]\n\tadd\tx11, x11, #16"),
        ("stp\tq4, q6, [sp, #-32]!", "sub\tsp, sp, #32\n\tstp\tq4, q6, [sp]"),
        ("st4\t{ v0.4s, v1.4s, v2.4s, v3.4s }, [x0], #64",
         "st4\t{ v0.4s, v1.4s, v2.4s, v3.4s }, [x0]\n\tadd\tx0, x0, #64"),
        ("str\tq4, [x11, #16]", "str\tq4, [x11, #16]"),
        ("st1\t{ v0.4s }, [x0], x2", "st1\t{ v0.4s }, [x0], x2"),
        ("ldr\tq4, [x11], #16", "ldr\tq4, [x11], #16"),
    ],
)  # fmt: skip
def test_stores_that_move_their_address_are_split(store: str, given: str) -> None:
    model = load_script(ROOT / "lab" / "scripts" / "model_arm.py")
    assert model.split_stores(f"\tnop\n\t{store}\n") == f"\tnop\n\t{given}\n"
