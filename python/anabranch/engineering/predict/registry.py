"""Arguments of the models, and the losses for which they hold."""

import json
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from anabranch import _core
from anabranch.foundation.array_types import Booleans


class Validity(NamedTuple):
    """The losses for which a model was found to hold; outside of them it is still computed."""

    least_loss: float
    greatest_loss: float
    below: str
    """The consequence of a loss below the range."""
    above: str
    """The consequence of a loss above the range."""
    source: str

    def holds(self, loss: npt.ArrayLike) -> bool | Booleans:
        """Whether each loss ratio is in the range: a ``bool``, or an array of them."""
        values = np.asarray(loss, dtype=np.float64)
        inside = (values >= self.least_loss) & (values <= self.greatest_loss)
        return inside if inside.ndim else bool(inside)

    def note(self, loss: float) -> str:
        """Nothing for a loss ratio in the range; otherwise the consequence."""
        if loss < self.least_loss:
            return f"below {self.least_loss:g}: {self.below}"
        return f"above {self.greatest_loss:g}: {self.above}" if loss > self.greatest_loss else ""


class ResponseLaw(NamedTuple):
    """A response function c / p^y, segments a round trip (Xu, Harfoush, Rhee 2004, section II)."""

    c: float
    y: float


class Model(NamedTuple):
    """A model by name."""

    name: str
    summary: str
    arguments: tuple[str, ...]
    """The arguments in the order in which the core takes them."""
    validity: Validity


_DESCRIPTION = json.loads(_core.prediction_models())
_FLOW = tuple(argument["name"] for argument in _DESCRIPTION["flow"])

MODELS: dict[str, Model] = {
    model["name"]: Model(
        model["name"],
        model["summary"],
        (*_FLOW, *(argument["name"] for argument in model["arguments"])),
        Validity(**model["validity"]),
    )
    for model in _DESCRIPTION["models"]
}
"""All models by name."""

LAWS: dict[str, ResponseLaw] = {name: ResponseLaw(**law) for name, law in _DESCRIPTION["laws"].items()}
"""Response functions by name: ``reno``, ``highspeed`` and ``scalable``, for :func:`anabranch.engineering.predict.response`."""


def validity(name: str) -> Validity:
    """The losses for which the model of that name was found to hold; :class:`ValueError` if there is none."""
    if name not in MODELS:
        raise ValueError(f'there is no model "{name}": it must be one of {", ".join(MODELS)}')
    return MODELS[name].validity
