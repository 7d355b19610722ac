"""Estimates of candidates that have not run, by a regression of logarithms on stack, routing, and stack with selector."""

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from anabranch.studies.advise.candidates import Candidate

_PRIOR = 0.1
"""Weight of the ridge penalty against one run."""
_LEAST_DEVIATION = 0.15
"""Least standard deviation of an estimate, as a share: that of short runs."""

Numbers = npt.NDArray[np.float64]


def estimates(
    candidates: Sequence[Candidate], prior: Sequence[float | None], seen: Mapping[int, float]
) -> tuple[Numbers, Numbers]:
    """The logarithm of each candidate's value, and its standard deviation. ``seen`` has values of those that ran.

    ``prior`` is the value predicted, where there is one. The regression is of the ratio of the value to it; to the mean of what is predicted over
    the same routing; or to the mean of all that ran.
    """
    mean = np.mean([np.log(max(value, 1e-9)) for value in seen.values()])
    alike: dict[str, list[float]] = {}
    for one, value in zip(candidates, prior, strict=True):
        if value:
            alike.setdefault(one.routing.name, []).append(np.log(value))
    base = np.array(
        [
            np.log(value) if value else np.mean(alike.get(one.routing.name, mean))
            for one, value in zip(candidates, prior, strict=True)
        ]
    )
    columns: dict[object, int] = {}
    rows = [
        [columns.setdefault(key, len(columns)) for key in _features(one, known)]
        for one, known in zip(candidates, prior, strict=True)
    ]
    features = np.zeros((len(candidates), len(columns)))
    for number, row in enumerate(rows):
        features[number, row] = 1.0
    ran = list(seen)
    observed = features[ran]
    residual = np.log(np.maximum([seen[one] for one in ran], 1e-9)) - base[ran]
    precision = np.linalg.inv(observed.T @ observed + _PRIOR * np.eye(len(columns)))
    weights = precision @ observed.T @ residual
    noise = max(_LEAST_DEVIATION, float(np.std(residual - observed @ weights)))
    deviation = noise * np.sqrt(1 + np.einsum("ij,jk,ik->i", features, precision, features))
    return base + features @ weights, deviation


def _features(one: Candidate, known: float | None) -> tuple[object, ...]:
    """What candidates may have in common; those that are predicted deviate from another base."""
    told = known is not None
    return told, (told, one.stack), (told, one.routing.name), (told, one.stack, one.routing.way)
