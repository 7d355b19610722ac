"""Replay: the packets of a short span of a run, moving along the map of the network, as one HTML file.

The packets are the engine's own. It simulates the run again to the end of the span, packet by packet, and records each packet's way
over each link.
"""

from anabranch.pages.replay.page import render, write
from anabranch.pages.replay.recording import Recording, ReplayError, record

__all__ = ["Recording", "ReplayError", "record", "render", "write"]
