"""The project's own benchmarks and validation, and other simulators on the same work."""
