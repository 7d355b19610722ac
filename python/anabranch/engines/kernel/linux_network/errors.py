"""Errors of networks that Linux refuses."""

from anabranch.engines.packet import RunAgain


class NetworkError(ValueError):
    """Linux lacks what a network needs, or refuses it."""


class LatePacketsError(NetworkError, RunAgain):
    """The machine was too busy for real time."""
