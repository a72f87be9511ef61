"""The lab's own figures in answers: from records, and from the standards.

Other packages add figures by entry points of the group `mldsa_lab.figures`. The audit's arithmetic
judges ours too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache
from itertools import chain, product
from pathlib import Path

import numpy as np
from msgspec import structs

from mldsa_lab.answers.page import AnswerPage, stored_unit
from mldsa_lab.audit import audit
from mldsa_lab.audit.claims import Batch, Claim, Scaling
from mldsa_lab.audit.judgement import Judgement, Positive
from mldsa_lab.checkout import files_of
from mldsa_lab.estimate.figure import FASTER, SLOWER, Figure, Figures, Key, as_key
from mldsa_lab.estimate.interval import Interval, mean_interval
from mldsa_lab.kinds import kind_of
from mldsa_lab.kinds.pipeline import pipeline_figures
from mldsa_lab.records import Record, read_record
from mldsa_lab.sets import ALL_SETS, DEFAULT_BASELINE, PARAMETER_SETS, sizes
from mldsa_lab.show.report import Look
from mldsa_lab.study.file import Contrast, Gathered, StudyCell, find_study, gather_cells, read_study
from mldsa_lab.study.report import study_report
from mldsa_lab.theory.rejection import RejectionModel

# Our own figures, judged.


RULES = ("scaling.arithmetic", "batch.total")
_ROUNDED = 0.002
"""Half of a unit of the last digit that our figures are shown with, over the figure."""
_OF_POINT = ("cost", "total", "per_second", "speedup", "efficiency")


def own_findings(page: AnswerPage, figures: Figures) -> list[Judgement]:
    """Return derived figures of scalings and batches; ``figures`` are from `answer_figures`."""
    values = {
        f.keys["cell"]: f.value and f.value / stored_unit(str(figures.attribute(f, "unit"))).divisor
        for f in figures.select("ours")
    }
    claims = tuple(filter(None, (_own(claim, values) for claim in page.claims().claims)))
    table = structs.replace(page.claims(), claims=claims)
    return [f for f in audit(table) if f.rule in RULES]


def _own(claim: Claim, values: Mapping[Key, float | None]) -> Claim | None:
    """Return a scaling or batch with our figures in the place of the published ones; None where
    some are missing, and for other claims."""
    if not isinstance(claim, Scaling | Batch):
        return None
    points = []
    for point in claim.points:
        size = getattr(point, "threads", None) or getattr(point, "size", None)
        names = [name for name in _OF_POINT if getattr(point, name, None) is not None]
        ours = {name: values.get(f"{claim.id}, {size} {name}") for name in names}
        if None in ours.values():
            return None
        rounded = {name: Positive(v, v * _ROUNDED) for name, v in ours.items() if v}
        points.append(structs.replace(point, **rounded))
    return structs.replace(claim, points=tuple(points), cost_of=(), same={})


# Sources.


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


def record_figures(argument: str) -> Figures:
    """Return the figures of a record of any kind, or of several that are processes of a study; of
    operations also those of `_derived`.

    A word ``reference=VARIANT`` of the argument names the variant that ratios are to.
    """
    paths = record_paths(argument)
    baseline = argument.partition(" reference=")[2]
    records = [_record(path) for path in paths]
    kind = kind_of(records[0])
    if kind.name == "pipeline":
        return Figures(pipeline_figures(records, CONFIDENCE))
    if len(records) > 1 or records[0].run.options.get("jmh"):
        return _of_processes(paths)
    look = Look(baseline or DEFAULT_BASELINE, confidence=CONFIDENCE)
    return with_derived(kind.read(records[0], look).figures)


TOGETHER = "sign and verify"
"""The operation of figures of a signature and its verification, one after the other."""


def with_derived(figures: Figures) -> Figures:
    """Return the figures of a record, and those of `_derived`."""
    return figures.with_items([*figures, *_derived(figures)])


def _derived(figures: Figures) -> Iterator[Figure]:
    """Yield figures derived from those of operations. Batches: the cost of a whole batch. Threads:
    ``per_second`` of means on one thread, and the ``efficiency`` of more. `TOGETHER`: signing plus
    verification as one operation. Hardened modes: the ``share`` of the overhead. Classical schemes:
    ratios to ML-DSA."""
    means = {
        (f.keys["variant"], f.keys["set"], f.keys["operation"]): f.interval
        for f in figures.select("mean")
        if f.keys.keys() == {"set", "operation", "variant"}
    }
    for f in figures:
        known, interval = figures.known(f), f.interval
        if interval is None or "operation" not in f.keys:
            continue
        if f.name == "mean" and "phase" not in f.keys and f.unit == "ns":
            keys = {**f.keys, "of": "mean"}
            yield Figure.from_interval(keys, "per_second", interval.inverse(1e9), "1/s")
            if known["mode"] == "batch":
                total = interval.times(float(known["batch_size"] or 1))
                yield Figure.from_interval({**f.keys, "per": "call"}, "mean", total, f.unit)
        if f.name == "scaling":
            efficiency = interval.times(1 / float(known["threads"] or 1))
            yield Figure.from_interval(f.keys, "efficiency", efficiency)
        if "scheme" in f.keys:
            keys = {"set": f.keys["scheme"], "variant": f.keys["against"]}
            keys |= {"scheme": f.keys["set"], "against": f.keys["variant"]}
            yield Figure.from_interval({**f.keys, **keys}, "ratio", interval.inverse())
        elif "against" in f.keys:
            keys = {k: v for k, v in f.keys.items() if k != "against"}
            overhead = interval.plus(Interval(-1.0, -1.0, -1.0))
            yield Figure.from_interval({**keys, "of": "overhead"}, "share", overhead)
        verifying = means.get((f.keys["variant"], f.keys["set"], "verify"))
        if f.keys["operation"] == "sign" and verifying and known["batch_size"] == 1:
            yield from _together(f, interval, verifying)


def _together(signing: Figure, cost: Interval, verifying: Interval) -> Iterator[Figure]:
    """Yield a figure of a signature and its verification by the same variant. Their costs are
    added: only signing varies, since verification always does the same work."""
    keys = {**signing.keys, "operation": TOGETHER}
    if signing.name in ("mean", "min", "quantile") and "phase" not in keys:
        yield Figure.from_interval(keys, signing.name, cost.plus(verifying), signing.unit)
    elif signing.name in ("sd", "samples"):
        yield replace(signing, keys=keys)


def about_record(argument: str) -> str:
    """Return a record with its machine and date, and the load of the first busy one of several."""
    records = [_record(path) for path in record_paths(argument)]
    first, busy = records[0], next((r.busy for r in records if r.busy), "")
    about = ", ".join(part for part in (first.machine, first.date, busy) if part)
    return f"{argument}: {about}"


def _of_processes(paths: list[Path]) -> Figures:
    """The cells of a study's records, each process being a replicate. Of key generation, which no
    message enters, also the median over the records of all sizes of messages (`ALL_SIZES`)."""
    figures: list[Figure] = []
    about: dict[str, dict[str, Key]] = {}
    by_size: dict[tuple[tuple[str, Key], ...], list[StudyCell]] = {}
    for cell in gather_cells(paths, "cpu", CONFIDENCE).cells:
        own = cell.keys()
        keys = {key: own.pop(key) for key in ("set", "operation", "message_bytes")}
        keys["variant"] = ":".join(map(str, own.values()))
        about[str(keys["variant"])] = own
        for name, more, values, unit in cell.all_figures():
            further = {k: v for k, v in more.items() if k not in {*own, *keys}}
            figures.append(
                Figure.from_interval(keys | further, name, mean_interval(values, CONFIDENCE), unit)
            )
        if cell.fields["operation"] == "keygen":
            same = keys | {"message_bytes": ALL_SIZES}
            by_size.setdefault(tuple(same.items()), []).append(cell)
    for keys_of, cells in by_size.items():
        if len(cells) > 1:
            value = float(np.median(np.concatenate([cell.means for cell in cells])))
            figures.append(Figure(dict(keys_of), "mean", value, unit=cells[0].unit))
    return Figures(figures, {"variant": about})


def study_figures(argument: str) -> list[Figure]:
    """Return the results of a study's contrasts; ``argument``: its name, then its records. For each
    worker and set, ``choice`` has as its note the implementation that the first contrast of
    implementations shows to be the fastest."""
    name, _, paths = argument.partition(" ")
    study = read_study(find_study(name))
    plain = structs.replace(study, figures=(), tables=(), sizes=())
    measured = gather_cells(record_paths(paths), "cpu", CONFIDENCE)
    shown = [f for f in study_report(plain, "", measured).figures if "contrast" in f.keys]
    between = [c for c in study.contrasts if c.between == ("implementation",)]
    return shown + [f for c in between[:1] for f in choices(c, measured, shown)]


def choices(contrast: Contrast, measured: Gathered, compared: list[Figure]) -> Iterator[Figure]:
    """Yield the best choice for each worker and set: the only implementation, or the one that is
    faster than all others. Without one, yield the verdict that leaves it open."""
    texts: dict[tuple[Key, Key], dict[str, dict[str, None]]] = {}
    for groups in measured.arranged(contrast.where, contrast.within, contrast.between).values():
        keys = next(iter(groups.values())).keys(contrast.within)
        own = {"contrast": contrast.name, **keys}
        pairs = [f for f in compared if f.name == "ratio" and own.items() <= f.keys.items()]
        ends = {SLOWER: "second", FASTER: "first"}
        undecided = [f.notes[0] for f in pairs if f.verdict not in ends]
        faster = [f.keys[ends[f.verdict]] for f in pairs if f.verdict in ends]
        fastest = next((name for name in groups if faster.count(name) == len(groups) - 1), "")
        text = (fastest or next(iter(undecided), "")) if pairs else f"{fastest} only"
        place = texts.setdefault((keys["worker"], keys["set"]), {})
        place.setdefault(text, {})[str(keys["operation"])] = None
    for (worker, name), operations in texts.items():
        notes = [
            text if len(operations) == 1 else f"{text} ({', '.join(names)})"
            for text, names in operations.items()
        ]
        figure_keys: dict[str, Key] = {"set": name, "worker": worker}
        yield Figure(figure_keys, "choice", None, notes=tuple(notes))


def theory_figures(argument: str) -> list[Figure]:
    """Return consequences of FIPS 204 and the encodings; the argument is not used."""
    loops = (*map(_rejection, PARAMETER_SETS), *map(_profiles, PARAMETER_SETS))
    return list(chain(*loops, *map(_sizes, ALL_SETS)))


def _rejection(name: str) -> Iterator[Figure]:
    """The shares of attempts that pass each check, of those that reach it, and of all that are
    rejected; attempts of a signature."""
    model = RejectionModel.for_set(name)
    iterations: dict[str, Key] = {"set": name, "of": "attempts"}
    for share in (0.05, 0.5, 0.95, 0.99, 0.999):
        quantile = {**iterations, "percentile": as_key(100 * share)}
        yield Figure(quantile, "quantile", model.iterations_quantile(share))
    yield Figure(iterations, "mean", model.expected_iterations)
    for check, passing in (("z", model.p_z), ("r0", model.p_r), ("hint", 1 - model.fail_h)):
        yield Figure({"set": name, "of": "passes", "check": check}, "share", passing)
    yield Figure({"set": name, "of": "rejected attempts"}, "share", 1 - model.p_accept)


def _profiles(name: str) -> Iterator[Figure]:
    """Yield the shares of iterations passing z and r0 that n signatures can have together, with the
    rejections of all. The profiles nearest to the expected shares come first; each has its
    distance."""
    model = RejectionModel.for_set(name)
    for n in _SIGNATURES:
        profiles = []
        for z, r0 in product(range(_MOST * n), repeat=2):
            rates = (n + r0) / (n + r0 + z), n / (n + r0)
            off = abs(rates[0] - model.p_z) + abs(rates[1] - model.p_r)
            profiles.append((off, z, r0, *rates))
        for rank, (off, z, r0, *both) in enumerate(sorted(profiles)[:_NEAREST], 1):
            keys: dict[str, Key] = {"set": name, "signatures": n, "rank": rank}
            for check, count, rate in zip(("z", "r0"), (z, r0), both, strict=True):
                yield Figure({**keys, "of": "rejections", "check": check}, "count", count)
                yield Figure({**keys, "of": "passes", "check": check}, "share", rate)
            yield Figure(keys, "distance", off)


def _sizes(name: str) -> Iterator[Figure]:
    """Bytes of each object in each encoding."""
    for size in sizes(name):
        keys: dict[str, Key] = {"set": name, "object": size.object, "encoding": size.encoding}
        yield Figure(keys, "bytes", size.mean or size.bytes, unit="B", source=size.source)
