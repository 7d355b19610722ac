//! The equilibrium: rates of congestion events at which no link carries more than it can, and no flow less than its law gives.

use super::crossing::{Crossing, Crossings};
use super::flows::{FlowModel, FlowState};
use super::links::LinkModel;
use super::price::Price;
use super::sender::{Seen, Sender};
use super::step::Step;
use super::totals::{Part, Totals};

/// Events a round trip of every link at the two starts.
pub const FEW_EVENTS: f64 = 1e-4;
/// See [`FEW_EVENTS`].
pub const MANY_EVENTS: f64 = 0.3;
/// Solutions closer than this are one.
pub const SAME: f64 = 0.05;

const ITERATIONS: u32 = 3000;
/// A flow or a link is settled when it changes by less than this share.
const TOLERANCE: f64 = 1e-4;
/// A solution is found when all are settled but this share of the flows and of the links. In large networks a few swing for long.
const UNSETTLED: f64 = 1e-4;
/// The weight of a new queue, and of who takes part in events, beside the former ones.
const DAMPING: f64 = 0.3;
/// After this number of iterations, prices follow the load the more slowly.
const PATIENCE: f64 = 1000.0;
/// Links with less load than this share of their capacity have no price. Most links are such: they are looked at in every so many iterations only.
const IDLE: f64 = 0.5;
/// See [`IDLE`].
const CHECK: u32 = 10;

/// Where the flows' packets go, and their ACKs.
#[derive(Debug, Clone)]
pub struct Paths {
    /// Of the data.
    pub data: Crossings,
    /// Of the ACKs.
    pub acks: Crossings,
}

impl Paths {
    fn sort(&mut self, has_price: &[bool]) {
        self.data.sort(has_price);
        self.acks.sort(has_price);
    }
}

/// What the solver has found.
#[derive(Debug, Clone)]
pub struct Solution {
    /// By flow.
    pub flows: Vec<FlowState>,
    /// By link.
    pub links: Vec<LinkModel>,
    /// The links that the flows cross.
    pub paths: Paths,
    /// Whether no more flows and links change than may.
    pub converged: bool,
}

impl Solution {
    /// The greatest difference of a flow's rate, in logarithms.
    pub fn differs_by(&self, other: &Solution) -> f64 {
        let pairs = self.flows.iter().zip(&other.flows);
        pairs.map(|(one, other)| (one.rate / other.rate).ln().abs()).fold(0.0, f64::max)
    }
}

/// Solves the equations from a start with so many events a round trip.
pub fn solve(flows: &[FlowModel], mut links: Vec<LinkModel>, start: f64) -> Solution {
    let senders: Vec<Sender<'_>> = flows.iter().map(|flow| Sender::new(flow, &links)).collect();
    let mut rates: Vec<f64> = senders.iter().map(Sender::first_rate).collect();
    let mut paths =
        Paths { data: Crossings::new(flows, |flow| &flow.data), acks: Crossings::new(flows, |flow| &flow.ack) };
    let shortest_s = shortest_rtts(flows, links.len());
    for (link, shortest_s) in links.iter_mut().zip(shortest_s) {
        link.events = if link.can_queue && link.is_used { start / shortest_s } else { 0.0 };
    }
    let mut steps = vec![Step::FIRST; links.len()];
    let mut priced: Vec<bool> = links.iter().map(|link| link.can_queue && link.is_used).collect();
    let mut totals = vec![Totals::default(); links.len()];
    paths.sort(&priced);
    let mut converged = false;
    for iteration in 0..ITERATIONS {
        let checks_all = iteration % CHECK == 0 || iteration + 1 == ITERATIONS;
        let heat = (PATIENCE / f64::from(iteration)).min(1.0);
        let moved = respond(&senders, &links, &mut rates, &mut paths, &mut totals, checks_all);
        let mut pulled = 0;
        for (((link, step), priced), totals) in links.iter_mut().zip(&mut steps).zip(&mut priced).zip(&totals) {
            if !*priced && !checks_all {
                continue;
            }
            let (queue_s, usable) = (link.queue_s, link.usable);
            link.follow(totals, DAMPING);
            if !link.can_queue || !link.is_used {
                continue;
            }
            if checks_all && iteration > 0 {
                *priced = link.excess() > IDLE;
                if !*priced {
                    link.clear();
                    continue;
                }
            }
            let excess = link.excess().max(1e-6).ln();
            link.charge(step.follow(excess, heat));
            // A link with capacity to spare loses its price.
            let change = excess.max(-excess * link.full());
            let change = change.max((link.usable - usable).abs()).max((link.queue_s - queue_s).abs() / 0.1);
            pulled += u32::from(change > 4.0 * TOLERANCE);
        }
        if checks_all {
            paths.sort(&priced);
        }
        let settled = |count: u32, of: usize| f64::from(count) <= UNSETTLED * of as f64;
        if checks_all && iteration > 0 && settled(moved, flows.len()) && settled(pulled, links.len()) {
            converged = true;
            break;
        }
    }
    let prices = prices(&links, &totals);
    let states = senders.iter().enumerate().map(|(index, sender)| sender.at(&seen(sender, index, &prices, &paths)));
    Solution { flows: states.collect(), links, paths, converged }
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

fn prices(links: &[LinkModel], totals: &[Totals]) -> Vec<Price> {
    links.iter().zip(totals).map(|(link, totals)| Price::of(link, totals)).collect()
}

/// Lets the flows send at the prices of the links, and sums up what each link carries. Returns how many flows change their rate. Only links that have a
/// price are summed up, unless it is to be `of_all`.
fn respond(
    senders: &[Sender<'_>],
    links: &[LinkModel],
    rates: &mut [f64],
    paths: &mut Paths,
    totals: &mut [Totals],
    of_all: bool,
) -> u32 {
    let prices = prices(links, totals);
    totals.fill(Totals::default());
    let mut moved = 0;
    for (index, (sender, rate)) in senders.iter().zip(rates).enumerate() {
        // By the totals of the last iteration, of which this rate is a part.
        let events_s = paths.data.priced(index).iter().map(|one| prices[one.link as usize].events_at(one)).sum();
        for crossing in paths.data.priced_mut(index) {
            let takes_part = prices[crossing.link as usize].reaches(sender, *rate, crossing, events_s);
            crossing.takes_part += (DAMPING * (takes_part - f64::from(crossing.takes_part))) as f32;
        }
        let seen = seen(sender, index, &prices, paths);
        let state = sender.at(&seen);
        moved += u32::from((state.rate / *rate - 1.0).abs() > TOLERANCE);
        *rate = state.rate;
        let part = Part::of(sender, &state);
        let of = if of_all { Crossings::of } else { Crossings::priced };
        for crossing in of(&paths.data, index) {
            let droppability = prices[crossing.link as usize].droppability(sender, crossing, seen.events_s);
            totals[crossing.link as usize].add_data(&part, crossing, droppability);
        }
        for crossing in of(&paths.acks, index) {
            totals[crossing.link as usize].add_acks(&part, crossing);
        }
    }
    moved
}

/// What a flow sees of its links that have a price.
fn seen(sender: &Sender<'_>, index: usize, prices: &[Price], paths: &Paths) -> Seen {
    let price = |crossing: &Crossing| &prices[crossing.link as usize];
    let mut seen = Seen::default();
    for crossing in paths.data.priced(index) {
        let events = price(crossing).events_at(crossing);
        seen.events_s += events;
        seen.squares += events * events * f64::from(crossing.takes_part);
        seen.queues_s += f64::from(crossing.share) * price(crossing).queue_s;
    }
    for crossing in paths.acks.priced(index) {
        seen.queues_s += f64::from(crossing.share) * price(crossing).queue_s;
    }
    if sender.is_bbr {
        seen.bbr_bps =
            paths.data.of(index).iter().map(|crossing| price(crossing).bbr_bps).fold(f64::INFINITY, f64::min);
    }
    seen
}
