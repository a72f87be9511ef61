"""The lab's own sources of figures for answers: records, and what follows from the standards.

Other packages add theirs by entry points of the group `mldsa_lab.figures`.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import chain, product
from pathlib import Path

import numpy as np
from msgspec import structs

from mldsa_lab.checkout import files_of
from mldsa_lab.estimate.contract import FASTER, SLOWER
from mldsa_lab.estimate.figure import Figure, Key
from mldsa_lab.estimate.interval import over
from mldsa_lab.estimate.pipeline import pipeline_figures
from mldsa_lab.estimate.summary import summary_figures
from mldsa_lab.kinds import kind_of
from mldsa_lab.records import Record, read_record
from mldsa_lab.records.reference import DEFAULT_REFERENCE
from mldsa_lab.sets import ALL_SETS, PARAMETER_SETS
from mldsa_lab.sizes import sizes
from mldsa_lab.study.cells import Gathered, StudyCell, gather_cells
from mldsa_lab.study.file import Contrast, find_study, read_study
from mldsa_lab.study.report import study_report
from mldsa_lab.theory.rejection import RejectionModel

CONFIDENCE = 0.95
ALL_SIZES = "all"
_SIGNATURES, _MOST, _NEAREST = (1, 2, 3), 9, 3
"""Signatures of a profile; rejections of each that are looked at; profiles that are kept."""


@cache
def _record(path: Path) -> Record:
    """Read a record once: several tables name it, and each its machine."""
    return read_record(path)


def record_paths(argument: str) -> list[Path]:
    """Return the files of an argument. LabError for one that has no file."""
    return files_of(argument.partition(" reference=")[0], "record")


def record_figures(argument: str) -> list[Figure]:
    """Return the figures of a record of any kind, or of several that are processes of a study.

    A word ``reference=VARIANT`` of the argument names the variant that ratios are to.
    """
    paths = record_paths(argument)
    reference = argument.partition(" reference=")[2]
    records = [_record(path) for path in paths]
    kind = kind_of(records[0])
    if kind is not None and kind.name == "pipeline":
        return pipeline_figures(records, CONFIDENCE)
    if len(records) == 1 and not records[0].run.options.get("jmh"):
        (record,) = records
        if kind is not None:
            return kind.figures(record, CONFIDENCE)
        return summary_figures(record, reference or DEFAULT_REFERENCE, CONFIDENCE)
    return list(_of_processes(paths))


def about_record(argument: str) -> str:
    """Return a record with its machine and date, and the load of the first busy one of several."""
    records = [_record(path) for path in record_paths(argument)]
    first, busy = records[0], next((r.busy for r in records if r.busy), "")
    about = ", ".join(part for part in (first.machine, first.date, busy) if part)
    return f"{argument}: {about}"


def _of_processes(paths: list[Path]) -> Iterator[Figure]:
    """The cells of a study's records, each process being a replicate. Of key generation, which no
    message enters, also the median over the records of all sizes of messages (`ALL_SIZES`)."""
    by_size: dict[tuple[Key, ...], list[StudyCell]] = {}
    for cell in gather_cells(paths, "cpu", CONFIDENCE).cells:
        for name, keys, values, unit in cell.all_figures():
            yield Figure.of(keys, name, over(values, CONFIDENCE), unit)
        if cell.fields["operation"] == "keygen":
            same = cell.keys() | {"message_bytes": ALL_SIZES}
            by_size.setdefault(tuple(same.values()), []).append(cell)
    for cells in (c for c in by_size.values() if len(c) > 1):
        value = float(np.median(np.concatenate([cell.means for cell in cells])))
        keys = cells[0].keys() | {"message_bytes": ALL_SIZES}
        yield Figure(keys, "mean", value, unit=cells[0].unit)


def study_figures(argument: str) -> list[Figure]:
    """Return what the contrasts of a study say; ``argument``: its name, then its records. For each
    worker and set, ``choice`` has as its note the implementation that the first contrast of
    implementations shows to be the fastest."""
    name, _, paths = argument.partition(" ")
    study = read_study(find_study(name))
    contrasts = tuple(structs.replace(c, random_messages=()) for c in study.contrasts)
    plain = structs.replace(study, contrasts=contrasts, figures=(), tables=(), sizes=())
    measured = gather_cells(record_paths(paths), "cpu", CONFIDENCE)
    found = [f for f in study_report(plain, "", measured).figures if "contrast" in f.keys]
    between = [c for c in contrasts if c.between == ("implementation",)]
    return found + [f for c in between[:1] for f in choices(c, measured, found)]


def choices(contrast: Contrast, measured: Gathered, found: list[Figure]) -> Iterator[Figure]:
    """Yield for each worker and set what to take in its operations: the only implementation, or
    the one that is faster than all others; else the verdict that leaves this open."""
    texts: dict[tuple[Key, Key], dict[str, dict[str, None]]] = {}
    for groups in measured.arranged(contrast.where, contrast.within, contrast.between).values():
        keys = next(iter(groups.values())).keys(contrast.within)
        own = {"contrast": contrast.name, **keys}
        pairs = [f for f in found if f.name == "ratio" and own.items() <= f.keys.items()]
        ends = {SLOWER: "second", FASTER: "first"}
        undecided = [f.notes[0] for f in pairs if f.verdict not in ends]
        faster = [f.keys[ends[f.verdict]] for f in pairs if f.verdict in ends]
        fastest = next((name for name in groups if faster.count(name) == len(groups) - 1), "")
        text = (fastest or next(iter(undecided), "")) if pairs else f"{fastest} only"
        place = texts.setdefault((keys["worker"], keys["set"]), {})
        place.setdefault(text, {})[str(keys["operation"])] = None
    for (worker, name), operations in texts.items():
        notes = [
            text if len(operations) == 1 else f"{text} ({', '.join(of)})"
            for text, of in operations.items()
        ]
        figure_keys: dict[str, Key] = {"set": name, "worker": worker}
        yield Figure(figure_keys, "choice", None, notes=tuple(notes))


def theory_figures(argument: str) -> list[Figure]:
    """Return what follows from FIPS 204 and the encodings; the argument is not used."""
    made = (*map(_rejection, PARAMETER_SETS), *map(_profiles, PARAMETER_SETS))
    return list(chain(*made, *map(_sizes, ALL_SETS)))


def _rejection(name: str) -> Iterator[Figure]:
    """Rates of the checks and attempts of a signature."""
    model = RejectionModel.of(name)
    keys: dict[str, Key] = {"set": name}
    hint = 1 - model.fail_h
    values = {
        "pass_z": model.p_z, "pass_r0": model.p_r, "pass_hint": hint, "accept": model.p_accept,
        "reject": 1 - model.p_accept, "mean": model.expected_attempts,
    }  # fmt: skip
    for share in (0.05, 0.5, 0.95, 0.99, 0.999):
        values[f"p{100 * share:g}"] = model.attempts_quantile(share)
    for figure, value in values.items():
        yield Figure(keys, figure, value)


def _profiles(name: str) -> Iterator[Figure]:
    """The pass rates of z and r0, in percent, that n signatures can have together, the nearest to
    the expected ones first: ``z`` and ``r0`` rejections of all, ``distance`` the sum of both
    differences."""
    model = RejectionModel.of(name)
    for n in _SIGNATURES:
        found = []
        for z, r0 in product(range(_MOST * n), repeat=2):
            rates = (n + r0) / (n + r0 + z), n / (n + r0)
            off = abs(rates[0] - model.p_z) + abs(rates[1] - model.p_r)
            found.append((off, z, r0, *rates))
        for rank, (off, z, r0, *of_both) in enumerate(sorted(found)[:_NEAREST], 1):
            keys: dict[str, Key] = {"set": name, "signatures": n, "rank": rank}
            yield Figure(keys, "z", z)
            yield Figure(keys, "r0", r0)
            for figure, rate in zip(("profile_z", "profile_r0"), of_both, strict=True):
                yield Figure(keys, figure, 100 * rate, unit="%")
            yield Figure(keys, "distance", 100 * off, unit="%")


def _sizes(name: str) -> Iterator[Figure]:
    """Bytes of each object in each encoding."""
    for size in sizes(name):
        keys: dict[str, Key] = {"set": name, "object": size.object, "encoding": size.encoding}
        yield Figure(keys, "bytes", size.mean or size.bytes, unit="bytes", source=size.source)
