"""Sweeps: a scenario over many values of its parameters, with every seed, by several engines, on many cores or machines.

``parameters.py`` reads the values of a plan, and ``plan.py`` gives its runs numbers and compiles them. ``execution.py`` gives them to workers in
chunks: those of ``workers.py`` on this machine, or of ``cluster.py`` on many. They execute ``tasks.py``. ``store.py`` writes the results,
whose columns are in ``columns.py``, and ``result.py`` reads them. ``until.py`` adds seeds, and ``estimate.py`` says what a sweep will take.
"""

from anabranch.studies.sweep.errors import SweepError
from anabranch.studies.sweep.plan import PlanError, Sweep
from anabranch.studies.sweep.result import SweepResult

__all__ = ["PlanError", "Sweep", "SweepError", "SweepResult"]
