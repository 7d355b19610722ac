//! Warnings about a run that is valid but may not be intended. They are computed before it begins.

mod cut_off;
mod delays;
mod early_expiry;
mod fewer_paths;
mod routes;
mod short_queue;
mod too_late;
mod unmarked;

use self::delays::Delays;
use crate::routing::{Graph, RoutingError};
use crate::spec::{LinkId, NodeId, RunSpec};
use crate::units::{Duration, Time};
use serde::Serialize;

/// One thing that may not be expected. Routings, traffic groups, events, links and nodes are indexes into the run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Finding {
    /// A routing finds fewer paths than it asks for.
    FewerPaths {
        /// The routing.
        routing: usize,
        /// Whether only ACKs have fewer: then pairs are theirs.
        acks: bool,
        /// How many pairs have fewer.
        pairs: usize,
        /// How many pairs use the routing.
        of: usize,
        /// One of those with the fewest paths.
        src: NodeId,
        /// The destination of the pair.
        dst: NodeId,
        /// The number of paths of the pair.
        paths: u32,
    },
    /// DCTCP packets cross queues that may fill and do not mark.
    Unmarked {
        /// The traffic group.
        traffic: usize,
        /// How many such links.
        links: usize,
        /// The first of them.
        link: LinkId,
    },
    /// The greatest FastRTO is shorter than the round trip of a path.
    EarlyExpiry {
        /// The traffic group.
        traffic: usize,
        /// How many pairs have such a path.
        pairs: usize,
        /// The one with the longest round trip.
        src: NodeId,
        /// The destination of the pair.
        dst: NodeId,
        /// By the delays of links, there on the slowest path and back on the fastest one.
        round_trip: Duration,
        /// The greatest FastRTO.
        timeout: Duration,
    },
    /// Packets, or their ACKs, travel for as long as what is left of the run when the group starts.
    TooLate {
        /// The traffic group.
        traffic: usize,
        /// How many pairs travel that long.
        pairs: usize,
        /// How many pairs the group has.
        of: usize,
        /// The one that travels longest.
        src: NodeId,
        /// The destination of the pair.
        dst: NodeId,
        /// By the delays of links: there and, if packets are answered, back, on the fastest paths.
        travel: Duration,
        /// From the group's start to the end of the run.
        left: Duration,
        /// Whether packets are answered.
        is_answered: bool,
    },
    /// A queue is far shorter than long flows need to use its link.
    ShortQueue {
        /// The first traffic group of these flows.
        traffic: usize,
        /// How many such links.
        links: usize,
        /// The first of them.
        link: LinkId,
        /// The limit of its queue, bytes.
        queue: u64,
        /// How many long flows cross it.
        flows: u64,
        /// Its bandwidth-delay product, bytes.
        product: u64,
        /// The longest round trip of these flows, by the delays of links.
        round_trip: Duration,
    },
    /// Failed links leave pairs with traffic without a path.
    CutOff {
        /// The event that did it.
        event: usize,
        /// The routing.
        routing: usize,
        /// Whether only ACKs are left without a path: then pairs are theirs.
        acks: bool,
        /// How many pairs.
        pairs: usize,
        /// The one that waits longest.
        src: NodeId,
        /// The destination of the pair.
        dst: NodeId,
        /// When it has a path again; `None` if not before the end of the run.
        until: Option<Time>,
        /// Whether links lead from its source to its destination still, which the routing does not look for.
        is_connected: bool,
    },
}

/// All findings of a run. A run that cannot be has none: its engine says why.
pub fn review(spec: &RunSpec) -> Vec<Finding> {
    findings(spec).unwrap_or_default()
}

fn findings(spec: &RunSpec) -> Result<Vec<Finding>, RoutingError> {
    let graph = Graph::of_specs(spec.nodes.len(), &spec.links)?;
    let mut delays = Delays::default();
    let mut found = fewer_paths::find(spec, &graph)?;
    found.extend(unmarked::find(spec, &graph)?);
    found.extend(early_expiry::find(spec, &graph, &mut delays)?);
    found.extend(cut_off::find(spec, &graph)?);
    found.extend(too_late::find(spec, &graph, &mut delays)?);
    found.extend(short_queue::find(spec, &graph, &mut delays)?);
    Ok(found)
}
