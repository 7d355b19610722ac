"""The colours of stacks: a stack has the same one in all charts of a page."""

from __future__ import annotations

from collections.abc import Sequence

from anabranch.pages.report.vega_lite import Specification, legend, nominal

# Okabe and Ito (2008), without black and yellow, in an order in which neighbours differ in lightness too; then four of
# Tol's "muted" scheme (2021). Both stay apart under the common colour vision deficiencies, on white and on black.
PALETTE = ["#0072B2", "#E69F00", "#009E73", "#D55E00", "#CC79A7", "#56B4E9", "#999933", "#882255", "#44AA99", "#AA4499"]
DASHES = [[1, 0], [6, 3], [2, 2], [8, 3, 2, 3]]


_DARKER = 0.6
"""The brightness of colours when they come again: more hues than those of the palette could not be told apart."""


def distinct_colours(count: int) -> list[str]:
    """Colours for this number of names, all different: those of the palette, then the same ones darker."""
    return [_darker(PALETTE[place % len(PALETTE)], _DARKER ** (place // len(PALETTE))) for place in range(count)]


def _darker(colour: str, brightness: float) -> str:
    parts = (round(int(colour[place : place + 2], 16) * brightness) for place in (1, 3, 5))
    return colour if brightness == 1 else "#" + "".join(f"{part:02X}" for part in parts)


def stack_colour(stacks: Sequence[str], symbol: str = "stroke") -> Specification:
    """The colours of stacks, by their place in the list."""
    scale = {"domain": list(stacks), "range": distinct_colours(len(stacks))}
    return nominal("stack", scale=scale, legend=legend("Stack", symbol))


def directory_dash(directories: Sequence[str]) -> Specification:
    """The dashes of run directories in the column ``directory``, by their place in the list."""
    dashes = [DASHES[place % len(DASHES)] for place in range(len(directories))]
    scale = {"domain": list(directories), "range": dashes}
    return nominal("directory", scale=scale, legend=legend("Run directory", symbolStrokeColor="#64748b"))
