"""Routes by a metric: the paths of every pair, and what can be done with them."""

from anabranch.routes.model import Forwarding, Path, Route, Routes

__all__ = ["Forwarding", "Path", "Route", "Routes"]
