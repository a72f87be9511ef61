"""`examples/minimal-worker`, which CONTRIBUTING walks through: it conforms, and stays small."""

from pathlib import Path

import pytest

from mldsa_lab.worker.conformance import conform_entry
from mldsa_lab.worker.registry import Place, read_registry

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "examples" / "minimal-worker"


@pytest.mark.e2e
def test_minimal_worker_conforms() -> None:
    (entry,) = read_registry(FOLDER / "registry.toml")
    place = Place.of(ROOT)
    found = conform_entry(entry, place)
    assert found.passed, "\n".join(found.lines())
    judged = {finding.check for finding in found.findings if finding.status == "passed"}
    assert {"acvp-siggen", "keygen-again", "signs", "signs-rnd", "verifies-own"} <= judged
    assert {"refuses-context", "refuses-as-verdict", "measure-sign"} <= judged


def test_minimal_worker_is_at_most_80_lines() -> None:
    assert len((FOLDER / "worker.py").read_text(encoding="utf-8").splitlines()) <= 80
