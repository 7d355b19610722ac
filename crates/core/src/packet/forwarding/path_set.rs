//! The compiled routes from one node to another: each packet, flowlet or flow takes one of them.

use crate::packet::forwarding::select::{Backlogs, Flowlets, NextHopSet, PacketKey, SelectorState};
use crate::rng::{Purpose, Stream};
use crate::spec::{LinkId, NodeId, RoutingSpec};
use crate::units::Time;

/// The compiled routes of one pair of nodes under a routing.
pub struct PathSet {
    /// The routing's index.
    pub routing: usize,
    /// The source.
    pub src: NodeId,
    /// The destination.
    pub dst: NodeId,
    /// The hop indexes of the routes' first links.
    pub starts: Vec<u32>,
    /// The routes' cumulative weights, ending at 1; empty if all weights are equal.
    cumulative: Vec<f64>,
    draws: Stream,
    /// What the selector remembers.
    memory: u32,
    flowlets: Flowlets,
}

impl PathSet {
    /// A set without routes; `index` addresses its random draws.
    pub fn new(index: usize, seed: u64, routing: usize, src: NodeId, dst: NodeId) -> PathSet {
        let draws = Stream::new(seed, Purpose::Forwarding, (index as u64) << 1 | 1);
        PathSet {
            routing,
            src,
            dst,
            starts: Vec::new(),
            cumulative: Vec::new(),
            draws,
            memory: 0,
            flowlets: Flowlets::default(),
        }
    }

    /// Replaces the routes; no weights mean equal weights.
    pub fn replace(&mut self, starts: Vec<u32>, weights: &[f64]) {
        let total: f64 = weights.iter().sum();
        let shares = weights.iter().scan(0.0, |sum, weight| {
            *sum += weight / total;
            Some(*sum)
        });
        self.cumulative = shares.collect();
        self.starts = starts;
        (self.memory, self.flowlets) = (0, Flowlets::default());
    }

    /// The share of the packets that each route takes, if each packet chooses one.
    pub fn shares(&self, routings: &[RoutingSpec]) -> Vec<f64> {
        if !routings[self.routing].select.reads_weights() || self.cumulative.is_empty() {
            return vec![1.0 / self.starts.len() as f64; self.starts.len()];
        }
        let before = std::iter::once(0.0).chain(self.cumulative.iter().copied());
        self.cumulative.iter().zip(before).map(|(sum, before)| sum - before).collect()
    }

    /// The hop index of a packet's first link; `None` if there is no route.
    #[inline(always)]
    pub fn select(
        &mut self,
        routings: &[RoutingSpec],
        hops: &[LinkId],
        now: Time,
        key: &PacketKey,
        backlogs: impl Backlogs,
    ) -> Option<u32> {
        let routes = NextHopSet { members: &self.starts, cumulative: &self.cumulative, hops: Some(hops) };
        let state = SelectorState { memory: &mut self.memory, flowlets: &mut self.flowlets, set: 0 };
        routes.select(&routings[self.routing], state, || self.draws, now, key, backlogs)
    }
}
