"""From a variant and a seed of a scenario to a compiled run, and the warnings that depend on its routes.

May use ``results`` and what that uses.
"""
