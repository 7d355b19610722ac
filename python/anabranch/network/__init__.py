"""Networks as graphs: topologies from files, names and generators, and the metrics that rate their paths.

May use ``foundation``.
"""
