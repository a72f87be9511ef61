"""Bad scenarios, networks and commands: one line that names the file, the place and the rule."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from chains import AT_ONCE, CHAIN, FULL, NETWORK, figures, times, write
from fuzz_readers import Reader, files, fuzz
from lab_runs import here

from mldsa_lab import LabError
from pqc_impact.expression import evaluate
from pqc_impact.file import find_scenario, read_scenario
from pqc_impact.network import find_network, read_network
from pqc_impact.spreading import add_network
from pqc_impact.sweep import propagate


def spread(path: Path) -> object:
    def simulate(*arguments: Any) -> Any:
        return propagate(*arguments, AT_ONCE)

    return add_network(figures(path), times(), path.parent, simulate)


class Base(NamedTuple):
    """A right file, and its reader."""

    text: str
    read: Callable[[Path], object]


BASES = {
    "chain": Base(FULL, figures),
    "spread": Base(CHAIN + NETWORK, spread),
    "bitcoin": Base(find_scenario("bitcoin").read_text(encoding="utf-8"), read_scenario),
    "tls": Base(find_scenario("tls").read_text(encoding="utf-8"), read_scenario),
    "network": Base(find_network("bitcoin-2019").read_text(encoding="utf-8"), read_network),
}
USE = 'use = { data = "bytes" }'


@pytest.mark.parametrize(
    ("base", "old", "new", "rule"),
    [
        ("chain", 'interval = "2 s"', 'interval = "2"', "interval: '2' has no unit"),
        ("chain", 'interval = "2 s"', 'interval = "2 kB"', "interval: '2 kB' is in kB, must be"),
        ("chain", 'interval = "2 s"', 'interval = "0 s"', "interval: '0 s' must be above zero"),
        ("chain", '"1 MB"', '"-1 MB"', "limits[0]: block: '-1 MB' must not be"),
        ("chain", '"1 MB"', '"900 B"', "limits[0]: block: must be above what is reserved"),
        ("chain", "block =", "blocks =", "limits[0]: Object contains unknown field `blocks`"),
        ("chain", 'block = "1 MB"\n', "", "limits[0]: Object missing required field `block`"),
        ("chain", '"1 MB"', '"1100 B"', "limits[0].block: the data of a block is smaller"),
        ("chain", '"3 coins/kB"', '"3 coins"', "limits[0]: price: '3 coins' is no price"),
        ("chain", '"1 to 3 million"', '"3 to 1 million"', "must go from the less"),
        ("chain", 'given = ["10 MB"]', 'given = ["1 kB"]', "limits[0]: given: must be above what"),
        ("chain", '"ML-DSA-44"', '"ML-DSA-45"', "schemes: scheme 'ML-DSA-45' is unknown: known"),
        ("chain", '"ML-DSA-44", "Sch', '"ML-DSA-44", "Dilithium2", "Sch', "44 is given twice"),
        ("chain", '= "Ed25519"', '= "ML-DSA-87"', "compare: 'ML-DSA-87' must be one of"),
        ("chain", '"signature", h', '"signatur", h', "templates[0].parts[1].bytes: 'signatur': "),
        ("chain", 'bytes = "100"', 'bytes = "100 - 200"', "is -100: must be zero or more"),
        ("chain", 'bytes = "100"', 'bytes = "().x"', "parts[0].bytes: '().x' is no formula"),
        ("chain", USE, '[templates.use]\ndata = "bytes"\ngas = "1"',
         "templates[0].use.\"gas\": no limit is called 'gas': add one as a table"),
        ("chain", USE, 'beside = "Transport"', "no template is called 'Transport'"),
        ("chain", USE, "", "Transfer: uses no limit and has no per_block"),
        ("chain", "most = 1000", 'most = 1000\nonly = ["Loan"]', "rules[0].only: no template or"),
        ("chain", "most = 1000", "", "of and most are given together"),
        ("chain", "[node]", '[by_scheme.gas]\n"ML-DSA-4" = 2\n\n[node]',
         "by_scheme.gas: scheme 'ML-DSA-4' is unknown"),
        ("chain", "[node]", "[numbers]\nbytes = 3\n[node]", "'bytes' cannot be the name of a"),
        ("chain", "cores = [1, 2]", "cores = [1, 4]", "node.cores: 4 cores, and"),
        ("chain", "verified", 'mempool_each = "0"\nverified', "node.mempool_each: a transaction"),
        ("chain", "[node]", "[nodes]", "Object contains unknown field `nodes`"),
        ("chain", 'model = "account"', 'model = "bank"', "model: 'bank' must be one of"),
        ("chain", "version = 1", "version = 2", "version: 2 must be one of 1"),
        ("chain", 'title = "A', "title = A", "not a readable TOML file"),
        ("chain", "loads = [0.5]", "loads = [1.0]", "server.loads[0]"),
        ("spread", '["Transfer"]', '["Gift"]', "no template is called 'Gift'"),
        ("spread", "blocks = 4", "stale = false", "intervals: are for stale blocks"),
        ("spread", "bitcoin-2019", "bitcoin-1999", "unknown network 'bitcoin-1999': known are"),
        ("spread", "nodes = 100", "nodes = 10", "a node of 10 has too many connections"),
        ("bitcoin", "witness_scale = 4", "witness_scale = 1",
         "limits[0].price: '10 sat/vB': a vB is 4 WU, which needs witness_scale = 4"),
        ("tls", '"Ed25519", "RSA', '"ECDSA-P256 DER", "RSA', "a protocol has its own encoding"),
        ("tls", '"Ed25519", "RSA', '"FN-DSA-512", "RSA', "terms: tbs, FN-DSA-512: "),
        ("tls", 'signed = "1"', 'signed = "one"', "'one' is unknown"),
        ("tls", "intermediates = 1 ", "intermediates = -1 ", "numbers.intermediates: Expected"),
        ("network", "share = 0.3316", "share = 0.5", "regions: the shares add up to 1."),
        ("network", "[32, 124, 184, 198, 151, 189]", "[32, 124]", "latency_ms must have 6 rows"),
        ("network", "= 19.2", "= -1", "regions[0].upload_mbps"),
        ("network", '["compact", "request"]', '["gossip"]', "relays[0]"),
    ],
)  # fmt: skip
def test_a_bad_file_is_named_in_one_line(
    tmp_path: Path, base: str, old: str, new: str, rule: str
) -> None:
    text, read = BASES[base]
    path = write(tmp_path, (old, new), text=text)
    with pytest.raises(LabError, match=re.escape(rule)) as caught:
        read(path)
    assert base == "spread" or "cores, and" in rule or str(caught.value).startswith(str(path))
    assert "\n" not in str(caught.value)


def test_every_unknown_scheme_is_named_at_once(tmp_path: Path) -> None:
    path = write(
        tmp_path, ('"ML-DSA-44", "Sch', '"Kyber", "Ed25519+ML-DSA-4", "Sch'),
        ("most = 1000", 'most = 1000\nbut = ["Nope"]'), ('{ "ML-DSA-44" = "m', '{ "Falcon" = "m'),
        text=FULL,
    )  # fmt: skip
    with pytest.raises(LabError, match=r"chain\.toml, schemes") as caught:
        read_scenario(path)
    assert str(caught.value).partition(": known are")[0].partition(", ")[2] == (
        "schemes: scheme 'Kyber' is unknown; schemes: scheme 'ML-DSA-4' is unknown; rules[0].but: "
        "scheme 'Nope' is unknown; server.implementations: scheme 'Falcon' is unknown"
    )


def test_formulas() -> None:
    names = {"n": 3.0}
    assert evaluate("2 * (n + push(80)) - max(1, n) / 3", names) == 2 * (3 + 82) - 1
    wrong = ("n +", "n if n else 1", "'a'", "True", "n.real", "2 ** 9", "push(content=1)", "[n]")
    wrong += ("push(1)(2)", "().__class__", "n; n", "1 / (n - 3)", "push(1, 2)", "ceil + n")
    for text in (*wrong, "words(1e400)", "-" * 9000 + "1"):
        with pytest.raises(ValueError, match=r"is no formula"):
            evaluate(text, names)
    with pytest.raises(ValueError, match=r"'exec' is unknown: known are compact_size"):
        evaluate("exec(n)", names)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("impact", "dogecoin"), "unknown scenario 'dogecoin': known are bitcoin"),
        (("propagate", "bitcoin-1999", "--bytes", "1000"), "unknown network 'bitcoin-1999': known"),
        (("propagate", "bitcoin-2019", "--bytes", "1000", "--nodes", "20"), "too many connections"),
        (("propagate", "none.toml", "--bytes", "1000"), "none.toml: cannot read it"),
    ],
)
def test_a_bad_command_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], message: str
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.chdir(tmp_path)
    done = here(*words)
    assert done.status == 2 and not done.out
    (line,) = done.err.splitlines()
    assert message in line


SCENARIOS = "lab/impact/src/pqc_impact/scenarios"
READERS = {
    "scenario": Reader(".toml", read_scenario, files(SCENARIOS, "*.toml")),
    "network": Reader(".toml", read_network, files(f"{SCENARIOS}/networks", "*.toml")),
}


@pytest.mark.simulation
@pytest.mark.parametrize("name", READERS)
def test_bent_files_are_read_or_refused(name: str, tmp_path: Path) -> None:
    fuzz(name, READERS[name], tmp_path)
