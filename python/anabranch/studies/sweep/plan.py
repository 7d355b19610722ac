"""The plan of a sweep: a scenario, its parameters, seeds and engines; its runs by number, and the compiled form of each.

A *point* is one value for each parameter. A *cell* is a point and an engine; each cell is run with every seed. Point, engine and seed give
a run its number, so that the number says all of them.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from hashlib import sha256
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import polars as pl
from pydantic import Field, ValidationError

from anabranch import version
from anabranch.compile.run import compile_run
from anabranch.foundation import examples, input_files
from anabranch.foundation.suggest import suggest
from anabranch.foundation.toml_text import Path as KeyPath
from anabranch.foundation.toml_text import TomlError, format_path, parse
from anabranch.network.topologies import topohub_names
from anabranch.results.matrix_columns import column_names, key_table, plain_names, unit
from anabranch.runs.directory import purpose
from anabranch.runs.jobs import spread
from anabranch.runs.kept import engine_build
from anabranch.runs.manifest import topology_record
from anabranch.scenario import LARGEST_FILE, Case, Scenario, label, walk
from anabranch.scenario.problems import MISSING, Problem, ScenarioError, from_validation
from anabranch.scenario.settings import put
from anabranch.scenario.table import Table
from anabranch.scenario.variant import Seeds, Variant, seed_list
from anabranch.studies.sweep.columns import TAKEN
from anabranch.studies.sweep.parameters import Axis, axes

if TYPE_CHECKING:
    from anabranch.studies.sweep.result import SweepResult

MOST_RUNS = 2**32 - 1
"""Numbers of runs are columns of 32 bits."""
SECTIONS = ("treatments", "conditions")
_SECTION_PATHS = tuple((name,) for name in SECTIONS)


class PlanError(ScenarioError):
    """A plan that cannot be swept: holds all that is wrong with it."""


class PlanDocument(Table):
    """The document of a plan."""

    title: str = Field("", description="The question that the sweep answers.")
    scenario: str = Field(
        min_length=1,
        description="The scenario's file, relative to the plan, or an example such as `example:lossy-link`.",
    )
    engines: list[Literal["packet", "predict", "kernel"]] = Field(["packet"], min_length=1, description="The engines.")
    seeds: Seeds | None = Field(None, description="Number n for 1 to n, or a list (default: the scenario's).")
    links: bool = Field(False, description="Whether to keep the table of links as well.")
    treatments: dict[str, Any] = Field({}, description="What one chooses.")
    conditions: dict[str, Any] = Field({}, description="What one is given.")


@dataclass(frozen=True)
class NumberedRun:
    """A run of the plan: its number, and what the number says."""

    number: int
    point: int
    engine: str
    seed: int


class Sweep:
    """A plan that has been read and checked.

    >>> sweep = Sweep.load("sweeps/random-loss.toml")
    >>> sweep.size
    '56 runs (2 stack x 7 loss x 4 seed)'
    """

    def __init__(
        self,
        document: Mapping[str, Any],
        *,
        source: str = "plan",
        directory: Path | None = None,
        text: str | None = None,
    ) -> None:
        """Read a document (plain tables, lists and values), and the scenario that it names.

        ``directory`` is where the scenario's path starts, ``source`` and ``text`` are for messages.

        Raises:
            PlanError: all that is wrong with the plan.
            ScenarioError: all that is wrong with the scenario.
        """
        self.source = input_files.shown(source)
        self._text = text
        if "scenario" not in document and {"topology", "traffic"} & document.keys():
            scenario = f'is a scenario, not the plan of a sweep: run anabranch run {self.source}, or write a plan with scenario = "{self.source}"'
            raise self._error(Problem((), scenario))
        written = self._written(document)
        self.links = written.links
        self.engines: list[str] = list(written.engines)
        if len(set(self.engines)) < len(self.engines):
            raise self._error(Problem(("engines",), "engines must differ from each other", self.engines))
        scenario_text = self._read_scenario(directory or Path(), written.scenario)
        self._base = _scenario_document(scenario_text, str(self._file))
        self.title = written.title or str(self._base.get("title") or input_files.stem(Path(self.source)))
        self._axes: list[Axis] = []
        problems: list[Problem] = []
        for section, table in zip(SECTIONS, (written.treatments, written.conditions), strict=True):
            found, wrong = axes(table, section)
            self._axes += found
            problems += wrong
        if problems:
            raise self._error(*problems)
        self._paths = [self._put(axis) for axis in self._axes]
        if problems := [*self._repeated(), *self._lists_inside()]:
            raise self._error(*problems)
        self._add_matrix(scenario_text)
        self._check(scenario_text)
        self.seeds = self.case(0).variant.run.seed_list() if written.seeds is None else seed_list(written.seeds)
        if len(set(self.seeds)) < len(self.seeds):
            raise self._error(Problem(("seeds",), "seeds must differ from each other", self.seeds))
        if self.planned > MOST_RUNS:
            raise self._error(Problem((), f"has {self.planned} runs, at most {MOST_RUNS} are possible"))

    @classmethod
    def load(cls, path: str | Path) -> "Sweep":
        """Read a TOML file, an example (``example:random-loss``), standard input (``/dev/stdin``) or a pipe.

        Raises:
            PlanError: all that is wrong with the plan, or the file cannot be read.
            ScenarioError: all that is wrong with the scenario.
        """
        try:
            found = examples.resolved(Path(path), examples.SWEEPS)
            text, source, directory = input_files.document(found, LARGEST_FILE)
            document = parse(text)
        except input_files.InputError as error:
            raise PlanError([Problem((), error.reason)], str(path)) from None
        except TomlError as error:
            raise PlanError([Problem((), str(error))], str(path)) from None
        return cls(document, source=source, directory=directory, text=text)

    @cached_property
    def points(self) -> int:
        """How many combinations of values there are."""
        total = 1
        for axis in self._axes:
            total *= len(axis.rows)
        return total

    @property
    def cells(self) -> int:
        """How many combinations of values and engines there are."""
        return self.points * len(self.engines)

    @property
    def planned(self) -> int:
        """How many runs the plan asks for."""
        return self.cells * len(self.seeds)

    @property
    def size(self) -> str:
        """How many runs there are, and of which lists."""
        lists = [
            (len(axis.rows), " + ".join(plain_names(names)))
            for axis, names in zip(self._axes, self._names, strict=True)
        ]
        lists += [(len(self.engines), "engine"), (len(self.seeds), "seed")]
        product = " x ".join(f"{number} {name}" for number, name in lists if number > 1)
        return f"{self.planned} runs ({product})" if self.planned > 1 else "1 run"

    @property
    def treatments(self) -> list[str]:
        """The columns of what one chooses."""
        return self._columns(is_treatment=True)

    @property
    def conditions(self) -> list[str]:
        """The columns of what one is given."""
        return self._columns(is_treatment=False)

    @property
    def not_kept(self) -> list[str]:
        """The keys of the scenario that ask for what a sweep does not keep."""
        asked = {"run.sample": self._base.get("run", {}).get("sample"), "capture": self._base.get("capture")}
        return [key for key, value in asked.items() if value]

    def numbers(self) -> list[int]:
        """The numbers of all runs, in an order in which the runs so far are a fair sample.

        All points have their turn (:func:`anabranch.runs.jobs.spread`) with the first seed, then with as many further seeds as they have had.
        So no cell has more than twice the runs of another. Of one turn, the runs of a point are neighbours, as they share much of their
        compiled form.
        """
        engines, count = len(self.engines), len(self.seeds)
        order = spread(self.points)
        ends = [min(2**turn, count) for turn in range((count - 1).bit_length() + 1)]
        return [
            self.number(point * engines + engine, seed)
            for begin, end in pairwise([0, *ends])
            for point in order
            for engine in range(engines)
            for seed in range(begin, end)
        ]

    def run(self, number: int) -> NumberedRun:
        """The run of a number. Numbers from :attr:`planned` on have further seeds (:meth:`seed`)."""
        cell, seed = self.cell_and_seed(number)
        point, engine = divmod(cell, len(self.engines))
        return NumberedRun(number, point, self.engines[engine], self.seed(seed))

    def number(self, cell: int, seed: int) -> int:
        """The number of the run of a cell with the seed of this index."""
        more = seed - len(self.seeds)
        return cell * len(self.seeds) + seed if more < 0 else self.planned + more * self.cells + cell

    def cell_and_seed(self, number: int) -> tuple[int, int]:
        """The cell of a run, and the index of its seed."""
        if number < self.planned:
            return divmod(number, len(self.seeds))
        more, cell = divmod(number - self.planned, self.cells)
        return cell, len(self.seeds) + more

    def seed(self, index: int) -> int:
        """The seed of an index: the plan's seeds come first, then the numbers after the greatest of them."""
        more = index - len(self.seeds)
        return self.seeds[index] if more < 0 else max(self.seeds) + 1 + more

    def case(self, point: int) -> Case:
        """The scenario at a point.

        Raises:
            ScenarioError: the values do not go together.
        """
        return self._case([axis.rows[index] for axis, index in zip(self._axes, self._indexes(point), strict=True)])

    def compiled(self, run: NumberedRun) -> dict[str, Any]:
        """The compiled form of a run, without samples and captures, which a sweep does not keep.

        Raises:
            ValueError: the values do not go together.
        """
        spec = compile_run(self._case_again(run.point), run.seed)
        return spec | {"sample": None, "captures": []}

    def labels(self, numbers: Sequence[int]) -> pl.DataFrame:
        """The values of runs: ``run``, ``engine``, ``seed``, and a column for each key."""
        found = [self.run(number) for number in numbers]
        indexes = [self._indexes(run.point) for run in found]
        columns = [
            table.select(pl.all().gather(pl.Series([chosen[axis] for chosen in indexes], dtype=pl.UInt32)))
            for axis, table in enumerate(self._tables)
        ]
        head = pl.DataFrame(
            {
                "run": pl.Series([run.number for run in found], dtype=pl.UInt32),
                "engine": pl.Series([run.engine for run in found], dtype=pl.String),
                "seed": pl.Series([run.seed for run in found], dtype=pl.UInt64),
            }
        )
        return pl.concat([head, *columns], how="horizontal")

    @cached_property
    def fingerprint(self) -> str:
        """A text that is the same for plans whose numbers mean the same runs, on this build of Anabranch."""
        rows = [[axis.keys, axis.rows] for axis in self._axes]
        files = {name: _digest(name) for name in sorted(set(self._files()))}
        networks = [topohub_names.document(name) for name in sorted(self._values() & set(topohub_names.names()))]
        build = [engine_build(), _code()]
        return purpose(str(self._base), str(rows), self.seeds, self.engines, self.links, build, files, networks)

    def document(self) -> dict[str, Any]:
        """The entries of ``sweep.json`` about the plan."""
        keys = [key for axis in self._axes for key in axis.keys]
        first = [unit(label(value)) for axis in self._axes for value in axis.rows[0]]
        varied = [column.name for table in self._tables for column in table if column.n_unique() > 1]
        names = [name for names in self._names for name in names]
        case = self.case(0)
        return {
            "anabranch": version(),
            "title": self.title,
            "plan": self.source,
            "scenario": input_files.shown(self._file),
            "document": self._base,
            "document_hash": sha256(str(self._base).encode()).hexdigest(),
            "topology": topology_record(case, compile_run(case, self.seeds[0])),
            "engines": self.engines,
            "seeds": self.seeds,
            "treatments": self.treatments,
            "conditions": self.conditions,
            "keys": dict(zip(names, keys, strict=True)),
            "units": {name: one for name, one in zip(names, first, strict=True) if one},
            "varied": [*(["engine"] if len(self.engines) > 1 else []), *varied],
            "links": self.links,
            "planned_runs": self.planned,
        }

    def execute(
        self,
        directory: str | Path,
        *,
        jobs: int | None = None,
        cluster: str | None = None,
        until: str | None = None,
        max_seeds: int | None = None,
        show_progress: bool = False,
        command: Sequence[str] = (),
    ) -> "SweepResult":
        """Run what is not finished in the directory yet, as :func:`anabranch.studies.sweep.execution.execute` does."""
        from anabranch.studies.sweep.execution import execute

        return execute(
            self,
            Path(directory),
            jobs=jobs,
            cluster=cluster,
            until=until,
            max_seeds=max_seeds,
            show_progress=show_progress,
            command=command,
        )

    def _error(self, *problems: Problem) -> PlanError:
        return PlanError(problems, self.source, self._text)

    def _written(self, document: Mapping[str, Any]) -> PlanDocument:
        try:
            return PlanDocument.model_validate(dict(document))
        except ValidationError as error:
            fields = list(PlanDocument.model_fields)
            unknown = [
                Problem((key,), f"unknown key; {suggest(key, fields)}", MISSING)
                for key in document
                if key not in fields
            ]
            others = [
                one for one in from_validation(error, document) if one.path not in {wrong.path for wrong in unknown}
            ]
            raise self._error(*unknown, *others) from None

    def _read_scenario(self, directory: Path, name: str) -> str:
        try:
            self._file = directory / examples.resolved(Path(name))
            return input_files.text(self._file, LARGEST_FILE)
        except input_files.InputError as error:
            raise self._error(Problem(("scenario",), error.reason, name)) from None

    def _put(self, axis: Axis) -> list[KeyPath]:
        """Set an axis's keys to their first values; their paths in the scenario."""
        paths = []
        for key, values, place in zip(axis.keys, zip(*axis.rows, strict=True), axis.places, strict=True):
            try:
                paths.append(put(self._base, key, values[0], self.source))
            except ScenarioError as error:
                raise self._error(Problem(place, error.problems[0].message)) from None
            runs = [value for value in values if paths[-1] == ("run",) and isinstance(value, Mapping)]
            if paths[-1] in (("run", "seed"), ("run", "seeds")) or any({"seed", "seeds"} & run.keys() for run in runs):
                raise self._error(Problem(place, "give seeds in the plan: seeds = 5"))
        return paths

    def _repeated(self) -> Iterator[Problem]:
        """Keys that another key sets as well, or a table around them."""
        found: list[tuple[KeyPath, str]] = []
        for axis, paths in zip(self._axes, self._paths, strict=True):
            for key, place, path in zip(axis.keys, axis.places, paths, strict=True):
                for other, name in found:
                    if path[: len(other)] == other[: len(path)]:
                        yield Problem(place, f"sets the same value as {name}; keep one")
                        break
                found.append((path, key))

    def _lists_inside(self) -> Iterator[Problem]:
        """Values with a list inside, of which a run would take the first entry only."""
        for axis, paths in zip(self._axes, self._paths, strict=True):
            for row in axis.rows:
                if not any(isinstance(value, list | Mapping) for value in row):
                    continue
                document = walk.substitute(self._base, dict(zip(paths, row, strict=True)))
                _, lists = walk.examine(document, Variant)
                for place, path, value in zip(axis.places, paths, row, strict=True):
                    if any(one.path[: len(path)] == path for one in lists):
                        yield Problem(place, "each value must be a single one; here is a list inside it", value)

    def _add_matrix(self, scenario_text: str) -> None:
        """Lists of the scenario that the plan does not replace are further axes.

        Raises:
            ScenarioError: a list of the scenario has equal values.
        """
        _, sweeps = walk.examine(self._base, Variant)
        for dimension in walk.dimensions(sweeps):
            if problems := list(walk.repeated([dimension])):
                raise ScenarioError(problems, str(self._file), scenario_text)
            rows = tuple((value,) * len(dimension.paths) for value in dimension.values)
            keys = tuple(format_path(path) for path in dimension.paths)
            self._axes.append(Axis(keys, rows, dimension.is_treatment, dimension.paths, rows))
            self._paths.append(list(dimension.paths))

    def _check(self, scenario_text: str) -> None:
        """Check the first point, and each axis's values by themselves there. Values that do not go together become runs with an error.

        Raises:
            PlanError: a value of the plan is wrong.
            ScenarioError: the scenario itself is.
        """
        first = [axis.rows[0] for axis in self._axes]
        checked = [first]
        for index, axis in enumerate(self._axes):
            checked += [[*first[:index], row, *first[index + 1 :]] for row in axis.corners if row != first[index]]
        of_plan: list[Problem] = []
        for rows in checked:
            try:
                self._case(rows)
            except ScenarioError as error:
                problems = [self._in_plan(problem, rows) for problem in error.problems]
                own = [problem for problem in problems if problem.path[:1] in _SECTION_PATHS]
                if not own and rows is first:
                    raise ScenarioError(problems, str(self._file), scenario_text) from None
                of_plan += [problem for problem in own if problem not in of_plan]
        if of_plan:
            raise self._error(*of_plan)

    def _in_plan(self, problem: Problem, rows: Sequence[tuple[Any, ...]]) -> Problem:
        """A problem of the scenario at the key of the plan that has caused it."""
        for axis, paths, row in zip(self._axes, self._paths, rows, strict=True):
            for place, path, value in zip(axis.places, paths, row, strict=True):
                if problem.path[: len(path)] == path and place[0] in SECTIONS:
                    return Problem(place, problem.message, value)
        return problem

    @cached_property
    def _names(self) -> list[list[str]]:
        """The columns of each axis's keys."""
        paths = [path for paths in self._paths for path in paths]
        names = iter(column_names(walk.short_names(paths), TAKEN))
        return [[next(names) for _ in axis.keys] for axis in self._axes]

    def _columns(self, is_treatment: bool) -> list[str]:
        pairs = zip(self._axes, self._names, strict=True)
        return [name for axis, names in pairs if axis.is_treatment == is_treatment for name in names]

    @cached_property
    def _tables(self) -> list[pl.DataFrame]:
        """The values of each axis, as typed columns."""
        return [
            key_table([dict(zip(names, map(label, row), strict=True)) for row in axis.rows])
            for axis, names in zip(self._axes, self._names, strict=True)
        ]

    def _indexes(self, point: int) -> tuple[int, ...]:
        """The index of the value on each axis; the last axis varies fastest."""
        found = []
        for axis in reversed(self._axes):
            point, index = divmod(point, len(axis.rows))
            found.append(index)
        return tuple(reversed(found))

    def _case(self, rows: Sequence[tuple[Any, ...]]) -> Case:
        """The scenario with a row of each axis."""
        values = {
            path: value
            for paths, row in zip(self._paths, rows, strict=True)
            for path, value in zip(paths, row, strict=True)
        }
        document = walk.substitute(self._base, values)
        return Scenario(document, source=str(self._file), directory=self._file.parent).cases[0]

    @cached_property
    def _case_again(self) -> Callable[[int], Case]:
        """:meth:`case`, for runs of a point that come one after the other."""
        return lru_cache(maxsize=1)(self.case)

    def _values(self) -> set[str]:
        """All texts of the scenario and the plan."""
        return {*_texts(self._base), *_texts([axis.rows for axis in self._axes])}

    def _files(self) -> Iterator[str]:
        """The files that the scenario may read: all files that its texts name."""
        for text in self._values():
            for name in {text, text.rpartition(":")[0]} - {""}:  # a congestion control is FILE:CLASS
                path = self._file.parent / name
                try:
                    if path.is_file():
                        yield str(path)
                except (OSError, ValueError):  # a text that no path can be
                    continue


def _scenario_document(text: str, source: str) -> dict[str, Any]:
    try:
        return parse(text)
    except TomlError as error:
        raise ScenarioError([Problem((), str(error))], source) from None


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for one in value.values():
            yield from _texts(one)
    elif isinstance(value, list | tuple):
        for one in value:
            yield from _texts(one)


@cache
def _code() -> str:
    """SHA-256 of the package's modules: another one may compile the same values to another run."""
    digest = sha256()
    for path in sorted(Path(__file__).parents[2].rglob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def _digest(path: str) -> str:
    digest = sha256()
    with open(path, "rb") as file:
        while piece := file.read(2**20):
            digest.update(piece)
    return digest.hexdigest()
