"""Topologies for commands: prints the loader's changes on standard error."""

import gc
import sys

from anabranch.topologies.loading import load
from anabranch.topologies.model import Topology


def load_warned(name: str, directed: bool | None) -> Topology:
    """Load a topology by :func:`anabranch.topologies.load`, and print its warnings."""
    gc.disable()
    try:
        topology = load(name, directed)
    finally:
        gc.freeze()  # a command keeps its topology: no collection needs to visit millions of objects
        gc.enable()
    for warning in topology.warnings:
        print(f"{name}: warning: {warning}", file=sys.stderr)
    return topology
