"""MPRC: congestion control that packet spraying does not disturb (Chang, University of Victoria, 2024)."""

from anabranch.papers.mprc.experiments import experiments
from anabranch.papers.mprc.findings import findings

__all__ = ["experiments", "findings"]
