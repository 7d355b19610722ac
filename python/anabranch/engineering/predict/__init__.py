"""Predicts the rate of one TCP flow over a path, and says when a route is better than another.

All functions take numbers or arrays, which broadcast as in numpy, and return a number or an array.

>>> from anabranch.engineering.predict import mathis
>>> f"{mathis(0.1, 0.01) / 1e6:.4f} Mbit/s"
'1.4305 Mbit/s'
"""

from anabranch.engineering.predict.conditions import Advantage, PathQuality, RoundTrip, advantage, round_trip
from anabranch.engineering.predict.models import (
    cubic,
    highspeed,
    linear,
    mathis,
    padhye,
    padhye_short,
    response,
    scalable,
)
from anabranch.engineering.predict.registry import LAWS, MODELS, Model, ResponseLaw, Validity, validity

__all__ = [
    "LAWS",
    "MODELS",
    "Advantage",
    "Model",
    "PathQuality",
    "ResponseLaw",
    "RoundTrip",
    "Validity",
    "advantage",
    "cubic",
    "highspeed",
    "linear",
    "mathis",
    "padhye",
    "padhye_short",
    "response",
    "round_trip",
    "scalable",
    "validity",
]
