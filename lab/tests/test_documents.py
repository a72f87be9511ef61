"""The documents: links lead somewhere, commands and options exist, tables are up to date."""

from __future__ import annotations

import importlib
import importlib.util
import re
import shlex
import subprocess
import sys
import tomllib
from os.path import normpath
from pathlib import Path
from typing import Any

import pytest
import typer
from lab_runs import build_rust, load_script
from report_records import SIGNERS, Shape, build
from tiers import first_of

from mldsa_lab import LabError
from mldsa_lab.cli.main import app
from mldsa_lab.kinds.operations import FIELDS
from mldsa_lab.show.figure_tables import FigureRow, as_csv
from mldsa_lab.study.file import shipped

ROOT = Path(__file__).parents[2]
PROJECTS = ("", "library/", "lab/", "rtl/")
SOURCES = ("lab/src", "lab/studies/src", "lab/impact/src", "rtl/bench/src")
DOCUMENTS = sorted(
    path
    for pattern in (
        "*.md",
        "docs/**/*.md",
        "*/README.md",
        "library/*/*/*.md",
        "records/*.md",
        "lab/workers/*.md",
        "lab/notes/*.md",
        "library/evidence/*.md",
        "rtl/core/*.md",
    )
    for path in ROOT.glob(pattern)
)
NAMES = [str(path.relative_to(ROOT)) for path in DOCUMENTS]
LINK = re.compile(r"\]\(([^()\s]+)\)")
FENCE = re.compile(r"^ *```.*?^ *```$", re.M | re.S)
SPAN = re.compile(r"`([^`\n]+)`")
HEADING = re.compile(r"^#+ +(.*)$", re.M)
LAB = re.compile(r"(?:^|bin/)mldsa-lab ([a-z][^#|;\n]*)")
MAKE = re.compile(r"(?:^|\s)make ([a-z][a-z0-9-]*)(?: ARGS=(\"[^\"]*\"|\S+))?")
PATHS = re.compile(r"(?<![\w/.*{-])((?:docs|lab|library|records|rtl|scripts)/[\w./-]*\w)")
# An example's folder in CONTRIBUTING, and a log, which names what was there.
NOT_THERE = {"CONTRIBUTING.md": {"lab/workers/c"}}
LOGS = ("library/evidence/performance-log.md", "docs/decisions/", "CHANGELOG.md")
# Names of file formats, which begin like commands.
FORMATS = ("claims", "pool", "selection", "cost-model", "record")
SAID = (["study"], ["study", "costs"], ["study", "result"])
# Said in other ways by everybody else.
ODD = re.compile(r"\b(dear|dearer|dearest|house|rooms|passed over|whence|thereby)\b", re.I)


def text_of(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def code_of(text: str) -> list[str]:
    """The lines of code blocks, and the code within sentences."""
    blocks = [line for block in FENCE.findall(text) for line in block.splitlines()[1:-1]]
    return blocks + SPAN.findall(FENCE.sub("", text))


def anchors(text: str) -> set[str]:
    """What `#…` may name in a document, as GitHub makes it of the headings."""
    headings = HEADING.findall(FENCE.sub("", text))
    plain = (re.sub(r"[^\w\- ]", "", heading.lower()) for heading in headings)
    return {heading.replace(" ", "-") for heading in plain}


COMMANDS: Any = typer.main.get_command(app)


def wrong_options(words: list[str]) -> list[str]:
    """What among the words of a command line the lab does not have: the command or options."""
    if words[0] == "study" and (
        words[1] in ("NAME", "list", *shipped()) or words[1].endswith(".toml")
    ):
        words = ["study", "run", *words[2:]]
    found = COMMANDS
    while hasattr(found, "commands"):
        if not words:
            return []
        if words[0] not in found.commands:
            return [f"no command {words[0]}"]
        found, words = found.commands[words[0]], words[1:]
    if found.context_settings.get("ignore_unknown_options"):
        return []  # an argparse of its own reads them
    known = {"--help", *(o for p in found.params for o in (*p.opts, *p.secondary_opts))}
    given = [word.split("=")[0] for word in words if re.match(r"--?[a-z]", word)]
    return [option for option in given if option not in known]


def broken_links(name: str) -> list[str]:
    text = text_of(name)
    broken = []
    for target in LINK.findall(FENCE.sub("", text)):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        at = (ROOT / name).parent / path if path else ROOT / name
        if not at.exists() or (
            anchor and at.suffix == ".md" and anchor not in anchors(at.read_text(encoding="utf-8"))
        ):
            broken.append(target)
    return broken


def wrong_commands(name: str) -> list[str]:
    """The commands, options and targets of `make` in a document that do not exist."""
    wrong = []
    makefiles = "".join(text_of(f"{project}Makefile") for project in PROJECTS)
    targets = set(re.findall(r"^([a-z][a-z0-9-]*):", makefiles, re.M))
    groups = tomllib.loads(text_of("pyproject.toml"))["dependency-groups"]
    targets |= {f"setup-{group}" for group in groups}
    for line in code_of(text_of(name)):
        for said in LAB.findall(line):
            words = shlex.split(re.sub(r"[…\[\]]", " ", said), posix=True)
            if words[0] in FORMATS or words[:2] in SAID:
                continue
            wrong += [f"{line}: {option}" for option in wrong_options(words)]
        for target, arguments in MAKE.findall(line):
            if target not in targets:
                wrong.append(f"{line}: make has no {target}")
            if target == "bench" and arguments:
                words = shlex.split(arguments.strip('"'))
                wrong += [f"{line}: {option}" for option in wrong_options(["bench", *words])]
    return wrong


def missing_files(name: str) -> set[str]:
    if name.startswith(LOGS):
        return set()
    missing = [
        path
        for line in code_of(text_of(name))
        for path in PATHS.findall(line)
        if not re.search("/(target|out)/", path) and not (ROOT / path).exists()
    ]
    return set(missing) - NOT_THERE.get(name, set())


def missing_python(name: str) -> list[str]:
    """The modules of this project in a document, and names of them, that cannot be imported."""
    missing = []
    for line in code_of(text_of(name)):
        for module in re.findall(r"python3? -m ((?:mldsa|pqc)_[\w.]+)", line):
            if importlib.util.find_spec(module) is None:
                missing.append(module)
        # The wheel mldsa_lanes is not here; library/bindings/python/tests runs its examples.
        if found := re.match(
            r" *from ((?!mldsa_lanes)(?:mldsa|pqc)_[\w.]+) import ([\w, ]+)", line
        ):
            module = importlib.import_module(found[1])
            names = (n.strip() for n in found[2].split(","))
            missing += [f"{found[1]}.{n}" for n in names if not hasattr(module, n)]
    return missing


@pytest.mark.parametrize("name", NAMES)
def test_what_a_document_names_exists(name: str) -> None:
    assert broken_links(name) == []
    # A log has the commands of its time.
    assert name.startswith(LOGS) or wrong_commands(name) == []
    assert missing_files(name) == set()
    assert missing_python(name) == []


def test_architecture_names_every_folder() -> None:
    assert {"README.md", "CONTRIBUTING.md", "docs/method.md", "lab/workers/PROTOCOL.md"} <= set(
        NAMES
    )
    text = text_of("ARCHITECTURE.md")
    lab = [path.name for path in (ROOT / "lab" / "src" / "mldsa_lab").iterdir() if path.is_dir()]
    assert [name for name in lab if f"`{name}/`" not in text and name != "__pycache__"] == []
    rest = ("library/crates", "library/verify", "library/bindings", "lab/examples", "lab/workers")
    rest += ("lab/bench", "lab/studies", "lab/impact", "rtl/bench")
    assert [name for name in rest if f"{name}/" not in text] == []
    crates = [p.parent.name for p in ROOT.glob("library/*/mldsa-*/Cargo.toml")]
    assert len(crates) >= 10
    assert [name for name in crates if name not in text] == []


def test_words_are_plain() -> None:
    programs = [
        path
        for folder in (
            *SOURCES,
            "scripts",
            "library/scripts",
            "lab/scripts",
            "lab/examples",
            "lab/workers",
        )
        for path in (ROOT / folder).rglob("*")
        if path.suffix in (".py", ".j2", ".js", ".sh", ".toml", ".go", ".rs")
    ]
    assert len(programs) > 150
    found = {
        str(path.relative_to(ROOT)): words
        for path in [*DOCUMENTS, *programs, *(ROOT / f"{p}Makefile" for p in PROJECTS)]
        if (words := ODD.findall(path.read_text(encoding="utf-8")))
    }
    assert found == {}


def test_readme_leads_everywhere() -> None:
    """By README or the page of all commands and documents, which README names."""
    assert len(text_of("README.md").splitlines()) <= 120
    index = text_of("docs/commands.md")
    readme = {link.split("#")[0] for link in LINK.findall(text_of("README.md"))}
    listed = {normpath(f"docs/{link.split('#')[0]}") for link in LINK.findall(index)}
    folders = ("docs", "lab/notes", "library/evidence")
    paths = (path for folder in folders for path in (ROOT / folder).glob("*.md"))
    documents = {str(path.relative_to(ROOT)) for path in paths}
    assert documents - readme - listed == set()
    assert [name for name in COMMANDS.commands if f"`mldsa-lab {name}`" not in index] == []


def test_example_of_a_mix_runs(tmp_path: Path) -> None:
    """The script of docs/migration-cost.md, on two rows of the table for programs."""
    (block,) = re.findall(
        r"^ *```python\n(.*?)^ *```$", text_of("docs/migration-cost.md"), re.M | re.S
    )
    script = "\n".join(line.removeprefix("   ") for line in block.splitlines())
    costs = {("ECDSA-P256", "verify"): 40_000.0, ("ML-DSA-65", "verify"): 12_500.0}
    rows: list[FigureRow] = [
        dict.fromkeys(FIELDS)
        | {"set": name, "operation": operation, "mean": mean, "key": "compact"}
        | {"batch_size": 1, "threads": 1, "implementation": "some"}
        for (name, operation), mean in costs.items()
    ]
    (tmp_path / "rows.csv").write_text(as_csv(rows), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines() == [
        "before: 120.0 µs; ECDSA-P256 verify: some",
        "after: 37.5 µs; ML-DSA-65 verify: some",
    ]


# --- tables from records --------------------------------------------------------------------------


PROSE = load_script(ROOT / "lab" / "scripts" / "prose.py")  # which documents.py imports
SCRIPT = load_script(ROOT / "lab" / "scripts" / "documents.py")
MARKED = [str(path.relative_to(ROOT)) for path in SCRIPT.documents()]
# Impact signs samples, with workers in Rust.
SCENARIOS = [n for n in MARKED if "<!-- mldsa-lab:impact" in (ROOT / n).read_text()]


@pytest.mark.parametrize(
    "name",
    # First, and so in the fast tier, a document whose record is small.
    first_of(sorted(set(MARKED) - set(SCENARIOS), key=lambda n: (n != "docs/rustls.md", n))),
)
def test_tables_of_documents_are_up_to_date(name: str) -> None:
    """If this fails: `make tables`."""
    assert {"README.md", "rtl/core/README.md", "lab/notes/methodology.md"} <= set(MARKED)
    assert SCRIPT.main(["--check", str(ROOT / name)]) == 0


@pytest.mark.toolchain
def test_tables_of_scenarios_are_up_to_date() -> None:
    for worker in ("rust", "rust-families"):
        build_rust(worker)
    assert SCRIPT.main(["--check", *(str(ROOT / name) for name in SCENARIOS)]) == 0


# Numbers that are no figures: names, versions, dates, sections.
EXEMPT = re.compile(
    r"\d{4}-\d\d-\d\d"  # dates
    r"|\b[\w./]*[A-Za-z]-?\d[\w.]*(?:-\d+\w*)?"  # names: ML-DSA-65, P-256, AVX2, p99, Apache-2.0
    r"|ML-DSA-44, 65, 87|44 / 65 / 87"
    r"|\b(?:Go|Python|TLS|Zen|gcc|liboqs|rustc|wolfSSL) \d[\d.]*"  # versions
    r"|Rust from rustup \(\d[\d.]*|Go \(\d[\d.]*"
    r"|\bFIPS \d+|\btable \d+|\bRFC \d+"
    r"|\b95 % confidence interval"
    r"|^\d+\. |\b1 thread\b",  # items of lists
    re.M,
)
WORDS = "two|three|four|five|six|seven|eight|nine|ten|twelve|twenty|hundred|thousand|half|thirds?"
CLAIM = re.compile(
    rf"\d[\d.,]*|(?:{WORDS}) to (?:{WORDS}|twice)"
    rf"|(?:{WORDS}|some|few) (?:times|minutes?|seconds?)|\b(?:once|one) in (?:a|{WORDS})\b"
    r"|\b(?:a|some|few|about a) (?:minutes?|seconds?)\b",
)
"""A number, or words that say one."""


def claims(name: str, text: str) -> list[str]:
    """The numbers in a document's sentences that neither a marker nor a phrase writes."""
    text = SCRIPT.MARKER.sub(lambda m: m[0] if m["code"] else "", text)
    for phrase, _ in PROSE.PHRASES[name]:
        text = PROSE.holes(phrase).sub(lambda m: "–".join(m.groups()), text)
    # Of a block of code, what stands behind `#`.
    text = FENCE.sub(lambda m: "\n".join(re.findall(r" # (.*)$", m[0], re.M)), text)
    text = re.sub(r"\]\([^()\s]*\)", "]", SPAN.sub("", text))
    return CLAIM.findall(EXEMPT.sub("", text))


@pytest.mark.parametrize("name", PROSE.PHRASES)
def test_numbers_in_sentences_are_written_by_the_script(name: str) -> None:
    """If this fails: add the phrase to `lab/scripts/prose.py`, or leave the number out."""
    assert claims(name, text_of(name)) == []


@pytest.mark.parametrize(
    ("sentence", "found"),
    [
        ("over 20 once in a thousand", ["20", "once in a"]),
        ("build and measure: a minute after", ["a minute"]),
        ("two to four times what it did with RSA", ["two to four"]),
        ("| embedded | 2.60 | 124 KiB |", ["2.60", "124"]),
        ("ML-DSA-65 (FIPS 204, table 2) on a Zen 5 with AVX-512, rustc 1.95, 2026-11-22", []),
    ],
)
def test_a_number_in_a_sentence_is_found(sentence: str, found: list[str]) -> None:
    assert claims("README.md", f"Before.\n{sentence}\n") == found


@pytest.mark.parametrize("text", ["", "3.9 to 5.1 iterations on average, " * 2])
def test_a_phrase_is_in_its_document_once(text: str) -> None:
    with pytest.raises(
        LabError, match=r"phrase '\{\} to \{\} iterations on average'.* expected once"
    ):
        PROSE.filled(ROOT / "README.md", text)


def test_the_script_writes_numbers_in_sentences(monkeypatch: pytest.MonkeyPatch) -> None:
    phrases = [("{} to {} µs", lambda: ["3.5", "1,024"]), ("{} rounds", lambda: ["7"])]
    monkeypatch.setitem(PROSE.PHRASES, "NOTES.md", phrases)
    text = "It takes 1 to 2 µs (11 rounds), 99 bytes."
    right = "It takes 3.5 to 1,024 µs (7 rounds), 99 bytes."
    assert PROSE.filled(ROOT / "NOTES.md", text) == right
    assert PROSE.filled(ROOT / "docs" / "NOTES.md", text) == text


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("documents")
    shape = Shape(sets=("ML-DSA-65",), signers=SIGNERS, rounds=4, batch_sizes=(8,))
    build(folder / "run.jsonl", shape)
    return folder


def note(folder: Path, words: str) -> Path:
    """A document with a marker, and one within a block of code."""
    target = folder / "NOTES.md"
    text = f"<!-- mldsa-lab:table record=run.jsonl {words} -->\nold\n<!-- /mldsa-lab:table -->\n"
    target.write_text(f"```\n{text}```\n{text}After.\n")
    return target


def rows(folder: Path, words: str) -> list[list[str]]:
    """The cells of the table that the script makes."""
    target = note(folder, words)
    before = target.read_text()
    assert SCRIPT.main(["--check", str(target)]) == 1 and target.read_text() == before
    assert SCRIPT.main([str(target)]) == 0 == SCRIPT.main(["--check", str(target)])
    text = target.read_text()
    example, _, made = text.partition("```\n<!--")[2].partition("```\n")
    assert "\nold\n" in example and "old" not in made and text.endswith("-->\nAfter.\n")
    lines = [line for line in made.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def test_rows_are_implementations_variants_or_operations(folder: Path) -> None:
    header, _, *lines = rows(folder, 'rows=variants columns=key,"by=variant",sign@65.mean')
    assert header == ["key", "by", "sign 65, mean, µs"]
    costs = [float(line[2].split()[0].replace(",", "")) for line in lines]
    assert costs == sorted(costs) and "±" in lines[0][2]
    _, _, *lines = rows(folder, "columns=implementation,sign.ratio implementations=aws-lc,circl")
    assert sorted(line[0] for line in lines) == ["aws-lc", "circl"]
    words = "sets=65 operations=sign,verify implementations=mldsa-lanes"
    header, _, *lines = rows(folder, f"rows=operations {words}")
    assert header == ["", "65"] and {"sign", "sign, expanded key"} <= {line[0] for line in lines}
    _, _, *lines = rows(folder, "rows=fastest sets=65 operations=sign")
    assert re.fullmatch(r"([\w-]+); ([\w-]+) × (\d\.\d\d)", lines[0][1])


@pytest.mark.parametrize(
    ("words", "rule"),
    [
        ("nonsense", "'nonsense': must be NAME=VALUE"),
        ("colour=red", "unknown field `colour`"),
        ("rows=all", "Invalid enum value 'all'"),
        ("columns=sign@65.p42", "column 'sign@65.p42': must be one of"),
        ("sets=66 columns=key", "unknown parameter set '66'"),
        ("implementations=nosuch columns=key", "nothing of what the marker asks for"),
        ("columns='sign", "No closing quotation"),
    ],
)
def test_a_wrong_marker_is_named_and_nothing_is_written(
    folder: Path, capsys: pytest.CaptureFixture[str], words: str, rule: str
) -> None:
    target = note(folder, words)
    before = target.read_text()
    assert SCRIPT.main([str(target)]) == 2 and target.read_text() == before
    error = capsys.readouterr().err
    assert f"{target}:6: " in error and rule in error
    target.write_text("<!-- mldsa-lab:table rows=block -->\n")
    assert SCRIPT.main([str(target)]) == 2 and "has no end" in capsys.readouterr().err
