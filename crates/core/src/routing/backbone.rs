//! A graph without its hosts.
//!
//! A *host* is joined to exactly one other node, its *gateway*: at most one link that is up leads to it, and at most one leads from it. So no
//! path crosses a host. By an additive metric, a shortest path to it is a shortest path to its gateway and the last link.

use super::Graph;
use crate::spec::{LinkId, NodeId};
use std::sync::Arc;

/// Position of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// In the backbone, with this number.
    Inside(NodeId),
    /// A host.
    Host {
        /// The gateway's number in the backbone.
        gateway: NodeId,
        /// The link from the host.
        up: Option<LinkId>,
        /// The link to the host.
        down: Option<LinkId>,
    },
}

impl Place {
    /// The number in the backbone of the node, or of a host's gateway.
    pub(super) fn number(self) -> NodeId {
        match self {
            Place::Inside(number) => number,
            Place::Host { gateway, .. } => gateway,
        }
    }
}

/// The nodes that are no hosts, and the links between them that are up. Both keep their order, which decides ties.
#[derive(Debug)]
pub(super) struct Backbone {
    /// The backbone, with numbers of its own.
    pub graph: Graph,
    /// The id of each of its links in the whole graph.
    pub links: Vec<LinkId>,
    /// Place of each node of the whole graph.
    pub places: Arc<[Place]>,
}

impl Backbone {
    /// The backbone of the links that are up now.
    pub(super) fn new(whole: &Graph) -> Backbone {
        let neighbours: Vec<_> = (0..whole.nodes() as NodeId).map(|node| only_neighbour(whole, node)).collect();
        let gateway = |node: NodeId| neighbours[node as usize].filter(|other| neighbours[*other as usize].is_none());
        let mut numbers = Vec::with_capacity(whole.nodes());
        let mut nodes = 0;
        for node in 0..whole.nodes() as NodeId {
            numbers.push(nodes);
            nodes += NodeId::from(gateway(node).is_none());
        }
        let place = |node: NodeId| match gateway(node) {
            None => Place::Inside(numbers[node as usize]),
            Some(other) => Place::Host {
                gateway: numbers[other as usize],
                up: whole.out_links(node).next(),
                down: whole.in_links(node).next(),
            },
        };
        let places: Arc<[Place]> = (0..whole.nodes() as NodeId).map(place).collect();
        let inside = |node: NodeId| matches!(places[node as usize], Place::Inside(_));
        let is_kept = |id: &LinkId| {
            let link = whole.link(*id);
            whole.is_up(*id) && inside(link.src) && inside(link.dst)
        };
        let links: Vec<LinkId> = (0..whole.links().len() as LinkId).filter(is_kept).collect();
        let renumbered = links.iter().map(|id| {
            let mut link = *whole.link(*id);
            (link.src, link.dst) = (numbers[link.src as usize], numbers[link.dst as usize]);
            link
        });
        let graph = Graph::of_checked(nodes as usize, renumbered.collect());
        Backbone { graph, links, places }
    }
}

/// The node at the other end of all links that are up at a node. There is at most one link in each direction, and at least one; otherwise
/// `None`.
fn only_neighbour(graph: &Graph, node: NodeId) -> Option<NodeId> {
    let mut out = graph.out_links(node).map(|link| graph.link(link).dst);
    let mut into = graph.before(node);
    let (there, back) = (out.next(), into.next());
    let is_only =
        out.next().is_none() && into.next().is_none() && there.is_none_or(|end| back.is_none_or(|start| start == end));
    there.or(back).filter(|other| is_only && *other != node)
}
