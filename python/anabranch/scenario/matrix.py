"""Traffic matrices of a scenario, before the nodes are known: from a file or a table, and weights of a gravity model."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BeforeValidator, Field, InstanceOf, ValidationInfo, WithJsonSchema

from anabranch.foundation import units
from anabranch.foundation.suggest import suggest
from anabranch.scenario.groups import Names
from anabranch.scenario.table import Rate, Table

if TYPE_CHECKING:
    from anabranch.engineering.robust.data_sets import Numbered, Row

OWN = "demands"
"""The demands of the topology itself."""


@dataclass(frozen=True)
class Matrix:
    """Rows of a matrix: place in the file or table, source, destination, bit/s."""

    rows: tuple["Row", ...]

    def demands(self, names: Names) -> list[tuple[int, int, float]]:
        """Source and destination by index, and bit/s; :class:`ValueError` if a node is unknown."""
        return [
            (_index_of(source, names, where), _index_of(target, names, where), rate)
            for where, source, target, rate in self.rows
        ]


@dataclass(frozen=True)
class Weights:
    """Rows of weights: place in the file or table, node, weight."""

    rows: tuple[tuple[str, str, float], ...]

    def of(self, names: Names) -> list[float]:
        """The weight of each node, 0 without one; :class:`ValueError` if a node is unknown."""
        weights = [0.0] * len(names.nodes)
        for where, node, weight in self.rows:
            _check_node(node, names, where)
            weights[names.node_index[node]] = weight
        return weights


def _index_of(node: "str | Numbered", names: Names, where: str) -> int:
    if not isinstance(node, str):
        try:
            node = node.name(names.numbered)
        except ValueError as error:
            raise ValueError(f"{where}: {error}") from None
    _check_node(node, names, where)
    return names.node_index[node]


def _check_node(node: str, names: Names, where: str) -> None:
    if node not in names.node_index:
        raise ValueError(f'{where}: the topology has no node "{node}"; {suggest(node, names.nodes)}')


def _read_matrix(value: Any, info: ValidationInfo) -> Any:
    if isinstance(value, Mapping):
        return Matrix(tuple(_matrix_of_table(value)))
    if not isinstance(value, str):
        raise ValueError(
            'must be a file such as "demands.csv", "demands", or a table of rates by source and destination'
        )
    if value == OWN:
        return value
    from anabranch.engineering.robust.files import pair_rows

    return Matrix(tuple(pair_rows(_directory(info) / value)))


def _matrix_of_table(table: Mapping[str, Any]) -> Iterator[tuple[str, str, str, float]]:
    for source, row in table.items():
        if not isinstance(row, Mapping):
            raise ValueError(f'{source} must have a table of rates by destination, such as {{ Paris = "1Gbps" }}')
        for target, rate in row.items():
            where = f"{source}.{target}"
            if source == target:
                raise ValueError(f"{where}: {source} cannot send to itself")
            try:
                yield where, source, target, float(units.rate(rate))
            except units.UnitError as error:
                raise ValueError(f"{where}: {error}") from None


def _read_weights(value: Any, info: ValidationInfo) -> Any:
    from anabranch.engineering.robust.files import weight_rows

    if isinstance(value, Mapping):
        written = [(str(node), str(node), weight) for node, weight in value.items()]
    elif isinstance(value, str):
        written = list(weight_rows(_directory(info) / value))
    else:
        raise ValueError("must be a CSV file with the header node,weight or a table such as { Oslo = 7, Paris = 21 }")
    return Weights(tuple(_checked_weights(written)))


def _checked_weights(written: list[tuple[str, str, Any]]) -> Iterator[tuple[str, str, float]]:
    seen: set[str] = set()
    for where, node, weight in written:
        try:
            number = float(weight)
        except (TypeError, ValueError, OverflowError):
            number = -1.0
        if isinstance(weight, bool) or not 0 <= number < float("inf"):
            raise ValueError(f'{where}: weight "{weight!s:.60}" must be a number of at least 0')
        if node in seen:
            raise ValueError(f"{where}: {node} appears twice")
        seen.add(node)
        yield where, node, number


def _directory(info: ValidationInfo) -> Path:
    """Where relative file names start."""
    directory: Path = (info.context or {}).get("directory", Path())
    return directory


_FILE = {"type": "string", "examples": ["demands.csv"]}
MatrixKey = Annotated[
    InstanceOf[Matrix] | Literal["demands"],
    BeforeValidator(_read_matrix),
    WithJsonSchema(
        {
            "anyOf": [
                _FILE,
                {
                    "type": "object",
                    "additionalProperties": {"type": "object", "additionalProperties": {"type": "string"}},
                },
            ]
        }
    ),
]
_WeightsKey = Annotated[
    InstanceOf[Weights],
    BeforeValidator(_read_weights),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "string", "examples": ["populations.csv"]},
                {"type": "object", "additionalProperties": {"type": "number"}},
            ]
        }
    ),
]


class Gravity(Table):
    """Each pair sends in proportion to the product of two weights: the source's and the destination's."""

    total: Rate = Field(description="Sum of all pairs' rates.")
    weights: _WeightsKey | None = Field(
        None,
        description="A CSV file with the header node,weight, or a table: populations, for example. Nodes without one send nothing. "
        "Without weights, those of the source and the destination are the capacities that leave and enter them.",
    )
