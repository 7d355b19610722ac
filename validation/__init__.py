"""Checks of the packet engine against formulas, another simulator, and the results of a thesis.

Each module of a comparison has a function that runs it and returns a :class:`~validation.section.Section`.
"""
