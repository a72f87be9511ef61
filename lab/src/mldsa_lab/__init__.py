"""mldsa-lab measures ML-DSA implementations on inputs whose rejection traces are known."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from importlib.metadata import version


def first_line(error: BaseException) -> str:
    """Return the first line of another library's error, or else its kind."""
    return str(error).splitlines()[0] if str(error) else type(error).__name__


class LabError(ValueError):
    """Something the user can act on. Its text names the input and the rule that it breaks.

    The command line prints it in one line on standard error and exits with status 2. It is a
    ValueError so that msgspec adds the place to one that a type raises when it is read.
    """


@contextmanager
def located(where: object) -> Iterator[None]:
    """Put ``where`` before the message of a LabError."""
    try:
        yield
    except LabError as error:
        raise LabError(f"{where}: {error}") from None


def join_words(words: Iterable[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    parts = list(words)
    if len(parts) < 2:
        return "".join(parts)
    return ", ".join(parts[:-1]) + " and " + parts[-1]


def suggest(word: str, known: Iterable[str]) -> str:
    """Return `. Did you mean 'name'?` for a mistyped name, in any case; "" if none is close."""
    names = {name.lower(): name for name in known}
    close = get_close_matches(word.lower(), names, n=2, cutoff=0.7)
    return f". Did you mean {' or '.join(repr(names[name]) for name in close)}?" if close else ""


# Matrices here have some dozen rows: a second BLAS thread takes 1.7 times the CPU time and ends no
# sooner. It would also run next to the timed code. Read when numpy is first imported.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

__version__ = version("mldsa-lab")
