"""What is wrong in a file is named with its place, for each kind of file that a user writes."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
import test_blocks
import test_pipeline
import test_study_files
from audit_tables import text as claims
from test_audit_reading import COST, SIZE
from test_cost_model import ODD
from test_estimate_command import CHOSEN
from test_jmh import DOCUMENT, OF_PROFILER, PROFILED
from test_registry import ENTRY

from mldsa_lab import LabError
from mldsa_lab.audit import read_claims
from mldsa_lab.bench.jmh import read_result
from mldsa_lab.bench.options import read_block
from mldsa_lab.estimate.reader import read_measurements
from mldsa_lab.inputs.pool import FromFile
from mldsa_lab.study.file import read_study
from mldsa_lab.theory.law import CostModel
from mldsa_lab.worker.registry import read_registry

BLOCK, STUDY = test_blocks.SMALL, test_study_files.SMALL
PIPELINE = test_pipeline.SMALL
WHOLE = ""
XI = "01" * 32
OTHER = {"title": "x", "kind": "other"}
POINTS = {"about": "scaling", "points": [{"threads": 1, "per_second": 1}], "cost_of": "a"}
UNTIMED = "is not the id of a cost or a batch in a unit of time"


def model(**change: object) -> str:
    return json.dumps({k: v for k, v in (ODD.as_json() | change).items() if v is not ...})


def jmh(**change: object) -> str:
    return json.dumps([DOCUMENT | change])


def timed(unit: str, *samples: list[float]) -> str:
    return jmh(primaryMetric={"scoreUnit": unit, "rawData": samples})


def profiled(**change: object) -> str:
    return jmh(secondaryMetrics=PROFILED | {"gc.count": OF_PROFILER["gc.count"] | change})


def read_inputs(path: Path) -> object:
    return list(FromFile(path, "ML-DSA-44").blocks(10))


# By name and text of the sound file: its reader, and what is replaced in it, by what, and what the
# error says; without a sound file, whole texts.
FILES: dict[tuple[str, str], tuple[Callable[[Path], object], list[tuple[str, ...]]]] = {
    ("block.toml", BLOCK): (lambda path: read_block(str(path), "default"), [
        ("verifications = 24", "verifications = 100001", "verifications: Expected `int` <= 100000"),
        ("uses = 3", "uses = 5", "24 verifications of the profile default are not the uses of "
         "whole keys, 5 each"),
        ("batches = [1, 8]", "batches = [8, 8]", "a value is given twice"),
        ("threads = [1, 2]", "threads = [2]", "1 must be among them"),
        ("threads = [1, 2]", "threads = [1, 13]", "13 are more than 12 verifications"),
        ('["warm", "cold"]', '["tepid"]', "'tepid' must be one of cold, warm"),
        ("rounds = [2, 2]", "rounds = [3, 2]", "must not be above the second"),
        ("[profiles.quick]", "[profiles.other]", "the profile quick is missing"),
        ('"ML-DSA-44"', '"ML-KEM-512"', "ML-KEM-512 has no operation verify"),
        ('"ML-DSA-44"', '"RSA-2048-PSS"', "one key for each process, and a block has many"),
    ]),
    ("pipeline.toml", PIPELINE): (read_study, [
        ('"SHA3-256"', '"SHA3-257"', "pipeline[0].stage[0].set: 'SHA3-257' must be one of"),
        ('operation = "hash"', 'operation = "sign"', "SHA3-256 has no operation sign"),
        ("batch = 8", "batch = 0", "pipeline[1].stage[1].batch: Expected `int` >= 1"),
        ("records = 16\nthreads = [1]\nagainst", "records = 12\nagainst",
         "records: 12 are no whole batches of 8"),
        ("batch = 8", "batch = 3", "the largest batch, 8, must be a multiple of 3"),
        ('operation = "sign"', 'operation = "verify"\nname = "v"',
         "stage 'v': no stage before it signs with ML-DSA-44"),
        ('operation = "sign"', 'operation = "sign"\nsignature = "x"',
         "signature: only verification takes one"),
        ('name = "batches"', 'name = "one by one"', "pipeline[1]: the name 'one by one' is given"),
        ('against = "one by one"', 'against = "two"', "against: no other is called 'two'"),
        ("threads = [1]", "threads = [2]", "threads: 1 must be among them"),
        ("[profiles", "[[measure]]\n[profiles", "either [[measure]] or [[pipeline]]"),
    ]),
    ("study.toml", STUDY): (read_study, [
        ("version = 1", "version = 2", "version: 2 must be one of 1"),
        ('sets = ["44"]', "sets = 44", "measure[0].sets: Expected `array`"),
        ("rounds = [1, 1]", "rounds = [2, 1]", "profiles.default: rounds: the first"),
        ('by = ["implementation"]', 'by = ["key"]\nwhere = { speed = ["a"] }',
         "figures[0].where: 'speed' must be one of"),
        ("[profiles.default]", "[profiles.short]", "profiles: the profile default is missing"),
        ('between = ["implementation"]', 'between = ["set"]', "between and within both have set"),
        ('name = "Costs"', 'name = "Costs', "not a readable TOML file"),
        ("processes = 2", 'processes = 2\n[[contrasts]]\nname = "a"\nbetween = ["key"]\n'
         'tests = ["dunn"]', "dunn comes after kruskal-wallis"),
        ('name = "Costs"', 'name = "Costs"\nkind = "scatter"', "x and y: a scatter has both"),
        ('name = "Costs"', 'name = "Portable against C"',
         "figures[0]: the name 'Portable against C' is given twice"),
    ]),
    ("registry.toml", ENTRY): (read_registry, [
        ('name = "one"', "", "worker 1: name is missing"),
        ('name = "one"', 'name = "One Two"', "worker One Two: name must be small letters"),
        ('language = "C"', 'like = "none"', "worker one: like names no worker before it: 'none'"),
        ('name = "one"', 'name = "jdks"', "name must not be 'jdks', which means several"),
        ('"{target}/one"', '"{program}"', "program is missing: {program} stands for it"),
        ('"{target}/one"', '"{lock}"', "locks is missing: {lock} stands for the first of them"),
        ('"{target}/one"', '"-{options}"', "unknown place {options}"),
        ('language = "C"', "language = 3", "worker one, language: Expected `str`, got `int`"),
        ('folder = "workers/one"', 'folder = "../one"', "worker one: folder must be a path inside"),
        ("default = true", "colour = 1", "contains unknown field `colour`"),
        ('minimum = "4.8"', 'minimum = "new"', "needs[0]: minimum must be numbers"),
        ('version = ["cc", "--version"], ', "", "needs[0]: version is missing"),
        ("default = true", 'builds.tuned = { profile = "x" }', "builds must have the build 'def"),
        ("default = true", 'locks = ["{x}"]', "locks: unknown place {x}"),
        ("default = true", 'builds.default = { profile = "x" }\nbuilds.fast = { profile = "y" }',
         "unknown build 'fast': known are default, tuned"),
        ("default = true", 'builds.default = { profile = "x", env = { A = "{b}" } }',
         "builds.default.env.A: unknown place {b}"),
        ('"{target}/one"]', '"{target}/{profile}/one"]', "builds is missing: {profile}"),
        ("default = true", 'setup = [["{x}"]]', "setup: unknown place {x}"),
        ("default = true", "setup = [[]]", "setup[0]: Expected `array` of"),
        ("default = true", 'home_of = "two"', "home_of names no worker before it"),
        ("[[worker]]", "[[wroker]]", "registry.toml: Object contains unknown field `wroker`"),
        ("[[worker]]", "[worker]", "worker: Expected `array`, got `object`"),
        ('name = "one"', "name = ", "not a readable TOML file"),
        ("[[worker]]", f"{ENTRY}[[worker]]", "worker one: the name is given to two entries"),
    ]),
    ("claims.yaml", WHOLE): (read_claims, [
        ("", "is empty"),
        ("format: mldsa-lab claims\nversion: 1\nsource: {title: 'x", "not YAML"),
        ("a: 1\na: 2\n", "line 2: the key 'a' appears twice"),
        ("1: 2\n", "names of fields must be texts"),
        ("? [1]\n: 2\n", "line 1: found unhashable key"),
        ("[" * 5000, "claims.yaml"),
        ("when: 2026-02-30\n", "claims.yaml"),
        ("x: !!python/object/apply:os.system [ls]\n", "could not determine a constructor"),
        ("format: other\n", ", format: 'other' must be one of mldsa-lab claims"),
        ("format: mldsa-lab claims\nversion: 2\n", "version: 2 must be one of 1"),
        ("format: mldsa-lab claims\nversion: 1\n", "missing required field `source`"),
    ]),
    ("costs.csv", WHOLE): (lambda path: read_measurements(path, CHOSEN), [
        ("", "is empty; it must begin with the header id,cost"),
        ("id,cost\n", "has no measurements"),
        ("id;cost\n1;2\n", "line 1: the header is 'id;cost'; it must have id and cost"),
        ("id,cost,weight\n", "line 1: the header is 'id,cost,weight'"),
        ("id,cost\n# no\n1,5\n9,5\n", "line 4 ('9,5'): id 9 is not in the selection, whose ids"),
        ("id,cost\n1,\n", "line 2 ('1,'): Object missing required field `cost`"),
        ("id,cost\n1,2,5\n", "line 2: has 3 fields, the header has 2 (a decimal comma?)"),
        ("id,cost\n1,0\n", "line 2 ('1,0'), cost: Expected `float` >= 1e-100"),
        ("id,cost\n1,1e999\n", "line 2 ('1,1e999'), cost: Expected `float` <= 1e+100"),
        ("id,cost\n1.5,5\n", "line 2 ('1.5,5'), id: Expected `int`"),
        ("id,cost,unit\n1,5,ns\n2,6,\n", "unit 'none' after 'ns' at"),
        ("id,cost\n1,5\n1,6\n", "line 3 ('1,6'): id 1 was measured at"),
        ("id,cost,round\n1,5,0\n1,6,0\n", "id 1 in round 0 was measured at"),
        ("id,cost,round\n1,5,0\n1,6,\n", "all measurements must have a round, or none"),
        ("id,cost,time,order\n1,5,2,2\n", "has order and time, of which one says all"),
        ("id,cost,set\n1,5,ML-DSA-44\n", "is of ML-DSA-44, the selection of ML-DSA-65"),
    ]),
    ("costs.json", WHOLE): (lambda path: read_measurements(path, CHOSEN), [
        ("{", "so it is not JSON"),
        ('{"measurements": [], "units": "ns"}', "contains unknown field `units`"),
        ('[{"id": 1, "cost": 5}, {"id": 2, "cost": "5"}]', "measurements[1].cost: Expected `fl"),
        ('[{"id": 1, "cost": 1' + "0" * 400 + "}]", "measurements[0].cost: Number out of range"),
        ('[{"id": 1, "cost": 2}, {"id": 1, "cost": 2}]', "measurements[1]: id 1 was measured at"),
        ('{"unit": "ns", "measurements": [{"id": 1, "cost": 2, "unit": "us"}]}',
         "measurements[0]: the unit differs from the file's 'ns'"),
        ('{"set": "ML-DSA-87", "measurements": [{"id": 1, "cost": 2}]}',
         "is of ML-DSA-87, the selection of ML-DSA-65"),
    ]),
    ("costs.txt", WHOLE): (lambda path: read_measurements(path, CHOSEN), [
        ("id,cost\n1,5\n", "must end in .csv or .json"),
    ]),
    ("heads.yaml", WHOLE): (read_claims, [
        (claims(SIZE, source=OTHER | {"kind": "blog"}), "source.kind: 'blog' must be one of"),
        (claims(SIZE, source=OTHER | {"date": 5}), "source.date: Expected `str`"),
        (claims(SIZE, source=OTHER | {"title": None}), "source.title: is empty"),
        (claims(SIZE, defaults={"bytes": 1}), "defaults: Object contains unknown field `bytes`"),
        (claims(*[{**SIZE, "id": "x"}] * 2), "claim 'x': the id appears twice"),
        (claims(SIZE, POINTS), UNTIMED),
        (claims({**COST, "unit": "cycles", "median": 1}, POINTS), UNTIMED),
    ]),
    ("model.json", WHOLE): (CostModel.read, [
        (model(format="other"), "is no cost model"),
        (model(version=3), "has format version 3, this reader knows 2"),
        (model(set="ML-DSA-66"), "unknown parameter set 'ML-DSA-66': known are"),
        (model(z=-1), "z is -1.0, it must be a number, 0 or more"),
        (model(r="1"), "r: Expected `float`, got `str`"),
        (model(h=10**400), "h: Number out of range"),
        (model(first=0, z=0, r=0, h=0), "must be above 0"),
        (model(more=1), "contains unknown field `more`"),
        (model(first=...), "missing required field `first`"),
    ]),
    ("jmh.json", WHOLE): (read_result, [
        (profiled(rawData=[[-1.0, 0.0]]), "gc.count.rawData[0][0]: "),
        (profiled(rawData=[[1.0]]), "gc.count.rawData[0]: must have measurementIter"),
        (jmh(mode="thrpt"), "results[0].mode: 'thrpt'"),
        (jmh(measurementIterations=3), "primaryMetric.rawData[0]: must have measurementIterations"),
        (timed("us/op", [1.0, 1.0]), "scoreUnit: 'us/op'"),
        (timed("ns/op", [1.0, 1.0], [1.0, 1.0]), "rawData: "),
        (timed("ns/op", [1.0, 0.0]), "rawData[0][1]"),
        (jmh(secondaryMetrics={"passes": {"rawData": [[1.0]]}}), "passes.rawData[0]: must have"),
    ]),
    ("in.csv", WHOLE): (read_inputs, [
        ("", "lists no inputs"),
        (f"xi\n{XI}\n", "line 2: Object missing required field `message`"),
        ("xi,message,salt\n", "line 1: column 'salt' must be one of"),
        ("xi,message,xi\n", "line 1: column 'xi' must be one of id, xi, sk, message, context, rnd, "
         "each once"),
        ("xi,message\n", "lists no inputs"),
        (f"xi,message\n{XI}\n", "line 2: must have 2 fields, as the header"),
        (f"xi,message\n{XI},0\n", "line 2, message: must be bytes in hexadecimal"),
        (f"xi,message\n{XI},zz\n", "line 2, message: must be bytes in hexadecimal"),
        ("xi,message\n01,00\n", "line 2: xi has 1 bytes, must have 32"),
        (f"xi,message,rnd\n{XI},00,00\n", "line 2: rnd has 1 bytes, must have 32"),
        (f"xi,message,context\n{XI},,{'00' * 256}\n", "line 2: context has 256 bytes"),
        (f"id,xi,message\na,{XI},\na,{XI},\n", "line 3: the id 'a' appears twice"),
        (f"id,xi,message\n,{XI},\n", "line 2: id must have from 1 to 200"),
        (f'xi,message\n"{XI},00\n', "line 2: unexpected end of data"),
        ("message\n00\n", "line 2: must have either xi or sk"),
        ("sk,message\n00,00\n", "line 2: sk has 1 bytes, must have 2560"),
    ]),
    ("in.jsonl", WHOLE): (read_inputs, [
        ("{\n", "line 1, column"),
        ("[1]\n", "line 1: Expected `object`, got `array`"),
        ('{"xi": "", "message": 5}\n', "line 1, message: must be bytes in hexadecimal"),
        ('{"xi": ""}\n', "line 1: Object missing required field `message`"),
        (f'{{"xi": "{XI}", "sk": "00", "message": ""}}\n', "either xi or sk"),
        (f'{{"xi": "{XI}", "message": ""}}\n{{"sk": "00", "message": ""}}\n',
         "line 2: must have xi, as the inputs before it"),
    ]),
    ("in.txt", WHOLE): (read_inputs, [("", "must be in a .csv, .jsonl or .ndjson file")]),
}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "base", "read", "row"),
    [
        pytest.param(name, base, read, row, id=f"{name} {row[-1]}")
        for (name, base), (read, rows) in FILES.items()
        for row in rows
    ],
)
def test_a_broken_file_is_named_with_place_and_rule(
    tmp_path: Path, name: str, base: str, read: Callable[[Path], object], row: tuple[str, ...]
) -> None:
    path = tmp_path / name
    *changed, text, said = row
    for old in changed:
        assert old in base
        text = base.replace(old, text, 1)
    path.write_text(text, encoding="utf-8", newline="")
    with pytest.raises(LabError) as caught:
        read(path)
    shown = str(caught.value)
    assert said in shown and str(path) in shown and "\n" not in shown, shown
