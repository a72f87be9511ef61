"""A validated block as one self-contained HTML page, in the style of a run's."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup
from matplotlib.figure import Figure

from mldsa_lab.estimate.blocks import BlockTimes, VerifierTimes
from mldsa_lab.show import run_plots, svg
from mldsa_lab.show.blocks import CACHES, about, grids, remarks
from mldsa_lab.show.format import choose_unit, clean, tick
from mldsa_lab.show.grid import heading
from mldsa_lab.show.page import asset, script_hash, templates
from mldsa_lab.show.run_plots import Level, Path

_WIDTH = 560.0
_SHARES = (100.0, 10.0, 1.0, 0.1, 0.01)
_METHOD = (
    "A block is shared out to threads in equal parts, in an order in which neighbours lie far "
    "apart; its time is from the common start to the end of the last thread, by single calls or "
    "by calls of a batch interface, each with as much of a thread's part as it may have. Keys are "
    "read, and expanded where the name says so, before the clock starts; signatures are read while "
    "it runs. Each round has fresh processes and counts once; intervals are Student's over "
    "rounds, from four rounds on. Before anything was timed everybody accepted the whole block, "
    "and refused an altered signature, message and key in it and nothing else; the verdicts of "
    "every pass that is timed are compared again."
)


def render(found: BlockTimes, record: str) -> str:
    """The page as text; ``record``: its file, as the page names it."""
    script = asset("page.js")
    return templates("mldsa_lab.show").get_template("blocks.html.j2").render(
        found=found, about=about(found), grids=grids(found), plots=list(_plots(found)),
        heading=heading, remarks=remarks(found), method=_METHOD, name=record,
        css=Markup(asset("page.css")), script=Markup(script), script_hash=script_hash(script),
        total_series=svg.SERIES_COUNT,
    )  # fmt: skip


def _plots(found: BlockTimes) -> list[tuple[str, Markup]]:
    made = []
    for cold in found.caches:
        title = f"Time of a block over threads, {CACHES[cold]} caches"
        with svg.drawing():
            figure = _plot(found, cold)
        made.append((title, Markup(svg.to_svg(figure, f"block{int(cold)}", clean(title)))))
    return made


def _plot(found: BlockTimes, cold: bool) -> Figure:
    """Of each set and way of calling the fastest verifier, for there are too many for one plot."""
    unit = choose_unit([t.block_ns.value for v in found.verifiers for t in v.times], "ns")
    sets = list(dict.fromkeys(v.set for v in found.verifiers))
    paths = []
    for v in _fastest(found.verifiers, cold):
        points = tuple(
            (float(t.threads), t.block_ns.times(1 / unit.divisor))
            for t in v.times
            if t.cold == cold
        )
        form = ", expanded" if v.variant.key == "expanded" else ""
        text = f"{v.set}{form}{', batch' if v.batch else ''}"
        paths.append(Path(text, sets.index(v.set), v.batch > 0, points))
    slots = [
        Level(f"{tick(part)} % of {name}", part / 100 * seconds * 1e9 / unit.divisor)
        for name, seconds in found.row.slot_seconds.items()
        for part in _SHARES
    ]
    return run_plots.block_times(paths, found.threads, slots, unit.name, _WIDTH)


def _fastest(verifiers: Sequence[VerifierTimes], cold: bool) -> list[VerifierTimes]:
    best: dict[tuple[str, str, bool], tuple[float, VerifierTimes]] = {}
    for v in verifiers:
        times = [t.block_ns.value for t in v.times if t.cold == cold]
        key = (v.set, v.variant.key, v.batch > 0)
        if times and (key not in best or min(times) < best[key][0]):
            best[key] = (min(times), v)
    return [v for _, v in best.values()]
