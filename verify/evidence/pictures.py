"""Pictures of a counterexample as SVG: readable without colour, with axes and units."""

from __future__ import annotations

import functools
import io
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from verify.arch import Architecture
    from verify.counterexample import Departure
    from verify.prove.follow import Made, Node, Write

_WIDTH = 7.0
"""Inches; a page shows 96 pixels for each."""
_ROUNDS = 20
_COLUMNS = 7
_HATCH = "////"
_STYLE: Any = {
    "font.family": "sans-serif",
    "font.size": 9,
    "svg.fonttype": "none",
    "svg.hashsalt": "vdso-verify",
    "hatch.linewidth": 0.6,
}


def _figure(height: float) -> Figure:
    from matplotlib.figure import Figure

    return Figure(figsize=(_WIDTH, height), layout="constrained")


def svg(figure: Figure) -> str:
    """The figure as SVG text without a prologue, the same for the same figure."""
    import matplotlib as mpl

    out = io.StringIO()
    with mpl.rc_context(_STYLE):
        figure.savefig(out, format="svg", metadata={"Date": None, "Creator": None})
    text = out.getvalue()
    return text[text.index("<svg") :]


def _styled[**P](draw: Callable[P, Figure]) -> Callable[P, str]:
    """Let a function draw in this module's style, and give what it draws as SVG."""

    @functools.wraps(draw)
    def styled(*args: P.args, **kwargs: P.kwargs) -> str:
        import matplotlib as mpl

        with mpl.rc_context(_STYLE):
            return svg(draw(*args, **kwargs))

    return styled


@_styled
def rounds(made: Sequence[Made], departure: Departure | None) -> Figure:
    """The 4x4 state at the end of each round: hatched where the code never has the value that the
    specification has there, with a cross where it first leaves the specification."""
    from matplotlib.patches import Rectangle

    last: dict[tuple[int, int], bool] = {}
    for one in made:
        number = one.operation.round or _ROUNDS + 1
        last[number, one.operation.word] = one.made
    figure = _figure(4.1)
    axes = figure.subplots(3, _COLUMNS)
    for number, axis in enumerate(axes.flat, 1):
        _grid(axis)
        axis.set_title("output" if number > _ROUNDS else f"round {number}", fontsize=9, pad=3)
        for word in range(16):
            right = last.get((number, word), True)
            corner = (word % 4 - 0.5, word // 4 - 0.5)
            axis.add_patch(
                Rectangle(
                    corner,
                    1,
                    1,
                    facecolor="white" if right else "0.85",
                    edgecolor="black",
                    hatch=None if right else _HATCH,
                    linewidth=0.6,
                )
            )
        here = departure is not None and number == (departure.round or _ROUNDS + 1)
        if departure is not None and here:
            at = (departure.word % 4, departure.word // 4)
            axis.plot(*at, marker="x", color="black", markersize=9, markeredgewidth=2.5)
            for spine in axis.spines.values():
                spine.set_linewidth(2.2)
    figure.supxlabel("column of the state (word number modulo 4)", fontsize=9)
    figure.supylabel("first word of the row", fontsize=9)
    return figure


def _grid(axis: Axes) -> None:
    axis.set_xlim(-0.5, 3.5)
    axis.set_ylim(3.5, -0.5)
    axis.set_aspect("equal")
    axis.set_xticks(range(4), ["0", "1", "2", "3"], fontsize=7)
    axis.set_yticks(range(4), ["x0", "x4", "x8", "x12"], fontsize=7)
    axis.tick_params(length=0, pad=2)


def limits_of(architecture: Architecture) -> dict[str, tuple[int | None, int]]:
    """The first byte that a call of one block may write in each region, and the first behind it, as
    offsets; None where there is no fixed one."""
    slots = max((at + size for at, size in architecture.linkage_area), default=0)
    return {"dst": (0, 64), "key": (0, 0), "counter": (0, 8), "stack": (None, slots)}


@_styled
def memory(written: Sequence[Write], limits: Mapping[str, tuple[int | None, int]]) -> Figure:
    """Every store of a call: bytes against the order of the stores, a panel for each region;
    `limits` as `limits_of` gives them."""
    from matplotlib.patches import Rectangle
    from matplotlib.ticker import MaxNLocator

    names = [name for name in limits if name in {one.region for one in written} | {"dst"}]
    stores = {name: [one for one in written if one.region == name] for name in names}
    heights = [max(0.7 + 0.085 * len(stores[name]), 1.1) for name in names]
    figure = _figure(0.4 + sum(heights) + 0.3 * len(names))
    panels = figure.subplots(len(names), 1, squeeze=False, height_ratios=heights)[:, 0]
    for name, axis in zip(names, panels, strict=True):
        here = stores[name]
        low, high = limits[name]
        first = min([high if low is None else low, *(one.offset for one in here)])
        behind = max([high, *(one.offset + one.size for one in here)])
        margin = max((behind - first) * 0.04, 2)
        for number, one in enumerate(here, 1):
            axis.add_patch(
                Rectangle(
                    (one.offset, number - 0.5),
                    one.size,
                    1,
                    facecolor="0.75" if one.dirty else "white",
                    edgecolor="black",
                    hatch=_HATCH * 2 if one.dirty else None,
                    linewidth=0.7,
                )
            )
        if low is not None:
            axis.axvline(low, color="black", linestyle="--", linewidth=1)
            axis.axvspan(first - margin, low, color="0.9", zorder=0)
        axis.axvline(high, color="black", linestyle="--", linewidth=1)
        axis.axvspan(high, behind + margin, color="0.9", zorder=0)
        axis.set_xlim(first - margin, behind + margin)
        axis.set_ylim(len(here) + 1, 0)
        axis.yaxis.set_major_locator(MaxNLocator(4, integer=True))
        where = "the stack pointer at entry" if name == "stack" else name
        axis.set_xlabel(f"offset from {where} (bytes)")
        axis.set_ylabel("store (in order)")
        dirty = sum(one.dirty for one in here)
        axis.set_title(
            f"{name}: {len(here)} stores, {dirty} of what depends on the key",
            fontsize=9,
            loc="left",
        )
    return figure


@_styled
def flow(nodes: Sequence[Node], texts: Sequence[str]) -> Figure:
    """The way from the key to a value: a line for each node, in the order in which they are
    executed, with an arrow from each to those that take its value."""
    from matplotlib.patches import FancyArrowPatch

    count = len(nodes)
    figure = _figure(0.5 + 0.34 * count)
    axis = figure.subplots()
    axis.set_xlim(0, 10)
    axis.set_ylim(count - 0.4, -0.6)
    axis.set_axis_off()
    for number, (node, text) in enumerate(zip(nodes, texts, strict=True)):
        key = node.instruction is None
        axis.text(
            1.7,
            number,
            text,
            family="sans-serif" if key else "monospace",
            va="center",
            fontsize=9,
            weight="bold" if key else "normal",
            bbox={
                "boxstyle": "round,pad=0.25",
                "facecolor": "0.88" if key else "white",
                "edgecolor": "black",
                "linewidth": 0.8,
            },
        )
        for source in node.takes:
            axis.add_patch(
                FancyArrowPatch(
                    (1.6, source),
                    (1.6, number),
                    connectionstyle=f"arc3,rad={0.5 if number - source < 4 else 0.35}",
                    arrowstyle="-|>",
                    mutation_scale=9,
                    linewidth=0.9,
                    color="black",
                )
            )
    return figure
