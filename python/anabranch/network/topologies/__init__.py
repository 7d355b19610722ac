"""Topologies: loaded by name or from a file, made by rule, checked, written back.

>>> from anabranch import topologies
>>> topologies.load("nsfnet").name
'nsfnet'
"""

from anabranch.network.topologies.builtin import BUILTINS
from anabranch.network.topologies.errors import TopologyError
from anabranch.network.topologies.generate import GENERATORS
from anabranch.network.topologies.links import Link
from anabranch.network.topologies.loading import load, names, suggest
from anabranch.network.topologies.model import Node, Topology

__all__ = ["BUILTINS", "GENERATORS", "Link", "Node", "Topology", "TopologyError", "load", "names", "suggest"]
