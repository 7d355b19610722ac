//! Finds the equilibrium: event rates at which no link carries more than its capacity, and every flow has the rate of its law.

use super::batch::{self, Batch, Pass, Paths};
use crate::predict::network::error::PredictError;
use crate::predict::network::flows::crossing::Crossing;
use crate::predict::network::flows::feeds::Feeds;
use crate::predict::network::flows::model::{FlowModel, FlowState};
use crate::predict::network::links::model::LinkModel;
use crate::predict::network::links::price::Price;
use crate::predict::network::links::step::Step;
use crate::predict::network::links::totals::Totals;
use crate::predict::network::watch::Watch;
use std::ops::Range;

/// Solutions whose rates differ by less than this, in logarithms, count as equal.
pub const SAME: f64 = 0.02;

const ITERATIONS: u32 = 3000;
/// A flow is stable if its rate changes by less than this share in [`CHECK`] iterations.
pub const TOLERANCE: f64 = 1e-3;
/// A link is stable if its distance from balance is at most this.
const IMBALANCE: f64 = 2e-4;
/// A solution is found when at most this share of the flows without end, and of the links that may have a price, are unstable. In large networks, a
/// few swing for long.
const UNSETTLED: f64 = 5e-3;
/// Weight of a new queue, compared with the previous one.
const DAMPING: f64 = 0.6;
/// Participation in events is updated once per this number of iterations. It costs a quarter of an iteration and changes more slowly than rates.
const PARTICIPATION: u32 = 2;
/// After this number of iterations, prices and queues follow the load more and more slowly.
const PATIENCE: f64 = 500.0;
/// Links with a load below this share of their capacity have no price, once it has fallen. Most links are such links. They are checked only once per [`CHECK`]
/// iterations.
const IDLE: f64 = 0.5;
/// See [`IDLE`].
const CHECK: u32 = 10;

/// The result of the solver.
#[derive(Debug, Clone)]
pub struct Solution {
    /// By flow.
    pub flows: Vec<FlowState>,
    /// By link.
    pub links: Vec<LinkModel>,
    /// The links that the flows cross, by batch.
    paths: Vec<Paths>,
    /// Whether at most the share [`UNSETTLED`] of flows and links is unstable.
    pub converged: bool,
}

impl Solution {
    /// Links that the data of a flow crosses.
    pub fn data(&self, flow: usize) -> &[Crossing] {
        let size = batch::size(self.flows.len());
        self.paths[flow / size].data.of(flow % size)
    }

    /// Links that the ACKs of a flow cross.
    pub fn acks(&self, flow: usize) -> &[Crossing] {
        let size = batch::size(self.flows.len());
        self.paths[flow / size].acks.of(flow % size)
    }

    /// Greatest difference between the rates of a flow in both solutions, in logarithms.
    pub fn differs_by(&self, other: &Solution) -> f64 {
        let pairs = self.flows.iter().zip(&other.flows);
        pairs.map(|(one, other)| (one.rate / other.rate).ln().abs()).fold(0.0, f64::max)
    }
}

/// Initial events of the solver.
#[derive(Debug, Clone, Copy)]
pub enum Start {
    /// Few events on every link.
    Few,
    /// More events, on some links many more than on others.
    Scattered,
}

impl Start {
    /// Initial events of a link per round trip.
    fn events(self, link: usize) -> f64 {
        match self {
            Start::Few => 1e-4,
            // A multiplier that leaves no pattern in the highest bit (Knuth).
            Start::Scattered if (link as u32).wrapping_mul(2_654_435_761) >> 31 == 0 => 3e-3,
            Start::Scattered => 0.3,
        }
    }
}

/// Solves the equations on at most `threads` threads. `part` is the range of the watched progress that this work covers.
///
/// # Errors
/// If the caller stops the work.
pub fn solve(
    flows: &[FlowModel],
    (mut links, feeds): (Vec<LinkModel>, &Feeds),
    start: Start,
    threads: usize,
    (watch, part): (&Watch, Range<f64>),
) -> Result<Solution, PredictError> {
    let mut batches: Vec<Batch<'_>> =
        flows.chunks(batch::size(flows.len())).map(|flows| Batch::new(flows, &links, feeds)).collect();
    let threads = batch::threads(flows.len(), threads);
    let shortest_s = shortest_rtts(flows, links.len());
    for (index, (link, shortest_s)) in links.iter_mut().zip(shortest_s).enumerate() {
        link.events = if link.can_queue && link.is_used { start.events(index) / shortest_s } else { 0.0 };
    }
    let mut steps = vec![Step::FIRST; links.len()];
    let mut priced: Vec<bool> = links.iter().map(|link| link.can_queue && link.is_used).collect();
    let mut prices: Vec<Price> = links.iter().map(|link| Price::of(link, &Totals::default())).collect();
    batches.iter_mut().for_each(|batch| batch.sort(&priced));
    let lasting = flows.iter().filter(|flow| flow.long_run().is_some()).count();
    let full = priced.iter().filter(|priced| **priced).count();
    let mut converged = false;
    for iteration in 0..ITERATIONS {
        watch.check()?;
        let checks_all = iteration % CHECK == 0 || iteration + 1 == ITERATIONS;
        let heat = (PATIENCE / f64::from(iteration)).min(1.0);
        let pass = Pass { of_all: checks_all, participation: iteration % PARTICIPATION == 0 };
        let moved = batch::respond(&mut batches, &prices, pass, threads);
        let mut pulled = 0;
        for index in 0..links.len() {
            if !checks_all && !priced[index] {
                continue;
            }
            let link = &mut links[index];
            let before = link.clone();
            let totals = batch::take_totals(&mut batches, index);
            link.follow(&totals, DAMPING * heat);
            if link.can_queue && link.is_used {
                // A price that is too high for a moment must fall, not begin anew.
                let is_open = link.excess() > IDLE || link.full() > 0.5;
                priced[index] = !checks_all || iteration == 0 || is_open;
                if priced[index] {
                    pulled += u32::from(link.imbalance(&before, heat) > IMBALANCE);
                    link.charge(steps[index].follow(link.excess().max(1e-6).ln(), heat));
                } else {
                    link.clear();
                }
            }
            prices[index] = Price::of(link, &totals);
        }
        if checks_all {
            batches.iter_mut().for_each(|batch| batch.sort(&priced));
        }
        if checks_all && iteration > 0 {
            let unsettled = [(moved, lasting), (pulled, full)].map(|(count, of)| f64::from(count) / of.max(1) as f64);
            let most = unsettled[0].max(unsettled[1]);
            if most <= UNSETTLED {
                converged = true;
                break;
            }
            // The number of unstable flows and links falls by about the same factor in every iteration.
            watch.reach(most.ln() / UNSETTLED.ln(), &part);
        }
    }
    let states = batches.iter().flat_map(|batch| batch.states(&prices)).collect();
    watch.reach(1.0, &part);
    Ok(Solution { flows: states, links, paths: batches.into_iter().map(Batch::into_paths).collect(), converged })
}

/// The shortest RTT of the flows of each link, seconds.
fn shortest_rtts(flows: &[FlowModel], links: usize) -> Vec<f64> {
    let mut shortest_s = vec![f64::INFINITY; links];
    for flow in flows {
        for (link, _) in flow.data.shares.iter().chain(&flow.ack.shares) {
            shortest_s[*link as usize] = shortest_s[*link as usize].min(flow.idle_rtt_s);
        }
    }
    shortest_s
}
