"""The inputs of a group that each thread of a run performs, in turn."""

from __future__ import annotations


def positions(
    inputs: int, size: int, *, number: int = 0, count: int = 1, thread: int = 0, threads: int = 1
) -> list[int]:
    """The positions, of ``inputs`` in all, that a thread performs in run ``number`` of ``count``,
    each of ``size`` operations.

    Runs begin at equal distances. Threads begin apart too, so that they do equal work but not the
    same at the same time.
    """
    first = number * inputs // count + thread * (inputs // threads)
    return [(first + place) % inputs for place in range(size)]
