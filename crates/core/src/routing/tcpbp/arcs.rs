//! The links that are up, as one packed list for the searches, sorted by the node that they leave.

use super::Label;
use crate::routing::Graph;
use crate::spec::{LinkId, NodeId};

/// A link as the searches read it.
#[derive(Debug, Clone, Copy)]
pub struct Arc {
    /// The node at its other end: the destination of a leaving link, the source of an entering one.
    pub end: NodeId,
    /// The link's id.
    pub link: LinkId,
    /// Picoseconds.
    pub delay: f64,
    /// -ln(1 - p) in units of 2^-58.
    pub log_loss: f64,
}

/// The links that are up, by the node that they leave.
#[derive(Debug, Clone)]
pub struct Arcs {
    first: Vec<u32>,
    arcs: Vec<Arc>,
    /// For each node, the index in `entering` of its first link.
    first_entering: Vec<u32>,
    entering: Vec<Arc>,
}

impl Arcs {
    /// The links of a graph.
    pub fn new(graph: &Graph) -> Arcs {
        let arc = |id: LinkId, end: NodeId| {
            let link = graph.link(id);
            let label = Label::of_link(link);
            Arc { end, link: id, delay: label.delay as f64, log_loss: label.log_loss as f64 }
        };
        let (mut first, mut first_entering) = (vec![0], vec![0]);
        let (mut arcs, mut entering) = (Vec::new(), Vec::new());
        for node in 0..graph.nodes() as NodeId {
            arcs.extend(graph.out_links(node).map(|id| arc(id, graph.link(id).dst)));
            first.push(arcs.len() as u32);
            entering.extend(graph.in_links(node).map(|id| arc(id, graph.link(id).src)));
            first_entering.push(entering.len() as u32);
        }
        Arcs { first, arcs, first_entering, entering }
    }

    /// Some of the links, in the same order.
    pub fn among(&self, open: impl Fn(LinkId) -> bool) -> Arcs {
        let among = |first: &[u32], arcs: &[Arc]| {
            let (mut open_first, mut open_arcs) = (vec![0], Vec::with_capacity(arcs.len()));
            for ends in first.windows(2) {
                let at_node = &arcs[ends[0] as usize..ends[1] as usize];
                open_arcs.extend(at_node.iter().filter(|arc| open(arc.link)));
                open_first.push(open_arcs.len() as u32);
            }
            (open_first, open_arcs)
        };
        let (first, arcs) = among(&self.first, &self.arcs);
        let (first_entering, entering) = among(&self.first_entering, &self.entering);
        Arcs { first, arcs, first_entering, entering }
    }

    /// How many nodes there are.
    pub fn nodes(&self) -> usize {
        self.first.len() - 1
    }

    /// The links that leave a node.
    #[inline]
    pub fn leaving(&self, node: NodeId) -> &[Arc] {
        &self.arcs[self.first[node as usize] as usize..self.first[node as usize + 1] as usize]
    }

    /// The links that enter a node.
    #[inline]
    pub fn entering(&self, node: NodeId) -> &[Arc] {
        let node = node as usize;
        &self.entering[self.first_entering[node] as usize..self.first_entering[node + 1] as usize]
    }
}
