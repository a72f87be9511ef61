"""Measures cores for `rtl study`: cores for FIPS 204 by a run of `bench`, cores for round 3
together with dilithium-py."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import typer

from mldsa_lab.bench.bench import run_bench
from mldsa_lab.bench.options import Options, Profile, Sizes
from mldsa_lab.cli.shared import EXIT_INTERRUPTED, show_path
from mldsa_lab.files import write_text
from mldsa_lab.screen import Screen
from mldsa_lab.sets import DEFAULT_BASELINE, SIGNATURE_OPERATIONS
from mldsa_lab_rtl.core_worker import INPUTS, TIMEOUT, draw, measure_round_3
from mldsa_lab_rtl.manifest import Manifest
from mldsa_lab_rtl.study_files import RandomFile, Round3Cycles, Round3File, study_text


def measure_cores(
    manifests: Sequence[Manifest],
    sets: tuple[str, ...],
    seed: bytes,
    random: int | None,
    out: Path,
    screen: Screen,
) -> list[Path]:
    """Return the files that it writes. ``random``: so many random signatures of cores of FIPS 204
    are measured too."""
    final = [m for m in manifests if m.file.standard == "FIPS 204"]
    paths = [_bench([m.path for m in final], sets, seed, out, screen)] if final else []
    if final and random is not None:
        with screen.phase("random") as phase:
            drawn = tuple(one for m in final for one in draw(m, sets, random, seed, phase.show))
            phase.summary = f"{random} random signatures of each core and set"
        paths.append(paths[0].with_name("random.json"))
        write_text(paths[-1], study_text(RandomFile(1, drawn)))
    result: list[Round3Cycles] = []
    for manifest in (m for m in manifests if m not in final):
        with screen.phase("round 3") as phase:
            result += measure_round_3(manifest, sets, seed, phase.show)
            phase.summary = f"{manifest.worker}: {INPUTS} random inputs agree with dilithium-py"
    if result:
        paths.append((paths[0].parent if paths else out) / "round-3.json")
        write_text(paths[-1], study_text(Round3File(1, tuple(result))))
    for path in paths:
        show_path(screen.console, "record", path)
    return paths


def _bench(
    cores: Sequence[Path], sets: tuple[str, ...], seed: bytes, out: Path, screen: Screen
) -> Path:
    """Return the record of a run of one round, since a model's cycles do not vary."""
    options = Options(
        sets=sets, operations=SIGNATURE_OPERATIONS, implementations=(),
        workers=tuple(map(str, cores)), profile=Profile("custom", 0.0, 1, 1), rounds=1,
        sizes=Sizes(), baseline=DEFAULT_BASELINE, clock="wall", confidence=0.95, seed=seed,
        timeout=TIMEOUT, out=out,
    )  # fmt: skip
    outcome = run_bench(options, screen, lambda record: None)
    if outcome.is_interrupted:
        raise typer.Exit(EXIT_INTERRUPTED)
    return outcome.record
