"""make golden: compare every figure of the lab with lab/tests/golden, or rewrite these files.

    .venv/bin/python lab/scripts/golden.py [--write] [--processes N] [NAME…]

NAME is a file of the folder without `.json`, or the beginning of one: `records`, `impact/tls`. The
script prints each difference and exits with 1 if there is one. A figure has keys, a name, a
value and, where known, limits, a unit, a kind and a verdict. In a file figures of the same keys
stand together, by their names. Wording and layout are not in these files, nor anything that depends
on the machine.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import math
import multiprocessing
import os
import random
import re
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
SCENARIOS = ROOT / "lab" / "impact" / "src" / "pqc_impact" / "scenarios"
GOLDEN = ROOT / "lab" / "tests" / "golden"
RECORDS = ROOT / "records"
SHIPPED = ROOT / "lab" / "src" / "mldsa_lab" / "data" / "selections"
FIRST = RECORDS / "2026-11-21-epyc-zen3" / "first.jsonl.xz"
CORES = RECORDS / "2026-11-23-rtl" / "cores.jsonl.xz"
BUSY = RECORDS / "2026-11-23-epyc-zen4" / "impact.jsonl.xz"
CHANGED = "2026-11-25-xeon-emr/bindings", "2026-11-28-xeon-amx/native"
SETS = ("ML-DSA-44", "ML-DSA-65", "ML-DSA-87")
RELATIVE = 1e-9
ABSOLUTE = 1e-12
"""Differences that are rounding alone: residuals of exact fits, changes of what did not change."""

Figure = dict[str, Any]
Figures = Iterator[Figure]

PARTS = ("value", "low", "high", "unit", "kind", "verdict")
"""The parts of a figure other than keys and name."""


def words(text: str) -> list[str]:
    """The words of a text."""
    return text.split()


_IDS = words("id n threads batch_size batch message_bytes messages percentile index process")
"""Numbers that tell rows apart."""
_USUAL = {"build": "default", "mode": "single", "batch_size": 1, "threads": 1}
"""Keys that are left out where they are so."""
_SKIP = words(
    "format version tool started cpu architecture os commit language called_from deterministic "
    "source sentence reading text title url date note file confidence samples lacking "
    "stack_lacking read_lacking block_lacking holds"
)
"""Keys that depend on the machine, the date or the wording, or are copied from a record."""
_IN_UNIT = words("value mean means p50 p95 p99 p999 percentiles costs terms average residuals")
"""Figures that are in the unit of their row."""
_INTERVALS = words("mean anchored effect classes ratio")
"""Lists of three under these names are a value and its limits."""


def figure(keys: Mapping[str, Any], name: str, *parts: Any) -> Figure:
    """A figure; ``parts``: as `PARTS` has them, None where unknown."""
    plain = [x.item() if hasattr(x, "item") else x for x in parts]  # NumPy's numbers
    more = {k: v for k, v in zip(PARTS[1:], plain[1:], strict=False) if v not in (None, "")}
    return {"keys": dict(keys), "name": name or "value", "value": plain[0], **more}


def flatten(node: Any, keys: Mapping[str, Any], name: str = "", unit: str | None = None) -> Figures:
    """The figures of parsed JSON. Texts, flags and `_IDS` of an object are keys of its numbers; an
    object without numbers is a figure without a value."""
    path = set(name.split("."))
    if isinstance(node, dict):
        yield from _of_object(node, dict(keys), name, unit)
    elif isinstance(node, list):
        if (
            len(node) == 3
            and path.intersection(_INTERVALS)
            and not isinstance(node[0], dict | list)
        ):
            yield figure(keys, name, *node)
            return
        for index, item in enumerate(node):
            place = f"{keys['index']}.{index}" if "index" in keys else index
            own = keys if isinstance(item, dict) else {**keys, "index": place}
            yield from flatten(item, own, name, unit)
    elif node is not None:
        yield figure(keys, name, node, None, None, unit if path.intersection(_IN_UNIT) else None)


def _of_object(node: dict[str, Any], keys: dict[str, Any], name: str, unit: str | None) -> Figures:
    node = {
        k: v
        for k, v in node.items()
        if k not in _SKIP and v is not None and v not in ([], {}) and v != _USUAL.get(k)
    }
    unit, name = node.pop("unit", unit), node.pop("figure", name)
    numbers: dict[str, Any] = {}
    for key, value in node.items():
        parts = value.values() if isinstance(value, dict) else value
        if isinstance(value, str | bool) or key in _IDS:
            keys[f"{name}.{key}" if key in keys else key] = value
        elif isinstance(value, dict | list) and all(isinstance(part, str) for part in parts):
            named = value if isinstance(value, dict) else {key: " / ".join(value)}
            keys |= {k: v for k, v in named.items() if k not in _SKIP}
        else:
            numbers[key] = value
    limits = {k: numbers.pop(k) for k in list(numbers) if re.search(r"(^|_)(low|high)$", k)}
    for key, value in numbers.items():
        own = name if key == "value" else f"{name}.{key}".strip(".")
        if isinstance(value, dict | list):
            yield from flatten(value, keys, own, unit)
        else:
            plain = limits if key == "value" else {}
            ends = (limits.get(f"{key}_{e}", plain.get(e)) for e in ("low", "high"))
            in_unit = {key, *name.split(".")}.intersection(_IN_UNIT)
            yield figure(keys, own, value, *ends, unit if in_unit else None)
    if not numbers:
        yield figure(keys, name, None, limits.get("low"), limits.get("high"))


def by_identity(figures: Iterable[Figure]) -> dict[str, Figure]:
    """Figures by keys and name, in the order of files; a number tells apart those of the same."""
    named: dict[str, Figure] = {}
    for one in figures:
        keys, number = one["keys"], 1
        while (key := json.dumps([one["keys"], one["name"]], sort_keys=True)) in named:
            number += 1
            one = one | {"keys": {**keys, "#": number}}
        named[key] = one
    return dict(sorted(named.items()))


def as_text(figures: Mapping[str, Figure]) -> str:
    """The text of a file: under each combination of keys a line for each figure."""
    dumps = partial(json.dumps, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    groups: dict[str, list[str]] = {}
    for one in figures.values():
        parts = {"value": one["value"]} | {k: one[k] for k in PARTS if one.get(k) is not None}
        lines = groups.setdefault(dumps(one["keys"], sort_keys=True), [])
        lines.append(f"{dumps(one['name'])}:{dumps(parts)}")
    texts = (f'{{"keys":{k},"figures":{{\n' + ",\n".join(v) + "}}" for k, v in groups.items())
    return "[\n" + ",\n".join(texts) + "\n]\n"


def from_text(text: str) -> dict[str, Figure]:
    """The figures of a file."""
    groups = json.loads(text)
    return by_identity(
        {"keys": g["keys"], "name": n, **p} for g in groups for n, p in g["figures"].items()
    )


def is_same(part: str, old: Figure, new: Figure) -> bool:
    """Return whether a part of two figures is equal, numbers up to rounding. The rounding is
    `RELATIVE` to the largest of value and limits, since a value near 0 between wide limits is a
    difference of large numbers."""
    one, other = old.get(part), new.get(part)
    if not isinstance(one, int | float) or not isinstance(other, int | float):
        return bool(one == other)
    size = max(abs(old.get(name) or 0) for name in PARTS[:3])
    return math.isclose(one, other, rel_tol=0, abs_tol=max(RELATIVE * size, ABSOLUTE))


def differences(old: Mapping[str, Figure], new: Mapping[str, Figure]) -> Iterator[str]:
    """A line for each figure that is missing, new or changed."""
    for key in {**old, **new}:
        one, other = old.get(key), new.get(key)
        known = one or other or {}
        text = f"{' '.join(f'{k}={v}' for k, v in known['keys'].items())}: {known['name']}"
        if one is None or other is None:
            yield f"{text}: {'missing' if other is None else 'new'}, {known['value']}"
            continue
        for part in PARTS:
            if not is_same(part, one, other):
                yield f"{text}: {part} {one.get(part)} -> {other.get(part)}"


def lab(*arguments: object) -> None:
    """Run a command of the lab in this process."""
    from mldsa_lab.cli.main import app

    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        status = app([str(word) for word in arguments], standalone_mode=False)
    if status:
        raise RuntimeError(f"mldsa-lab {' '.join(map(str, arguments))}: exit status {status}")


def read_json(path: Path) -> Any:
    """The value in a file of JSON."""
    return json.loads(path.read_text(encoding="utf-8"))


def lab_json(*arguments: object) -> Any:
    """Return the figures file that a command writes with `--to FILE.json`."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "figures.json"
        lab(*arguments, "--to", path)
        return read_json(path)


def of_command(*arguments: object) -> Figures:
    """The figures that a command writes with `--to FILE.json`."""
    for one in lab_json(*arguments)["lists"]:
        yield from figures_of(one)


def figures_of(listed: Any) -> Figures:
    """The figures of a list of the file."""
    for group in listed["groups"]:
        for name, parts in group["figures"].items():
            known = {part: parts[part] for part in PARTS if parts.get(part) is not None}
            yield {"keys": group["keys"], "name": name, "value": None, **known}


def emitted(figures: Iterable[Any]) -> Figures:
    """Figures as the lab makes them."""
    for f in figures:
        kind = None if f.kind == "measured" else f.kind
        yield figure(f.keys, f.name, f.value, f.low, f.high, f.unit, kind, f.verdict)


def of_record(path: Path) -> Figures:
    """Figures of `report`; of operations also the means and ratios by the wall clock, where the
    mean differs."""
    report = partial(of_command, "report", path)
    figures = list(report())
    yield from figures
    cells = {json.dumps(f["keys"]): f for f in figures if f["name"] == "mean"}
    differ = [
        json.dumps(f["keys"])
        for f in report("--clock", "wall")
        if f["name"] == "mean" and f != cells[json.dumps(f["keys"])]
    ]
    for f in report("--clock", "wall") if differ else ():
        if f["name"] in ("mean", "ratio") and json.dumps(f["keys"]) in differ:
            yield {**f, "keys": {**f["keys"], "clock": "wall"}}


def of_runs(paths: Sequence[Path]) -> Figures:
    """Figures of `report` on records of the same shape, each with the number of its run."""
    for number, path in enumerate(paths, 1):
        for one in of_record(path):
            yield {**one, "keys": {**one["keys"], "run": number}}


def of_selections() -> Figures:
    """Every goal from the pool that ships and from a fresh one, limits, a record's own inputs."""
    model = {"format": "mldsa-lab cost model", "version": 2, "set": "ML-DSA-65"}
    model |= {"first": 30_000, "z": 12_000, "r": 17_000, "h": 21_000}
    with tempfile.TemporaryDirectory() as folder:
        costs = Path(folder) / "costs.json"
        costs.write_text(json.dumps(model), encoding="utf-8")
        paths = {"COSTS": costs, "RECORD": FIRST}
        for name, inputs in (("87", "--message-bytes 100 --per-key 0"), ("44", "--rnd given")):
            traced = "-n 2000 --seed golden --checks all"
            lab("trace", name, *words(f"{traced} {inputs}"), "--out", folder)
            paths[f"FRESH-{name}"] = Path(folder) / f"ml-dsa-{name}.parquet"
        for options in (
            "65 --goal regression",
            "44 --goal mean -n 5",
            "87 --goal p95 -n 5",
            "65 --goal p50 -n 3 --cost-model COSTS",
            "44 --goal coverage",
            "65 -n 4 --max-attempts 9 --budget 20",
            "87 -n 3 --from FRESH-87",
            "44 --goal mean -n 10 --from FRESH-44",
            "65 --from RECORD",
            "87 --from ready --goal p99 -n 10",
        ):
            asked = (paths.get(word, word) for word in words(options))
            lab("select", *asked, "--formats", "json", "--out", folder)
            chosen = read_json(Path(folder) / "selection.json")
            for place, item in enumerate(chosen["inputs"]):
                keys = {"select": options, "id": item["id"], "trace": " ".join(item["trace"])}
                yield figure(keys, "place", place)
            for name, expected in ((chosen["made"] or {}).get("expected") or {}).items():
                count = len(expected) if isinstance(expected, list) else expected
                yield from flatten(count, {"select": options}, name)


_ATTEMPTS = {"z": 13_000, "r": 18_500, "c": 21_000, "h": 22_000, "o": 23_500}
"""Made-up cost of an attempt by the first letter of its trace."""


def _measurements(selection: Any, rounds: int, noise: float, spikes: Sequence[int]) -> str:
    """Made-up costs of a selection as CSV; inputs at ``spikes`` cost 1.4 times too much."""
    drawn = random.Random(f"golden {selection['set']} {rounds} {noise}")
    lines = ["id,cost,unit,round"]
    for number in range(rounds):
        level = 1 + noise * drawn.random()
        for place, item in enumerate(selection["inputs"]):
            cost = 9_000.0 + sum(_ATTEMPTS[word[0]] + 37 * len(word) for word in item["trace"])
            cost *= level * (1 + noise * (2 * drawn.random() - 1)) * (1.4 if place in spikes else 1)
            lines.append(f"{item['id']},{cost:.3f},ns,{number}")
    return "\n".join(lines) + "\n"


def of_estimates() -> Figures:
    """`estimate` of made-up measurements of selections that ship, and `report` of one of them."""
    with tempfile.TemporaryDirectory() as folder:
        costs, model = Path(folder) / "costs.csv", Path(folder) / "model.json"
        for set_name in SETS:
            for name, rounds, noise, spikes, options in (
                ("regression-10", 3, 0.01, (), f"--cost-model {model}"),
                ("regression-10", 1, 0.0, (), "--noise 0 --percentiles 10,50,99.9"),
                ("regression-3", 5, 0.02, (), "--confidence 0.9"),
                ("regression-10", 4, 0.004, (4,), ""),
                ("mean-10", 2, 0.01, (), ""),
                ("p95-10", 1, 0.01, (), ""),
                ("coverage", 2, 0.003, (), ""),
            ):
                chosen = SHIPPED / set_name.lower() / f"{name}.json"
                text = _measurements(read_json(chosen), rounds, noise, spikes)
                costs.write_text(text, encoding="utf-8")
                measured = f"{name}, rounds {rounds}, spikes {len(spikes)}"
                for one in of_command("estimate", chosen, costs, *words(options)):
                    yield {**one, "keys": {**one["keys"], "measured": measured}}
            fitted = read_json(model)
            for kind in ("first", "z", "r", "h"):
                keys = {"set": set_name, "attempt": kind, "measured": "cost model"}
                yield figure(keys, "attempt_cost", fitted[kind], None, None, fitted["unit"])
        *_, last = lab_json("report", CORES, f"{costs}:{chosen}")["lists"]
        yield from figures_of(last)


def of_scenario(path: Path, *record: object) -> Figures:
    """The rows of a scenario by a record, or those that ship, with networks of fewer nodes and
    blocks."""
    text = path.read_text(encoding="utf-8")
    for name, number in (("nodes", 150), ("blocks", 3)):
        text = re.sub(rf"^{name} = \d+", f"{name} = {number}", text, flags=re.MULTILINE)
    with tempfile.TemporaryDirectory() as folder:
        smaller = Path(folder) / path.name
        smaller.write_text(text, encoding="utf-8")
        for one in of_command("impact", smaller, *record, "--processes", 1):
            # Signatures are drawn anew by the workers that this machine has built.
            if one["keys"].get("object") != "compressed archive":
                yield one


def of_study(name: str, profile: str, folder: Path) -> Figures:
    """A study of published records."""
    from mldsa_lab.study.file import find_study, gather_cells, read_study
    from mldsa_lab.study.report import study_report
    from mldsa_lab.study.run import find_records

    measured = gather_cells(find_records(folder), "cpu", 0.95)
    yield from emitted(study_report(read_study(find_study(name)), profile, measured).figures)


def of_pipelines(folder: Path) -> Figures:
    """Pipelines over a study's processes."""
    from mldsa_lab.kinds.pipeline import pipeline_figures
    from mldsa_lab.records import read_record

    records = [read_record(path) for path in sorted(folder.glob("process-*.jsonl.xz"))]
    yield from emitted(pipeline_figures(records, 0.95))


def of_cores(drawn: Path) -> Figures:
    """The cycles of the cores of the tree and of random signatures, and what one takes."""
    from mldsa_lab_rtl.study_show import read_findings

    taken = RECORDS / "2026-11-26-rtl-resources" / "verify-small.json"
    rate = RECORDS / "2026-11-28-rtl-clock" / "mldsa-core-verify-small-speed-6.json"
    findings = read_findings([CORES, drawn, taken, rate])
    yield from emitted([*findings.rows, *findings.taken, *findings.timed])


def of_estimators() -> Figures:
    """The errors of all methods on the published costs of two implementations."""
    from mldsa_studies.choices import Plan
    from mldsa_studies.costs import read_costs
    from mldsa_studies.evaluate import evaluate

    files = sorted((RECORDS / "2026-11-22-estimators").glob("ml-dsa-44-*.parquet"))
    names = ("mldsa-lanes", "libcrux")
    costs = [one for path in files for one in read_costs(path).take(names)]
    study = evaluate(costs, Plan(sizes=(10,), draws=2, pool=1000))
    yield from emitted(f for cell in study.cells for f in cell.figures())


def of_theory() -> Figures:
    """Yield consequences of FIPS 204, and the sizes of all objects."""
    from dataclasses import asdict

    from mldsa_lab.sets import ALL_SETS, sizes
    from mldsa_lab.theory.law import CostModel
    from mldsa_lab.theory.rejection import RejectionModel

    for name in SETS:
        model, costs, keys = RejectionModel.for_set(name), CostModel.default(name), {"set": name}
        yield figure(keys, "attempts", model.expected_iterations)
        yield figure(keys, "mean cost", costs.mean(model))
        yield from flatten(list(model.iteration), keys, "probability")
        yield from flatten(model.expected_counts.tolist(), keys, "rejected attempts")
        for share in (0.05, 0.5, 0.95, 0.99, 0.999):
            yield figure({**keys, "share": share}, "attempts", model.iterations_quantile(share))
            yield figure({**keys, "share": share}, "cost", costs.quantile(model, share))
    for name in ALL_SETS:
        listed = json.dumps([asdict(size) for size in sizes(name)])
        yield from flatten(json.loads(listed), {"set": name})


_PIPELINES = ("-pipeline", "-life-cycle")
"""How folders of records end whose files are the processes of a pipeline."""


def sources() -> dict[str, Callable[[], Figures]]:
    """Every golden file by its name, longest work first."""
    command = partial(partial, of_command)
    network = words("--bytes 200000 --bytes 2000000 --nodes 200 --blocks 4 --processes 1")
    second = FIRST.with_name("second.jsonl.xz")
    changed = (RECORDS / f"{name}.jsonl.xz" for name in CHANGED)
    counted = (RECORDS / f"2026-11-{day}-arm-counts" / "plain.jsonl.xz" for day in (27, 28))
    pair = "--pair=mldsa-lanes:avx2:compact=mldsa-native:avx2:compact"
    files: dict[str, Callable[[], Figures]] = {}
    for path in sorted(RECORDS.glob("*/*.jsonl.xz"), key=lambda path: -path.stat().st_size):
        name = f"records/{path.parent.name}-{path.name.removesuffix('.jsonl.xz')}"
        is_joined = path.parent.name.endswith(_PIPELINES) or path.parent.match("*-arm-counts*")
        if path.name != "kernels.jsonl.xz" and not is_joined:
            files[name] = partial(of_record, path)
    for shape in ("plain", "sha3"):
        runs = sorted(RECORDS.glob(f"*-arm-counts*/{shape}.jsonl.xz"))
        files[f"records/arm-counts-{shape}"] = partial(of_runs, runs)
    for path in sorted(SCENARIOS.glob("*.toml")):
        files[f"impact/{path.stem}"] = partial(of_scenario, path, BUSY, "--widest", 1000)
    # By the records that ship, as answers to published pages take them.
    for path in sorted((ROOT / "docs" / "answers" / "scenarios").glob("*.toml")):
        files[f"impact/{path.stem}"] = partial(of_scenario, path)
    files["impact/signing-server"] = partial(of_scenario, SCENARIOS / "signing-server.toml")
    for path in sorted((SCENARIOS / "networks").glob("*.toml")):
        files[f"propagate/{path.stem}"] = partial(of_command, "propagate", path, *network)
    for name, profile, folder in (
        ("jvm", "worker", "2026-11-22-epyc-zen4-jvm"),
        ("jvm", "default", "2026-11-22-epyc-zen4-jmh"),
    ):
        files[f"studies/{folder}"] = partial(of_study, name, profile, RECORDS / folder)
    for path in (p for name in _PIPELINES for p in RECORDS.glob(f"*{name}")):
        files[f"studies/{path.name}"] = partial(of_pipelines, path)
    drawn = CORES.with_name("random.json")
    files["studies/cores"] = partial(of_cores, drawn)
    files["studies/estimators"] = of_estimators
    examples = ROOT / "lab" / "src" / "mldsa_lab" / "audit" / "examples"
    for path in sorted(examples.glob("*.yaml")):
        files[f"audit/{path.stem}"] = command("check", "claims", path)
    return files | {
        "select": of_selections,
        "estimate": of_estimates,
        "compare/runs": command("compare", FIRST, second),
        "compare/pair": command("compare", FIRST, FIRST, pair),
        # Programs that did change, and cells that a wrong rule would judge otherwise.
        "compare/changes": command("compare", *changed),
        "compare/counts": command("compare", *counted),
        "memory": command("report", GOLDEN / "memory.jsonl.xz"),
        "theory": of_theory,
    }


def make(name: str) -> dict[str, Figure]:
    """The figures of a golden file, made anew."""
    return by_identity(sources()[name]())


def make_all(names: Sequence[str], processes: int) -> Iterator[tuple[str, dict[str, Figure]]]:
    """The figures of each file."""
    if processes == 1:
        yield from zip(names, map(make, names), strict=True)
        return
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(processes, mp_context=context) as pool:
        yield from zip(names, pool.map(make, names), strict=True)


def main(arguments: Sequence[str] | None = None) -> int:
    """Compare or write; the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="a file, or the beginning of one")
    parser.add_argument("--write", action="store_true", help="rewrite the files")
    parser.add_argument("--processes", type=int, default=os.cpu_count(), help="default: all cores")
    asked = parser.parse_args(arguments)
    names = [n for n in sources() if not asked.names or n.startswith(tuple(asked.names))]
    if not names:
        parser.error(f"no golden file begins with {' or '.join(asked.names)}")
    # The order of sums in BLAS depends on its number of threads.
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    count = 0
    for name, figures in make_all(names, asked.processes):
        path = GOLDEN / f"{name}.json"
        if asked.write:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(as_text(figures), encoding="utf-8")
            continue
        old = from_text(path.read_text(encoding="utf-8")) if path.exists() else {}
        for line in differences(old, figures):
            count += 1
            print(f"{name}.json: {line}")
    done = "written" if asked.write else f"compared, {count} differences"
    print(f"golden: {len(names)} files {done}")
    return int(count > 0)


if __name__ == "__main__":
    raise SystemExit(main())
