"""Studies as files: what they may say, how they run and go on, how groups are compared."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from lab_runs import build_rust, here, lab
from report_records import SIGNERS, Shape, build
from scipy.stats import mannwhitneyu

from mldsa_lab.errors import LabError
from mldsa_lab.sets import sets_of
from mldsa_lab.show.grid import markdown
from mldsa_lab.show.scales import LINE, beside_points, text_width
from mldsa_lab.study.cells import Gathered, StudyCell, gather_cells
from mldsa_lab.study.contrast import compare_groups, delta, shift
from mldsa_lab.study.figures import draw
from mldsa_lab.study.file import (
    FIELDS,
    Contrast,
    CostsAsked,
    FigureAsked,
    SizesAsked,
    find_study,
    read_study,
    shipped,
)
from mldsa_lab.study.page import render
from mldsa_lab.study.run import Step, begin, measure, steps
from mldsa_lab.study.show import StudyFindings, verdict
from mldsa_lab.study.tables import CostTable, SizeTable

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


def gathered(groups: Mapping[str, Sequence[float]]) -> Gathered:
    return Gathered([cell(label, means) for label, means in groups.items()], [])


# --- files ----------------------------------------------------------------------------------------


def test_the_studies_of_the_tree_are_read() -> None:
    found = shipped()
    assert "bench" in found and "pyproject" not in found
    for path in found.values():
        assert "default" in read_study(path).profiles
    quick = read_study(find_study("bench")).amount("quick").profile("quick")
    assert (quick.name, quick.rounds_min) == ("quick", 5) and quick.seconds < 60


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("version = 1", "version = 2", "line 3, version: 2 must be one of 1"),
        ("[[measure]]", "[[measures]]", "the key 'measures' is unknown"),
        ('sets = ["44"]', "sets = 44", "line 9, measure[0].sets: must be a list"),
        ('["verify"]', '["decide"]', "line 10, measure[0].operations[0]: 'decide'"),
        ("rounds = [1, 1]", "rounds = [2, 1]", "line 14, profiles[default]: rounds: the first"),
        ("processes = 2", "process = 2", "line 15, profiles[default]: the key 'process' is"),
        ("processes = 2", "processes = 0", "line 15, profiles[default].processes: must be"),
        ("processes = 2", "[profiles.long]\nseconds = 1\nrounds = [1,\n2]\nprocesses = 0",
         "line 19, profiles[long].processes: must be"),
        ('by = ["implementation"]', 'by = ["key"]\nwhere = { speed = ["a"] }',
         "line 24, figures[0].where: 'speed' must be one of"),
        ("[profiles.default]", "[profiles.short]", "profiles: the profile default is missing"),
        ('between = ["implementation"]', 'between = ["speed"]',
         "line 19, contrasts[0].between[0]: 'speed'"),
        ('between = ["implementation"]', 'between = ["set"]', "between and within both have set"),
        ('name = "Costs"', 'name = "Costs', "not a readable TOML file"),
        ('sets = ["44"]', 'sets = ["45"]', "line 6, measure[0]: unknown parameter set '45'"),
        ("processes = 2", 'processes = 2\n[[contrasts]]\nname = "a"\nbetween = ["key"]\n'
         'tests = ["dunn"]', "dunn comes after kruskal-wallis"),
        ('name = "Costs"', 'name = "Costs"\nkind = "scatter"', "x and y: a scatter has both"),
        ('name = "Costs"', 'name = "Costs"\nx = "sign"', "x and y: a scatter has both"),
        ('name = "Costs"', 'name = "Costs"\nkind = "pie"',
         "line 23, figures[0].kind: 'pie' must be"),
        ('name = "Costs"', 'name = "Portable against C"',
         "line 21: figures[0]: the name 'Portable against C' is given twice"),
    ],
)  # fmt: skip
def test_bad_files_name_place_and_rule(tmp_path: Path, old: str, new: str, said: str) -> None:
    path = write(tmp_path, SMALL.replace(old, new))
    with pytest.raises(LabError) as caught:
        read_study(path)
    assert str(path) in str(caught.value) and said in str(caught.value)


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
    text = SMALL + "\n[profiles.less]\nseconds = 1\nrounds = [1, 1]\nmessage_bytes = [7]\n"
    (step,) = steps(read_study(write(tmp_path, text)), "less", tmp_path, "seed")
    assert step.message_bytes == 7 and step.measure.operations == ("verify",)


def test_a_profile_keeps_some_sets_and_operations_of_each_measure(tmp_path: Path) -> None:
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
"""
    )
    (step,) = steps(read_study(write(tmp_path, text)), "less", tmp_path, "seed")
    assert step.measure.sets == ("ML-KEM-512", "ML-KEM-768", "ML-KEM-1024")
    assert step.measure.operations == ("keygen", "encaps")
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
        shape = Shape(sets=("ML-DSA-44",), signers=SIGNERS[:4], rounds=2, end=end, seed=len(ran))
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
    assert found[1][1].parent.name == "run-3"  # beside what the interrupted run left
    assert len(list(out.glob("*/*/record.jsonl"))) == 4
    cells = gather_cells(found, "cpu", 0.95).cells
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


def test_who_breaks_down_loses_only_what_was_not_measured(tmp_path: Path) -> None:
    path, listed = write(tmp_path), []
    names = [s.id for s in SIGNERS[:3]]
    for process in range(3):
        where = tmp_path / f"{process}.jsonl"
        crashed, refused = (names[1], (names[2],)) if process == 1 else (None, ())
        build(where, Shape(sets=("ML-DSA-44",), signers=SIGNERS[:3], rounds=6, crashed=crashed,
                           refused=refused))  # fmt: skip
        listed.append((Step(tmp_path, read_study(path).measure[0], 32, process, b""), where))
    measured = gather_cells(listed, "cpu", 0.95)
    assert sorted({len(c.means) for c in measured.cells}) == [2, 3]
    study = read_study(write(tmp_path, SMALL.partition("[[contrasts]]")[0]))
    found = StudyFindings.of(study, "default", measured)
    (cells,) = found.grids()
    assert cells.columns[-1].title == "processes" and {"2", "3"} == set(cells.columns[-1].cells)
    once = [text for text in found.left_out if text.startswith("left out in 1 of 3 runs: ")]
    assert any(f"{names[2]} ML-DSA-44: refused by the correctness gate" in text for text in once)
    assert any(names[1] in text for text in once) and len(once) == 2
    assert any("left out in 3 of 3 runs: worker " in text for text in found.left_out)
    for text in (found.as_markdown(), render(found, [])):
        assert "left out in 1 of 3 runs" in text


def test_the_command_shows_what_stands_already(tmp_path: Path) -> None:
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
    contrast = 'between = ["implementation", "backend", "key"]\nrandom_messages = [1, 5]'
    text = SMALL.replace('between = ["implementation"]', contrast) + more
    path, out = write(tmp_path, text), tmp_path / "out"
    seed = begin(path, "default", out)
    for number, step in enumerate(steps(read_study(path), "default", out, seed), 1):
        shape = Shape(sets=("ML-DSA-44",), signers=SIGNERS[:3], rounds=4, seed=number)
        build(step.folder / "run" / "record.jsonl", shape)
    done = here("study", str(path), "--out", str(out))
    assert done.status == 0, done.err
    found = json.loads((out / "study.json").read_text())
    assert [t["name"] for t in found["tables"]] == ["Slow ones", "Sizes"]
    assert {one["messages"] for one in found["random_messages"]} == {1, 5}
    assert len(found["random_messages"]) == 6  # three pairs of signers
    told = {"left out in 2 of 2 runs: " in text for text in found["left_out"]}
    assert told == {True} and "left out in 2 of 2 runs: worker" in done.out
    for text in (done.out, (out / "study.md").read_text(), (out / "study.html").read_text()):
        assert "Slow ones" in text and "SPKI" in text and "had messages been random" in text
    assert ">Spread<" in (out / "study.html").read_text()


@pytest.mark.e2e
def test_the_command_measures_compares_and_redraws(tmp_path: Path) -> None:
    build_rust()
    path, out = write(tmp_path), tmp_path / "out"
    done = lab("study", str(path), "--out", str(out))
    assert done.status == 0, done.err
    records = sorted(out.glob("*/*/record.jsonl"))
    assert len(records) == 2
    found = json.loads((out / "study.json").read_text())
    assert {len(c["means"]) for c in found["cells"]} == {2}
    (pair,) = found["contrasts"][0]["groups"][0]["pairs"]
    assert pair["verdict"] == "too few processes to tell" and abs(pair["delta"]) == 1
    assert "Portable against C" in (out / "study.md").read_text()
    page = (out / "study.html").read_text()
    assert "<svg" in page and "A small study" in page
    # Again: nothing is measured.
    (out / "study.html").unlink()
    again = here("study", str(path), "--out", str(out))
    assert again.status == 0 and sorted(out.glob("*/*/record.jsonl")) == records
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
    held = 0
    for _ in range(600):
        x, y = np.exp(0.2 * rng.standard_normal((2, 6)))
        found = shift(x, y, 0.05)
        assert found.low is not None and found.high is not None
        held += found.low <= 1 <= found.high
    assert held > 0.93 * 600  # 95.9 % by the exact law, less three deviations


def test_groups_are_told_apart_where_they_differ() -> None:
    slow, fast = [110, 111, 112, 113, 114], [100, 101, 102, 103, 104]
    tests = ("mann-whitney", "kruskal-wallis", "dunn")
    contrast = Contrast("c", ("implementation",), tests=tests)
    groups = {"a": slow, "b": fast, "c": [x + 0.5 for x in fast]}
    (found,) = compare_groups(contrast, gathered(groups))
    assert found.kruskal is not None and found.kruskal < 0.01
    said = {pair.groups: verdict(contrast, found, pair) for pair in found.pairs}
    assert said["a", "b"] == "a is slower"
    assert said["b", "c"] == "no difference seen"
    ab = found.pairs[0]
    assert ab.delta == 1 and ab.ratio.value == pytest.approx(112 / 102, rel=0.002)
    assert ab.p == pytest.approx(3 * 2 / 252) and ab.dunn is not None and ab.dunn < 0.05
    two = {"a": slow, "b": fast}
    after = Contrast("c", ("implementation",), tests=tests[1:])
    overall = Contrast("c", ("implementation",), tests=tests[1:2])
    for asked, those, says in (
        (after, two, "a is slower"), (after, {"a": slow, "b": slow}, "no difference seen"),
        (overall, two, "a is slower"), (overall, groups, "no test of pairs"),
    ):  # fmt: skip
        (found,) = compare_groups(asked, gathered(those))
        assert verdict(asked, found, found.pairs[0]) == says
    (few,) = compare_groups(contrast, gathered({"a": slow[:2], "b": fast[:2]}))
    assert verdict(contrast, few, few.pairs[0]) == "too few processes to tell"


def test_rounds_may_be_the_replicates(tmp_path: Path) -> None:
    path = tmp_path / "record.jsonl"
    build(path, Shape(sets=("ML-DSA-44",), signers=SIGNERS[:3], rounds=6, seed=1))
    measured = read_study(write(tmp_path)).measure[0]
    step = Step(tmp_path, measured, 32, 0, b"")
    found = gather_cells([(step, path)], "cpu", 0.95)
    for of in found.cells:
        assert len(of.rounds) == 6 and len(of.means) == 1
        assert 0.8 < np.median(of.rounds) / of.middle < 1.25
        assert bool(of.fitted) == (of.fields["operation"] == "sign")
    fields = ("set", "operation")
    between = Contrast("c", ("implementation", "backend", "key"), fields, replicates="rounds")
    groups = compare_groups(between, found)
    assert groups and all(one.least < 0.1 for one in groups)
    study = read_study(write(tmp_path, SMALL.replace("between", 'replicates = "rounds"\nbetween')))
    two = Gathered([replace(cell(x, [1.0]), rounds=np.array([1.0, 2.0])) for x in "ab"], [])
    (grid, _) = StudyFindings.of(study, "default", two).grids()
    assert "rounds as replicates, which are not independent" in grid.note


# --- tables ---------------------------------------------------------------------------------------


def table(measured: Gathered, **asked: Any) -> CostTable:
    return CostTable.of(CostsAsked("t", **asked), measured)


def test_tables_have_a_figure_of_each_cell() -> None:
    cells = [
        replace(
            cell(name, [1000.0 * by, 2000.0 * by, 4000.0 * by], operation=operation),
            percentiles={"p99": np.array([7.0, 8.0, 9.0])},
        )
        for name, operation, by in (("a", "sign", 1), ("a", "verify", 2), ("b", "sign", 10))
    ]
    measured = Gathered(cells, [])
    found = table(measured, rows=("implementation",))
    assert markdown(found.grid()).splitlines() == [
        "| implementation | sign, µs | verify, µs |",
        "|---|---:|---:|",
        "| a | 2.00 | 4.00 |",
        "| b | 20.0 | – |",
    ]
    p99 = table(measured, rows=("implementation",), figure="p99").as_json()
    assert [c["value"] for c in p99["cells"]] == [8, 8, 8]
    assert p99["cells"][0] | {"value": 0} == {
        "row": {"implementation": "a"}, "column": {"operation": "sign"}, "unit": "ns", "value": 0,
    }  # fmt: skip
    spread = table(measured, rows=("implementation", "operation"), columns=(), figure="spread")
    (_, _, percent) = spread.grid().columns
    assert percent.cells == ["300.0"] * 3 and percent.title == "%"
    unknown = table(measured, rows=("implementation",), figure="p999").grid()
    assert unknown.columns[1].cells == ["–", "–"]


def test_sizes_are_those_of_the_sets_measured() -> None:
    measured = Gathered([cell("a", [1.0], set="ML-KEM-768")], [])
    found = SizeTable.of(SizesAsked("s"), measured)
    assert [(s["encoding"], s["bytes"]) for s in found.as_json()["sizes"]][:2] == [
        ("raw", 1184), ("SPKI", 1206),
    ]  # fmt: skip
    named = SizeTable.of(SizesAsked("s", ("44", "Ed25519")), measured).grid()
    assert set(named.columns[0].cells) == {"ML-DSA-44", "Ed25519"}


def test_rows_of_a_table_that_begin_alike_stand_together() -> None:
    told = [("b", "w1"), ("a", "w1"), ("b", "w2"), ("a", "w2")]
    cells = [cell(name, [1.0], worker=worker, operation="sign") for name, worker in told]
    found = table(Gathered(cells, []), rows=("implementation", "worker"))
    assert list(found.rows) == [("b", "w1"), ("b", "w2"), ("a", "w1"), ("a", "w2")]


def test_tables_refuse_what_has_two_cells_or_units() -> None:
    two = [cell("a", [1.0], key=key, operation="sign") for key in ("compact", "expanded")]
    other = replace(cell("b", [1.0], operation="sign"), unit="cycles")
    for cells, said in ((two, "table 't': a sign is several cells that differ in key"),
                        ([two[0], other], "sign: costs in cycles and ns")):  # fmt: skip
        with pytest.raises(LabError, match=said):
            table(Gathered(cells, []), rows=("implementation",), columns=("operation",))


def test_what_cannot_be_compared_is_refused() -> None:
    two = Gathered([cell("a", [1.0], key="compact"), cell("a", [2.0], key="expanded")], [])
    for contrast, said in (
        (Contrast("c", ("implementation",)), "a is several cells that differ in key"),
        (Contrast("c", ("key",), where={"set": ("44",)}), "contrast 'c': set '44': measured are"),
        (Contrast("c", ("key",), where={"key": ("compact",)}), "there is one group alone"),
    ):
        with pytest.raises(LabError) as caught:
            compare_groups(contrast, two)
        assert said in str(caught.value)
    assert len(compare_groups(Contrast("c", ("key",)), two)) == 1
    other = StudyCell(cell("b", [1.0]).fields, "cycles", np.ones(1))
    with pytest.raises(LabError, match="b costs cycles, the groups beside it ns"):
        compare_groups(Contrast("c", ("implementation",)), Gathered([cell("a", [1.0]), other], []))


def slh_dsa() -> Gathered:
    return Gathered(
        [
            replace(
                cell("a", [by * 1e6, by * 1.1e6], set=name, operation=operation),
                rounds=np.array([by * 1e6, by * 1.2e6]),
            )
            for by, name in enumerate(sets_of("slh-dsa"), 1)
            for operation in ("sign", "verify")
        ],
        [],
    )


def test_figures_of_each_kind_are_drawn() -> None:
    scattered = FigureAsked("s", ("set",), "scatter", x="signature", y="sign")
    (one,) = draw(scattered, slh_dsa(), 0)
    assert "SLH-DSA: sign, ms" in one.picture and "signature, bytes" in one.picture
    assert all(f">{name.removeprefix('SLH-DSA-')}<" in one.picture for name in sets_of("slh-dsa"))
    spread = draw(FigureAsked("d", ("set",), "distribution", ("operation",)), slh_dsa(), 1)
    assert [panel.title for panel in spread] == ["sign", "verify"]
    assert "over its median, in ms" in spread[0].picture
    near = FigureAsked("d", ("set",), "distribution", where={"set": ("SLH-DSA-SHA2-128s",)})
    assert ">ms<" in draw(near, slh_dsa(), 1)[0].picture
    # A ciphertext is what no signature scheme has, and two cells are no point.
    for asked, said in (
        (FigureAsked("s", ("set",), "scatter", x="ciphertext", y="sign"), "no set has both"),
        (scattered, "figure 's': .*sign is several cells"),
    ):
        cells = slh_dsa().cells
        with pytest.raises(LabError, match=said):
            draw(asked, Gathered(cells if asked.x == "ciphertext" else cells * 2, []), 0)


def test_labels_of_points_lie_on_nothing() -> None:
    points = [(50.0, 50.0), (52.0, 52.0), (295.0, 50.0), (5.0, 195.0), (60.0, 50.0)]
    labels = ["one", "another", "at the right", "at the left", "near"]
    boxes = []
    for label, (left, middle) in zip(
        labels, beside_points(points, labels, (300, 200)), strict=True
    ):
        right = left + text_width(label)
        assert left >= 0 and right <= 300 and 0 <= middle <= 200
        assert not any(left < x < right and abs(y - middle) < LINE / 2 for x, y in points)
        for a, b, other in boxes:
            assert right <= a or b <= left or abs(other - middle) >= LINE
        boxes.append((left, right, middle))


def test_hostile_names_stay_text(tmp_path: Path) -> None:
    study = read_study(write(tmp_path, SMALL.replace("A small study", "<script>x</script>")))
    found = StudyFindings.of(study, "default", gathered({"a<b>": [1, 2], "c&d": [3, 4]}))
    page = render(found, ["<img>"])
    assert "<script>x" not in page and "<img>" not in page and "a&lt;b&gt;" in page
