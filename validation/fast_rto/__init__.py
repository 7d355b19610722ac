"""Which parameters FastRTO should have: the thesis' cases and random networks, a search, and a page with what came out."""
