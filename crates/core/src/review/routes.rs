//! The routes between two nodes as links, whether a routing chooses paths or next hops.

use crate::routing::{Graph, RoutingError, explicit_paths, next_hops};
use crate::spec::{HopsSpec, LinkId, NodeId};
use crate::units::Duration;
use std::collections::HashMap;
use std::rc::Rc;

/// For each node, the next hops to a destination.
type NextHops = Rc<Vec<Vec<LinkId>>>;

/// The routes of one pair.
pub(super) enum Routes {
    /// Paths that the source chooses from.
    Paths(Vec<Vec<LinkId>>),
    /// Next hops, from which every node chooses.
    NextHops(NextHops),
}

/// Finds routes on the links that are up; pairs of one routing and destination are to come one after another.
#[derive(Default)]
pub(super) struct Finder {
    last: Option<((usize, NodeId), NextHops)>,
}

impl Finder {
    /// The routes of a pair under a routing; none if it has no path.
    pub(super) fn find(
        &mut self,
        graph: &Graph,
        (routing, hops): (usize, &HopsSpec),
        src: NodeId,
        dst: NodeId,
    ) -> Result<Routes, RoutingError> {
        if hops.is_explicit() {
            return match explicit_paths(graph, hops, src, dst) {
                Err(RoutingError::NoPath { .. }) => Ok(Routes::Paths(Vec::new())),
                found => Ok(Routes::Paths(found?.into_iter().map(|path| path.links).collect())),
            };
        }
        if let Some((key, known)) = &self.last
            && *key == (routing, dst)
        {
            return Ok(Routes::NextHops(Rc::clone(known)));
        }
        let found = Rc::new(next_hops(graph, hops, dst)?);
        self.last = Some(((routing, dst), Rc::clone(&found)));
        Ok(Routes::NextHops(found))
    }
}

impl Routes {
    /// Whether one of them has all its links up.
    pub(super) fn arrive(&self, graph: &Graph, src: NodeId, dst: NodeId) -> bool {
        match self {
            Routes::Paths(paths) => paths.iter().any(|links| links.iter().all(|&link| graph.is_up(link))),
            Routes::NextHops(next_hops) => {
                let mut arrived = false;
                visit(graph, next_hops, src, |_, link| {
                    let is_up = graph.is_up(link);
                    arrived |= is_up && graph.link(link).dst == dst;
                    is_up
                });
                arrived
            }
        }
    }

    /// The delays of the fastest and of the slowest path; `None` if none arrives. Next hops in a circle count as no path.
    pub(super) fn delays(&self, graph: &Graph, src: NodeId, dst: NodeId) -> Option<(Duration, Duration)> {
        let next_hops = match self {
            Routes::Paths(paths) => {
                let sums = paths.iter().map(|links| links.iter().map(|link| graph.link(*link).delay.0).sum());
                let sums: Vec<u64> = sums.collect();
                return Some((Duration(*sums.iter().min()?), Duration(*sums.iter().max()?)));
            }
            Routes::NextHops(next_hops) => next_hops,
        };
        let mut entering: HashMap<NodeId, usize> = HashMap::new();
        let mut links: Vec<LinkId> = self.steps(graph, src).into_iter().map(|(_, link)| link).collect();
        links.sort_unstable();
        links.dedup();
        links.iter().for_each(|link| *entering.entry(graph.link(*link).dst).or_default() += 1);
        let mut known = HashMap::from([(src, (Duration::ZERO, Duration::ZERO))]);
        let mut ready = vec![src]; // nodes to which no path leads that is not known yet
        while let Some(node) = ready.pop() {
            let (least, greatest) = known[&node];
            for link in next_hops[node as usize].iter().map(|link| graph.link(*link)) {
                let (least, greatest) = (least + link.delay, greatest + link.delay);
                let both = known.entry(link.dst).or_insert((least, greatest));
                *both = (both.0.min(least), both.1.max(greatest));
                let left = entering.get_mut(&link.dst)?;
                *left = left.checked_sub(1)?;
                if *left == 0 {
                    ready.push(link.dst);
                }
            }
        }
        known.get(&dst).copied()
    }

    /// The links of all routes, each with the one that packets come from; `None` before it is the host.
    pub(super) fn steps(&self, graph: &Graph, src: NodeId) -> Vec<(Option<LinkId>, LinkId)> {
        let mut steps = Vec::new();
        match self {
            Routes::Paths(paths) => {
                for links in paths {
                    steps.extend(
                        links
                            .iter()
                            .enumerate()
                            .map(|(index, link)| (index.checked_sub(1).map(|before| links[before]), *link)),
                    );
                }
            }
            Routes::NextHops(next_hops) => visit(graph, next_hops, src, |before, link| {
                steps.push((before, link));
                true
            }),
        }
        steps.sort_unstable();
        steps.dedup();
        steps
    }
}

/// Visits every link on the way of next hops, with each of its previous links. Continues behind a link if `take` returns true.
fn visit(graph: &Graph, next_hops: &[Vec<LinkId>], src: NodeId, mut take: impl FnMut(Option<LinkId>, LinkId) -> bool) {
    let mut visited = vec![false; graph.links().len()];
    let mut waiting = vec![(None, src)];
    while let Some((before, node)) = waiting.pop() {
        for &link in &next_hops[node as usize] {
            if take(before, link) && !std::mem::replace(&mut visited[link as usize], true) {
                waiting.push((Some(link), graph.link(link).dst));
            }
        }
    }
}
