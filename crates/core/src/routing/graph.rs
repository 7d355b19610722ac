//! The network as a directed graph, with links that may be down.

use super::RoutingError;
use crate::spec::{LinkId, LinkSpec, LossSpec, NodeId};
use crate::units::{Duration, Rate};

/// A link as routing sees it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Link {
    /// The node where packets enter.
    pub src: NodeId,
    /// The node where packets leave.
    pub dst: NodeId,
    /// Bits per second.
    pub rate: Rate,
    /// Propagation delay.
    pub delay: Duration,
    /// The operator's cost.
    pub cost: f64,
    /// Ratio of packets that the wire loses, in [0, 1].
    pub loss: f64,
}

impl From<&LinkSpec> for Link {
    fn from(spec: &LinkSpec) -> Link {
        Link {
            src: spec.src,
            dst: spec.dst,
            rate: spec.rate,
            delay: spec.delay,
            cost: spec.cost,
            loss: spec.loss.as_ref().map_or(0.0, LossSpec::stationary_ratio),
        }
    }
}

/// A directed graph; links may be parallel, and each is up or down. A link's id is its index in
/// [`RunSpec::links`](crate::spec::RunSpec::links).
#[derive(Debug, Clone)]
pub struct Graph {
    links: Vec<Link>,
    up: Vec<bool>,
    leaving: Incidence,
    entering: Incidence,
}

/// The links at each node, one node after the other; at a node, by ascending id.
#[derive(Debug, Clone)]
struct Incidence {
    /// For each node, the index in `links` of its first link; then the length of `links`.
    first: Vec<u32>,
    /// The links, and the nodes at their other ends.
    links: Vec<(LinkId, NodeId)>,
}

impl Incidence {
    /// Builds the incidence from each link's pair of nodes: the node that stores the link, and the node at the other
    /// end.
    fn new(nodes: usize, ends: impl Iterator<Item = (NodeId, NodeId)> + Clone) -> Incidence {
        let mut first = vec![0; nodes + 1];
        for (node, _) in ends.clone() {
            first[node as usize + 1] += 1;
        }
        for node in 0..nodes {
            first[node + 1] += first[node];
        }
        let mut links = vec![(0, 0); first[nodes] as usize];
        let mut next = first.clone();
        for (link, (node, other)) in ends.enumerate() {
            let place = &mut next[node as usize];
            links[*place as usize] = (link as LinkId, other);
            *place += 1;
        }
        Incidence { first, links }
    }

    fn at(&self, node: NodeId) -> &[(LinkId, NodeId)] {
        let node = node as usize;
        &self.links[self.first[node] as usize..self.first[node + 1] as usize]
    }
}

impl Graph {
    /// The graph of `nodes` nodes and these links, all up.
    ///
    /// # Errors
    /// [`RoutingError::LinkEnd`] if a link begins or ends at a node that does not exist, [`RoutingError::Loss`] if its
    /// loss ratio is none.
    pub fn new(nodes: usize, links: Vec<Link>) -> Result<Graph, RoutingError> {
        for (id, link) in (0..).zip(&links) {
            if let Some(node) = [link.src, link.dst].into_iter().find(|&node| node as usize >= nodes) {
                return Err(RoutingError::LinkEnd { link: id, node, nodes });
            }
            if !(0.0..=1.0).contains(&link.loss) {
                return Err(RoutingError::Loss { link: id, loss: link.loss });
            }
        }
        Ok(Graph::of_checked(nodes, links))
    }

    /// Like [`Graph::new`], for links that another graph has already checked.
    pub(super) fn of_checked(nodes: usize, links: Vec<Link>) -> Graph {
        Graph {
            up: vec![true; links.len()],
            leaving: Incidence::new(nodes, links.iter().map(|link| (link.src, link.dst))),
            entering: Incidence::new(nodes, links.iter().map(|link| (link.dst, link.src))),
            links,
        }
    }

    /// The graph of the network of a compiled run, all links up.
    ///
    /// # Errors
    /// As [`Graph::new`].
    pub fn of_specs(nodes: usize, links: &[LinkSpec]) -> Result<Graph, RoutingError> {
        Graph::new(nodes, links.iter().map(Link::from).collect())
    }

    /// Replaces a link's delay and loss ratio, in [0, 1], by estimates.
    pub fn set_quality(&mut self, link: LinkId, delay: Duration, loss: f64) {
        debug_assert!((0.0..=1.0).contains(&loss));
        let link = &mut self.links[link as usize];
        (link.delay, link.loss) = (delay, loss);
    }

    /// How many nodes there are.
    pub fn nodes(&self) -> usize {
        self.leaving.first.len() - 1
    }

    /// All links by id, up or down.
    pub fn links(&self) -> &[Link] {
        &self.links
    }

    /// A link by its id.
    pub fn link(&self, link: LinkId) -> &Link {
        &self.links[link as usize]
    }

    /// Whether a link is up.
    pub fn is_up(&self, link: LinkId) -> bool {
        self.up[link as usize]
    }

    /// Marks a link up or down.
    pub fn set_up(&mut self, link: LinkId, up: bool) {
        self.up[link as usize] = up;
    }

    /// The links that are up and leave a node, by ascending id.
    pub fn out_links(&self, node: NodeId) -> impl Iterator<Item = LinkId> + '_ {
        self.leaving(node).map(|(link, _)| link)
    }

    /// The links that are up and leave a node, by ascending id, and the nodes where they lead.
    pub(super) fn leaving(&self, node: NodeId) -> impl Iterator<Item = (LinkId, NodeId)> + '_ {
        self.leaving.at(node).iter().copied().filter(|(link, _)| self.is_up(*link))
    }

    /// The links that are up and enter a node, by ascending id.
    pub fn in_links(&self, node: NodeId) -> impl Iterator<Item = LinkId> + '_ {
        self.entering.at(node).iter().map(|(link, _)| *link).filter(|&link| self.is_up(link))
    }

    /// The nodes from which links that are up lead to a node.
    pub(super) fn before(&self, node: NodeId) -> impl Iterator<Item = NodeId> + '_ {
        self.entering.at(node).iter().filter(|(link, _)| self.is_up(*link)).map(|(_, before)| *before)
    }

    /// The lowest link from one node to another, down links included.
    pub(super) fn first_link(&self, src: NodeId, dst: NodeId) -> Option<LinkId> {
        self.leaving.at(src).iter().find(|(_, end)| *end == dst).map(|(link, _)| *link)
    }

    /// The lowest link that is up from one node to another.
    pub(super) fn first_link_up(&self, src: NodeId, dst: NodeId) -> Option<LinkId> {
        self.out_links(src).find(|&link| self.link(link).dst == dst)
    }

    /// Refuses a node that does not exist.
    pub(super) fn check_node(&self, node: NodeId) -> Result<(), RoutingError> {
        if (node as usize) < self.nodes() {
            Ok(())
        } else {
            Err(RoutingError::UnknownNode { node, nodes: self.nodes() })
        }
    }
}

/// Whether links with these ends lead from the first node to all others.
///
/// # Panics
/// If an end is no node.
pub fn first_reaches_all(nodes: usize, ends: &[(NodeId, NodeId)]) -> bool {
    let leaving = Incidence::new(nodes, ends.iter().copied());
    let mut is_reached = vec![false; nodes];
    let mut waiting = vec![0];
    is_reached[0] = true;
    let mut reached = 1;
    while let Some(node) = waiting.pop() {
        for &(_, next) in leaving.at(node) {
            if !std::mem::replace(&mut is_reached[next as usize], true) {
                reached += 1;
                waiting.push(next);
            }
        }
    }
    reached == nodes
}

/// Whether no link with these ends joins a node to itself, and no two join the same nodes: in one direction, or `either_way`.
pub fn is_simple(ends: &[(NodeId, NodeId)], either_way: bool) -> bool {
    let key = |&(a, b): &(NodeId, NodeId)| if either_way { (a.min(b), a.max(b)) } else { (a, b) };
    let mut keys: Vec<(NodeId, NodeId)> = ends.iter().map(key).collect();
    keys.sort_unstable();
    keys.iter().all(|(a, b)| a != b) && keys.windows(2).all(|two| two[0] != two[1])
}

#[cfg(test)]
mod tests {
    use super::super::test_support::link;
    use super::*;

    #[test]
    fn links_are_listed_at_both_ends_by_ascending_id() {
        let graph = Graph::of_specs(3, &[link(2, 0), link(0, 1), link(0, 1), link(1, 2), link(0, 2)]).unwrap();
        assert_eq!(graph.out_links(0).collect::<Vec<_>>(), [1, 2, 4]);
        assert_eq!(graph.in_links(2).collect::<Vec<_>>(), [3, 4]);
        assert_eq!(graph.in_links(0).collect::<Vec<_>>(), [0]);
        assert_eq!(graph.before(2).collect::<Vec<_>>(), [1, 0]);
    }

    #[test]
    fn a_link_that_is_down_is_not_listed_until_it_is_up_again() {
        let mut graph = Graph::of_specs(2, &[link(0, 1), link(0, 1)]).unwrap();
        graph.set_up(0, false);
        assert_eq!(graph.out_links(0).collect::<Vec<_>>(), [1]);
        assert_eq!(graph.in_links(1).collect::<Vec<_>>(), [1]);
        assert_eq!((graph.first_link(0, 1), graph.first_link_up(0, 1)), (Some(0), Some(1)));
        graph.set_up(0, true);
        assert_eq!(graph.out_links(0).collect::<Vec<_>>(), [0, 1]);
    }

    #[test]
    fn the_shape_of_links_is_told_by_their_ends() {
        assert!(first_reaches_all(3, &[(1, 2), (0, 1)]));
        assert!(!first_reaches_all(3, &[(0, 1), (2, 1)]));
        assert!(is_simple(&[(0, 1), (1, 0)], false));
        assert!(!is_simple(&[(0, 1), (1, 0)], true));
        assert!(!is_simple(&[(0, 1), (2, 0), (0, 1)], false));
        assert!(!is_simple(&[(0, 1), (2, 2)], false));
    }

    #[test]
    fn a_link_to_nowhere_is_refused() {
        let error = Graph::of_specs(2, &[link(0, 1), link(1, 2)]).unwrap_err();
        assert_eq!(error, RoutingError::LinkEnd { link: 1, node: 2, nodes: 2 });
        assert_eq!(error.to_string(), "link 1 joins node 2, but the network has 2 nodes, numbered from 0");
    }
}
