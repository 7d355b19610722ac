"""Checks of the models against formulas, other simulators, Linux, and the results of a thesis.

Each module of a comparison has a function that runs it and returns a :class:`~validation.section.Section`. ``predict``, ``fast_rto`` and
``convergence`` are commands of their own.
"""
