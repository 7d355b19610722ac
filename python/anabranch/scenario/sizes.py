"""Distributions of flow sizes: measured ones by name, points in a scenario, or a CSV file."""

from pathlib import Path
from typing import TYPE_CHECKING

from anabranch.foundation import input_files
from anabranch.foundation.suggest import suggest

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

LARGEST_FILE = 2**20
"""Bytes of a CSV file; some 50,000 points."""

FLOW_SIZES: dict[str, list[list[float]]] = {
    "web-search": [
        [0, 0], [10_000, 0.15], [20_000, 0.2], [30_000, 0.3], [50_000, 0.4], [80_000, 0.53], [200_000, 0.6],
        [1_000_000, 0.7], [2_000_000, 0.8], [5_000_000, 0.9], [10_000_000, 0.97], [30_000_000, 1],
    ],
    "data-mining": [
        [0, 0], [180, 0.1], [216, 0.2], [560, 0.3], [900, 0.4], [1100, 0.5], [1870, 0.6], [3160, 0.7], [10_000, 0.8],
        [400_000, 0.9], [3_160_000, 0.95], [100_000_000, 0.98], [1_000_000_000, 1],
    ],
}  # fmt: skip
"""Measured distributions of flow sizes as points (payload bytes, cumulative probability), linear between them.

``web-search``: the query and background flows of a search cluster, Alizadeh et al., "Data Center TCP (DCTCP)", SIGCOMM
2010, figure 4. ``data-mining``: Greenberg et al., "VL2: a scalable and flexible data center network", SIGCOMM 2009,
figure 2. The points are those of the files ``DCTCP_CDF`` and ``VL2_CDF`` of https://github.com/datacenter/empirical-traffic-gen,
by an author of DCTCP and pFabric.
"""


def check(points: list[list[float]], places: list[str] | None = None) -> None:
    """Refuse points that are no distribution: :class:`ValueError` names the place, or the point itself.

    Two points of one size, and a first point above probability 0, give this very size to a share of all flows.
    """
    if not points:
        raise ValueError("sizes needs at least one point [bytes, cumulative probability]")
    low, below = 0.0, 0.0
    for index, (size, probability) in enumerate(points):
        place = f"{places[index]}: " if places else ""
        if not (low <= size < float("inf") and below <= probability <= 1):
            before = f"[{low:g}, {below:g}] to " if index else ""
            raise ValueError(
                f"{place}sizes must ascend in bytes and in probability, both from 0, and the probability to 1; "
                f"{before}[{size:g}, {probability:g}] does not"
            )
        if size == 0 < probability:
            raise ValueError(f"{place}no flow has 0 bytes; [0, {probability:g}] must have at least 1 byte")
        low, below = size, probability
    if below != 1:
        place = f"{places[-1]}: " if places else ""
        raise ValueError(f"{place}sizes must end with probability 1, not {below:g}")


def drawn(points: list[list[float]], uniform: "npt.NDArray[np.float64]") -> "npt.NDArray[np.int64]":
    """The sizes in whole bytes at these quantiles, 0 to 1: linear between two points, as in the core."""
    import numpy as np

    sizes, probabilities = np.array(points, dtype=float).T
    found: npt.NDArray[np.int64] = np.maximum(1, np.ceil(np.interp(uniform, probabilities, sizes))).astype(np.int64)
    return found


def named(name: str, directory: Path) -> list[list[float]]:
    """The points of a measured distribution, or of a CSV file; :class:`ValueError` says what is wrong with it."""
    if name in FLOW_SIZES:
        return FLOW_SIZES[name]
    if not name.lower().endswith(".csv"):
        raise ValueError(f"is no distribution of flow sizes and no CSV file; {suggest(name, FLOW_SIZES)}")
    return _from_csv(directory / name)


def _from_csv(path: Path) -> list[list[float]]:
    """A line for each point: bytes, cumulative probability. A heading, blank lines and ``#`` comments do not count."""
    points: list[list[float]] = []
    places: list[str] = []
    for number, line in enumerate(input_files.text(path, LARGEST_FILE).splitlines(), start=1):
        cells = [cell.strip() for cell in line.partition("#")[0].split(",")]
        if cells == [""]:
            continue
        place = f"{path}:{number}"
        try:
            size, probability = (float(cell) for cell in cells)
        except ValueError:
            if not points and len(cells) == 2 and not any(cell[:1].isdigit() for cell in cells):
                continue  # the heading
            raise ValueError(
                f'{place}: "{line.strip()[:60]}" must be bytes and cumulative probability, such as "10000,0.15"'
            ) from None
        points.append([size, probability])
        places.append(place)
    if not points:
        raise ValueError(f"{path}: needs at least one line of bytes and cumulative probability")
    check(points, places)
    return points
