"""The order of rounds, the choice of variants, and the words of the command line."""

from __future__ import annotations

from collections import Counter

import pytest
from lab_runs import variant

from mldsa_lab.bench.engine import Engine
from mldsa_lab.bench.fleet import Fleet
from mldsa_lab.bench.options import parse_operations, parse_seed, select
from mldsa_lab.bench.workloads.operations import Cell, Operations
from mldsa_lab.errors import LabError
from mldsa_lab.sets import ALL_SETS, CLASSICAL_SETS, PARAMETER_SETS, parse_set_names

SETS = tuple(PARAMETER_SETS)
VARIANTS = [
    variant("mldsa-lanes:avx2:compact", sets=SETS),
    variant("mldsa-lanes:avx2:expanded", sets=SETS),
    variant("aws-lc:native:compact", sets=SETS),
    variant("mldsa-oracle:literal:compact", sets=SETS),
    variant("dalek:native:compact", family="classical", sets=("Ed25519",)),
]


def schedule() -> Engine[Cell]:
    cells = [
        Cell(v, name, operation, [], {}, random=False)
        for name in ("ML-DSA-44", "ML-DSA-65")
        for operation in ("keygen", "sign", "verify")
        for v in VARIANTS[:4]
    ]
    return Engine(Fleet(), Operations(Fleet(), cells), lambda row: None)


def test_every_round_visits_every_cell_once() -> None:
    s = schedule()
    for number in range(30):
        order = s.order(number)
        assert len(order) == len(s.cases)
        assert {id(c) for c in order} == {id(c) for c in s.cases}


def test_each_variant_has_each_place_equally_often() -> None:
    """Over 2 x 4 rounds every variant of a group of 4 is twice at each place of the group."""
    s = schedule()
    places: Counter[tuple[str, int]] = Counter()
    for number in range(8):
        group = [c for c in s.order(number) if (c.set_name, c.operation) == ("ML-DSA-65", "sign")]
        places.update((c.variant.id, place) for place, c in enumerate(group))
    assert set(places.values()) == {2}
    assert len(places) == 16


def test_a_fault_excludes_the_variant_and_a_refusal_one_set_of_it() -> None:
    cells = schedule().cases
    case = next(c for c in cells if str(c) == "aws-lc:native:compact ML-DSA-44 sign")
    refused = [str(c) for c in cells if case.excludes(c, whole=False)]
    assert refused == [f"aws-lc:native:compact ML-DSA-44 {o}" for o in ("keygen", "sign", "verify")]
    broken = [c for c in cells if case.excludes(c, whole=True)]
    assert [c.variant.implementation for c in broken] == ["aws-lc"] * 6


def test_selection() -> None:
    def ids(*patterns: str, of: tuple[str, ...] = SETS) -> list[str]:
        return [v.id for v in select(VARIANTS, patterns, of)]

    assert ids() == [v.id for v in VARIANTS[:3]]
    assert ids(of=ALL_SETS) == [VARIANTS[i].id for i in (0, 1, 2, 4)]
    assert ids("mldsa-lanes") == [v.id for v in VARIANTS[:2]]
    assert ids("*:expanded") == [VARIANTS[1].id]
    assert ids("aws-lc,mldsa-lanes:avx2:compact") == [VARIANTS[2].id, VARIANTS[0].id]
    assert ids("mldsa-*") == [VARIANTS[i].id for i in (0, 1)]
    assert ids("mldsa-oracle") == ids("mldsa-oracle:*") == [VARIANTS[3].id]
    with pytest.raises(LabError, match=r"unknown implementation 'openssl'.*known are mldsa-lanes"):
        ids("openssl")
    with pytest.raises(LabError, match=r"nothing to measure: none.*has ML-DSA-44"):
        ids("dalek")


def test_names_of_sets_and_operations() -> None:
    assert parse_set_names(["87,44"]) == ("ML-DSA-44", "ML-DSA-87")
    assert parse_set_names(["ml-dsa-65", "ED25519"]) == ("ML-DSA-65", "Ed25519")
    assert parse_set_names(["all"]) == ALL_SETS
    assert parse_set_names(["classical"]) == CLASSICAL_SETS
    with pytest.raises(LabError, match="unknown parameter set '45': known are 44, 65, 87"):
        parse_set_names(["44", "45"])
    assert parse_operations(["verify", "sign"]) == ("sign", "verify")
    with pytest.raises(LabError, match="unknown operation 'trace': known are keygen"):
        parse_operations(["sign,trace"])


def test_seeds() -> None:
    assert parse_seed("ab" * 32) == b"\xab" * 32
    assert parse_seed("today") == parse_seed("today") != parse_seed("tomorrow")
    assert len(parse_seed("")) == 32
