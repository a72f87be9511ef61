"""Imports run one way, those inside functions too, and in no circle; folders keep their size.
Classes have names of their own, no name or docstring begins with a banned word, and sentences of
docstrings are short."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest
from lab_runs import load_script

import mldsa_lab
import mldsa_lab_rtl
import mldsa_studies
import pqc_impact

OWN = ("LabError", "first_line", "join_words", "located", "suggest", "__version__")
"""What `mldsa_lab` itself defines."""
BASE = ("files", "sets", "checkout", "plugins", "machine", "parallel", "screen")
"""The modules that every folder may use; each may use those before it."""

MAY_USE: dict[str, tuple[str, ...]] = {
    "theory": (),
    "inputs": ("theory",),
    "choice": ("theory", "inputs"),
    "worker": ("theory", "inputs"),
    "records": ("theory", "inputs"),
    "bench": ("theory", "inputs", "choice", "worker", "records"),
    "estimate": ("theory", "inputs", "records"),
    "show": ("theory", "inputs", "records", "estimate"),
    "kinds": ("theory", "inputs", "worker", "records", "bench", "estimate", "show"),
    "study": (
        "theory",
        "inputs",
        "choice",
        "worker",
        "records",
        "bench",
        "estimate",
        "show",
        "kinds",
    ),
    "audit": ("theory", "inputs", "records", "estimate", "show"),
    "answers": ("theory", "inputs", "records", "estimate", "show", "kinds", "study", "audit"),
}
"""What each folder may use beside itself and `BASE`. The commands (`cli`) may use all of them."""

LAB = "mldsa_lab"
PACKAGES: dict[str, tuple[str, ...]] = {
    # `bench.material` signs samples, of which compressibility is measured.
    "pqc_impact": (
        "bench.material", "cli.shared", "estimate", "kinds", "records", "show", "theory.trace",
    ),
    "mldsa_lab_rtl": (
        "bench", "cli.shared", "estimate", "inputs", "records", "show", "theory", "worker",
    ),
    "mldsa_studies": (
        "bench", "choice", "cli.shared", "estimate", "inputs", "records", "show", "theory",
        "worker",
    ),
}  # fmt: skip
"""What each of the other packages may use of the lab beside `BASE`. None uses another, and the lab
uses none."""


def imported(source: str) -> Iterator[tuple[int, str]]:
    """Line and full name of each thing that a module imports of these packages."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "relative imports are not used here"
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            continue
        for name in names:
            if name.split(".")[0] in (LAB, *PACKAGES):
                yield node.lineno, name


def allowed(folder: str, name: str) -> bool:
    """Whether a module of this folder of the lab (or of the base, itself) may import ``name``."""
    package, _, rest = name.partition(".")
    used = rest.split(".")[0]
    if package != LAB:
        return False
    if folder in BASE:
        return used in BASE[: BASE.index(folder)] or used in OWN
    if folder == "cli" or used in (folder, *OWN, *BASE):
        return True
    return used in MAY_USE[folder]


def against(sources: dict[str, str]) -> list[str]:
    """The imports that run against the arrows: ``sources`` by path in the package."""
    result = []
    for path, source in sources.items():
        folder = Path(path).parts[0].removesuffix(".py")
        if folder != "__init__":
            result += [
                f"{path}:{line} imports {name}"
                for line, name in imported(source)
                if not allowed(folder, name)
            ]
    return result


def sources(package: str) -> dict[str, str]:
    root = Path(package).parent
    return {
        p.relative_to(root).as_posix(): p.read_text(encoding="utf-8")
        for p in sorted(root.rglob("*.py"))
    }


def test_imports_run_one_way() -> None:
    result = sources(mldsa_lab.__file__)
    folders = {Path(path).parts[0].removesuffix(".py") for path in result}
    assert folders == {"__init__", "cli", *BASE, *MAY_USE}
    assert against(result) == []


def test_the_architecture_names_every_module() -> None:
    text = (Path(__file__).parents[2] / "ARCHITECTURE.md").read_text(encoding="utf-8")
    table = dict(re.findall(r"^\| `(\w+)/` \| (.*?) \|", text, re.MULTILINE))
    modules: dict[str, set[str]] = {}
    for folder, _, name in (path.rpartition("/") for path in sources(mldsa_lab.__file__)):
        if folder not in ("", "cli") and name != "__init__.py":
            modules.setdefault(folder, set()).add(name.removesuffix(".py"))
    assert {f: set(re.findall(r"`(\w+)`", table[f])) for f in modules} == modules


@pytest.mark.parametrize("package", [mldsa_lab_rtl, mldsa_studies, pqc_impact])
def test_packages_use_of_the_lab_what_they_may(package: ModuleType) -> None:
    own = package.__name__
    used = {
        f"{path}:{line} imports {name}": f"{name}."
        for path, source in sources(str(package.__file__)).items()
        for line, name in imported(source)
        if name.split(".")[0] != own
    }
    base = [f"{LAB}.{name}." for name in (*BASE, *OWN)]
    may = [f"{LAB}.{name}." for name in PACKAGES[own]]
    assert [said for said, name in used.items() if not name.startswith((*base, *may))] == []
    assert [name for name in may if not any(n.startswith(name) for n in used.values())] == []


def test_what_runs_back_is_found() -> None:
    back = {
        "theory/law.py": "from mldsa_lab.theory import table\nfrom mldsa_lab.estimate import line",
        "estimate/line.py": "def f():\n    from mldsa_lab.show.grid import number",
        "files.py": "import mldsa_lab.machine\nfrom mldsa_lab import LabError",
        "show/page.py": "from mldsa_lab import bench, files\nimport mldsa_studies.page",
        "cli/study.py": "import pqc_impact.page\nfrom mldsa_lab.audit import rules",
    }
    assert against(back) == [
        "theory/law.py:2 imports mldsa_lab.estimate.line",
        "estimate/line.py:2 imports mldsa_lab.show.grid.number",
        "files.py:1 imports mldsa_lab.machine",
        "show/page.py:1 imports mldsa_lab.bench",
        "show/page.py:2 imports mldsa_studies.page",
        "cli/study.py:1 imports pqc_impact.page",
    ]


def shared_names(sources: dict[str, str]) -> dict[str, list[str]]:
    """The names of classes that stand in several modules, with these."""
    result: dict[str, list[str]] = {}
    for path, source in sources.items():
        for node in ast.parse(source).body:
            if isinstance(node, ast.ClassDef):
                result.setdefault(node.name, []).append(path)
    return {name: paths for name, paths in result.items() if len(paths) > 1}


def test_every_class_has_a_name_of_its_own() -> None:
    assert shared_names(all_sources()) == {}
    two = {"a.py": "class Cell: ...", "b.py": "class Cell(int): ...\nclass Other: ..."}
    assert shared_names(two) == {"Cell": ["a.py", "b.py"]}


# --- names ----------------------------------------------------------------------------------------


BANNED = (
    "found", "of", "made", "given", "wanted", "told", "kin", "again", "beside", "said", "attempt",
    "attempts",
)  # fmt: skip
"""Words that say nothing of the value they name, and an old word for iterations."""
IN_FILES = {
    "mldsa_lab/audit/claims.py": ["of", "attempts"],
    "mldsa_lab/inputs/selection.py": ["made"],
    "mldsa_lab_rtl/manifest.py": ["attempts"],
    "pqc_impact/base.py": ["of", "beside"],
    "pqc_impact/chain.py": ["given"],
    "pqc_impact/file.py": ["beside"],
    "lab/scripts/documents.py": ["of"],
}
"""Those that are fields of a file's format."""
MOST_WORDS = 30
"""Words of the longest sentence in a docstring."""
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef)


def declared(source: str) -> Iterator[str]:
    """Yield the names of variables, parameters, attributes, functions and classes."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.id if isinstance(node, ast.Name) else node.attr
        elif isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name


def banned(source: str) -> list[str]:
    """Return the banned words among a module's names, and first words of its docstrings."""
    names = {name.strip("_") for name in declared(source)}
    nodes = [n for n in ast.walk(ast.parse(source)) if isinstance(n, DOCUMENTED)]
    first = {text.split()[0] for node in nodes if (text := ast.get_docstring(node))}
    return [word for word in (*BANNED, "What", "Whether") if word in names | first]


def long_sentences(source: str) -> list[str]:
    """Return the first words of the sentences over `MOST_WORDS` in docstrings, also of fields."""
    constants = [
        n.value for n in ast.walk(ast.parse(source))
        if isinstance(n, ast.Expr) and isinstance(n.value, ast.Constant)
    ]  # fmt: skip
    paragraphs = [
        " ".join(part.split())
        for text in constants
        if isinstance(text.value, str)
        for part in re.split(r"\n\s*\n|\n\s*(?:-|\d+\.)\s", text.value)
    ]
    sentences = [s.split() for part in paragraphs for s in re.split(r"(?<=[.!?:])\W*\s", part)]
    return [" ".join(words[:4]) for words in sentences if len(words) > MOST_WORDS]


def test_names_say_what_they_name() -> None:
    checked = all_sources() | script_sources()
    words = {path: result for path, text in checked.items() if (result := banned(text))}
    assert words == IN_FILES
    long = {path: result for path, text in checked.items() if (result := long_sentences(text))}
    assert long == {}
    assert long_sentences(f'x = 1\n"""{"one " * 31}end. {"two " * 30}"""') == ["one one one one"]
    text = '"""What it is."""\ndef f(_given: int) -> int:\n    self.found = 1\n    return of.made'
    assert banned(text) == ["found", "given", "What"]


# --- circles --------------------------------------------------------------------------------------


EVERY = (mldsa_lab, mldsa_lab_rtl, mldsa_studies, pqc_impact)


def circles(sources: dict[str, str]) -> list[list[str]]:
    """Return the groups of modules that import each other, if only over others."""
    modules = {
        p.removesuffix(".py").removesuffix("/__init__").replace("/", "."): p for p in sources
    }
    uses: dict[str, set[str]] = {}
    for module, path in modules.items():
        for _, name in imported(sources[path]):
            while name and name not in modules:
                name = name.rpartition(".")[0]
            uses.setdefault(module, set()).update({name} - {"", module})
    reached = {module: reach(module, uses) for module in modules}
    groups = {
        frozenset(m for m in all_ if module in reached[m]) for module, all_ in reached.items()
    }
    return sorted(sorted(group) for group in groups if group)


def reach(module: str, uses: dict[str, set[str]]) -> set[str]:
    """Return the modules that one imports, and those that these import."""
    reached: set[str] = set()
    waiting = [module]
    while waiting:
        new = uses.get(waiting.pop(), set()) - reached
        reached |= new
        waiting += new
    return reached


def all_sources() -> dict[str, str]:
    """Return the modules of all packages by their paths."""
    return {
        f"{package.__name__}/{path}": source
        for package in EVERY
        for path, source in sources(str(package.__file__)).items()
    }


def script_sources() -> dict[str, str]:
    """Return the programs in the folders `scripts/` by their paths."""
    root = Path(__file__).parents[2]
    return {
        path.relative_to(root).as_posix(): path.read_text(encoding="utf-8")
        for folder in ("scripts", "library/proofs", "library/scripts", "lab/scripts")
        for path in sorted((root / folder).rglob("*.py"))
        if "tests" not in path.parts
    }


def test_modules_import_each_other_in_no_circle() -> None:
    assert circles(all_sources()) == []


def test_a_circle_is_found() -> None:
    three = {
        "mldsa_lab/a.py": "from mldsa_lab.b import f",
        "mldsa_lab/b/__init__.py": "def f():\n    from mldsa_lab.b.c import g",
        "mldsa_lab/b/c.py": "import mldsa_lab.a",
    }
    assert circles(three) == [["mldsa_lab.a", "mldsa_lab.b", "mldsa_lab.b.c"]]
    apart = three | {"mldsa_lab/a.py": "def f():\n    import mldsa_lab.sets"}
    assert circles(apart) == []


# --- sizes ----------------------------------------------------------------------------------------


BUDGETS = {
    "mldsa_lab": 1155,
    "mldsa_lab/answers": 614,
    "mldsa_lab/audit": 2272,
    "mldsa_lab/bench": 2292,
    "mldsa_lab/choice": 968,
    "mldsa_lab/cli": 1573,
    "mldsa_lab/estimate": 3151,
    "mldsa_lab/inputs": 1065,
    "mldsa_lab/kinds": 1978,
    "mldsa_lab/records": 556,
    "mldsa_lab/show": 2609,
    "mldsa_lab/study": 821,
    "mldsa_lab/theory": 697,
    "mldsa_lab/worker": 2845,
    "mldsa_lab_rtl": 1947,
    "mldsa_studies": 1886,
    "pqc_impact": 3027,
}
"""The most code lines of each folder: no blank lines, comments, docstrings."""


def test_folders_keep_their_size() -> None:
    code_lines = load_script(Path(__file__).parents[1] / "scripts" / "count_code.py").code_lines
    sizes: Counter[str] = Counter()
    for path, source in all_sources().items():
        depth = 2 if path.startswith(f"{LAB}/") else 1
        sizes["/".join(path.split("/")[:-1][:depth])] += code_lines(source)
    assert sizes.keys() == BUDGETS.keys()
    assert {name: size for name, size in sizes.items() if size > BUDGETS[name]} == {}
