"""The Rust core: the packet engine and the registries of algorithms."""

from array import array
from collections.abc import Mapping, Sequence
from threading import Event
from typing import Any

import numpy.typing as npt

from anabranch.foundation.array_types import Columns, Floats, Integers

__version__: str

def algorithms() -> str:
    """The registries of algorithms by kind, as a JSON text: name, summary, parameters of each.

    The kinds are ``congestion``, ``slow_start``, ``detection``, ``ack``, ``queue`` and ``loss``.
    """

def stack_settings() -> str:
    """The settings of a stack besides its algorithms, as a JSON list: name, kind, default, range and meaning of each."""

def check_algorithm(kind: str, algorithm: str) -> str | None:
    """What is wrong with an algorithm and its parameters (JSON), if anything."""

def describe_program(object: bytes) -> str:
    """What an eBPF object has, and what its congestion controls need, as a JSON text; ``ValueError`` says what it is not."""

def replay_calls(congestion: str, functions: list[str], records: bytes) -> list[tuple[int, str]]:
    """Execute calls that were recorded in Linux: the numbers of the records that differ, and how."""

def stationary_loss(model: str) -> float:
    """The share of packets that a loss model (JSON) loses in the long run; of listed packets none."""

def result_tables() -> str:
    """The tables of a run as a JSON text: each with its columns' name, kind, unit, meaning, and when it is unknown."""

def drill(script: str, stack: str) -> str:
    """Run a script in packetdrill's language; its report, or the problem that keeps it from running, as a JSON text.

    :class:`ValueError` if there is no such stack (``linux``, ``rfc``).
    """

def review(spec: str) -> str:
    """What of a compiled run (JSON) may not be expected, as a JSON list; empty for a run that cannot be."""

def disagreement(spec: str) -> str | None:
    """Run a compiled run in both event loops to the end; the first result in which they differ, if there is one."""

def prediction_models() -> str:
    """The prediction functions as a JSON text: ``flow`` (what all take first), ``models`` (arguments, validity), ``laws``."""

def predict(name: str, arguments: Sequence[Floats], shape: tuple[int, ...]) -> Floats:
    """Rates in bit/s of a model from the arrays of its arguments, which broadcast to ``shape``.

    :class:`ValueError` names an argument and its first value out of bounds.
    """

def round_trip(arguments: Sequence[Floats], shape: tuple[int, ...]) -> tuple[Floats, Floats]:
    """Round-trip times in seconds and losses, from delay and loss forward, delay and loss back.

    :class:`ValueError` names an argument and its first value out of bounds.
    """

def metrics() -> str:
    """The metrics of routing as a JSON list: ``name``, ``kind`` (``sum``, ``least``, ``throughput``), ``summary``, ``needs``, ``is_measured``."""

def goodput_law(stack: str) -> str:
    """The predicted goodput of a compiled stack (JSON) over any path, as a JSON text that is part of a metric.

    :class:`ValueError` says why the stack cannot be predicted.
    """

def goodput_of_paths(law: str, delay_s: Sequence[float], loss: Sequence[float], rate_bps: Sequence[float]) -> Floats:
    """The predicted goodput, bit/s, by a law (JSON) of paths with these one-way delays, loss ratios and least rates; shape (paths,)."""

def ospf_cost(capacity_bps: int) -> int | None:
    """What OSPF counts a link of this rate, bit/s, by default: 100 Mbit/s over the rate, at least 1; nothing for no rate."""

def coded_columns(lines: str, columns: int, ends: tuple[int, int]) -> list[tuple[list[str], bytes]] | None:
    """The columns of lines with this many cells between commas; ``None`` if a line has another number.

    Of each column, the distinct texts, and the place of each cell's text among them (unsigned, 32 bits). Both ``ends`` have the texts of
    the first, in the order of lines, source before target.
    """

def first_reaches_all(nodes: int, sources: array[int], targets: array[int]) -> bool:
    """Whether links with these ends (arrays of ``I``) lead from node 0 to all others."""

def is_simple(nodes: int, sources: array[int], targets: array[int], either_way: bool) -> bool:
    """Whether no link joins a node to itself, and no two join the same nodes in one direction, or either way."""

class PairRoutes:
    """The routes of pairs of nodes, by columns. Other functions than ``within`` give the paths of a pair equal shares."""

    def __getitem__(self, column: str) -> npt.NDArray[Any]:
        """``src`` and ``dst`` of every pair and how many ``paths`` it has; none without a way.

        Of all paths one after another, ``hops``, ``delay_s``, ``loss``, ``cost`` and ``share``; then the ``links`` of all paths.
        """

    def __len__(self) -> int:
        """The number of pairs."""

    @staticmethod
    def by_source(sources: Sequence[int], to_each: Sequence[PairRoutes]) -> PairRoutes:
        """All pairs, source by source, of routes that lead from the same ``sources`` to one node each."""

class RouteText:
    """Writes routes as text: the delays or losses of none, if not all links have them."""

    def __init__(
        self, network: Network, names: Sequence[str], widths: Sequence[int], knows_delay: bool, knows_loss: bool
    ) -> None:
        """The name of each node, and the columns that it takes on a terminal."""

    def table(self, found: Sequence[PairRoutes], widths: Sequence[int], with_share: bool) -> tuple[str, list[int]]:
        """A line for each path, and the widths of the columns, at least those given.

        The columns are source, target, path, the share if wanted, delay in milliseconds, loss and cost.
        """

    def json(self, found: PairRoutes, is_indented: bool) -> str:
        """A record for each pair, as ``anabranch routes --json`` has them: with commas between them, or else each in a line."""

    def csv(self, found: PairRoutes, is_guarded: bool) -> str:
        """A line for each path, or for a pair without one: source, target, path, share, delay in seconds, loss and cost.

        ``'`` guards texts that a spreadsheet would take for formulas, if wanted.
        """

class Network:
    """A directed graph to find paths in. Metrics are JSON texts: a name, or a list of names for a lexicographic one."""

    def __init__(
        self,
        nodes: int,
        src: Integers,
        dst: Integers,
        rate_bps: Integers,
        delay_ps: Integers,
        loss: Floats,
        cost: Floats,
    ) -> None:
        """The links by their columns; :class:`ValueError` names the first that is none."""

    def trees(self, metric: str, sources: Sequence[int]) -> Columns:
        """``cost`` and ``reached_by`` (the last link, 2^32 - 1 without a path) of every source and node.

        :class:`ValueError` for ``tcpbp-exact``, whose paths make no tree.
        """

    def routes(self, metric: str, sources: Sequence[int], destinations: Sequence[int]) -> PairRoutes:
        """The best path from every source to every destination."""

    def path_cost(self, metric: str, links: Sequence[int]) -> float:
        """What the path of these links counts by a metric (the first of several), in the metric's unit."""

    def hop_by_hop(self, metric: str) -> PairRoutes:
        """The path of every pair if each router forwards along its own route; none where packets loop."""

    def path_counts(self, metric: str) -> Floats:
        """How many best paths there are by an isotone metric, by source and destination."""

    def k_shortest(self, metric: str, sources: Sequence[int], destinations: Sequence[int], most: int) -> PairRoutes:
        """The loopless paths from every source to every destination, best first, at most so many.

        :class:`ValueError` for several by ``tcpbp``, which finds one.
        """

    def within(
        self, metric: str, sources: Sequence[int], destinations: Sequence[int], threshold: float, most: int
    ) -> PairRoutes:
        """The loopless paths of each pair that cost at most 1 + ``threshold`` times what the best does, best first, at most so many.

        Shares are proportional to the inverse of the cost; if some cost nothing, only they are returned. By predicted goodput they are
        proportional to it. :class:`ValueError` for ``tcpbp``, or a metric that does not add up.
        """

    def disjoint(
        self, metric: str, sources: Sequence[int], destinations: Sequence[int], most: int, by_nodes: bool
    ) -> PairRoutes:
        """As many paths of each pair as there are, but at most so many, that share no link (or no node but the ends).

        Of least total cost, best first; :class:`ValueError` for a metric that neither adds up nor is of predicted throughput.
        """

    def throughput_sets(
        self, metric: str, sources: Sequence[int], destinations: Sequence[int], most: int, by_nodes: bool
    ) -> tuple[PairRoutes, Sequence[Floats]]:
        """At most so many disjoint paths of each pair that have the most predicted throughput together, with shares in proportion to it.

        For each pair also the throughput of these paths, of the best path alone, and of any set at most: bit/s, or 1 / (delay x
        sqrt(loss)) by ``tcpbp``; each of shape (pairs,). :class:`ValueError` for a metric of another kind.
        """

    def pareto(self, sources: Sequence[int], destinations: Sequence[int], most_labels: int = ...) -> PairRoutes:
        """The paths of each pair that no other beats in delay, loss and capacity at once, by ascending delay.

        ``cost`` is the capacity, bit/s. :class:`ValueError` if a pair takes more than so many partial paths (default 2^20).
        """

    def certificate(self, source: int, destination: int) -> Mapping[str, Any] | None:
        """The proof that a path by ``tcpbp-exact`` is the best one; ``None`` without a path.

        ``cost`` and ``lower_bound`` in seconds; ``lambda_s`` and ``length``: no path has a smaller D + lambda L (for an infinite
        lambda: L); ``holds``: whether another method finds the same lengths, and the cost at the lower bound.
        """

class Trace:
    """A compiled run (JSON) that is simulated packet by packet, to record a span of time."""

    def __init__(self, spec: str, from_s: float, until_s: float) -> None:
        """The span in seconds; :class:`ValueError` says what of the run is refused."""

    def advance(self, events: int) -> bool:
        """Process at least so many events, without the interpreter lock; ``False`` once the span or the run has ended."""

    @property
    def now_s(self) -> float:
        """Virtual time reached, seconds."""

    @property
    def crossings(self) -> int:
        """Crossings, each a packet on a link, that have ended in the span so far."""

    def table(self) -> Columns:
        """One row for each crossing: ``link``, ``flow``, ``segment``, ``ack``, ``retransmission``, ``marked``, ``bytes``, ``entered_s``,
        ``departs_s`` (NaN if it is dropped before, or CoDel has not served it), ``left_s`` (NaN if it has not left) and ``fate`` (``arrived``,
        ``dropped``, ``lost``, ``on its way``).
        """

class Simulation:
    """One run of the packet engine, from a compiled run (JSON of ``RunSpec``)."""

    def __init__(self, spec: str, threads: int = 1, stop: Event | None = None) -> None:
        """Compile the run, for at most ``threads`` threads; :class:`ValueError` says what it refuses.

        Where a congestion control comes with the scenario, a step looks at signals and at ``stop`` while controls run.
        """

    @property
    def threads(self) -> int:
        """Threads that the run is on."""

    def advance(self, events: int) -> bool:
        """Process at most so many events, without the interpreter lock; ``False`` once the run has ended."""

    @property
    def now_s(self) -> float:
        """Virtual time reached, seconds."""

    @property
    def packet_hops(self) -> int:
        """Packets that have crossed a link so far."""

    def flows(self) -> Columns:
        """One row a flow, as of now: the columns of the ``flows`` table; NaN where unknown."""

    def states(self) -> Mapping[str, Any]:
        """One row for each flow and state of its congestion control, if that reports states."""

    def links(self) -> Columns:
        """One row a directed link, as of now: the columns of the ``links`` table."""

    def take_flow_series(self) -> Columns:
        """The flow samples taken since the last call."""

    def take_link_series(self) -> Columns:
        """The link samples taken since the last call."""

    def take_link_state(self) -> Columns:
        """What routings that measure links have learnt of them since the last call; NaN where unknown."""

    def routes(self) -> Mapping[str, Any]:
        """The routes of the pairs in use, of routings that measure links, and their changes; ``path`` is a list of lists of nodes."""

    @property
    def packets_without_route(self) -> int:
        """Packets that no route led on."""

    @property
    def packets_expired(self) -> int:
        """Packets whose time to live was over."""

    def take_capture(self, link: int) -> bytes:
        """The next piece of the pcapng file of a link's packets; empty if the run does not capture the link."""

class Predictor:
    """A run whose prediction is made on a thread of its own, until nobody refers to this object any more."""

    def __init__(self, spec: str, threads: int = 1) -> None:
        """Begin to predict a compiled run (JSON) on at most ``threads`` threads; :class:`ValueError` if a control in Python cannot be loaded."""

    def wait(self, seconds: float) -> Prediction | None:
        """The prediction, given once; ``None`` if it is not finished after this number of seconds. :class:`ValueError` names what the model does not know."""

    @property
    def share(self) -> float:
        """The share of the work that is done, about."""

class Prediction:
    """What the model says of a run in the long run."""

    def planned_flows(self) -> Columns:
        """The packet engine's table of flows, before the run."""

    def planned_links(self) -> Columns:
        """The packet engine's table of links, before the run."""

    def flows(self) -> Columns:
        """By flow: goodput and its interval in bit/s, what limits it, RTT in seconds, window in segments."""

    def links(self) -> Columns:
        """By link: what it carries in bit/s and packets/s, utilisation, mean wait in seconds, drops and losses a second."""

    def sums(self, kinds: Sequence[int], count: int) -> Columns:
        """The sums of the flows of each kind: goodput and its interval in bit/s. ``kinds`` has the kind of each flow, below ``count``.

        :class:`ValueError` if it has not.
        """

    @property
    def converged(self) -> bool:
        """Whether the equations are solved."""

    @property
    def unique(self) -> bool:
        """Whether two starts of the solver have led to one solution."""

    @property
    def threads(self) -> int:
        """Threads that have computed it."""

    @property
    def in_phase(self) -> list[int]:
        """Links at which phase effects decide about single runs."""

class Cables:
    """Cables between the switches of a testbed, moved by a thread of its own; on Linux only."""

    def __init__(self, spec: str, devices: Sequence[int]) -> None:
        """Begin, with the flows of a compiled run (JSON) as directed links; :class:`ValueError` says what the network refuses.

        ``devices`` are descriptors of TAP devices, one at the entry of each flow; they are copied.
        """

    @property
    def thread(self) -> int:
        """The thread that moves frames."""

    def end(self) -> tuple[float, float, float, int, int]:
        """End it. Mean, 99th percentile and greatest lateness in seconds, frames written, and frames that devices refused."""

def most_subflows(spec: str) -> dict[int, int]:
    """The greatest number of subflows of a flow of a compiled run (JSON), by the node that sends it; on Linux only."""

class KernelRun:
    """One run of the kernel engine, in threads of its own; on Linux only."""

    def __init__(
        self, spec: str, hosts: Sequence[tuple[int, int, int]], stacks: Sequence[tuple[str, int, int, bool, bool]]
    ) -> None:
        """Begin a compiled run (JSON); :class:`ValueError` says what the network or Linux refuses.

        ``hosts`` are those that send or receive: node, and descriptors of its TUN device and network namespace, which are copied. ``stacks``
        are congestion control, TCP_MAXSEG, payload of a full segment in bytes, whether it is paced, and whether it is of Multipath TCP.
        """

    @property
    def threads(self) -> list[int]:
        """The thread that moves packets, and the one that has the traffic."""

    def advance(self, seconds: float) -> bool:
        """Wait so long, without the interpreter lock; ``False`` once the run has ended."""

    def end(self) -> None:
        """End the run, now if it goes on. What follows is known then."""

    @property
    def now_s(self) -> float:
        """Time reached, seconds."""

    @property
    def packet_hops(self) -> int:
        """Packets that have crossed a link so far."""

    def flows(self) -> Columns:
        """One row for each flow, with the columns that Linux reports; NaN where unknown."""

    def limits(self) -> Columns:
        """By flow: seconds ``busy``, limited by ``window`` and by ``buffer``, as Linux counts them, whether it ``is_multipath`` and ``writes_over_time``."""

    def failures(self) -> list[tuple[int, str]]:
        """Flows that Linux has ended, and why."""

    def links(self) -> Columns:
        """One row for each directed link: the columns of the ``links`` table."""

    def routes(self) -> Mapping[str, Any]:
        """The routes of routings that measure links, and their changes."""

    def lateness(self) -> tuple[float, float, float, int, int, int]:
        """Mean, 99th percentile, greatest (seconds); packets written, refused by devices, and of no traffic group."""

    @property
    def packets_without_route(self) -> int:
        """Packets that no route led on."""

    @property
    def packets_expired(self) -> int:
        """Packets whose time to live was over."""

    def take_flow_series(self) -> Columns:
        """The flow samples since the last call."""

    def take_link_series(self) -> Columns:
        """The link samples since the last call; empty if there are none."""

    def take_link_state(self) -> Columns:
        """What routings that measure links have learnt of them since the last call; empty if that is nothing."""

    def take_capture(self, link: int) -> bytes:
        """The next piece of the pcapng file of a link's packets."""

_Paths = tuple[Integers, Integers, Integers]
"""The pair of each path, where its links begin (one more entry than paths), and the links."""

def candidate_paths(
    nodes: int,
    link_sources: Integers,
    link_targets: Integers,
    link_weights: Integers,
    pair_sources: Integers,
    pair_targets: Integers,
    select: str,
    count: int,
    most: int,
) -> _Paths:
    """Candidate paths of pairs by whole-numbered link weights (``u64``; all other arrays are ``u32``).

    ``select`` is ``shortest`` (the ``count`` shortest loopless ones), ``with-ties`` (and all as short as the last of
    them, at most ``most`` and one more) or ``disjoint`` (at most ``count``). The pair of each path, where its links begin
    in the list of links (one more entry than paths), and that list.
    """

def cheapest_paths(
    nodes: int,
    link_sources: Integers,
    link_targets: Integers,
    pair_sources: Integers,
    pair_targets: Integers,
    prices: Floats,
) -> tuple[Floats, _Paths]:
    """The least price of a path of each pair, and such paths, as :func:`candidate_paths` gives them.

    ``prices`` holds for each pair one price a link, pair after pair; infinite where there is no way.
    """

def worst_matrices(
    rows: Floats, columns: Floats, start: Integers, row: Integers, column: Integers, upper: Floats, weight: Floats
) -> tuple[Floats, Floats, Floats, Floats, Floats]:
    """For each of several weightings the traffic matrix of greatest weighted sum.

    Row and column sums are bounded by ``rows`` and ``columns``, entries by ``upper`` (all may be infinite). The entries of
    weighting ``k`` are those from ``start[k]`` to ``start[k + 1]`` of ``row``, ``column``, ``upper`` and ``weight``.
    The sums, the values of the dual variables (equal but for rounding), the amounts of all entries, the dual
    variables of the rows' bounds (weighting after weighting), and of the columns'.
    """

class PlanSearch:
    """A local search over what each pair does with its traffic; arrays are ``u32`` and ``f64``, rates in a unit of their own."""

    def __init__(
        self,
        bounds: tuple[Floats, Floats, Floats, Floats] | None,
        matrices: Floats,
        pair_sources: Integers,
        pair_targets: Integers,
        capacity: Floats,
        options: tuple[Integers, Floats, Integers, Integers, Floats],
        seed: int,
    ) -> None:
        """Begin with each pair's first option.

        ``bounds`` are those of rows, columns, pairs, and the least traffic of pairs, all but the last above that; without
        them ``matrices`` has a row of all pairs for each matrix. ``options`` are the first option of each pair (one more
        entry than pairs), the penalty of each, where its links begin (one more), the links, and their shares.
        """

    def choose(self, options: Integers) -> None:
        """Go to this option of each pair."""

    def begin(
        self, load: float, greatest_penalty: float, lower_load: bool, moves: int, hottest: float, price: float
    ) -> None:
        """Start looking for the least penalty within a load, from the present choice, without options of a greater penalty.

        ``lower_load`` lowers the load allowed below each that is reached. ``hottest`` is the first temperature, and ``price``
        what the traffic of a pair above the load costs at first, both in penalty.
        """

    def advance(self, moves: int) -> bool:
        """Try so many moves more, without the interpreter lock; whether some are left."""

    def best(self) -> tuple[Integers, float, float] | None:
        """The best choice within the load: the option of each pair, the total penalty, and the worst-case load."""
