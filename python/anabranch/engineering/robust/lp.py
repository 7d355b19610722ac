"""A linear program for HiGHS, put together from arrays; some columns may be whole numbers."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass
from types import ModuleType
from typing import TYPE_CHECKING, Literal

import numpy as np
import numpy.typing as npt

from anabranch.engineering.robust.errors import RobustError
from anabranch.foundation.array_types import Floats, Integers
from anabranch.foundation.extras import needed

if TYPE_CHECKING:
    import highspy

Method = Literal["interior-point", "first-order", "simplex"]
_SOLVERS = {"interior-point": "ipx", "first-order": "hipdlp", "simplex": "simplex"}
_MOST_ITERATIONS = 100_000
"""The most iterations of a first-order method; it no longer comes closer beyond them."""
_WHOLE_GAP = 1e-6
"""The relative gap at which branch and bound ends."""
_GRACE_S = 0.5
"""How long an interrupted solver may take to stop before it is left alone."""
_BRANCHING_GRACE_S = 60.0
"""The same of branch and bound. It has threads of its own, and a process that ends before them is aborted."""


@dataclass(frozen=True, eq=False)
class Optimum:
    """The values of the columns and the dual values of the rows."""

    objective: float
    columns: Floats
    row_duals: Floats


@dataclass(frozen=True, eq=False)
class MixedOptimum:
    """The result of branch and bound."""

    columns: Floats | None
    """The best values found; None if there are none."""
    bound: float
    """No values of less cost exist, by the solver's branch and bound."""


class OutOfTime(Exception):
    """The solver used up the time that it was given."""


def _library() -> ModuleType:
    """HiGHS, imported where it is used: this package also reads traffic matrices, which needs no extra."""
    with needed("linear programs", "te"):
        import highspy
    return highspy


class LinearProgram:
    """Minimise ``cost`` times columns, with rows between bounds; columns and rows are added in blocks."""

    def __init__(self) -> None:
        """Starts an empty program."""
        self.columns = 0
        self.rows = 0
        self._columns: list[tuple[Floats, Floats, Floats]] = []
        self._whole: list[Integers] = []
        self._rows: list[tuple[Floats, Floats]] = []
        self._entries: list[tuple[Integers, Integers, Floats]] = []
        self._passed: tuple[int, int, int] = (0, 0, 0)
        self._highs: highspy.Highs | None = None

    def add_columns(self, count: int, cost: Floats | float = 0.0, lower: float = 0.0, upper: float = np.inf) -> int:
        """Add ``count`` equal columns; returns the index of the first."""
        self._columns.append((np.full(count, cost), np.full(count, lower), np.full(count, upper)))
        self.columns += count
        return self.columns - count

    def add_whole_columns(self, count: int, most: int = 1, cost: Floats | float = 0.0) -> int:
        """Add ``count`` columns of whole numbers from 0 to ``most``; returns the index of the first."""
        first = self.add_columns(count, cost, upper=most)
        self._whole.append(np.arange(first, first + count))
        return first

    def add_rows(self, lower: Floats, upper: Floats) -> int:
        """Add rows with these bounds; returns the index of the first."""
        self._rows.append((np.asarray(lower, dtype=float), np.asarray(upper, dtype=float)))
        self.rows += len(lower)
        return self.rows - len(lower)

    def add_entries(self, rows: Integers, columns: Integers, values: Floats | float) -> None:
        """Coefficients; those at the same place add up."""
        spread = np.broadcast_to(np.asarray(values, dtype=float), np.shape(rows))
        self._entries.append((np.asarray(rows, dtype=np.int32), np.asarray(columns, dtype=np.int32), spread))

    def solve(self, method: Method, tolerance: float = 1e-8, limit_s: float = np.inf) -> Optimum:
        """The optimum. After a solution by simplex, further rows are added to the solver, which continues from there.

        A point is good enough if the relative gap between its primal and dual value is at most ``tolerance``. For a first-order
        method, the violation of rows must be so as well.

        Raises:
            RobustError: there is none, or HiGHS does not find it.
            OutOfTime: it is not found within ``limit_s``.
            KeyboardInterrupt: the solver was stopped.
        """
        highs = self._loaded(method)
        highs.setOptionValue("solver", _SOLVERS[method])
        highs.setOptionValue("ipm_optimality_tolerance", tolerance)
        highs.setOptionValue("pdlp_optimality_tolerance", tolerance)
        if method == "first-order":
            highs.setOptionValue("kkt_tolerance", tolerance)
            highs.setOptionValue("pdlp_iteration_limit", _MOST_ITERATIONS)
        if limit_s <= 0:
            raise OutOfTime
        highs.setOptionValue("time_limit", highs.getRunTime() + limit_s)
        _run(highs, limit_s)
        status, kinds = highs.getModelStatus(), _library().HighsModelStatus
        if status == kinds.kTimeLimit:
            raise OutOfTime
        if status != kinds.kOptimal and method == "interior-point":
            # Interior point without crossover may end just short of its tolerances; simplex then finishes.
            highs.setOptionValue("solver", "simplex")
            _run(highs, limit_s)
            status = highs.getModelStatus()
        near = method == "first-order" and status in (kinds.kIterationLimit, kinds.kUnknown)
        if status != kinds.kOptimal and not near:
            text = highs.modelStatusToString(status)
            raise RobustError(f"the linear program of {self.columns} columns and {self.rows} rows is {text.lower()}")
        found = highs.getSolution()
        value = highs.getInfo().objective_function_value
        return Optimum(value, np.array(found.col_value), np.array(found.row_dual))

    def solve_whole(self, start: Floats, limit_s: float) -> MixedOptimum:
        """The optimum in whole numbers by branch and bound, or the best that ``limit_s`` seconds allow.

        ``start`` has values of the whole columns, in their order, from which to begin.

        Raises:
            RobustError: no values keep to the rows.
            KeyboardInterrupt: the solver was stopped.
        """
        highs = self._loaded("interior-point")
        whole = np.concatenate(self._whole)
        highs.changeColsIntegrality(
            len(whole), whole.astype(np.int32), np.full(len(whole), _library().HighsVarType.kInteger)
        )
        highs.setSolution(len(whole), whole.astype(np.int32), start)
        highs.setOptionValue("solver", "choose")
        highs.setOptionValue("mip_rel_gap", _WHOLE_GAP)
        highs.setOptionValue("time_limit", highs.getRunTime() + limit_s)
        try:
            _run(highs, limit_s, _BRANCHING_GRACE_S)
        except OutOfTime:
            return MixedOptimum(None, -np.inf)
        status, kinds = highs.getModelStatus(), _library().HighsModelStatus
        if status == kinds.kInfeasible:
            raise RobustError(f"the program of {self.columns} columns, {len(whole)} of them whole, is infeasible")
        info, found = highs.getInfo(), highs.getSolution()
        values = np.array(found.col_value) if info.primal_solution_status == 2 else None
        return MixedOptimum(values, info.mip_dual_bound)

    def _loaded(self, method: Method) -> highspy.Highs:
        columns, rows, entries = self._passed
        if self._highs is not None and method == "simplex" and columns == len(self._columns):
            start, index, value = _row_wise(self._entries[entries:], self.rows, self._first_row(rows))
            if rows < len(self._rows):
                lower, upper = (np.concatenate(part) for part in zip(*self._rows[rows:], strict=True))
                self._highs.addRows(len(lower), lower, upper, len(index), start[:-1], index, value)
        else:
            self._highs = _fresh()
            start, index, value = _row_wise(self._entries, self.rows, 0)
            cost, lower, upper = (np.concatenate(part) for part in zip(*self._columns, strict=True))
            row_lower, row_upper = (np.concatenate(part) for part in zip(*self._rows, strict=True))
            program = _library().HighsLp()
            program.num_col_, program.num_row_ = self.columns, self.rows
            program.col_cost_, program.col_lower_, program.col_upper_ = cost, lower, upper
            program.row_lower_, program.row_upper_ = row_lower, row_upper
            program.a_matrix_.format_ = _library().MatrixFormat.kRowwise
            program.a_matrix_.start_, program.a_matrix_.index_, program.a_matrix_.value_ = start, index, value
            self._highs.passModel(program)
        self._passed = len(self._columns), len(self._rows), len(self._entries)
        return self._highs

    def _first_row(self, blocks: int) -> int:
        return sum(len(lower) for lower, _ in self._rows[:blocks])


def _fresh() -> highspy.Highs:
    highs: highspy.Highs = _library().Highs()
    highs.setOptionValue("output_flag", False)
    highs.setOptionValue("threads", 1)
    highs.setOptionValue("run_crossover", "off")
    return highs


def _row_wise(
    entries: list[tuple[Integers, Integers, Floats]], rows: int, first: int
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32], Floats]:
    """Coefficients of the rows from ``first`` on, row after row, those at one place added."""
    if not entries:
        return np.zeros(rows - first + 1, dtype=np.int32), np.zeros(0, dtype=np.int32), np.zeros(0)
    row, column, value = (np.concatenate(part) for part in zip(*entries, strict=True))
    width = int(column.max()) + 1
    key = (row - first) * np.int64(width) + column
    del row, column
    order = np.argsort(key, kind="stable")
    key, value = key[order], value[order]
    del order
    begins = np.flatnonzero(np.diff(key, prepend=-1))
    key, summed = key[begins], np.add.reduceat(value, begins)
    start = np.searchsorted(key // width, np.arange(rows - first + 1))
    return start.astype(np.int32), (key % width).astype(np.int32), summed


def _run(highs: highspy.Highs, limit_s: float, grace_s: float = _GRACE_S) -> None:
    """Run the solver in a thread of its own, so that Ctrl-C stops it, and the end of its time where it does not look at the clock.

    It is left alone if it has not stopped ``grace_s`` after either.
    """
    highs.HandleUserInterrupt = True
    thread = threading.Thread(target=highs.run, daemon=True)
    thread.start()
    ends = time.monotonic() + limit_s + _GRACE_S
    try:
        while thread.is_alive():
            thread.join(0.05)
            if time.monotonic() > ends:
                highs.cancelSolve()  # type: ignore[no-untyped-call]
                thread.join(grace_s)
                raise OutOfTime
    except KeyboardInterrupt:
        highs.cancelSolve()  # type: ignore[no-untyped-call]
        thread.join(grace_s)
        raise
