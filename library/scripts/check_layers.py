"""make lint: modules of mldsa-lanes use only those below them (ARCHITECTURE.md).

Reads every path through `crate::`, or through enough `super::` to reach the crate's root, and
compares it with LAYERS. It reads the code of crates/mldsa-lanes/src. Exit
code 1 if one goes where the table has no arrow, 2 if the table does not fit the files.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "crates" / "mldsa-lanes" / "src"

# From the lowest up: each layer, and the layers below it that it may use. The longest name that
# fits counts. lib.rs may use all and is used by none.
LAYERS = {
    "params": "",
    "error": "",
    "backend::memcheck": "",
    "declassify": "backend::memcheck",
    "kernels": "params declassify",
    "backend": "params kernels backend::memcheck",
    "scheme": "params error declassify kernels backend",
    "keys": "params error kernels backend scheme",
    "batch": "params error declassify kernels backend scheme keys",
    "hardened": "params error declassify kernels backend scheme keys",
    "hazmat": "params error backend scheme keys",
    "interop": "params error kernels backend scheme keys",
    "sets": "params error kernels backend scheme keys batch",
    "self_test": "params error kernels backend keys hazmat sets",
    "any": "params error kernels backend scheme keys batch interop sets",
}

# The trait that joins the operations of all layers: the bound of every public type.
BOUND = ["ParameterSet"]

COMMENT = re.compile(r"//.*")
PATH = re.compile(r"\b(?:crate|(?P<up>super(?:::super)*))(?P<names>(?:::\w+)+|::\{)")


def layer(names: list[str]) -> str | None:
    """The layer of a path from the crate's root."""
    whole = "::".join(names)
    fitting = [name for name in LAYERS if f"{whole}::".startswith(f"{name}::")]
    return max(fitting, key=len, default=None)


def faults(file: Path) -> list[str]:
    """Return the errors of a file, a line each."""
    names = [*file.relative_to(SOURCE).parts[:-1], file.stem]
    if names[-1] == "mod":
        names.pop()
    here = layer(names)
    if here is None:
        return [f"{file.relative_to(ROOT)}: scripts/check_layers.py has no layer {names[0]}"]
    errors = []
    for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
        for path in PATH.finditer(COMMENT.sub("", line)):
            target = path["names"].removeprefix("::").split("::")
            at = f"{file.relative_to(ROOT)}:{number}"
            # An inline module needs one more to the root: a name may still be one of this layer.
            to_root = not path["up"] or path["up"].count("super") >= len(names)
            if not to_root or (path["up"] and layer(target) is None):
                continue
            if target == BOUND and here not in ("params", "kernels", "backend", "scheme"):
                continue
            if target == ["{"]:
                errors.append(f"{at}: write a path from the root for each layer")
                continue
            there = layer(target)
            if there != here and there not in LAYERS[here].split():
                errors.append(f"{at}: {here} may not use {there or 'the root (' + target[0] + ')'}")
    return errors


def main() -> int:
    """The command."""
    below: set[str] = set()
    for name, used in LAYERS.items():
        if not below >= set(used.split()):
            print(f"check_layers: {name} uses what is not below it in the table", file=sys.stderr)
            return 2
        below.add(name)
    files = sorted(path for path in SOURCE.rglob("*.rs") if path != SOURCE / "lib.rs")
    seen = {layer(list(path.relative_to(SOURCE).with_suffix("").parts)) for path in files}
    if unused := LAYERS.keys() - seen:
        print(f"check_layers: no file in {', '.join(sorted(unused))}", file=sys.stderr)
        return 2
    wrong = [fault for file in files for fault in faults(file)]
    print("\n".join(wrong) or f"layers: {len(files)} files use only layers below them")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
