"""A variant that asks for a warm-up of its own gets it in each process, before all samples."""

from __future__ import annotations

from pathlib import Path

import pytest
from fake_worker import fake_worker

from mldsa_lab.bench.fleet import Fleet, Station
from mldsa_lab.bench.rounds import WARMUP_NS, Bench, Cell, Schedule
from mldsa_lab.records import Row, Samples
from mldsa_lab.worker.build import Place
from mldsa_lab.worker.protocol import JobInput
from mldsa_lab.worker.registry import WorkerEntry
from mldsa_lab.worker.worker import Limits

# Each sample takes as many ticks as were run in its process by then, warm-ups among them.
BODY = """
spent = 0
while True:
    match request():
        case ["hello", _]: say(HELLO.replace("end\\n", "warmup {warmup}\\nend\\n"))
        case ["prepare", job]: say(f"ready {{job}}\\n")
        case ["measure", job, _, calls, warmup]:
            spent += int(warmup)
            say(f"sample 0 {{spent}} - {{calls}} {{'00' * 32}}\\ndone {{job}}\\n")
        case _: sys.exit(0)
"""


@pytest.mark.parametrize("asked", [0, 70_000_000])
def test_every_cell_is_warmed_up_before_any_is_measured(tmp_path: Path, asked: int) -> None:
    argv = fake_worker(tmp_path, BODY.format(warmup=asked))
    entry = WorkerEntry("fake", "Python", ".", (), tuple(argv))
    rows: list[Row] = []
    with Fleet() as fleet:
        fleet.add(Station(entry, Place(tmp_path, tmp_path), Limits(hello=20)))
        (variant,) = fleet.variants.values()
        assert fleet.stations[0].row().warmups == ({variant.id: asked} if asked else {})
        cells = [
            Cell(variant, "ML-DSA-44", operation, [JobInput(0)], {}, random=False)
            for operation in ("keygen", "verify")
        ]
        bench = Bench(fleet, Schedule(cells), rows.append)
        bench.calibrate(lambda cell: None)
        for number in range(3):
            bench.round(number, lambda cell, part: None)
    found = [row.wall[0] for row in rows if isinstance(row, Samples)]
    own, usual = asked, WARMUP_NS
    # The process of the calibration, which measures each cell twice, is that of the first round.
    assert found[:2] == [own + 5 * usual, own + 6 * usual]
    assert found[2:] == [own + usual, own + 2 * usual] * 2
