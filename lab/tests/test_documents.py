"""The documents: links lead somewhere, commands and options exist, words are plain."""

from __future__ import annotations

import importlib
import importlib.util
import json
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import typer

from mldsa_lab.cli.main import app
from mldsa_lab.estimate.pipeline import pipeline_figures
from mldsa_lab.estimate.summary import KEYS
from mldsa_lab.records import read_record
from mldsa_lab.sets import PARAMETER_SETS
from mldsa_lab.study.file import shipped
from pqc_impact.times import REFERENCE

ROOT = Path(__file__).parents[2]
SOURCES = ("lab/src", "studies/src", "impact/src", "rtl/bench/src")
DOCUMENTS = sorted(
    path
    for pattern in ("*.md", "docs/**/*.md", "crates/*/*.md", "records/*.md", "workers/*.md")
    for path in ROOT.glob(pattern)
)
NAMES = [str(path.relative_to(ROOT)) for path in DOCUMENTS]
LINK = re.compile(r"\]\(([^()\s]+)\)")
FENCE = re.compile(r"^ *```.*?^ *```$", re.M | re.S)
SPAN = re.compile(r"`([^`\n]+)`")
HEADING = re.compile(r"^#+ +(.*)$", re.M)
LAB = re.compile(r"(?:^|bin/)mldsa-lab ([a-z][^#|;\n]*)")
MAKE = re.compile(r"(?:^|\s)make ([a-z][a-z0-9-]*)(?: ARGS=(\"[^\"]*\"|\S+))?")
PATHS = re.compile(
    r"(?<![\w/.*{-])((?:crates|docs|examples|impact|lab|records|rtl|scenarios|scripts|studies"
    r"|workers)/[\w./-]*\w)"
)
# An example's folder in CONTRIBUTING, and a log, which names what was there.
NOT_THERE = {"CONTRIBUTING.md": {"workers/c"}}
LOGS = ("docs/performance-log.md", "docs/decisions/", "CHANGELOG.md")
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
    if words[0] == "study" and (words[1] in ("NAME", *shipped()) or words[1].endswith(".toml")):
        words = ["study", "run", *words[2:]]
    found = COMMANDS
    while hasattr(found, "commands"):
        if not words or words[0] not in found.commands:
            return [f"no command {' '.join(words[:1])}"]
        found, words = found.commands[words[0]], words[1:]
    if found.context_settings.get("ignore_unknown_options"):
        return []  # an argparse of its own reads them
    known = {"--help", *(o for p in found.params for o in (*p.opts, *p.secondary_opts))}
    given = [word.split("=")[0] for word in words if re.match(r"--?[a-z]", word)]
    return [option for option in given if option not in known]


def test_documents_are_found() -> None:
    assert {"README.md", "CONTRIBUTING.md", "docs/BIAS.md", "workers/PROTOCOL.md"} <= set(NAMES)


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
    targets = set(re.findall(r"^([a-z][a-z0-9-]*):", text_of("Makefile"), re.M))
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
        if "/target/" not in path and not (ROOT / path).exists()
    ]
    return set(missing) - NOT_THERE.get(name, set())


def missing_python(name: str) -> list[str]:
    """The modules of this project in a document, and names of them, that cannot be imported."""
    missing = []
    for line in code_of(text_of(name)):
        for module in re.findall(r"python3? -m ((?:mldsa|pqc)_[\w.]+)", line):
            if importlib.util.find_spec(module) is None:
                missing.append(module)
        # The wheel mldsa_lanes is not here; bindings/python/tests runs its examples.
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
    assert wrong_commands(name) == []
    assert missing_files(name) == set()
    assert missing_python(name) == []


def test_architecture_names_every_folder() -> None:
    text = text_of("ARCHITECTURE.md")
    lab = [path.name for path in (ROOT / "lab" / "src" / "mldsa_lab").iterdir() if path.is_dir()]
    assert [name for name in lab if f"`{name}/`" not in text and name != "__pycache__"] == []
    rest = ("crates", "examples", "workers", "bench", "studies", "impact", "rtl/bench")
    assert [name for name in rest if f"{name}/" not in text] == []
    crates = [path.name for path in (ROOT / "crates").iterdir() if path.is_dir()]
    assert [name for name in crates if name not in text] == []


def test_words_are_plain() -> None:
    programs = [
        path
        for folder in (*SOURCES, "scripts", "examples", "workers")
        for path in (ROOT / folder).rglob("*")
        if path.suffix in (".py", ".j2", ".js", ".sh", ".toml", ".go", ".rs")
    ]
    assert len(programs) > 150
    found = {
        str(path.relative_to(ROOT)): words
        for path in [*DOCUMENTS, *programs, ROOT / "Makefile"]
        if (words := ODD.findall(path.read_text(encoding="utf-8")))
    }
    assert found == {}


def test_readme_leads_everywhere() -> None:
    """By README or the page of all commands and documents, which README names."""
    index = text_of("docs/commands.md")
    readme = {link.split("#")[0] for link in LINK.findall(text_of("README.md"))}
    listed = {f"docs/{link.split('#')[0]}" for link in LINK.findall(index)}
    documents = {str(path.relative_to(ROOT)) for path in ROOT.glob("docs/*.md")}
    assert documents - readme - listed == set()
    assert [name for name in COMMANDS.commands if f"`mldsa-lab {name}`" not in index] == []


@pytest.mark.simulation
def test_documents_agree_with_the_records_and_the_code() -> None:
    # In KiB: 1 a polynomial of the matrix and of t0, .75 one of s1 and s2; the public key.
    sizes = [
        p.k * p.l + p.k + 0.75 * (p.l + p.k) + p.public_key_bytes / 1024
        for p in PARAMETER_SETS.values()
    ]
    said = "{:.0f}, {:.0f} or {:.0f} KiB (ML-DSA-44, 65, 87)".format(*sizes)
    assert said in text_of("docs/migration-cost.md")
    number = {2: "two", 3: "three"}[len(REFERENCE)]
    assert f"Without one, {number} [published records]" in text_of("docs/scenarios.md")


def test_the_two_ratios_of_the_pipeline_study_are_named() -> None:
    folder = ROOT / "records/2026-11-23-epyc-zen4-pipeline"
    paths = sorted(folder.glob("*.xz"))
    figures = pipeline_figures([read_record(path) for path in paths], 0.95)
    (gain,) = (f for f in figures if f.name == "gain")
    whole = {
        f.keys["pipeline"]: f.value
        for f in figures
        if f.name == "cost" and f.keys["stage"] == "whole"
    }
    text = text_of("docs/study-pipeline.md")
    quotient = whole[gain.keys["pipeline"]] / whole[gain.keys["against"]]
    for value in (f"{gain.value:.3f}", f"{quotient:.2f}"):
        assert value.removeprefix("0") in text


def test_readme_is_short() -> None:
    assert len(text_of("README.md").splitlines()) <= 120


def test_example_of_a_mix_runs(tmp_path: Path) -> None:
    """The script of docs/migration-cost.md, on two rows of the table for programs."""
    (block,) = re.findall(
        r"^ *```python\n(.*?)^ *```$", text_of("docs/migration-cost.md"), re.M | re.S
    )
    script = "\n".join(line.removeprefix("   ") for line in block.splitlines())
    costs = {("ECDSA-P256", "verify"): 40_000.0, ("ML-DSA-65", "verify"): 12_500.0}
    rows = [
        dict.fromkeys(KEYS)
        | {"set": name, "operation": operation, "mean": mean, "key": "compact"}
        | {"batch_size": 1, "threads": 1, "implementation": "some"}
        for (name, operation), mean in costs.items()
    ]
    (tmp_path / "rows.json").write_text(json.dumps(rows), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines() == [
        "before: 120.0 µs; ECDSA-P256 verify: some",
        "after: 37.5 µs; ML-DSA-65 verify: some",
    ]
