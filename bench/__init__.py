"""The project's own benchmarks, and other simulators on the same work."""
