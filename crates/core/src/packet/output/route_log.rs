//! Records the routes of each pair over time, for routings that measure their links.

use crate::packet::forwarding::{Forwarding, RouteRef};
use crate::packet::hosts::flow::Flow;
use crate::packet::output::columns::columns;
use crate::spec::{LinkId, NodeId, RunSpec, TransportSpec};
use crate::units::Time;
use std::collections::BTreeMap;

/// A pair's route from some time on.
#[derive(Debug, Clone, PartialEq)]
pub struct RouteChange {
    /// The time of the change.
    pub at: Time,
    /// The routing's index.
    pub routing: u32,
    /// The source.
    pub src: NodeId,
    /// The destination.
    pub dst: NodeId,
    /// The nodes of the route, to `dst`; or to the first node visited twice, or the last node with a next hop.
    pub nodes: Vec<NodeId>,
    /// The estimated delay from end to end, seconds; NaN if unknown, as loss and cost.
    pub delay: f64,
    /// The estimated loss ratio from end to end.
    pub loss: f64,
    /// The estimated cost in the routing's metric.
    pub cost: f64,
}

columns! {
    /// One row for the first route of each pair in use, and for each change.
    pub const ROUTES of change: RouteChange {
        /// When the route came into use; 0 for the first.
        time_s: Number in "s" = change.at.as_secs();
        /// Name of the routing.
        routing: Name = change.routing;
        /// First node.
        src: Name = change.src;
        /// Destination.
        dst: Name = change.dst;
        /// Nodes that packets visit, with ` > ` between them, to the destination or to the first node visited twice.
        path: Path = change.nodes.clone();
        /// Estimated delay of the path.
        delay_s: Number in "s", unknown "not known" = change.delay;
        /// Estimated loss ratio of the path.
        loss: Number, unknown "not known" = change.loss;
        /// In the routing's metric.
        cost: Number, unknown "not known" = change.cost;
    }
}

/// The pairs that flows use, and the changes of their routes so far.
#[derive(Default)]
pub struct RouteLog {
    pairs: Vec<Pair>,
    changes: Vec<RouteChange>,
}

struct Pair {
    routing: usize,
    src: NodeId,
    dst: NodeId,
    route: RouteRef,
    /// The route that was recorded last.
    links: Option<Vec<LinkId>>,
}

impl RouteLog {
    /// An empty log for the pairs that these flows use, in both directions.
    pub fn new(spec: &RunSpec, flows: &[Flow]) -> RouteLog {
        let measures = |routing: usize| spec.routings[routing].link_state.is_some();
        let mut routes = BTreeMap::new();
        for flow in flows {
            let identity = &flow.identity;
            let group = &spec.traffic[identity.group as usize];
            if measures(group.routing) {
                routes.insert((group.routing, identity.src, identity.dst), identity.forward);
            }
            let reverse = spec.reverse_routing(group);
            if matches!(group.transport, TransportSpec::Tcp { .. }) && measures(reverse) {
                routes.insert((reverse, identity.dst, identity.src), identity.reverse);
            }
        }
        let pair = |((routing, src, dst), route)| Pair { routing, src, dst, route, links: None };
        RouteLog { pairs: routes.into_iter().map(pair).collect(), changes: Vec::new() }
    }

    /// Records the routes that have changed.
    pub fn update(&mut self, now: Time, forwarding: &Forwarding) {
        for pair in &mut self.pairs {
            let links = forwarding.current_path(pair.route, pair.src);
            if pair.links.as_ref() == Some(&links) {
                continue;
            }
            let nodes = forwarding.nodes_of(pair.src, &links);
            let arrives = nodes.last() == Some(&pair.dst);
            let quality = forwarding.quality(pair.routing, &links).filter(|_| arrives);
            self.changes.push(RouteChange {
                at: now,
                routing: pair.routing as u32,
                src: pair.src,
                dst: pair.dst,
                nodes,
                delay: quality.map_or(f64::NAN, |quality| quality.delay),
                loss: quality.map_or(f64::NAN, |quality| quality.loss),
                cost: quality.map_or(f64::NAN, |quality| quality.cost),
            });
            pair.links = Some(links);
        }
    }

    /// All changes in the order of time, starting with the first routes of all pairs.
    pub fn changes(&self) -> &[RouteChange] {
        &self.changes
    }
}
