"""Imports between packages and between the lab's folders run one way, those inside functions too;
modules import each other in no circle, folders keep their size, classes have names of their own."""

from __future__ import annotations

import ast
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

BASE = (
    "errors", "wording", "sets", "sizes", "checkout", "extras", "files", "implementation", "check",
    "machine", "screen", "workforce", "plugins", "expression",
)  # fmt: skip
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
    "study": ("theory", "inputs", "choice", "worker", "records", "bench", "estimate", "show"),
    "audit": ("theory", "inputs", "records", "estimate", "show"),
    "answers": ("theory", "inputs", "records", "estimate", "show", "kinds", "study", "audit"),
}
"""What each folder may use beside itself and `BASE`. The commands (`cli`) may use all of them."""

LAB = "mldsa_lab"
PACKAGES: dict[str, tuple[str, ...]] = {
    # `bench.material` signs samples, of which compressibility is measured.
    "pqc_impact": (
        "bench.material", "cli.shared", "estimate", "records", "show.figure_tables",
        "show.format", "show.grid", "show.plots", "show.report", "show.svg",
        "theory.arrays",
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


def imported(source: str | ast.AST) -> Iterator[tuple[int, str]]:
    """Line and full name of each thing that a module imports of these packages."""
    for node in ast.walk(ast.parse(source) if isinstance(source, str) else source):
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
        return used in BASE[: BASE.index(folder)] or used == "__version__"
    if folder == "cli" or used in (folder, "__version__", *BASE):
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


@pytest.mark.parametrize("package", [mldsa_lab_rtl, mldsa_studies, pqc_impact])
def test_packages_use_of_the_lab_what_they_may(package: ModuleType) -> None:
    own = package.__name__
    used = {
        f"{path}:{line} imports {name}": f"{name}."
        for path, source in sources(str(package.__file__)).items()
        for line, name in imported(source)
        if name.split(".")[0] != own
    }
    base = [f"{LAB}.{name}." for name in (*BASE, "__version__")]
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


# --- circles --------------------------------------------------------------------------------------


EVERY = (mldsa_lab, mldsa_lab_rtl, mldsa_studies, pqc_impact)
LATE_CIRCLES = {"bench", "show"}
"""Folders with modules that import each other in a circle by imports inside functions."""


class AtLoad(ast.NodeTransformer):
    """A module without what does not run when it is loaded."""

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        return None

    def visit_If(self, node: ast.If) -> ast.AST | None:
        return None if "TYPE_CHECKING" in ast.unparse(node.test) else self.generic_visit(node)


def circles(sources: dict[str, str], *, at_load: bool) -> list[list[str]]:
    """Return the groups of modules that import each other, if only over others."""
    modules = {
        p.removesuffix(".py").removesuffix("/__init__").replace("/", "."): p for p in sources
    }
    uses: dict[str, set[str]] = {}
    for module, path in modules.items():
        source = sources[path]
        if at_load:
            source = ast.unparse(AtLoad().visit(ast.parse(source)))
        for _, name in imported(source):
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


def test_modules_import_each_other_in_no_circle() -> None:
    assert circles(all_sources(), at_load=True) == []
    late = {
        module.split(".")[1] for part in circles(all_sources(), at_load=False) for module in part
    }
    assert late == LATE_CIRCLES


def test_a_circle_is_found() -> None:
    three = {
        "mldsa_lab/a.py": "from mldsa_lab.b import c",
        "mldsa_lab/b/__init__.py": "def f():\n    from mldsa_lab.b.c import g",
        "mldsa_lab/b/c.py": "import mldsa_lab.a",
    }
    assert circles(three, at_load=True) == [["mldsa_lab.a", "mldsa_lab.b.c"]]
    apart = three | {"mldsa_lab/a.py": "def f():\n    import mldsa_lab.b"}
    assert circles(apart, at_load=True) == []
    assert circles(apart, at_load=False) == [["mldsa_lab.a", "mldsa_lab.b", "mldsa_lab.b.c"]]


# --- sizes ----------------------------------------------------------------------------------------


BUDGETS = {
    "mldsa_lab": 1148,
    "mldsa_lab/answers": 633,
    "mldsa_lab/audit": 2305,
    "mldsa_lab/bench": 2976,
    "mldsa_lab/choice": 1078,
    "mldsa_lab/cli": 1583,
    "mldsa_lab/estimate": 3382,
    "mldsa_lab/inputs": 1120,
    "mldsa_lab/kinds": 943,
    "mldsa_lab/records": 583,
    "mldsa_lab/show": 2782,
    "mldsa_lab/study": 828,
    "mldsa_lab/theory": 716,
    "mldsa_lab/worker": 2887,
    "mldsa_lab_rtl": 1938,
    "mldsa_studies": 1885,
    "pqc_impact": 3103,
}
"""The most code lines of each folder: no blank lines, comments, docstrings."""


def test_folders_keep_their_size() -> None:
    code_lines = load_script(Path(__file__).parents[2] / "scripts" / "count_code.py").code_lines
    sizes: Counter[str] = Counter()
    for path, source in all_sources().items():
        depth = 2 if path.startswith(f"{LAB}/") else 1
        sizes["/".join(path.split("/")[:-1][:depth])] += code_lines(source)
    assert sizes.keys() == BUDGETS.keys()
    assert {name: size for name, size in sizes.items() if size > BUDGETS[name]} == {}
