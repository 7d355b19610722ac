"""Topologies for commands: prints the loader's changes on standard error."""

import gc
import sys
from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal

from anabranch.foundation.printable import printable
from anabranch.network.topologies.loading import load
from anabranch.network.topologies.model import Topology


def load_warned(
    name: str,
    directed: bool | None,
    part: Literal["largest"] | None,
    given: Mapping[str, str | None] = MappingProxyType({}),
) -> Topology:
    """Load a topology by :func:`anabranch.network.topologies.load`, and print its warnings.

    ``given`` has the options for links without an attribute, by attribute. An option for which there is no such link gets a
    warning, as it changes nothing.
    """
    gc.disable()
    try:
        topology = load(name, directed, part)
    finally:
        gc.freeze()  # a command keeps its topology: no collection needs to visit millions of objects
        gc.enable()
    for warning in topology.warnings:
        print(printable(f"{name}: warning: {warning}"), file=sys.stderr)
    for attribute, option in given.items():
        if option is not None and all(getattr(link, attribute) is not None for link in topology.links):
            quantity = attribute.partition("_")[0]  # as in files, without the unit
            text = f"{name}: warning: {option} changes nothing: every link has its own {quantity}"
            print(printable(text), file=sys.stderr)
    return topology
