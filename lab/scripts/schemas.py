"""The JSON Schemas of the lab's file formats and those of the packages that are installed, made
from the types that read them.

`python lab/scripts/schemas.py --write` makes `docs/schema/*.json` again; without the option it
says which of them differ from what it makes.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from mldsa_lab import plugins
from mldsa_lab.audit.reading import claims_schema
from mldsa_lab.bench.options import BlockFile
from mldsa_lab.checkout import in_tree
from mldsa_lab.estimate.reader import Measurement, MeasurementFile
from mldsa_lab.files import schema, write_text
from mldsa_lab.inputs import pool, selection
from mldsa_lab.inputs.pool import InputLine
from mldsa_lab.records import Row
from mldsa_lab.show.report import FiguresFile
from mldsa_lab.study.file import StudyFile
from mldsa_lab.theory.law import CostModel
from mldsa_lab.worker.registry import RegistryWorker


def schemas() -> dict[str, dict[str, Any]]:
    """The schemas by the names of their files."""
    return {
        "record.json": schema(Row, "One line of a record"),
        "figures.json": schema(FiguresFile, "Figures"),
        "study.json": schema(StudyFile, "A study"),
        "block.json": schema(BlockFile, "A block to validate"),
        "registry.json": schema(list[RegistryWorker], "The [[worker]] entries of a registry"),
        "claims.json": claims_schema(),
        "selection.json": schema(selection.File, "A selection of signing inputs"),
        "cost-model.json": schema(CostModel, "A cost model of signing"),
        "pool.json": schema(pool.About, "What the metadata of a pool say of it"),
        "measurements.json": schema(
            list[Measurement] | MeasurementFile, "Measured costs of a selection's inputs"
        ),
        "inputs.json": schema(InputLine, "One line of a file of signing inputs"),
        **plugins.schemas(),
    }


def renew(folder: Path, is_written: bool) -> list[str]:
    """Return the names of files in `folder` that differ; ``is_written``: write them again."""
    different = []
    for name, described in schemas().items():
        path, text = folder / name, json.dumps(described, indent=1) + "\n"
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            different.append(name)
            if is_written:
                write_text(path, text)
    return different


def _main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="write what differs")
    arguments = parser.parse_args()
    folder = in_tree("docs", "schema")
    different = renew(folder, arguments.write)
    for name in different:
        print(f"{'writing' if arguments.write else 'differs:'} {folder / name}")
    return 0 if arguments.write or not different else 1


if __name__ == "__main__":
    sys.exit(_main())
