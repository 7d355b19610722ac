"""Spraying, then and now: which selector and which transport on a leaf-spine?

>>> from anabranch.studies.fabrics import Fabric, study
>>> small = Fabric(leaves=2, spines=2, hosts=2, permutation_bytes=40_000, incast_bytes=40_000, incast_senders=3, ring_bytes=40_000)
>>> answer = study(small, seeds=1, show_progress=False)
>>> len(answer.cells["incast"]) == len(answer.rows)
True
"""

from anabranch.studies.fabrics.answer import FabricAnswer, FabricCell, study
from anabranch.studies.fabrics.choice import Choice, choices
from anabranch.studies.fabrics.question import ROWS, Fabric, FabricRow

__all__ = ["ROWS", "Choice", "Fabric", "FabricAnswer", "FabricCell", "FabricRow", "choices", "study"]
