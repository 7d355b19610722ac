"""Topologies: loaded by name or from a file, made by rule, checked, written back.

>>> from anabranch import topologies
>>> topologies.load("nsfnet").name
'nsfnet'
"""

from anabranch.topologies.builtin import BUILTINS
from anabranch.topologies.errors import TopologyError
from anabranch.topologies.generate import GENERATORS
from anabranch.topologies.loading import load, names, suggest
from anabranch.topologies.model import Link, Node, Topology

__all__ = ["BUILTINS", "GENERATORS", "Link", "Node", "Topology", "TopologyError", "load", "names", "suggest"]
