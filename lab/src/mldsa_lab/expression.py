"""Formulas as texts, such as ``100 * speedup / threads``.

Names stand for numbers of any type that has operators: plain ones, published figures with what
their rounding hides, estimates with their confidence limits.
"""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from simpleeval import FunctionNotDefined, InvalidExpression, NameNotDefined, SimpleEval

_OPERATORS = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
}  # fmt: skip
Functions = Mapping[str, Callable[..., Any]]
FUNCTIONS: Functions = {"sum": sum, "product": math.prod}
"""Functions of a formula that has no others, both of several numbers under one name."""
_NODES = (ast.BinOp, ast.Name, ast.Load, ast.Call, *_OPERATORS)
"""Parts that a formula may have besides numbers."""


def evaluate(
    text: str, names: Mapping[str, Any], functions: Functions = FUNCTIONS, place: str = ""
) -> Any:
    """Return the value of a formula. ValueError begins with its ``place`` in the file and says what
    is unknown or wrong."""
    where = f"{place}: {text[:80]!r}" if place else repr(text[:80])
    try:
        return SimpleEval(_OPERATORS, functions, names).eval(text, _parsed(text))
    except (NameNotDefined, FunctionNotDefined) as error:
        known = names if isinstance(error, NameNotDefined) else functions
        name = getattr(error, "name", None) or getattr(error, "func_name", "")
        raise ValueError(f"{where}: {name!r} is unknown: known are {', '.join(known)}") from None
    except (
        InvalidExpression, ValueError, TypeError, SyntaxError, ArithmeticError, MemoryError,
        RecursionError,
    ) as error:  # fmt: skip
        raise ValueError(f"{where} is no formula: {error}") from None


def mentions(text: str, name: str) -> bool:
    """Return whether a formula has the name in it."""
    return any(isinstance(n, ast.Name) and n.id == name for n in ast.walk(_parsed(text)))


@cache
def _parsed(text: str) -> ast.expr:
    """The tree of a formula: numbers and `_NODES` only."""
    tree = ast.parse(text.strip(), mode="eval").body
    for node in ast.walk(tree):
        is_number = isinstance(node, ast.Constant) and type(node.value) in (int, float)
        if not (is_number or isinstance(node, _NODES)):
            raise ValueError(f"{type(node).__name__} is not allowed")
    return tree
