"""What docs/method.md promises of the code: no figure depends on whose implementation it is of."""

import ast
from pathlib import Path

LAB = Path(__file__).parents[1] / "src" / "mldsa_lab"
FOLDERS = ("theory", "inputs", "choice", "records", "estimate", "show", "kinds")
OURS = "mldsa-lanes"
# Our implementations are named all the same in the order in which plots give out colours.
ALLOWED = {"show/report.py": 4}


def constants(path: Path) -> list[str]:
    """The texts of a module that are not docstrings."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    prose = {
        id(node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    found = (node for node in ast.walk(tree) if isinstance(node, ast.Constant))
    return [c.value for c in found if isinstance(c.value, str) and id(c) not in prose]


def test_choice_estimates_and_tables_do_not_know_our_library() -> None:
    paths = [path for folder in FOLDERS for path in sorted((LAB / folder).rglob("*.py"))]
    assert len(paths) > 20
    named = {str(path.relative_to(LAB)): sum(OURS in c for c in constants(path)) for path in paths}
    assert {path: count for path, count in named.items() if count} == ALLOWED


def test_page_does_not_know_our_library() -> None:
    pages = [
        *(LAB / "show").glob("*.j2"),
        *(LAB / "show").glob("*.js"),
        *(LAB / "show").glob("*.css"),
    ]
    assert pages
    assert [p.name for p in pages if OURS in p.read_text(encoding="utf-8")] == []
