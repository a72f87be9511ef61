"""Count the Python code of the lab: lines without blanks, comments and docstrings.

`python lab/scripts/count_code.py [FOLDER...]` prints files, lines, code, lines of tests and the
longest module of each distribution.
"""

from __future__ import annotations

import ast
import io
import sys
import tokenize
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
GROUPS = {
    "mldsa-lab": ("lab/src", "lab/tests"),
    "pqc-impact": ("lab/impact/src", "lab/impact/tests"),
    "mldsa-lab-rtl": ("rtl/bench/src", "rtl/bench/tests"),
    "mldsa-studies": ("lab/studies/src", "lab/studies/tests"),
}
_NO_CODE = {
    tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT,
    tokenize.ENCODING, tokenize.ENDMARKER,
}  # fmt: skip


def code_lines(text: str) -> int:
    """Return the number of lines that hold code."""
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in _NO_CODE:
            lines.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(ast.parse(text)):
        # Docstrings, those behind fields too.
        if (
            isinstance(node, ast.Expr)
            and isinstance(node.value, ast.Constant)
            and isinstance(node.value.value, str)
        ):
            lines -= set(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return len(lines)


def main(folders: list[str]) -> int:
    """Print a row for each group, or each folder given."""
    groups = {name: (name, "") for name in folders} or GROUPS
    print(f"{'':16} {'files':>6} {'lines':>7} {'code':>7} {'tests':>7}  longest module")
    total = [0, 0, 0, 0]
    for name, (source, tests) in groups.items():
        texts = {p: p.read_text(encoding="utf-8") for p in sorted((ROOT / source).rglob("*.py"))}
        sizes = {p: len(t.splitlines()) for p, t in texts.items()}
        of_tests = sum(
            len(p.read_text(encoding="utf-8").splitlines())
            for p in ((ROOT / tests).rglob("*.py") if tests else ())
        )
        row = [len(texts), sum(sizes.values()), sum(map(code_lines, texts.values())), of_tests]
        longest = max(sizes, key=lambda p: sizes[p], default=None)
        shown = f"{longest.relative_to(ROOT)} {sizes[longest]}" if longest else ""
        print(f"{name:16} {row[0]:6,} {row[1]:7,} {row[2]:7,} {row[3]:7,}  {shown}")
        total = [a + b for a, b in zip(total, row, strict=True)]
    print(f"{'all':16} {total[0]:6,} {total[1]:7,} {total[2]:7,} {total[3]:7,}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
