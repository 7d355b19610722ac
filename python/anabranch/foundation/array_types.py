"""Arrays by what their elements are."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.integer[Any]]
"""Indexes and counts, of any width."""
Booleans = npt.NDArray[np.bool_]
Columns = Mapping[str, npt.NDArray[Any]]
"""The columns of a table by name, each of its own type."""
