"""Studies as files: what they may say, how they run and go on, how groups are compared."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from lab_runs import build_rust, groups_in, here, lab
from msgspec import structs
from report_records import SIGNERS, Shape, build, rows
from report_records import write as write_rows
from scipy.stats import mannwhitneyu

from mldsa_lab import LabError
from mldsa_lab.checkout import find_root
from mldsa_lab.estimate.compare import compare_groups, delta, shift
from mldsa_lab.estimate.figure import Key, breaches
from mldsa_lab.records import Row, Samples
from mldsa_lab.sets import list_sets
from mldsa_lab.show import svg
from mldsa_lab.show.report import Report
from mldsa_lab.study.file import (
    FIELDS,
    FigureAsked,
    Gathered,
    StudyCell,
    find_study,
    gather_cells,
    parse_study,
    read_study,
    shipped,
)
from mldsa_lab.study.plots import plot_specs
from mldsa_lab.study.report import study_report
from mldsa_lab.study.run import Step, begin, measure, steps
from mldsa_lab.theory.trace import Array

SMALL = """
format = "mldsa-lab study"
version = 1
title = "A small study"

[[measure]]
implementations = ["mldsa-lanes:portable:compact", "mldsa-native"]
workers = ["rust"]
sets = ["44"]
operations = ["verify"]

[profiles.default]
seconds = 1
rounds = [1, 1]
processes = 2

[[contrasts]]
name = "Portable against C"
between = ["implementation"]

[[figures]]
name = "Costs"
by = ["implementation"]
"""


def write(folder: Path, text: str = SMALL, name: str = "small.toml") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def cell(label: str, means: Sequence[float], **fields: str) -> StudyCell:
    whole = dict.fromkeys(FIELDS, "") | {"implementation": label} | fields
    return StudyCell(whole, "ns", np.array(means))


# --- files ----------------------------------------------------------------------------------------


def test_the_studies_of_the_tree_are_read() -> None:
    found = shipped()
    assert "bench" in found and "pyproject" not in found
    for path in found.values():
        assert "default" in read_study(path).profiles
    quick = read_study(find_study("bench")).amount("quick").profile("quick")
    assert (quick.name, quick.rounds_min) == ("quick", 5) and quick.seconds < 60


def test_unknown_names_are_refused(tmp_path: Path) -> None:
    path = str(write(tmp_path))
    for arguments, said in (
        (("nosuch",), "unknown study 'nosuch': known are bench"),
        ((str(tmp_path / "no.toml"),), "no.toml: cannot read it"),
        ((path, "--profile", "long"), "unknown profile 'long': the study has default"),
        ((path, "--out", str(tmp_path)), "is neither empty nor a study's folder"),
    ):
        done = here("study", *arguments)
        assert done.status == 2 and said in done.err, done.err
    assert "bench" in here("study", "list").out


# --- running --------------------------------------------------------------------------------------


def test_every_measure_comes_before_any_again(tmp_path: Path) -> None:
    text = SMALL.replace('operations = ["verify"]', "message_bytes = [32, 64]")
    listed = steps(read_study(write(tmp_path, text)), "default", tmp_path, "seed")
    assert [(s.process, s.message_bytes) for s in listed] == [(0, 32), (0, 64), (1, 64), (1, 32)]
    assert len({s.seed for s in listed}) == 4 and len({s.folder for s in listed}) == 4


def test_a_profile_may_measure_less(tmp_path: Path) -> None:
    text = (
        SMALL
        + """
[[measure]]
sets = ["ml-kem", "44"]

[profiles.less]
seconds = 1
rounds = [1, 1]
sets = ["ml-kem"]
operations = ["keygen", "encaps"]
message_bytes = [7]
"""
    )
    (step,) = steps(read_study(write(tmp_path, text)), "less", tmp_path, "seed")
    assert step.measure.sets == ("ML-KEM-512", "ML-KEM-768", "ML-KEM-1024")
    assert step.measure.operations == ("keygen", "encaps") and step.message_bytes == 7
    nothing = text.replace('sets = ["ml-kem"]\n', 'sets = ["Ed25519"]\n')
    with pytest.raises(LabError, match="the profile less keeps nothing of any"):
        read_study(write(tmp_path, nothing))


def test_what_is_done_is_kept_and_the_rest_goes_on(tmp_path: Path) -> None:
    path, out = write(tmp_path), tmp_path / "out"
    seed = begin(path, "default", out)
    listed = steps(read_study(path), "default", out, seed)
    ran: list[Step] = []

    def run(step: Step, end: str | None = "complete") -> bool:
        ran.append(step)
        shape = Shape(sets=("ML-DSA-44",), signers=SIGNERS[:2], rounds=2, end=end, seed=len(ran))
        build(step.folder / f"run-{len(ran)}" / "record.jsonl", shape)
        return end is not None

    with pytest.raises(KeyboardInterrupt):
        list(measure(listed, lambda step: run(step, None if ran else "complete")))
    assert ran == listed[:2]
    assert begin(path, "default", out) == seed  # the same inputs
    cut_off = listed[1].folder / "run-0" / "record.jsonl"
    cut_off.parent.mkdir()
    cut_off.touch()
    found = list(measure(listed, run))
    assert ran == [*listed[:2], listed[1]] and [step for step, _ in found] == listed
    assert found[1][1].parent.name == "run-3"  # the interrupted run stays beside it
    cells = gather_cells([path for _, path in found], "cpu", 0.95).cells
    assert {len(c.means) for c in cells} == {2}
    # A study that was changed is another one, once anything of it is measured.
    other = tmp_path / "other"
    first = begin(path, "default", other)
    assert begin(write(tmp_path, SMALL + "\n"), "default", other) == first
    # What is compared and shown may change.
    write(tmp_path, SMALL.replace("A small", "Another").replace("Costs", "Bars"))
    assert begin(path, "default", out) == seed
    write(tmp_path, SMALL.replace("rounds = [1, 1]", "rounds = [1, 2]"))
    with pytest.raises(LabError, match="another profile, or from before what"):
        begin(path, "default", out)


def test_a_crash_loses_only_what_was_not_measured(tmp_path: Path) -> None:
    names, paths = [s.id for s in SIGNERS[:3]], []
    shape = Shape(sets=("ML-DSA-44",), signers=SIGNERS[:3], rounds=6)
    for process in range(3):
        paths.append(tmp_path / f"{process}.jsonl")
        broken = replace(shape, crashed=names[1], refused=(names[2],))
        build(paths[-1], broken if process == 1 else shape)
    measured = gather_cells(paths, "cpu", 0.95)
    assert sorted({len(c.means) for c in measured.cells}) == [2, 3]
    found = report(measured, SMALL.partition("[[contrasts]]")[0])
    once = [text for text in found.notes if text.startswith("Excluded in 1 of 3 runs: ")]
    assert any(names[1] in text for text in once) and any(names[2] in text for text in once)


def test_tables_are_made_anew_from_records_alone(tmp_path: Path) -> None:
    more = """
[[tables]]
name = "Slow ones"
rows = ["implementation", "backend", "key"]
figure = "p50"

[[sizes]]
name = "Sizes"

[[figures]]
name = "Spread"
kind = "distribution"
by = ["implementation", "backend", "key"]
"""
    contrast = 'between = ["implementation", "backend", "key"]'
    path = write(tmp_path, SMALL.replace('between = ["implementation"]', contrast) + more)
    records, out = tmp_path / "records", tmp_path / "out"
    for process in (1, 2):
        shape = Shape(sets=("ML-DSA-44",), signers=SIGNERS[:3], rounds=4, seed=process)
        build(records / f"process-{process}.jsonl", shape)
    done = here("study", str(path), "--from", str(records), "--out", str(out))
    assert done.status == 0, done.err
    found = groups_in(out / "study.json")
    assert {row["table"] for row in found if "table" in row} == {"Slow ones", "Sizes"}
    assert any("without worker" in row.get("of", "") and row["count"] == 2 for row in found)
    for text in (done.out, (out / "study.md").read_text(), (out / "study.html").read_text()):
        assert "Slow ones" in text and "SPKI" in text
    assert ">Spread: ML-DSA-44 sign<" in (out / "study.html").read_text()
    again = ("study", str(path), "--from", str(records), "--out", str(out), "--implementations")
    assert here(*again, "*:portable:expanded").status == 0
    rows = groups_in(out / "study.json")
    assert {row["key"] for row in rows if "mean" in row} == {"expanded"}
    for words, text in (
        ((*again[1:], "nosuch"), "no cell is of these --sets"),
        ((str(path), "--sets", "44"), "--sets: needs --from"),
        ((str(path), "--from", str(tmp_path / "none")), "has no records"),
    ):
        done = here("study", *words)
        assert done.status == 2 and text in done.err


@pytest.mark.e2e
def test_the_command_measures_compares_and_redraws(tmp_path: Path) -> None:
    build_rust()
    path, out = write(tmp_path), tmp_path / "out"
    done = lab("study", str(path), "--out", str(out))
    assert done.status == 0, done.err
    records = sorted(out.glob("*/*/record.jsonl"))
    assert len(records) == 2
    found = groups_in(out / "study.json")
    assert {row.get("process") for row in found if "mean" in row} == {1, 2}
    (pair,) = [row for row in found if "ratio" in row]
    assert pair["ratio_notes"] == "too few processes to tell" and abs(pair["delta"]) == 1
    assert "<svg" in (page := (out / "study.html").read_text()) and "A small study" in page
    # Again: nothing is measured.
    again = lab("study", str(path), "--out", str(out))
    assert again.status == 0 and len(list(out.glob("*/*/record.jsonl"))) == 2
    assert "gate" not in again.out and (out / "study.html").read_text() == page


# --- comparing ------------------------------------------------------------------------------------


def test_intervals_of_ratios_invert_the_test() -> None:
    rng = np.random.default_rng(1)
    for n, m in ((4, 4), (5, 9), (12, 7)):
        x, y = 1.1 * np.exp(0.1 * rng.standard_normal(n)), np.exp(0.1 * rng.standard_normal(m))
        found = shift(x, y, 0.05)
        assert found.low is not None and found.high is not None
        for factor in (found.low, found.high):
            # Just inside the test accepts, just outside it refuses.
            inside, outside = (1.0001, 0.9999) if factor == found.low else (0.9999, 1.0001)
            p = [
                mannwhitneyu(x, y * factor * by, alternative="two-sided", method="exact").pvalue
                for by in (inside, outside)
            ]
            assert p[0] > 0.05 >= p[1]
    assert shift(np.ones(3), np.ones(3), 0.05).low is None
    assert delta(np.array([2.0, 3.0]), np.array([1.0, 2.5])) == 0.5


def test_intervals_of_ratios_hold() -> None:
    rng = np.random.default_rng(2)
    found = [shift(*np.exp(0.2 * rng.standard_normal((2, 6))), 0.05) for _ in range(600)]
    held = sum((f.low or 9) <= 1 <= (f.high or 0) for f in found)
    assert held > 0.93 * 600  # 95.9 % by the exact law, less three deviations


def test_groups_are_told_apart_where_they_differ() -> None:
    slow, fast = np.arange(110.0, 115), np.arange(100.0, 105)
    tests = ("mann-whitney", "kruskal-wallis", "dunn")

    def verdicts(groups: Mapping[str, Array], tests: Sequence[str]) -> dict[tuple[Key, Key], str]:
        found = compare_groups(groups, {}, tests, 0.05)
        return {(f.keys["first"], f.keys["second"]): f.notes[0] for f in found if f.name == "ratio"}

    three = {"a": slow, "b": fast, "c": fast + 0.5}
    said = verdicts(three, tests)
    assert said["a", "b"] == "a is slower" and said["b", "c"] == "no difference seen"
    assert compare_groups({"alone": np.array([1.0])}, {}, tests, 0.05) == []
    two = {"a": slow, "b": fast}
    for asked, groups, says in (
        (tests[1:], two, "a is slower"), (tests[1:], {"a": slow, "b": slow}, "no difference seen"),
        (tests[1:2], two, "a is slower"), (tests[1:2], three, "no test of pairs"),
        (tests, {"a": slow[:2], "b": fast[:2]}, "too few processes to tell"),
    ):  # fmt: skip
        assert verdicts(groups, asked)["a", "b"] == says


@pytest.mark.parametrize(
    ("groups", "expected"),
    [
        (
            ([12.1, 14.3, 11.8, 15.0], [13.2, 16.5, 17.1, 15.9, 18.0], [19.3, 18.8, 21.4]),
            (0.4099230144224498, 0.011014349463827422, 0.2841532086451946),
        ),
        (
            ([1, 2, 2, 3], [2, 3, 3, 4, 4], [5, 4, 4]),
            (0.3883810878708466, 0.02363824163155688, 0.497047891601188),
        ),
        (([110, 111, 112, 113, 114], [100, 101, 102, 103, 104]), (0.009023438818080326,)),
        (([7, 7], [7, 7, 7], [7]), (1, 1, 1)),  # where scikit-posthocs has no number
    ],
    ids=["no ties", "ties", "two groups", "all equal"],
)
def test_dunn_has_the_values_of_scikit_posthocs(
    groups: Sequence[Sequence[float]], expected: Sequence[float]
) -> None:
    """``posthoc_dunn(groups, p_adjust="bonferroni")`` of scikit-posthocs 0.17.1."""
    named = {str(i): np.array(values, dtype=float) for i, values in enumerate(groups)}
    figures = compare_groups(named, {}, ("kruskal-wallis", "dunn"), 0.05)
    values = [f.value for f in figures if f.keys.get("test") == "dunn"]
    assert values == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(
    ("tests", "groups", "processes", "least"),
    [
        # After Bonferroni 4 of 4 have 0.086 in each of three pairs, 1 of 1 nothing at all.
        (("mann-whitney",), 3, 4, 0.0857),
        (("mann-whitney",), 2, 1, 1.0),
        (("kruskal-wallis",), 2, 2, 0.1213),
        (("kruskal-wallis",), 2, 1, 1.0),
        # Three groups of two: the omnibus test cannot reach 0.05, so Dunn's does not count.
        (("kruskal-wallis", "dunn"), 3, 2, 0.1017),
        # Dunn's reaches 0.005 between the outer groups, but 0.35 between neighbours.
        (("kruskal-wallis", "dunn"), 3, 4, 0.0073),
    ],
)
def test_too_few_processes_are_said_for_every_test(
    tests: tuple[str, ...], groups: int, processes: int, least: float
) -> None:
    costs = {f"g{i}": 38.0 * 2.6**i + np.arange(float(processes)) for i in range(groups)}
    found = compare_groups(costs, {}, tests, 0.05)
    said = {(f.keys["first"], f.keys["second"], f.name): f for f in found}
    assert said["g0", "g1", "least_p"].value == pytest.approx(least, rel=0.01)
    assert said["g0", "g1", "delta"].value == -1
    assert said["g0", "g1", "ratio"].notes == ("too few processes to tell",)
    # With more of them the same ratio is found.
    more = {name: np.concatenate([v + 0.1 * i for i in range(10)]) for name, v in costs.items()}
    found = compare_groups(more, {}, tests, 0.05)
    assert next(f for f in found if f.name == "ratio").notes == ("g1 is slower",)


def test_rounds_may_be_the_replicates(tmp_path: Path) -> None:
    path = tmp_path / "record.jsonl"
    build(path, Shape(sets=("ML-DSA-44",), signers=SIGNERS[:3], rounds=6, seed=1))
    found = gather_cells([path], "cpu", 0.95)
    for of in found.cells:
        assert len(of.rounds) == 6 and len(of.means) == 1
        assert 0.8 < np.median(of.rounds) / of.middle < 1.25
    more = 'between = ["implementation", "backend", "key"]\nreplicates = "rounds"'
    shown = report(found, SMALL.replace('between = ["implementation"]', more))
    assert list(breaches(shown.figures)) == []
    least = [f.value or 1 for f in shown.figures if f.name == "least_p"]
    assert least and max(least) < 0.1
    assert "rounds as replicates, which are not independent" in shown.sections[-1].grid.note


def test_costs_that_contradict_their_traces_are_named(tmp_path: Path) -> None:
    shape = Shape(sets=("ML-DSA-44",), signers=SIGNERS[:2], rounds=6, seed=1)
    variant = SIGNERS[0].id

    def altered(row: Row) -> Row:
        if not isinstance(row, Samples) or (row.variant, row.operation) != (variant, "sign"):
            return row
        return structs.replace(row, metrics={"wall": tuple(100_000 + 7 * i for i in row.inputs)})

    path = write_rows(tmp_path / "record.jsonl", map(altered, rows(shape)))
    (text,) = (t for t in gather_cells([path], "wall", 0.95).excluded if "are not valid" in t)
    assert text.startswith(f"{variant} ML-DSA-44 sign: ")


# --- tables and plots -----------------------------------------------------------------------------


def report(measured: Gathered, text: str) -> Report:
    study = parse_study(text, Path("study.toml"))
    return study_report(study, "default", measured)


TWO = Gathered([cell("a", [1.0], key=k, operation="sign") for k in ("compact", "expanded")])
UNITS = Gathered(
    [
        cell("a", [1.0], operation="sign"),
        replace(cell("b", [1.0], operation="sign"), unit="cycles"),
    ]
)
WORKERS = Gathered([cell(name, [1.0], worker="rust") for name in "ab"])
TABLE = SMALL.partition("[[contrasts]]")[0] + '[[tables]]\nname = "t"\nrows = ["implementation"]\n'
BY_KEY = SMALL.replace('between = ["implementation"]', 'between = ["key"]')
ALONE = "Portable against C: only one group was measured."


def where(text: str, rule: str) -> str:
    return re.sub("(between = .*)", rf"\1\nwhere = {{ {rule} }}", text)


@pytest.mark.parametrize(
    ("measured", "text", "said"),
    [
        (TWO, TABLE, "table 't': a sign is several cells that differ in key"),
        (UNITS, TABLE, "table 't': sign: costs in cycles and ns"),
        (TWO, SMALL, "a is several cells that differ in key"),
        (UNITS, SMALL, "b costs cycles, others ns"),
        (TWO, where(BY_KEY, 'set = ["44"]'), "contrast 'Portable against C': set '44': measured"),
        (WORKERS, where(SMALL, 'worker = ["rust", "go"]'), "worker 'go': measured are rust"),
    ],
)
def test_what_cannot_be_compared_or_tabled_is_refused(
    measured: Gathered, text: str, said: str
) -> None:
    with pytest.raises(LabError) as caught:
        report(measured, text)
    assert said in str(caught.value)


def test_a_group_alone_and_what_a_profile_omits_are_no_error() -> None:
    assert report(TWO, BY_KEY).sections[-1].grid.rows == 1
    assert report(TWO, where(BY_KEY, 'key = ["compact"]')).notes == [ALONE]
    text = SMALL.replace('workers = ["rust"]', 'workers = ["rust", "c"]')
    assert len(report(WORKERS, where(text, 'worker = ["rust", "c"]')).sections) == 2
    assert report(WORKERS, where(text, 'worker = ["c"]')).notes == [ALONE]


def test_a_load_over_one_process_a_core_is_told_by_a_study() -> None:
    assert report(WORKERS, SMALL).warnings == []
    busy = "load average up to 14.24 on 2 cores"
    (warning,) = report(replace(WORKERS, loads=("", busy)), SMALL).warnings
    assert warning.startswith("The machine was busy")
    assert f"1 of 2 runs, in the first of them: {busy}" in warning


@pytest.mark.e2e
def test_a_load_over_one_process_a_core_is_told_by_a_study_of_pipelines(tmp_path: Path) -> None:
    records = find_root() / "records" / "2026-11-23-epyc-zen4-pipeline"
    done = here("study", "pipeline", "--from", str(records), "--out", str(tmp_path))
    assert done.status == 0, done.err
    for text in (done.out, (tmp_path / "study.html").read_text(encoding="utf-8")):
        assert "The machine was busy with other work in" in " ".join(text.split())


def slh_dsa() -> list[StudyCell]:
    return [
        replace(
            cell("a", [by * 1e6, by * 1.1e6], set=name, operation=operation),
            rounds=np.array([by * 1e6, by * 1.2e6]),
        )
        for by, name in enumerate(list_sets("slh-dsa"), 1)
        for operation in ("sign", "verify")
    ]


def drawn(asked: FigureAsked, cells: list[StudyCell]) -> dict[str, str]:
    """The pictures by title."""
    made = {}
    for spec in plot_specs(asked, Gathered(cells)):
        with svg.drawing():
            made[spec.title] = svg.to_svg(spec.draw(), "p", spec.title)
    return made


def test_figures_of_each_kind_are_drawn() -> None:
    scattered = FigureAsked("s", ("set",), "scatter", x="signature", y="sign")
    (one,) = drawn(scattered, slh_dsa()).values()
    assert all(f">{name.removeprefix('SLH-DSA-')}<" in one for name in list_sets("slh-dsa"))
    spread = drawn(FigureAsked("d", ("set",), "distribution", ("operation",)), slh_dsa())
    assert list(spread) == ["d: sign", "d: verify"]
    # A ciphertext is what no signature scheme has, and two cells are no point.
    assert not drawn(FigureAsked("s", ("set",), "scatter", x="ciphertext", y="sign"), slh_dsa())
    with pytest.raises(LabError, match=r"figure 's': .*sign is several cells"):
        drawn(scattered, slh_dsa() * 2)
