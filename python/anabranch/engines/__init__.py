"""The engines: each takes a variant and a seed of a scenario and gives the same tables. Beside them, drill and controls in Python.

May use ``compile`` and what that uses.
"""
