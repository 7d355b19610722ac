"""Other simulators on the same networks, to compare speed and results with.

The packages have to be installed: ns2 for `ns2`, g++ and libns3-dev for `ns3`; `make kernel` builds the kernel of `linux`.
`htsim` needs g++ and a built checkout.
"""

from . import ns2, ns3
from .child import PeerCrash, PeerError, PeerMissing
from .results import PeerRun, SingleFlowRun

__all__ = ["PeerCrash", "PeerError", "PeerMissing", "PeerRun", "SingleFlowRun", "ns2", "ns3"]
