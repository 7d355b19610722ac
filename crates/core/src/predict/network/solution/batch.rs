//! Batches of flows that one thread computes together. The batches depend only on the run, so any number of threads gives the same result.

use super::solver::TOLERANCE;
use crate::predict::network::flows::crossing::{Crossing, Crossings};
use crate::predict::network::flows::feeds::Feeds;
use crate::predict::network::flows::model::{FlowModel, FlowState};
use crate::predict::network::flows::sender::{Seen, Sender};
use crate::predict::network::links::model::{LEAST_EVENTS, LinkModel};
use crate::predict::network::links::price::Price;
use crate::predict::network::links::totals::{Part, Totals};
use crate::prefetch::prefetch;
use std::ops::Add;

/// Greatest number of batches of a run. Each batch sums the traffic of its flows over every link.
const MOST: usize = 8;
/// Least number of flows of a batch, because starting a thread takes as long as some hundred flows. It is 2 in tests, so that small runs are divided
/// too.
const LEAST: usize = if cfg!(test) { 2 } else { 2048 };

/// Flows ahead of the present one whose links are prefetched.
const AHEAD: usize = 4;

/// Weight of a new participation in events, compared with the previous one.
const DAMPING: f64 = 0.3;

/// Number of flows in a batch, for a run with this number of flows.
pub fn size(flows: usize) -> usize {
    flows.div_ceil((flows / LEAST).clamp(1, MOST)).max(1)
}

/// The links that the data packets and ACKs of a batch's flows cross.
#[derive(Debug, Clone)]
pub struct Paths {
    /// Links of the data packets.
    pub data: Crossings,
    /// Links of the ACKs.
    pub acks: Crossings,
}

/// Optional work of an iteration, besides the rates.
#[derive(Debug, Clone, Copy)]
pub struct Pass {
    /// Whether to sum the traffic of all links, and to count the flows whose rate has changed since the last such pass. Otherwise, only links with a
    /// price are summed.
    pub of_all: bool,
    /// Whether to update the participation of flows in events.
    pub participation: bool,
}

/// The flows of a batch, and their traffic.
pub struct Batch<'a> {
    senders: Vec<Sender<'a>>,
    rates: Vec<f64>,
    /// The rates at the last pass over all links.
    checked: Vec<f64>,
    paths: Paths,
    /// By link.
    totals: Vec<Totals>,
}

/// The number of threads that compute a run with this number of flows, at most `most`.
pub fn threads(flows: usize, most: usize) -> usize {
    let batches = flows.div_ceil(size(flows)).max(1);
    batches.div_ceil(batches.div_ceil(most.max(1)))
}

/// Computes the rates of all flows at the prices of the links, and sums the traffic of each link. Returns the number of flows whose rate has changed,
/// if the pass counts them.
pub fn respond(batches: &mut [Batch<'_>], prices: &[Price], pass: Pass, threads: usize) -> u32 {
    let respond = |batches: &mut [Batch<'_>]| batches.iter_mut().map(|batch| batch.respond(prices, pass)).sum();
    if threads == 1 {
        return respond(batches);
    }
    std::thread::scope(|scope| {
        let of_thread = batches.len().div_ceil(threads);
        let threads: Vec<_> = batches.chunks_mut(of_thread).map(|some| scope.spawn(move || respond(some))).collect();
        threads.into_iter().map(|thread| thread.join().expect("no flow panics")).sum::<u32>()
    })
}

/// Returns the sum over all batches of a link's traffic, and resets these sums.
pub fn take_totals(batches: &mut [Batch<'_>], link: usize) -> Totals {
    batches.iter_mut().map(|batch| std::mem::take(&mut batch.totals[link])).reduce(Add::add).unwrap_or_default()
}

impl<'a> Batch<'a> {
    /// Builds the batch of these flows.
    pub fn new(flows: &'a [FlowModel], links: &[LinkModel], feeds: &Feeds) -> Batch<'a> {
        let senders: Vec<Sender<'_>> = flows.iter().map(Sender::new).collect();
        Batch {
            checked: vec![f64::INFINITY; flows.len()],
            rates: senders.iter().map(Sender::first_rate).collect(),
            senders,
            paths: Paths { data: Crossings::of_data(flows, feeds), acks: Crossings::of_acks(flows) },
            totals: vec![Totals::default(); links.len()],
        }
    }

    /// Sorts the crossings so that links with a price come first.
    pub fn sort(&mut self, has_price: &[bool]) {
        self.paths.data.sort(has_price);
        self.paths.acks.sort(has_price);
    }

    /// See [`respond`].
    fn respond(&mut self, prices: &[Price], pass: Pass) -> u32 {
        let Batch { senders, rates, checked, paths, totals } = self;
        let of = if pass.of_all { Crossings::of } else { Crossings::priced };
        let mut moved = 0;
        for (index, (sender, rate)) in senders.iter().zip(rates).enumerate() {
            if index + AHEAD < senders.len() {
                let (data, acks) = (paths.data.priced(index + AHEAD), paths.acks.priced(index + AHEAD));
                for crossing in data.iter().chain(acks) {
                    prefetch(&prices[crossing.link as usize]);
                    prefetch(&totals[crossing.link as usize]);
                }
            }
            if pass.participation {
                // Uses the totals of the last iteration, which include this rate.
                let events_s =
                    paths.data.priced(index).iter().map(|one| prices[one.link as usize].events_at(one)).sum();
                let spacing_s = spacing_s(events_s);
                for crossing in paths.data.priced_mut(index) {
                    let takes_part = prices[crossing.link as usize].reaches(sender, *rate, crossing, spacing_s);
                    crossing.takes_part += (DAMPING * (takes_part - f64::from(crossing.takes_part))) as f32;
                }
            }
            let seen = seen(sender, index, prices, paths);
            let state = sender.at(&seen);
            *rate = state.rate;
            if pass.of_all {
                moved += u32::from((state.rate / checked[index] - 1.0).abs() > TOLERANCE);
                checked[index] = state.rate;
            }
            let (part, spacing_s) = (Part::of(sender, &state), spacing_s(seen.events_s));
            for crossing in of(&paths.data, index) {
                let droppability = prices[crossing.link as usize].droppability(sender, crossing, spacing_s);
                totals[crossing.link as usize].add_data(&part, crossing, droppability);
            }
            for crossing in of(&paths.acks, index) {
                totals[crossing.link as usize].add_acks(&part, crossing);
            }
        }
        moved
    }

    /// States of the flows at these prices.
    pub fn states(&self, prices: &[Price]) -> impl Iterator<Item = FlowState> {
        let senders = self.senders.iter().enumerate();
        senders.map(|(index, sender)| sender.at(&seen(sender, index, prices, &self.paths)))
    }

    /// Returns the paths of its flows.
    pub fn into_paths(self) -> Paths {
        self.paths
    }
}

/// Seconds between the events that reach a flow.
fn spacing_s(events_s: f64) -> f64 {
    1.0 / events_s.max(LEAST_EVENTS)
}

/// The prices and queues of the links on a flow's path.
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
        let most_bps = |crossing: &Crossing| price(crossing).bbr_bps / f64::from(crossing.share);
        seen.bbr_bps = paths.data.of(index).iter().map(most_bps).fold(f64::INFINITY, f64::min);
    }
    seen
}
