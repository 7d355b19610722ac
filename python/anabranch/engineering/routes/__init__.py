"""Routes by a metric: the paths of every pair, and what can be done with them."""

from anabranch.engineering.routes.model import Forwarding, Path, Route, Routes
from anabranch.engineering.routes.quantities import completed
from anabranch.engineering.routes.search import Certificate, Search

__all__ = ["Certificate", "Forwarding", "Path", "Route", "Routes", "Search", "completed"]
