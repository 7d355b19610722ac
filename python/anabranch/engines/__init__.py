"""The engines: each takes a variant and a seed of a scenario and gives the same tables. Beside them, drill, controls in Python, and a live OpenFlow network.

May use ``compile`` and what that uses.
"""
