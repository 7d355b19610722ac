"""The predictions of all models for one path, for a table or a JSON document."""

from collections.abc import Callable
from functools import partial
from math import inf, isfinite
from typing import Any, NamedTuple

from anabranch.engineering.predict import models
from anabranch.engineering.predict.registry import MODELS

LEAST_TIMEOUT_S = 0.2
"""Below which Linux sets no retransmission timer, seconds."""


class Prediction(NamedTuple):
    """The prediction of a model. Rate and window are infinite where nothing limits them."""

    model: str
    rate_bps: float
    window_segments: float
    """The mean window that makes the rate."""
    least_loss: float
    greatest_loss: float
    holds: bool
    """Whether the loss is within the two."""
    note: str
    """The consequence of a loss outside them."""

    def record(self) -> dict[str, Any]:
        """The prediction for JSON: ``null`` for infinite."""
        record = self._asdict() | {"summary": MODELS[self.model].summary}
        return {key: None if value == inf else value for key, value in record.items()}

    def cells(self) -> tuple[str, str, str, str]:
        """All but the model, the rate and the note, for a table."""
        holds = "yes" if self.holds else "no"
        return f"{self.window_segments:.1f}", f"{self.least_loss:g}", f"{self.greatest_loss:g}", holds


def predictions(
    rtt_s: float,
    loss: float,
    *,
    mss_bytes: float,
    packets_per_ack: float,
    timeout_s: float | None,
    max_window: float,
) -> list[Prediction]:
    """The predictions of all models that need no other parameters. ``timeout_s`` is by default the RTT, at least 200 ms."""
    timeout = max(rtt_s, LEAST_TIMEOUT_S) if timeout_s is None else timeout_s
    per_ack = {"packets_per_ack": packets_per_ack}
    rates: dict[str, Callable[..., Any]] = {
        "mathis": partial(models.mathis, **per_ack),
        "padhye": partial(models.padhye, timeout_s=timeout, **per_ack),
        "padhye_short": partial(models.padhye_short, timeout_s=timeout, **per_ack),
        "cubic": models.cubic,
        "highspeed": models.highspeed,
        "scalable": models.scalable,
        "linear": partial(models.linear, **per_ack),
    }
    found = []
    for name, model in rates.items():
        rate = model(rtt_s, loss, mss_bytes=mss_bytes, max_window=max_window)
        window = rate * rtt_s / (8 * mss_bytes) if isfinite(rate) else rate
        validity = MODELS[name].validity
        found.append(
            Prediction(
                name,
                rate,
                window,
                validity.least_loss,
                validity.greatest_loss,
                bool(validity.holds(loss)),
                validity.note(loss),
            )
        )
    return found
