//! Runs of bulk flows of one stack, whose paths leave no choice.

use crate::routing::Metric;
use crate::spec::{
    ApplicationSpec, Granularity, HashField, HopsSpec, LinkSpec, MetricSpec, NodeId, RoutingSpec, RunSpec, Selector,
    SenderProgram, StackSpec, TrafficSpec, TransportSpec,
};
use crate::units::Duration;

/// A run of one flow for each of these pairs, from the beginning on. A flow has these bytes, or no end. No link varies.
pub fn run(
    stack: &StackSpec,
    links: Vec<LinkSpec>,
    pairs: Vec<(NodeId, NodeId)>,
    bytes: Option<u64>,
    duration: Duration,
    seed: u64,
) -> RunSpec {
    let nodes = links.iter().map(|link| link.src.max(link.dst) + 1).max().unwrap_or(0);
    RunSpec {
        seed,
        duration,
        warm_up: Duration::ZERO,
        sample: None,
        delays: false,
        nodes: (0..nodes).map(|node| node.to_string()).collect(),
        links,
        stacks: vec![stack.clone()],
        routings: vec![RoutingSpec {
            name: String::new(),
            hops: HopsSpec::Shortest { metric: MetricSpec::One(Metric::HopCount) },
            select: Selector::Hash,
            per: Granularity::Flow,
            hash: vec![HashField::Source],
            acks: None,
            reconverge: None,
            link_state: None,
        }],
        traffic: vec![TrafficSpec {
            name: String::new(),
            pairs,
            flows_per_pair: 1,
            transport: TransportSpec::Tcp { stack: 0 },
            routing: 0,
            start: Duration::ZERO,
            stagger: Duration::ZERO,
            stop: None,
            application: ApplicationSpec::Bulk { bytes },
            sender: SenderProgram::default(),
        }],
        events: Vec::new(),
        captures: Vec::new(),
        schedules: Vec::new(),
    }
}
