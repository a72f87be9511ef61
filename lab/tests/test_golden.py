"""scripts/golden.py compares every figure of the lab with tests/golden."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "scripts" / "golden.py"
KEYS = {"set": "ML-DSA-65", "threads": 2}


@pytest.fixture(scope="module")
def golden() -> ModuleType:
    spec = importlib.util.spec_from_file_location("golden", SCRIPT)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.e2e
def test_every_figure_is_as_it_was() -> None:
    done = subprocess.run([sys.executable, SCRIPT], capture_output=True, text=True, timeout=1800)
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_changed_figure_is_reported(
    golden: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    def found(mean: float, *more: Any) -> Any:
        return lambda: {"small": lambda: iter([golden.figure(KEYS, "mean", mean, *more)])}

    def run(*options: str) -> tuple[int, str]:
        status = golden.main(["--processes", "1", *options])
        return status, capsys.readouterr().out

    monkeypatch.setattr(golden, "GOLDEN", tmp_path)
    monkeypatch.setattr(golden, "sources", found(100.0, 99.0, 101.0, "ns"))
    assert run("--write")[0] == 0
    assert run() == (0, "golden: 1 files compared, 0 differences\n")
    monkeypatch.setattr(golden, "sources", found(100.0 * (1 + 1e-10), 99.0, 101.0, "ns"))
    assert run()[0] == 0
    monkeypatch.setattr(golden, "sources", found(100.0 * (1 + 1e-8), 99.0, 102.0, "us"))
    status, out = run()
    lines = out.splitlines()
    assert status == 1 and len(lines) == 4
    assert lines[0] == "small.json: set=ML-DSA-65 threads=2: mean: value 100.0 -> 100.000001"
    assert lines[1].endswith("high 101.0 -> 102.0") and lines[2].endswith("unit ns -> us")


def test_a_difference_is_relative_to_the_limits(golden: ModuleType) -> None:
    def differences(*values: float) -> int:
        old, new = (golden.by_identity([golden.figure(KEYS, "z", v, -9.0, 9.0)]) for v in values)
        return len(list(golden.differences(old, new)))

    assert differences(4.0e-6, 4.001e-6) == 0
    assert differences(4.0e-6, 5.0e-6) == 1


@pytest.mark.parametrize("key", ["set", "threads"])
def test_missing_and_new_figures_are_reported(golden: ModuleType, key: str) -> None:
    old = golden.by_identity([golden.figure(KEYS, "mean", 1.0)])
    new = golden.by_identity([golden.figure({**KEYS, key: "other"}, "mean", 1.0)])
    assert [line.split(": ")[-1] for line in golden.differences(old, new)] == [
        "missing, 1.0",
        "new, 1.0",
    ]


def test_figures_of_json(golden: ModuleType) -> None:
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
