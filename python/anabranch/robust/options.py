"""What `anabranch robust` and `anabranch plan` are told in the same words."""

from typing import Annotated

from cyclopts import Parameter

TopologyName = Annotated[str, Parameter(help="A TopoHub name, a built-in, or a file.")]
Hose = Annotated[str | None, Parameter(help="What each node sends and receives at most: a rate for all, or a file.")]
Pipe = Annotated[
    str | None,
    Parameter(help='What each pair sends at most: a rate for all, a file, "demands", or gravity=TOTAL.'),
]
Matrix = Annotated[
    list[str] | None,
    Parameter(negative="", help="A traffic matrix (as --pipe) of an explicit set. May be repeated."),
]
Capacity = Annotated[str | None, Parameter(help="The rate of links for which the topology says none.")]
