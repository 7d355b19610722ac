//! The compiled run: one variant and one seed of a scenario, with every default filled in and every name resolved.
//!
//! Users write scenarios and get errors from the schema in Python (`anabranch.scenario`). Engines read this form. Times are whole
//! picoseconds, rates bits per second, nodes and links are indexes into their tables.

pub use crate::packet::{DisciplineSpec, DistributionSpec, JitterSpec, LossSpec, Selector};
use crate::routing::GoodputLaw;
pub use crate::routing::Metric;
use crate::tcp::congestion::supervision::Supervision;
use crate::units::{Duration, Rate, Time};
use serde::{Deserialize, Serialize};
pub use stack::{EcnEcho, Follows, ProtocolSpec, SpuriousResponse, StackSettings, StackSpec};

mod stack;

/// Index of a node in [`RunSpec::nodes`].
pub type NodeId = u32;
/// Index of a directed link in [`RunSpec::links`].
pub type LinkId = u32;

/// One run of one scenario variant.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunSpec {
    /// Determines every random draw of the run.
    pub seed: u64,
    /// When the run ends.
    pub duration: Duration,
    /// Counters and results start at this time.
    pub warm_up: Duration,
    /// Interval of the time series; absent if the run records none.
    pub sample: Option<Duration>,
    /// Whether delays of packets and samples of round trips are recorded.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub delays: bool,
    /// Names, for results.
    pub nodes: Vec<String>,
    /// Directed links.
    pub links: Vec<LinkSpec>,
    /// Transport stacks by index.
    pub stacks: Vec<StackSpec>,
    /// Routings by index.
    pub routings: Vec<RoutingSpec>,
    /// Groups of flows.
    pub traffic: Vec<TrafficSpec>,
    /// Events of links during the run, in any order.
    pub events: Vec<EventSpec>,
    /// Links whose packets are captured where they enter the link.
    pub captures: Vec<LinkId>,
    /// Changes of links' rates and delays over time. Links refer to these schedules by index.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub schedules: Vec<ScheduleSpec>,
}

/// A directed link: a queue, a transmitter and a wire.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LinkSpec {
    /// The node where packets enter.
    pub src: NodeId,
    /// The node where packets leave.
    pub dst: NodeId,
    /// Bits per second; with a schedule, the mean.
    pub rate: Rate,
    /// Propagation delay; with a schedule, the mean.
    pub delay: Duration,
    /// The operator's routing cost, for the metric `cost`.
    pub cost: f64,
    /// Queue discipline and limit.
    pub queue: QueueSpec,
    /// Losses on the wire, if there are any.
    pub loss: Option<LossSpec>,
    /// Index of the schedule of its rate in [`RunSpec::schedules`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate_schedule: Option<usize>,
    /// Index of the schedule of its delay.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay_schedule: Option<usize>,
    /// Additional delay of each packet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub jitter: Option<JitterSpec>,
    /// The shaper in front of a faster line, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shaper: Option<ShaperSpec>,
}

/// A token bucket that fills at the link's rate, in front of a faster line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ShaperSpec {
    /// When packets leave the queue, and when they are transmitted.
    pub kind: ShaperKind,
    /// What the bucket holds, bytes.
    pub burst: u64,
    /// Rate at which packets are transmitted.
    pub line: Rate,
}

impl LinkSpec {
    /// Whether the link's rate or delay changes over time, or its transmitter is shaped.
    pub fn varies(&self) -> bool {
        self.rate_schedule.is_some() || self.delay_schedule.is_some() || self.jitter.is_some() || self.shaper.is_some()
    }
}

/// A shaper of Linux.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ShaperKind {
    /// A packet leaves the queue, and is transmitted, once the bucket is not below zero. It then takes its bytes from the bucket.
    Htb,
    /// A packet leaves the queue as soon as the one before it is transmitted, and waits in the shaper until the bucket has its bytes.
    Tbf,
}

/// Changes of a rate or a delay over time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum ScheduleSpec {
    /// Each value holds until the next begins, or changes to the next along a straight line.
    Steps {
        /// When each value begins, picoseconds, ascending from 0.
        at: Vec<u64>,
        /// Bits per second of a rate, picoseconds of a delay.
        values: Vec<u64>,
        /// All begins again after this time; if absent, the last value holds.
        repeat: Option<Duration>,
        /// Whether values change along straight lines, the last towards the first of the next repetition. Only delays may.
        #[serde(default)]
        linear: bool,
    },
    /// At each of these instants, a transmitter may transmit some bytes (mahimahi's traces). Opportunities that no packet uses are
    /// lost.
    Opportunities {
        /// The instants, picoseconds, ascending.
        at: Vec<u64>,
        /// Bytes of each.
        bytes: u32,
        /// All begins again after this time, which is no earlier than the last instant.
        repeat: Duration,
    },
}

impl ScheduleSpec {
    /// The slowest rate: 1 kbit/s.
    pub const LEAST_RATE: u64 = 1000;

    /// Refuses instants that do not ascend, and a number of values that differs from the number of instants.
    ///
    /// # Errors
    /// The problem, as a text.
    pub fn check(&self) -> Result<(), String> {
        match self {
            ScheduleSpec::Steps { at, values, repeat, .. } => {
                if at.first() != Some(&0) || at.len() != values.len() {
                    return Err("must begin at 0 and have a value for each instant".into());
                }
                if !at.is_sorted_by(|one, next| one < next) {
                    return Err("instants must ascend".into());
                }
                if repeat.is_some_and(|length| Some(&length.0) <= at.last()) {
                    return Err("must repeat after the last instant".into());
                }
            }
            ScheduleSpec::Opportunities { at, bytes, repeat } => {
                if !at.is_sorted() || at.is_empty() || *bytes == 0 {
                    return Err("needs opportunities in ascending order, of at least 1 byte".into());
                }
                if *repeat == Duration::ZERO || Some(&repeat.0) < at.last() {
                    return Err("must repeat after the last opportunity".into());
                }
            }
        }
        Ok(())
    }

    /// Refuses schedules that are no rate: a rate changes in steps, and may be 0, but not forever.
    ///
    /// # Errors
    /// The problem, as a text.
    pub fn check_rate(&self) -> Result<(), String> {
        let ScheduleSpec::Steps { values, repeat, linear, .. } = self else { return Ok(()) };
        if *linear {
            return Err("a rate must change in steps".into());
        }
        if values.iter().any(|rate| *rate > 0 && *rate < Self::LEAST_RATE) {
            return Err("each rate must be 0 or at least 1 kbit/s".into());
        }
        let ends_at_zero = repeat.is_none() && values.last() == Some(&0);
        if ends_at_zero || values.iter().all(|rate| *rate == 0) {
            return Err("the rate must not stay 0 for ever".into());
        }
        Ok(())
    }
}

/// A queue: its limit, which counts the packet in transmission, and its discipline.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct QueueSpec {
    /// The limit of the queue.
    pub limit: QueueLimit,
    /// Decides about a packet, unless the queue has no room for it.
    #[serde(flatten)]
    pub discipline: DisciplineSpec,
}

/// The limit of a queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum QueueLimit {
    /// This number of packets of any size.
    Packets(u32),
    /// Bytes on the wire.
    Bytes(u64),
}

impl QueueLimit {
    /// Whether a packet of `size` bytes has room behind these packets and bytes.
    pub fn has_room(self, packets: u32, bytes: u64, size: u32) -> bool {
        match self {
            QueueLimit::Packets(limit) => packets < limit,
            QueueLimit::Bytes(limit) => bytes + u64::from(size) <= limit,
        }
    }
}

/// Routing: a set of next hops or paths, a selector, a granularity.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RoutingSpec {
    /// The name in the scenario, for results.
    pub name: String,
    /// The next hops, hop by hop, or the paths, chosen at the ingress.
    pub hops: HopsSpec,
    /// The choice among several next hops or paths.
    pub select: Selector,
    /// The unit of traffic of one choice.
    pub per: Granularity,
    /// Which header fields a hash reads.
    pub hash: Vec<HashField>,
    /// The routing that the reverse direction (ACKs) takes, this one if absent.
    pub acks: Option<usize>,
    /// Delay after which routes are recomputed when a link fails or comes up again; never if absent.
    pub reconverge: Option<Duration>,
    /// If present, routes follow measurements of the links instead of their configured values.
    #[serde(default)]
    pub link_state: Option<LinkStateSpec>,
}

/// Link-state estimation (TCPBP, section 5.1): the measurement of the links' delay and loss, and when routes follow it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LinkStateSpec {
    /// The length of a sample.
    pub sample: Duration,
    /// Number of latest samples whose mean is the estimate.
    pub window: u32,
    /// The interval between computations of the routes.
    pub recompute: Duration,
    /// A route stays unless another costs less by more than this share of its cost.
    pub hysteresis: f64,
    /// Whether a route also stays unless the 95 % intervals of both costs are apart.
    #[serde(default)]
    pub intervals: bool,
}

/// Candidate next hops or paths.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum HopsSpec {
    /// The next hop of the shortest path; ties go to the path of fewer hops, then to the lower link.
    Shortest {
        /// The path length to minimise.
        metric: MetricSpec,
    },
    /// Every next hop that lies on a shortest path (equal-cost multipath).
    EqualCost {
        /// The path length to minimise.
        metric: MetricSpec,
    },
    /// Up to `paths` disjoint explicit paths of least total weight (Suurballe).
    Disjoint {
        /// The path length to minimise.
        metric: MetricSpec,
        /// The greatest number of paths.
        paths: u32,
        /// Whether the paths are disjoint by links or by nodes.
        #[serde(default)]
        by: Disjointness,
    },
    /// The K shortest loopless explicit paths (Yen).
    KShortest {
        /// The path length to minimise.
        metric: MetricSpec,
        /// The greatest number of paths.
        paths: u32,
    },
    /// The loopless explicit paths that cost little more than the best, best first; by `weighted`, shares inversely proportional
    /// to their costs.
    NearEqual {
        /// Cost of a path: an additive metric, or `tcpbp-exact`.
        metric: MetricSpec,
        /// Greatest excess of a path's cost over the best cost, as a share of the best cost.
        threshold: f64,
        /// The greatest number of paths.
        paths: u32,
    },
    /// Given explicit paths, as lists of nodes with weights. A flow uses the paths between its ends.
    Explicit {
        /// Node sequences.
        paths: Vec<Vec<NodeId>>,
        /// A weight for each path, for the selector `weighted`.
        weights: Vec<f64>,
    },
}

/// The elements that disjoint paths must not share.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Disjointness {
    /// Links.
    #[default]
    Links,
    /// Nodes other than their ends, and therefore links.
    Nodes,
}

/// The length of a path.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum MetricSpec {
    /// One isotone metric.
    One(Metric),
    /// Several metrics. Each decides between paths that are equal by the metrics before it.
    Lexicographic(Vec<Metric>),
    /// Predicted TCP throughput.
    Throughput(ThroughputMetric),
}

impl From<Metric> for MetricSpec {
    fn from(metric: Metric) -> MetricSpec {
        MetricSpec::One(metric)
    }
}

/// Predicted TCP throughput: delay x sqrt(loss), whose inverse the paper TCPBP predicts, or the goodput of a stack.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ThroughputMetric {
    /// The paper's heuristic: Dijkstra's method with the cost of the whole path.
    Tcpbp,
    /// The paths of least cost.
    TcpbpExact,
    /// The paths of greatest predicted goodput.
    Goodput(Box<GoodputLaw>),
}

/// The unit of traffic that one choice holds for.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(tag = "unit", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Granularity {
    /// One packet.
    Packet,
    /// A flowlet: packets of a flow with gaps below a limit.
    Flowlet {
        /// The idle time that ends a flowlet.
        gap: Duration,
    },
    /// All packets of a flow.
    Flow,
}

/// A header field that a hash may read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum HashField {
    /// Source node.
    Source,
    /// Destination node.
    Destination,
    /// Source port: differs from flow to flow.
    SourcePort,
    /// Destination port: differs from traffic group to traffic group.
    DestinationPort,
}

/// A group of flows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TrafficSpec {
    /// The name in the scenario, for results.
    pub name: String,
    /// Source and destination of each pair.
    pub pairs: Vec<(NodeId, NodeId)>,
    /// Flows of every pair (for `short-flows` and `trace`: ignored, flows arrive by themselves).
    pub flows_per_pair: u32,
    /// The transport protocol.
    pub transport: TransportSpec,
    /// Index of the routing.
    pub routing: usize,
    /// When the first flow starts.
    pub start: Duration,
    /// The delay from the start of one flow to the start of the next.
    pub stagger: Duration,
    /// When the applications stop writing; the end of the run if absent.
    pub stop: Option<Duration>,
    /// The application, which determines sizes and times of writes.
    pub application: ApplicationSpec,
    /// The program that sends in the kernel engine.
    #[serde(default)]
    pub sender: SenderProgram,
}

/// A program that sends Linux's packets.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SenderProgram {
    /// The kernel engine itself.
    #[default]
    Own,
    /// iperf3, a client and a server for each flow.
    Iperf3,
}

impl TrafficSpec {
    /// Whether receivers send packets: ACKs of TCP, or the answers of iperf3.
    pub fn has_reverse_packets(&self) -> bool {
        matches!(self.transport, TransportSpec::Tcp { .. }) || self.sender == SenderProgram::Iperf3
    }

    /// When its applications stop writing; [`Time::NEVER`] if only the run ends them.
    pub fn stop(&self) -> Time {
        self.stop.map_or(Time::NEVER, |stop| Time::ZERO + stop)
    }
}

impl RunSpec {
    /// The state that flows share of each stack whose congestion control comes with the scenario.
    pub fn supervisions(&self) -> impl Iterator<Item = &Supervision> {
        self.stacks.iter().filter_map(|stack| stack.congestion.supervision())
    }

    /// The routing, source and destination of every route of data and ACKs.
    pub fn routes_in_use(&self) -> Vec<(usize, NodeId, NodeId)> {
        self.traffic.iter().flat_map(|group| self.data_routes(group).chain(self.ack_routes(group))).collect()
    }

    /// The routing, source and destination of the routes of a group's data.
    pub fn data_routes(&self, group: &TrafficSpec) -> impl Iterator<Item = (usize, NodeId, NodeId)> {
        group.pairs.iter().map(|(src, dst)| (group.routing, *src, *dst))
    }

    /// The routing of a group's packets in the reverse direction.
    pub fn reverse_routing(&self, group: &TrafficSpec) -> usize {
        self.routings[group.routing].acks.unwrap_or(group.routing)
    }

    /// The same routes for the packets of its receivers; none for the engine's own UDP.
    pub fn ack_routes(&self, group: &TrafficSpec) -> impl Iterator<Item = (usize, NodeId, NodeId)> {
        let routing = self.reverse_routing(group);
        let answered = group.has_reverse_packets();
        group.pairs.iter().filter(move |_| answered).map(move |(src, dst)| (routing, *dst, *src))
    }

    /// The name of a link in messages: its source and destination.
    pub fn link_name(&self, link: LinkId) -> String {
        let name = |node: NodeId| self.nodes.get(node as usize).map_or("?", String::as_str);
        let LinkSpec { src, dst, .. } = self.links[link as usize];
        format!("{} -> {}", name(src), name(dst))
    }

    /// The parameters of a group that sends messages; `None` for others.
    pub fn messages_of(&self, group: &TrafficSpec) -> Option<&crate::uet::Parameters> {
        match group.transport {
            TransportSpec::Tcp { stack } => self.stacks[stack].messages(),
            TransportSpec::Udp { .. } => None,
        }
    }

    /// The subflows of a group's connections; `None` if they have none.
    pub fn subflows_of(&self, group: &TrafficSpec) -> Option<&crate::mptcp::Parameters> {
        match group.transport {
            TransportSpec::Tcp { stack } => self.stacks[stack].subflows(),
            TransportSpec::Udp { .. } => None,
        }
    }

    /// Bytes that an application of a group writes at a time: the payload of a full segment, or a datagram.
    pub fn unit_bytes(&self, group: &TrafficSpec) -> u64 {
        match group.transport {
            TransportSpec::Udp { packet } => u64::from(packet),
            TransportSpec::Tcp { stack } => u64::from(self.stacks[stack].mss),
        }
    }

    /// How often an application of a group writes during the run; zero if it writes all at its start.
    pub fn writes_per_second(&self, group: usize) -> f64 {
        let group = &self.traffic[group];
        match group.application {
            ApplicationSpec::Bulk { .. } | ApplicationSpec::ShortFlows { .. } | ApplicationSpec::Trace { .. } => 0.0,
            ApplicationSpec::Constant { rate }
            | ApplicationSpec::Poisson { rate }
            | ApplicationSpec::ParetoOnOff { peak: rate, .. } => rate.as_bps() / (8.0 * self.unit_bytes(group) as f64),
        }
    }
}

/// The transport protocol of a traffic group.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum TransportSpec {
    /// A TCP stack by index.
    Tcp {
        /// Index into [`RunSpec::stacks`].
        stack: usize,
    },
    /// Datagrams without acknowledgements.
    Udp {
        /// Bytes on the wire of every packet.
        packet: u32,
    },
}

/// An application: sizes and times of its writes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum ApplicationSpec {
    /// Writes all data at once; without a size, the flow never ends. Not for UDP.
    Bulk {
        /// Payload bytes.
        bytes: Option<u64>,
    },
    /// One full segment (TCP) or packet (UDP) at a time, with constant intervals.
    Constant {
        /// Mean payload (TCP) or wire (UDP) bits per second.
        rate: Rate,
    },
    /// One full segment (TCP) or packet (UDP) at a time, with exponential intervals.
    Poisson {
        /// Mean payload (TCP) or wire (UDP) bits per second.
        rate: Rate,
    },
    /// Constant intervals at the peak rate while on, nothing while off; both times Pareto.
    ParetoOnOff {
        /// Bits per second while on, as in `constant`.
        peak: Rate,
        /// Mean time on.
        on: Duration,
        /// Mean time off.
        off: Duration,
        /// Pareto shape, greater than 1.
        shape: f64,
    },
    /// Flows of random size arrive as a Poisson process, each between a pair drawn uniformly.
    ShortFlows {
        /// Flows per second over all pairs.
        arrivals: f64,
        /// The distribution of flow sizes: ascending (payload bytes, cumulative probability), linear between points.
        sizes: Vec<(f64, f64)>,
    },
    /// These flows, one after another; each writes all its data at its start. Not for UDP.
    Trace {
        /// Index of the pair, start after that of the group, and payload bytes of each flow. A flow that waits for others starts this time
        /// after the last of them is over.
        flows: Vec<(u32, Duration, u64)>,
        /// Pairs of a flow and an earlier flow of the list that it waits for. If the earlier flow ends at its source, it waits until all data is
        /// delivered. If both have the same source, it waits until all data is acknowledged.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        after: Vec<(u32, u32)>,
    },
}

impl ApplicationSpec {
    /// Whether each flow writes all its data at its start.
    pub fn writes_at_once(&self) -> bool {
        match self {
            ApplicationSpec::Bulk { .. } | ApplicationSpec::ShortFlows { .. } | ApplicationSpec::Trace { .. } => true,
            ApplicationSpec::Constant { .. }
            | ApplicationSpec::Poisson { .. }
            | ApplicationSpec::ParetoOnOff { .. } => false,
        }
    }

    /// Whether flows wait for others.
    pub fn has_dependencies(&self) -> bool {
        matches!(self, ApplicationSpec::Trace { after, .. } if !after.is_empty())
    }
}

/// An event of links.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EventSpec {
    /// The time of the event.
    pub at: Time,
    /// The change.
    pub action: LinkAction,
    /// The directed links that change (unused by `reroute`).
    pub links: Vec<LinkId>,
}

/// The change of an event.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LinkAction {
    /// The links go down. They lose the packets that wait, are on the wire, or are offered later.
    Fail,
    /// The links come up again, empty.
    Repair,
    /// All routings recompute their routes on the links that are up.
    Reroute,
    /// Replaces the loss model of the links.
    Impair(Option<LossSpec>),
}
