"""All variants and seeds of a scenario through an engine, in threads, into a run directory.

A run directory holds ``manifest.json``, ``flows.parquet`` and ``links.parquet`` of all runs, ``series/`` and ``captures/``;
``states.parquet`` and ``routes.parquet`` if they have rows. Finished runs are kept until all are finished, so that a
command that was stopped or killed continues where it was (:mod:`anabranch.runs.kept`, :mod:`anabranch.runs.directory`).

Several scenarios run together (:func:`execute_all`), so that no thread waits for the last run of one of them.

``plan.py`` says what to run, and ``jobs.py`` runs it in threads. ``run.py`` with ``recorder.py`` is one run. ``directory.py`` and ``kept.py``
keep finished runs of an unfinished result. ``tables.py`` and ``manifest.py`` write the result. ``execution.py`` joins them.

May use ``engines`` and what that uses.
"""

from anabranch.runs.errors import RunError
from anabranch.runs.execution import execute, execute_all
from anabranch.runs.plan import RunPlan, default_directory

__all__ = ["RunError", "RunPlan", "default_directory", "execute", "execute_all"]
