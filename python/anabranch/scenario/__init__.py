"""The scenario: the one schema of Anabranch, from TOML to validated variants.

A scenario is a TOML file with the sections topology, stacks, routing, traffic, impairments, events, run and capture. A
list at a key that takes one value makes a matrix: one variant of the scenario per value, and per combination of several
such keys. Equal lists at the same key of several ``[[traffic]]`` (or other) entries vary together.

May use ``engineering`` and what that uses. :meth:`Scenario.run` and :attr:`Scenario.warnings` are aliases of what lies above.
"""

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from anabranch.foundation import examples, input_files, units
from anabranch.foundation.toml_text import TomlError, parse
from anabranch.scenario import references, walk, warnings
from anabranch.scenario.groups import Names
from anabranch.scenario.problems import Listing, Problem, ScenarioError, from_validation
from anabranch.scenario.topology import Resolver
from anabranch.scenario.variant import Variant
from anabranch.scenario.without_broken_parts import WithoutBrokenParts

if TYPE_CHECKING:
    from anabranch.network.topologies import Topology
    from anabranch.results.result import Result

__all__ = ["Case", "Problem", "Scenario", "ScenarioError", "Variant"]

LARGEST_FILE = 16 * 2**20
"""Bytes of a scenario; larger networks are files of their own, in any format of topologies."""
MOST_DEPTH = 20
"""Tables and lists inside one another; those of the schema are 8 deep."""


@dataclass(frozen=True, eq=False)
class Case:
    """One variant of a scenario, with its values of the matrix by key and its topology. It equals only itself."""

    values: dict[str, Any]
    variant: Variant
    topology: "Topology"

    @cached_property
    def names(self) -> Names:
        """The names of its nodes and links."""
        return Names.of(self.topology)


class Scenario:
    """A validated scenario: its document as written, and its variants."""

    def __init__(
        self,
        document: Mapping[str, Any],
        *,
        source: str = "scenario",
        directory: Path | None = None,
        text: str | None = None,
        written: str | None = None,
    ) -> None:
        """Validate a document (plain tables, lists and values).

        ``directory`` is where relative file names start, ``source`` and ``text`` are for messages and :meth:`to_toml`.
        ``written`` is the text before some values were replaced: messages have its lines. :class:`ScenarioError` holds all problems.
        """
        self.document = dict(document)
        self.source = input_files.shown(source)
        self.directory = directory or Path()
        self._text = text
        self._written = text if written is None else written
        if walk.deeper_than(MOST_DEPTH, self.document):
            raise ScenarioError(
                [Problem((), f"is nested more than {MOST_DEPTH} deep; write it with fewer levels")], source
            )
        if "scenario" in document and not {"topology", "traffic"} & document.keys():
            plan = f"is the plan of a sweep, not a scenario: run anabranch sweep {self.source}"
            raise ScenarioError([Problem((), plan)], source)
        problems, sweeps = walk.examine(self.document, Variant)
        self._matrix = walk.dimensions(sweeps)
        problems += [
            Problem(sweep.path, "must be one number; for several give seeds = [...]", list(sweep.values))
            for sweep in sweeps
            if sweep.path == ("run", "seed")
        ]
        size = walk.count(self._matrix)
        if size > walk.MOST_VARIANTS:
            problems.append(Problem((), f"the matrix has {size} variants, at most {walk.MOST_VARIANTS} are possible"))
            raise ScenarioError(problems, source, self._written)
        # a table is checked as a whole without its unknown keys, so that all its problems are found at once
        unknown = frozenset(problem.path for problem in problems)
        self.cases, found = self._validate(walk.without(self.document, unknown))
        known = {problem.path for problem in problems}
        problems += walk.repeated(self._matrix)
        problems = _unique(problems + [problem for problem in found if problem.path not in known])
        if problems:
            raise ScenarioError(problems, source, self._written)

    @classmethod
    def load(cls, path: str | Path, values: Mapping[str, Any] | None = None) -> "Scenario":
        """Read a TOML file, an example (``example:abilene``), standard input (``/dev/stdin``) or a pipe, with other ``values`` at some keys (:meth:`with_values`).

        :class:`ScenarioError` holds all problems, also those of the file itself.
        """
        try:
            written, source, directory = input_files.document(examples.resolved(Path(path)), LARGEST_FILE)
        except input_files.InputError as error:
            raise ScenarioError([Problem((), error.reason)], str(path)) from None
        text = _with_values(written, values, source) if values else written
        return cls(_document(text, source), source=source, directory=directory, text=text, written=written)

    @classmethod
    def from_toml(cls, text: str, *, source: str = "scenario", directory: Path | None = None) -> "Scenario":
        """Read a TOML text."""
        return cls(_document(text, source), source=source, directory=directory, text=text)

    def to_toml(self) -> str:
        """The TOML text: of a loaded scenario byte for byte as it was, of a built one in canonical form."""
        if self._text is not None:
            return self._text
        import tomli_w

        # tomlkit would take minutes for the text of a long trace.
        return tomli_w.dumps(self.document)

    def with_values(self, settings: Mapping[str, Any]) -> "Scenario":
        """A scenario with other values at some keys, such as ``{"run.duration": "5s", "traffic[0].stack": "cubic"}``.

        A text is read as TOML where it can be, otherwise taken as it is. A list is one variant per value: ``{"topology.delay": ["5ms", "20ms"]}``.
        """
        text = _with_values(self.to_toml(), settings, self.source)
        return type(self)(
            _document(text, self.source),
            source=self.source,
            directory=self.directory,
            text=text,
            written=self._written,
        )

    @property
    def title(self) -> str:
        """The title, or the name of the file."""
        title = self.cases[0].variant.title
        return title or input_files.stem(Path(self.source))

    @property
    def keys(self) -> list[str]:
        """The keys of the matrix, in the order of the document."""
        return [dimension.name for dimension in self._matrix]

    @property
    def treatments(self) -> list[str]:
        """The keys of the matrix that one chooses: stacks and routings. All others are conditions, which one is given."""
        return [dimension.name for dimension in self._matrix if dimension.is_treatment]

    @property
    def seeds(self) -> list[int]:
        """The seeds that the scenario asks for."""
        return self.cases[0].variant.run.seed_list()

    @cached_property
    def warnings(self) -> Listing:
        """Warnings about all variants: values that may be mistakes (:mod:`anabranch.scenario.warnings`, :mod:`anabranch.compile.warnings`)."""
        from anabranch import route_warnings

        combinations = zip(self.cases, walk.combinations(self._matrix), strict=True)
        found = [
            self._in_document(problem, values)
            for case, values in combinations
            for problem in (*warnings.of(case), *route_warnings(case))
        ]
        return self.listing([*walk.multiplied(self._matrix), *found])

    def listing(self, problems: Sequence[Problem]) -> Listing:
        """Problems of this scenario with their lines, each once."""
        return Listing(_unique(problems), self.source, self._written)

    @property
    def size(self) -> str:
        """How many variants there are, and of which lists: ``6 variants (3 stack x 2 routing)``."""
        total = len(self.cases)
        product = " x ".join(f"{len(dimension.values)} {dimension.name}" for dimension in self._matrix)
        return ("1 variant" if total == 1 else f"{total} variants") + (f" ({product})" if len(self._matrix) > 1 else "")

    def hash(self) -> str:
        """SHA-256 over the document, independent of its layout and comments."""
        canonical = json.dumps(self.document, sort_keys=True, ensure_ascii=False, default=str)
        return sha256(canonical.encode()).hexdigest()

    @staticmethod
    def json_schema() -> dict[str, Any]:
        """The JSON Schema of a scenario document, for editors."""
        from anabranch.scenario.schema import json_schema

        return json_schema(Variant)

    def run(
        self,
        engine: str = "packet",
        seed: int | None = None,
        seeds: Sequence[int] | None = None,
        directory: str | Path | None = None,
        jobs: int | None = None,
        threads: int | None = None,
    ) -> "Result":
        """Run all variants with one seed, several, or the scenario's: :func:`anabranch.run`."""
        from anabranch import run

        return run(self, engine, seed, seeds, directory, jobs, threads)

    def _repr_html_(self) -> str:
        """The network as a map, and the size of the matrix, for notebooks."""
        from base64 import b64encode
        from html import escape

        from anabranch.network.topologies.plot import svg

        # As a picture: the drawing's styles would hold for the whole notebook.
        drawing = b64encode(svg(self.cases[0].topology).encode()).decode()
        picture = (
            f'<img alt="The network" style="max-width: 100%; width: 40rem" src="data:image/svg+xml;base64,{drawing}">'
        )
        values = "".join(
            f"<li><code>{escape(dimension.name)}</code>: {escape(', '.join(str(label(each)) for each in dimension.values))}</li>"
            for dimension in self._matrix
        )
        count = f"{self.size}, {len(self.seeds)} seed{'' if len(self.seeds) == 1 else 's'}"
        return f"<strong>{escape(self.title)}</strong><p>{escape(count)}</p><ul>{values}</ul>{picture}"

    def __repr__(self) -> str:
        """The title and the size of the matrix."""
        return f"{self.title}: {self.size}"

    def _validate(self, base: dict[str, Any]) -> tuple[list[Case], list[Problem]]:
        cases: list[Case] = []
        problems: list[Problem] = []
        resolver = Resolver(self.directory)
        for values in walk.combinations(self._matrix):
            places = {path: value for dim, value in zip(self._matrix, values, strict=True) for path in dim.paths}
            document = walk.substitute(base, places)
            found: list[Problem] = []
            try:
                variant = Variant.model_validate(document, context=resolver.context)
            except ValidationError as error:
                found = from_validation(error, document)
                found += _in_the_rest(document, found, resolver)
            else:
                topology, found = _names(variant, resolver)
                if topology is not None:
                    names = {d.name: label(value) for d, value in zip(self._matrix, values, strict=True)}
                    cases.append(Case(names, variant, topology))
            problems += [self._in_document(problem, values) for problem in found]
        return cases, problems

    def _in_document(self, problem: Problem, values: tuple[Any, ...]) -> Problem:
        """A variant's problem with the place of its value in the list of the matrix."""
        for dimension, value in zip(self._matrix, values, strict=True):
            for path in dimension.paths:
                if problem.path[: len(path)] == path:
                    index = dimension.values.index(value)
                    return Problem((*path, index, *problem.path[len(path) :]), problem.message, problem.value)
        return problem


def _in_the_rest(document: dict[str, Any], found: list[Problem], resolver: Resolver) -> list[Problem]:
    """The problems in the parts of a document that have none yet."""
    problems: list[Problem] = []
    broken = [problem.path for problem in found]
    while True:
        rest = WithoutBrokenParts(document, broken)
        try:
            variant = Variant.model_validate(rest.document, context=resolver.context)
        except ValidationError as error:  # what a table says as a whole comes out once its keys are right
            more = [rest.original(problem) for problem in from_validation(error, rest.document)]
            fresh = [problem for problem in more if problem is not None and problem.path not in broken]
            if not fresh:
                return problems
            problems += fresh
            broken += [problem.path for problem in fresh]
        else:
            found = _names(variant, resolver if rest.topology_known else None)[1]
            return problems + [p for p in map(rest.original, found) if p is not None]


def _names(variant: Variant, resolver: Resolver | None) -> tuple["Topology | None", list[Problem]]:
    """The topology, and the names that point nowhere; without a topology those of its nodes cannot be judged."""
    topology, problems = (None, []) if resolver is None else resolver.resolve(variant.topology)
    return topology, [*problems, *references.check(variant, topology)]


def _unique(problems: Sequence[Problem]) -> list[Problem]:
    seen: dict[tuple[Any, str], Problem] = {}
    for problem in problems:
        seen.setdefault((problem.path, problem.message), problem)
    return list(seen.values())


def label(value: Any) -> Any:
    """A value of the matrix for tables and axes: a table becomes ``fast-rto gamma=1.5``, a percentage a number."""
    if isinstance(value, Mapping):
        discriminators = ("name", "discipline", "model", "kind", "preset")
        return " ".join(str(label(v)) if k in discriminators else f"{k}={label(v)}" for k, v in value.items())
    if isinstance(value, str) and value.endswith("%"):
        with suppress(units.UnitError):
            return units.percentage(value)
    return value


def _document(text: str, source: str) -> dict[str, Any]:
    try:
        return parse(text)
    except TomlError as error:
        raise ScenarioError([Problem((), str(error))], source) from None


def _with_values(text: str, settings: Mapping[str, Any], source: str) -> str:
    from anabranch.scenario.settings import with_values

    _document(text, source)  # the other parser's messages are worse
    return with_values(text, settings, source)
