"""``anabranch robust --judge``."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from anabranch.cli.exit_status import DONE, INTERRUPTED
from anabranch.cli.lost_traffic import lost_lines
from anabranch.cli.output import load_text, say, tell
from anabranch.foundation.progress import Steps
from anabranch.foundation.text_table import TextTable, print_table

if TYPE_CHECKING:
    from anabranch.cli.robust import Output, Solving
    from anabranch.engineering.robust import Network, Problem, TrafficModel
    from anabranch.engineering.robust.failures import Failure
    from anabranch.engineering.robust.judging import State

_SHOWN = 10


@dataclass(frozen=True)
class Optimum:
    """The least load, without failures and after those of which it is known."""

    over: str
    load: float
    lower_bound: float
    after: tuple[float, ...] = ()


def judge(
    given: str,
    network: "Network",
    model: "TrafficModel",
    failures: "Sequence[Failure]",
    problem: "Callable[[], Problem]",
    solving: "Solving",
    limit_s: float,
    output: "Output",
) -> int:
    """Print the loads of the routing ``given`` as it is, and the optimum of ``problem`` or the optimal flow beside it.

    Raises:
        RobustError: the routing cannot be read, does not fit the network, or lacks a pair that may send.
    """
    from anabranch.cli.traffic import named
    from anabranch.engineering.robust.judged_files import routing_of
    from anabranch.engineering.robust.judging import judge as judged

    with Steps(len(failures), "failures") as steps, named("--judge", given):
        states = judged(network, model, routing_of(given, network), failures, steps.advance)
    interrupted = len(states) <= len(failures)
    optimum = None
    if not interrupted:
        with suppress(KeyboardInterrupt):
            optimum = _optimum(network, model, failures, problem, solving, limit_s)
        interrupted = optimum is None
    output.show(
        lambda: _document(given, network, states, optimum) | {"interrupted": interrupted},
        lambda: _print(given, network, states, optimum),
    )
    if interrupted:
        say(f"Interrupted: the loads after {len(states) - 1} of {len(failures)} failures, without the optimum.")
        return INTERRUPTED
    return DONE


def _optimum(
    network: "Network",
    model: "TrafficModel",
    failures: "Sequence[Failure]",
    problem: "Callable[[], Problem]",
    solving: "Solving",
    limit_s: float,
) -> Optimum:
    from anabranch.engineering.robust import Matrices, best_found
    from anabranch.engineering.robust.ecmp import LinkArrays
    from anabranch.engineering.robust.progress import BoundsProgress
    from anabranch.engineering.weights import optimal_flow

    if isinstance(model, Matrices):
        rates = model.matrices
    elif np.isinf(model.rows).all() and np.isinf(model.columns).all():
        rates = model.upper[None]
    else:
        with BoundsProgress() as progress:
            found = best_found(problem(), solving.method, solving.gap, progress, limit_s)
        if found.interrupted:
            raise KeyboardInterrupt
        return Optimum("splits over the candidate paths", found.worst_case_load, found.lower_bound)
    links = LinkArrays(network)
    loads: list[float] = []
    bounds: list[float] = []
    with Steps((len(failures) + 1) * len(rates), "optimal flows") as steps:
        for down in ((), *(failure.links for failure in failures)):
            up = np.ones(network.links, dtype=bool)
            up[list(down)] = False
            load = bound = 0.0
            for one in rates:
                flow = optimal_flow(links, one, up)
                load, bound = max(load, flow.load), max(bound, flow.lower_bound)
                steps.advance()
            loads.append(load)
            bounds.append(bound)
    return Optimum("any routing of each matrix", loads[0], bounds[0], tuple(loads[1:]))


def _document(given: str, network: "Network", states: "Sequence[State]", optimum: Optimum | None) -> dict[str, Any]:
    from anabranch.engineering.robust.documents import (
        availability_record,
        failure_records,
        link_records,
        matrix_records,
    )

    whole, *after = states
    records = failure_records(network, [one.after for one in after])
    best = optimum.after if optimum is not None and optimum.after else [None] * len(after)
    return {
        "topology": network.topology.name,
        "judged": given,
        **_worst(network, whole),
        "optimum": None
        if optimum is None
        else {"over": optimum.over, "load": optimum.load, "lower_bound": optimum.lower_bound},
        "worst_matrix": matrix_records(network, whole.loads),
        "links": link_records(network, whole.loads),
        **availability_record(whole.load, [one.after for one in after]),
        "failures": [
            record | _worst(network, one) | {"worst_matrix": matrix_records(network, one.loads), "optimum": least}
            for record, one, least in zip(records, after, best, strict=True)
        ],
    }


def _worst(network: "Network", state: "State") -> dict[str, Any]:
    return {
        "worst_case_load": state.load,
        "worst_link": list(network.link_name(state.link)),
        "matrix": None if state.matrix is None else state.matrix + 1,
    }


def _print(given: str, network: "Network", states: "Sequence[State]", optimum: Optimum | None) -> None:
    from anabranch.cli.robust import traffic_text
    from anabranch.engineering.robust.documents import matrix_records

    whole, *after = states
    tell(f"worst-case load  {load_text(whole.load)}   of {given} as it is")
    if optimum is not None:
        tell(
            f"optimum          {load_text(optimum.load)}   {optimum.over}, lower bound {load_text(optimum.lower_bound)}"
        )
    tell(f"worst link       {' -> '.join(network.link_name(whole.link))}")
    tell(f"worst traffic    {traffic_text(matrix_records(network, whole.loads))}{_number(whole)}")
    if after:
        tell()
        least = optimum.after if optimum is not None and optimum.after else ()
        head = ("after the failure of", "worst link", "load", *(("optimum",) if least else ()), "worst traffic")
        order = sorted(range(len(after)), key=lambda place: -after[place].load)
        rows = []
        for place in order[:_SHOWN]:
            one = after[place]
            best = (load_text(least[place]),) if least else ()
            traffic = _number(one).removeprefix("   ") or _short(network, one)
            ends = " -> ".join(network.link_name(one.link))
            rows.append((one.after.failure.name, ends, load_text(one.load), *best, traffic))
        more = [f"and {len(after) - _SHOWN} failures of less load: --json has all"] if len(after) > _SHOWN else []
        print_table(TextTable(head, rows, text_columns=2, notes=more))
        for line in lost_lines(network, whole.load, [one.after for one in after]):
            tell(line)


def _number(state: "State") -> str:
    return "" if state.matrix is None else f"   matrix {state.matrix + 1}"


def _short(network: "Network", state: "State") -> str:
    pair, amount = state.loads.matrix(state.loads.worst)
    return f"{int((amount > 0).sum())} pairs, {amount.sum() / 1e6:g} Mbit/s" if len(pair) else "none"
