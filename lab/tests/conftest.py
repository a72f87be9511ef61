"""Settings and fixtures of every test, those of the studies too."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
from pathlib import Path

import pytest
from hypothesis import settings
from lab_runs import Ran, bench

# How long an example takes is no matter of right or wrong, on a busy machine least of all.
settings.register_profile("lab", deadline=None)
settings.load_profile("lab")


def pytest_configure() -> None:
    """The width of the terminal that the tests are started from decides nothing (pytest-xdist sets
    the variable in its processes even where there is no terminal).

    With MLDSA_LAB_PREBUILT=1 no test builds with cargo: tests/prebuild.py has.
    """
    os.environ.pop("COLUMNS", None)
    stand_in = Path(__file__).parent / "prebuilt"
    found = shutil.which("cargo")
    # The processes of pytest-xdist inherit the path.
    if os.environ.get("MLDSA_LAB_PREBUILT") == "1" and found and Path(found) != stand_in / "cargo":
        os.environ["MLDSA_LAB_CARGO"] = found
        os.environ["PATH"] = f"{stand_in}{os.pathsep}{os.environ['PATH']}"


SHARED_RUN = (
    "--workers", "rust", "--sets", "44,Ed25519", "--rounds", "4",
    "--implementations", "mldsa-lanes:portable:*,mldsa-native,aws-lc,*ed25519*",
)  # fmt: skip


@pytest.fixture(scope="session")
def shared_run(tmp_path_factory: pytest.TempPathFactory) -> Ran:
    """One real run of `bench` for all tests, whichever process of pytest-xdist they are in."""
    root = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        root = root.parent
    result = root / "shared-run.json"
    with (root / "shared-run.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not result.exists():
            ran = bench(root / "shared-run", *SHARED_RUN)
            shown = [ran.status, ran.out, ran.err, ran.folder and str(ran.folder)]
            result.write_text(json.dumps(shown), encoding="utf-8")
    status, out, err, folder = json.loads(result.read_text(encoding="utf-8"))
    return Ran(status, out, err, folder and Path(folder))
