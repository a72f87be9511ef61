"""The one error class of the lab, and what others say."""

from collections.abc import Iterator
from contextlib import contextmanager


def first_line(error: BaseException) -> str:
    """What another library's error says in its first line, or else its kind."""
    return str(error).splitlines()[0] if str(error) else type(error).__name__


class LabError(ValueError):
    """Something the user can act on. Its text names the input and the rule that it breaks.

    The command line prints it in one line on standard error and exits with status 2. It is a
    ValueError so that msgspec adds the place to one that a type raises when it is read.
    """


@contextmanager
def located(where: object) -> Iterator[None]:
    """Put ``where`` before what a LabError says."""
    try:
        yield
    except LabError as error:
        raise LabError(f"{where}: {error}") from None
