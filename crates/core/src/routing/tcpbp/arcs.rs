//! The links that are up as one packed list for the searches: those that leave a node stand side by side.

use super::Label;
use crate::routing::Graph;
use crate::spec::{LinkId, NodeId};

/// A link as the searches read it.
#[derive(Debug, Clone, Copy)]
pub struct Arc {
    /// Where it leads.
    pub head: NodeId,
    /// Which link it is.
    pub link: LinkId,
    /// Picoseconds.
    pub delay: f64,
    /// -ln(1 - p) in units of 2^-58.
    pub log_loss: f64,
    /// p.
    pub loss: f64,
}

/// The links that are up, by the node that they leave.
#[derive(Debug, Clone)]
pub struct Arcs {
    first: Vec<u32>,
    arcs: Vec<Arc>,
}

impl Arcs {
    /// The links of a graph.
    pub fn new(graph: &Graph) -> Arcs {
        let mut first = vec![0];
        let mut arcs = Vec::with_capacity(graph.links().len());
        for node in 0..graph.nodes() as NodeId {
            arcs.extend(graph.out_links(node).map(|id| {
                let link = graph.link(id);
                let label = Label::of_link(link);
                Arc {
                    head: link.dst,
                    link: id,
                    delay: label.delay as f64,
                    log_loss: label.log_loss as f64,
                    loss: link.loss,
                }
            }));
            first.push(arcs.len() as u32);
        }
        Arcs { first, arcs }
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
}
