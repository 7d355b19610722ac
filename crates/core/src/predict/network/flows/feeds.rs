//! The origin of a link's packets: other links, or hosts at its near end.

use super::model::{FlowModel, Paths};
use crate::spec::{LinkId, NodeId, RunSpec};

/// The origin of the packets of all links.
pub struct Feeds {
    by_link: Vec<Feed>,
    /// Both ends of each link. They are stored separately, so that they fit into the cache.
    ends: Vec<(NodeId, NodeId)>,
}

/// The origin of the packets of one link.
#[derive(Debug, Clone, Default)]
struct Feed {
    /// The links before it. Each has the number of flows whose data arrives over it.
    links: Vec<(LinkId, u32)>,
    /// Whether hosts send directly over it.
    by_host: bool,
    /// Number of flows whose data crosses it.
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
    /// Finds the feeds of all links of a run.
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
                    // A flow that arrives over several paths counts once.
                    for (one, flows) in before.zip([data].into_iter().chain(std::iter::repeat(0))) {
                        feed.add(Some(one), flows);
                    }
                }
            }
        }
        Feeds { by_link, ends }
    }

    /// Greatest rate at which packets can arrive at a link, bit/s; infinite if a host sends directly over it.
    pub fn greatest_bps(&self, link: usize, spec: &RunSpec) -> f64 {
        let feed = &self.by_link[link];
        if feed.by_host {
            return f64::INFINITY;
        }
        let mut links: Vec<LinkId> = feed.links.iter().map(|(link, _)| *link).collect();
        links.sort_unstable();
        links.iter().map(|link| spec.links[*link as usize].rate.as_bps()).sum()
    }

    /// Share of a link's flows whose data arrives over the same link as this flow's. The link is the one at `place` of the flow's data path. A
    /// flow of a host at the link arrives alone.
    pub fn together(&self, data: &Paths, place: usize) -> f64 {
        let feed = &self.by_link[data.shares[place].0 as usize];
        let before = before(data, place, &self.ends).next();
        let with = feed.links.iter().find(|(link, _)| Some(*link) == before).map_or(1, |(_, flows)| *flows);
        f64::from(with.max(1)) / f64::from(feed.flows)
    }
}

/// The links of these paths that end where the link at this index begins. With one path, only the previous link is considered.
fn before<'a>(paths: &'a Paths, index: usize, ends: &'a [(NodeId, NodeId)]) -> impl Iterator<Item = LinkId> + use<'a> {
    let (entry, _) = ends[paths.shares[index].0 as usize];
    let others = if paths.count == 1 { &paths.shares[index.saturating_sub(1)..index] } else { &paths.shares[..] };
    others.iter().map(|(one, _)| *one).filter(move |one| ends[*one as usize].1 == entry)
}
