"""The engines: each takes a variant and a seed of a scenario and gives the same tables."""
