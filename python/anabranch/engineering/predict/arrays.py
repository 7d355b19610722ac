"""Arguments that are numbers or arrays: as arrays of doubles, with one shape, and back."""

from collections.abc import Mapping
from typing import Any, overload

import numpy as np
import numpy.typing as npt

from anabranch.foundation.array_types import Booleans, Floats


def array(name: str, value: npt.ArrayLike) -> Floats:
    """The argument as an array; :class:`ValueError` if it is not made of real numbers."""
    try:
        values = np.asarray(value)
    except ValueError:  # rows of different lengths
        values = np.asarray(None)
    if values.dtype.kind not in "iuf":
        raise ValueError(f"{name} is {value!r}: it must be a number or an array of numbers")
    return values.astype(np.float64)


def arrays(arguments: Mapping[str, npt.ArrayLike]) -> tuple[list[Floats], tuple[int, ...]]:
    """The arguments as arrays, and the shape to which they broadcast; :class:`ValueError` if there is none."""
    values = {name: array(name, value) for name, value in arguments.items()}
    try:
        shape = np.broadcast_shapes(*(one.shape for one in values.values()))
    except ValueError:
        shapes = ", ".join(f"{name} {one.shape}" for name, one in values.items() if one.ndim)
        raise ValueError(f"the shapes of the arguments do not broadcast: {shapes}") from None
    return list(values.values()), shape


def refuse(name: str, values: Floats, wrong: Booleans, requirement: str) -> None:
    """Refuse the first of the values that is ``wrong``: :class:`ValueError` with its name and place."""
    if wrong.any():
        index = tuple(int(axis) for axis in np.argwhere(wrong)[0])
        place = f"[{', '.join(map(str, index))}]" if index else ""
        raise ValueError(f"{name}{place} is {values[index]}: it must be {requirement}")


@overload
def plain(values: Floats) -> float | Floats: ...
@overload
def plain(values: Booleans) -> bool | Booleans: ...
def plain(values: npt.NDArray[Any]) -> Any:
    """Returns an array unchanged, and an array without dimensions as a number."""
    return values if np.ndim(values) else values.item()
