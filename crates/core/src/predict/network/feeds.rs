//! Where the packets of a link come from: other links, and hosts at its near end.

use super::flows::{FlowModel, Paths};
use crate::spec::{LinkId, NodeId, RunSpec};

/// Where the packets of all links come from.
pub struct Feeds {
    by_link: Vec<Feed>,
    /// The ends of the links. Apart from all else of these, they fit into the cache.
    ends: Vec<(NodeId, NodeId)>,
}

/// Where the packets of a link come from.
#[derive(Debug, Clone, Default)]
struct Feed {
    /// The links before it, each with the flows whose data it brings.
    links: Vec<(LinkId, u32)>,
    /// Whether hosts send over it.
    by_host: bool,
    /// The flows whose data crosses it.
    flows: u32,
}

impl Feed {
    fn add(&mut self, before: Option<LinkId>, flows: u32) {
        self.flows += flows;
        let Some(before) = before else {
            self.by_host = true;
            return;
        };
        match self.links.iter_mut().find(|(link, _)| *link == before) {
            Some((_, known)) => *known += flows,
            None => self.links.push((before, flows)),
        }
    }
}

impl Feeds {
    /// Of a run's links.
    pub fn of(spec: &RunSpec, flows: &[FlowModel]) -> Feeds {
        let mut by_link = vec![Feed::default(); spec.links.len()];
        let ends: Vec<(NodeId, NodeId)> = spec.links.iter().map(|link| (link.src, link.dst)).collect();
        for flow in flows {
            for (paths, data) in [(&flow.data, 1), (&flow.ack, 0)] {
                for (index, (link, _)) in paths.shares.iter().enumerate() {
                    let mut before = before(paths, index, &ends).peekable();
                    let feed = &mut by_link[*link as usize];
                    if before.peek().is_none() {
                        feed.add(None, data);
                    }
                    // A flow that several paths bring counts once.
                    for (one, flows) in before.zip([data].into_iter().chain(std::iter::repeat(0))) {
                        feed.add(Some(one), flows);
                    }
                }
            }
        }
        Feeds { by_link, ends }
    }

    /// The greatest rate at which packets come to a link, bit/s; infinite where a host sends.
    pub fn greatest_bps(&self, link: usize, spec: &RunSpec) -> f64 {
        let feed = &self.by_link[link];
        if feed.by_host {
            return f64::INFINITY;
        }
        let mut links: Vec<LinkId> = feed.links.iter().map(|(link, _)| *link).collect();
        links.sort_unstable();
        links.iter().map(|link| spec.links[*link as usize].rate.as_bps()).sum()
    }

    /// Of a link, at this place of a flow's data: the share of its flows whose data comes over the same link as this flow's. A host's comes alone.
    pub fn together(&self, data: &Paths, place: usize) -> f64 {
        let feed = &self.by_link[data.shares[place].0 as usize];
        let before = before(data, place, &self.ends).next();
        let with = feed.links.iter().find(|(link, _)| Some(*link) == before).map_or(1, |(_, flows)| *flows);
        f64::from(with.max(1)) / f64::from(feed.flows)
    }
}

/// The links of these paths that end where the one at this place begins. One path has its links in order.
fn before<'a>(paths: &'a Paths, index: usize, ends: &'a [(NodeId, NodeId)]) -> impl Iterator<Item = LinkId> + use<'a> {
    let (entry, _) = ends[paths.shares[index].0 as usize];
    let others = if paths.count == 1 { &paths.shares[index.saturating_sub(1)..index] } else { &paths.shares[..] };
    others.iter().map(|(one, _)| *one).filter(move |one| ends[*one as usize].1 == entry)
}
