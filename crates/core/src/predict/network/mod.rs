//! The predict engine: predicts the long-run rate of every flow of a run, and the load of its links.
//!
//! Each link has a rate of congestion events. Each flow has a window at which growth between events balances the reductions. The [`solver`](solution::solver) changes
//! the event rates until no link carries more than its capacity.
//! - [`laws`]: mean window of a congestion control as a function of its events per round trip, from a formula or by observation.
//! - [`flows`]: the models of flows, and the links that they cross.
//! - [`links`]: the models of links, their sawteeth and their prices.
//! - [`solution`]: the solver, and what follows from its solution.
//! - [`phases`]: predictions of runs whose links or routes change, from those of the times between two changes.
//! - [`flowlets`]: predictions of runs with flowlets, from those with short and with long ones.
//! - [`sums`]: the sum of several flows, with its interval.
//! - [`watch`]: progress and cancellation of a prediction.
//!
//! May use: the compiled run, and the flows and routes that the packet engine plans for it. Only [`solution::completion`] simulates.

mod error;
mod flowlets;
mod flows;
mod laws;
mod links;
mod phases;
mod solution;
mod sums;
#[cfg(test)]
mod tests;
mod watch;

use crate::packet::Simulation;
use crate::spec::{LinkId, RunSpec};
pub use error::PredictError;
pub use solution::batch::threads;
pub use solution::completion::Completion;
pub use sums::{Sum, sums};
pub use watch::Watch;

use flows::crossing::Crossing;
use flows::feeds::Feeds;
use flows::model::{FlowModel, FlowState, Flowlets};
use laws::law::Response;
use links::model::LinkModel;
use solution::class::{Class, Interval, classes};
use solution::completion::Completions;
use solution::overlap::{self, Claim};
use solution::provided;
use solution::refusal;
use solution::solver::{self, Solution, Start};
use solution::spraying::SprayLimits;
use std::ops::Range;
use watch::MODELLED;

/// The prediction for a flow.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FlowPrediction {
    /// Payload delivered, bit/s.
    pub goodput_bps: f64,
    /// Interval that held 90 % of the goodputs in single runs of the packet engine.
    pub interval_bps: (f64, f64),
    /// The limit of its rate.
    pub limited_by: &'static str,
    /// Mean RTT, seconds.
    pub rtt_s: f64,
    /// Mean congestion window, segments; NaN for UDP and flows that end.
    pub window: f64,
    /// Completion time, if the flow ends.
    pub completion: Option<Completion>,
    /// Mean time between the packets that it sends, or between the bursts of packets, seconds.
    pub between_s: f64,
    /// Its retransmission timeout, seconds; 0 for UDP.
    pub timeout_s: f64,
    /// Its window in equilibrium, if its congestion control limits it and events reduce it.
    pub sawtooth: Option<WindowRange>,
    /// Waits and growth after changes, bit/s: how much they may lower the lower end of its interval, and how much they have lowered the upper end,
    /// although they may not come. The interval has both.
    pub common_bps: (f64, f64),
    /// Number of paths that its packets take.
    pub paths: usize,
    /// Greatest goodput that the links of its paths allow, bit/s.
    pub most_bps: f64,
    /// The link whose capacity it shares with other flows, and the bit/s that it has there; `None` if something else limits it.
    pub shares: Option<(LinkId, f64)>,
}

/// The window of a flow in equilibrium, segments.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct WindowRange {
    /// After an event.
    pub least: f64,
    /// Before an event.
    pub greatest: f64,
    /// Growth a round trip.
    pub growth: f64,
}

/// The prediction for a directed link.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LinkPrediction {
    /// Bits on the wire a second.
    pub carried_bps: f64,
    /// Packets a second.
    pub packets: f64,
    /// Share of the capacity.
    pub utilisation: f64,
    /// Mean wait in the queue, seconds.
    pub queue_delay_s: f64,
    /// Packets that the queue drops a second.
    pub drops: f64,
    /// Packets that the wire loses a second.
    pub losses: f64,
    /// Whether phase effects decide about single runs.
    pub in_phase: bool,
}

/// The prediction of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct Prediction {
    /// By flow, as the packet engine numbers them.
    pub flows: Vec<FlowPrediction>,
    /// By link.
    pub links: Vec<LinkPrediction>,
    /// If links or routes change: the part of each time between two changes, of which the values above are the sum. [`sums`] needs them.
    parts: Vec<Prediction>,
    /// What planned flows that end need of the links, if these do not change; the parts have it otherwise.
    claims: Vec<Claim>,
    /// Whether the equations are solved.
    pub converged: bool,
    /// Whether two starts of the solver have led to one solution.
    pub unique: bool,
}

/// Predicts a run on at most `threads` threads. The number of threads does not change the results. Also returns the planned simulation, which has not
/// started. Another thread can follow and stop the work through `watch`.
///
/// # Errors
/// The errors of the packet engine; a part of the run that the model cannot predict; or the caller stopped the prediction.
pub fn predict(spec: RunSpec, threads: usize, watch: &Watch) -> Result<(Prediction, Simulation), PredictError> {
    refusal::check(&spec)?;
    let mut run = Simulation::new(spec)?;
    provided::check(run.spec())?;
    let predict_now =
        |run: &mut Simulation| flowlets::predict(run, |run, flowlets| predict_planned(run, flowlets, threads, watch));
    let changes = run.changes();
    let found = if changes.is_empty() {
        predict_now(&mut run)?
    } else {
        // The changes of a run cannot be taken back, so another one goes through them.
        let changing = Simulation::new(run.spec().clone())?;
        phases::predict(changing, &changes, watch, predict_now)?
    };
    overlap::check(&run, &found.flows, [(0.0..f64::INFINITY, &found.claims[..])])?;
    Ok((found, run))
}

/// Predicts a planned run, of whose flowlets this is known.
fn predict_planned(
    run: &mut Simulation,
    flowlets: Flowlets,
    threads: usize,
    watch: &Watch,
) -> Result<Prediction, PredictError> {
    let mut flows = flows::model::models(run, flowlets, watch)?;
    let spec = run.spec();
    let feeds = Feeds::of(spec, &flows);
    let links = links::model::models(spec, &flows, &feeds)?;
    limit_sprayed(&mut flows, &links, watch)?;
    refusal::check_load(spec, &flows)?;
    refusal::check_bbr3(spec, &flows)?;
    watch.reach(1.0, &(0.0..MODELLED));
    // Completion times take the other half.
    let solved = if flows.iter().any(|flow| flow.bytes.is_some()) { f64::midpoint(MODELLED, 1.0) } else { 1.0 };
    let (solution, unique) = solve_sprayed(&mut flows, (links, &feeds), threads, (watch, MODELLED..solved))?;
    provided::check_answers(spec, &flows, &solution)?;
    let (found, in_phase) = classes(&flows, &solution);
    refusal::check_windows(&flows, &solution.flows, &found)?;
    refusal::check_queues(spec, &solution.links)?;
    let mut completions = Completions::new(spec, &flows, &solution, watch);
    let packets = packets(&flows, &solution);
    let mut claims = Vec::new();
    let by_flow = flows.iter().zip(&solution.flows).zip(found).enumerate();
    let predictions = by_flow
        .map(|(index, ((flow, state), class))| {
            let prediction = match (flow.bytes, &flow.control) {
                (Some(bytes), Some(control)) => {
                    watch.reach(index as f64 / flows.len() as f64, &(solved..1.0));
                    let completion = completions.of(flow, control.stack, bytes)?;
                    if flow.planned {
                        let wire_bps = 8.0 * bytes as f64 / flow.payload_bits * flow.wire_bits / completion.median_s;
                        let claim = |(link, _): &(LinkId, f32)| Claim {
                            flow: flow.number,
                            link: *link,
                            share: wire_bps / completions.left_bps(*link),
                        };
                        claims.extend(flow.data.shares.iter().map(claim));
                    }
                    short_prediction(flow, *state, completion, bytes, path_bps(flow, index, &solution))
                }
                _ if flow.lost >= 1.0 => NO_PATH,
                _ if flow.lost > 0.0 => {
                    of_failing_paths(flow, flow_prediction(flow, *state, class, path_bps(flow, index, &solution)))
                }
                _ => FlowPrediction {
                    shares: shared_link(flow, index, class, &solution),
                    ..flow_prediction(flow, *state, class, path_bps(flow, index, &solution))
                },
            };
            Ok((flow.number, prediction))
        })
        .collect::<Result<Vec<(u32, FlowPrediction)>, PredictError>>()?;
    watch.reach(1.0, &(solved..1.0));
    provided::check_faults(spec)?;
    let mut by_number = vec![NO_PATH; run.planned_flows() as usize];
    predictions.into_iter().for_each(|(number, prediction)| by_number[number as usize] = prediction);
    Ok(Prediction {
        flows: by_number,
        links: solution
            .links
            .iter()
            .zip(packets.iter().zip(in_phase))
            .map(|(link, (packets, locked))| link_prediction(link, *packets, locked))
            .collect(),
        parts: Vec::new(),
        claims,
        converged: solution.converged,
        unique,
    })
}

/// Sets the limits of sprayed flows on links in this state. Returns whether one of them has changed.
fn limit_sprayed(flows: &mut [FlowModel], links: &[LinkModel], watch: &Watch) -> Result<bool, PredictError> {
    let mut limits = SprayLimits::default();
    let mut changed = false;
    for flow in flows {
        watch.check()?;
        let limit = limits.of(flow, links);
        changed |= limit != flow.spray_limit && (limit / flow.spray_limit).ln().abs() >= solver::SAME;
        flow.spray_limit = limit;
    }
    Ok(changed)
}

/// Greatest number of solutions of a run in which flows fill paths of sprayed flows. Each uses the queues of the one before.
const ROUNDS: u32 = 4;

/// Solves a run, again if its queues change the limits of sprayed flows.
fn solve_sprayed(
    flows: &mut [FlowModel],
    (links, feeds): (Vec<LinkModel>, &Feeds),
    threads: usize,
    (watch, part): (&Watch, Range<f64>),
) -> Result<(Solution, bool), PredictError> {
    let depends = |flow: &FlowModel| {
        flow.counted().is_some() && flow.data.shares.iter().any(|(link, _)| links[*link as usize].is_filled)
    };
    let rounds = if flows.iter().any(depends) { ROUNDS } else { 1 };
    let at = |round: u32| part.start + f64::from(round) / f64::from(rounds) * (part.end - part.start);
    let mut round = 0;
    loop {
        let (mut solution, unique) = solve(flows, (links.clone(), feeds), threads, (watch, at(round)..at(round + 1)))?;
        round += 1;
        let changed = rounds > 1 && limit_sprayed(flows, &solution.links, watch)?;
        if round == rounds || !changed {
            watch.reach(1.0, &part);
            solution.converged &= !changed;
            return Ok((solution, unique));
        }
    }
}

/// A run with more flows than this is solved once if its prices are of one kind.
const ONCE: usize = 2048;

/// Returns the solution, and whether a second start has led to the same rates. With one kind of price there is one solution (Low 2003). With two
/// kinds there may be several (Tang, Wang, Low and Chiang 2007).
fn solve(
    flows: &[FlowModel],
    (links, feeds): (Vec<LinkModel>, &Feeds),
    threads: usize,
    (watch, part): (&Watch, Range<f64>),
) -> Result<(Solution, bool), PredictError> {
    let kinds = |by_events: bool| {
        let mut controls = flows.iter().filter_map(FlowModel::long_run);
        controls.any(|control| matches!(*control.response, Response::Bbr(_) | Response::Waiting(..)) != by_events)
    };
    let once = flows.len() > ONCE && !(kinds(true) && kinds(false));
    let first = if once { part.end } else { f64::midpoint(part.start, part.end) };
    let few = solver::solve(flows, (links.clone(), feeds), Start::Few, threads, (watch, part.start..first))?;
    if few.converged && once {
        return Ok((few, true));
    }
    let other = solver::solve(flows, (links, feeds), Start::Scattered, threads, (watch, first..part.end))?;
    let unique = few.differs_by(&other) < solver::SAME;
    Ok((if few.converged || !other.converged { few } else { other }, unique))
}

fn short_prediction(
    flow: &FlowModel,
    state: FlowState,
    completion: Completion,
    bytes: u64,
    path_bps: f64,
) -> FlowPrediction {
    let rest = FlowPrediction {
        limited_by: Class::Size.name(),
        rtt_s: state.rtt_s.max(flow.idle_rtt_s),
        between_s: flow.burst / state.rate,
        timeout_s: timeout_s(flow, state),
        paths: flow.data.count,
        ..NO_PATH
    };
    ending(rest, completion, bytes, path_bps)
}

/// The prediction for a flow with this completion time; the rest of it is known.
fn ending(rest: FlowPrediction, completion: Completion, bytes: u64, path_bps: f64) -> FlowPrediction {
    let rate_bps = |seconds: f64| 8.0 * bytes as f64 / seconds;
    let Interval { low, high } = completion.meets.interval();
    FlowPrediction {
        goodput_bps: rate_bps(completion.median_s),
        interval_bps: (
            low * rate_bps(completion.high_s),
            (high * rate_bps(completion.low_s)).min(path_bps).max(rate_bps(completion.low_s)),
        ),
        completion: Some(completion),
        most_bps: path_bps,
        ..rest
    }
}

/// The retransmission timeout of a flow, seconds; 0 for UDP.
fn timeout_s(flow: &FlowModel, state: FlowState) -> f64 {
    flow.control.as_ref().map_or(0.0, |control| control.timeout_s(state.rtt_s.max(flow.idle_rtt_s)))
}

/// The prediction for a flow of whose packets none arrives.
const NO_PATH: FlowPrediction = FlowPrediction {
    goodput_bps: 0.0,
    interval_bps: (0.0, 0.0),
    limited_by: "no path",
    rtt_s: f64::NAN,
    window: f64::NAN,
    completion: None,
    between_s: f64::INFINITY,
    timeout_s: 0.0,
    sawtooth: None,
    common_bps: (0.0, 0.0),
    paths: 0,
    most_bps: 0.0,
    shares: None,
};

/// Greatest ratio of a run's goodput to the rate of its path. It exceeds 1 because packets that wait in queues when the measurement begins are
/// counted.
const QUEUED: f64 = 1.005;

/// Greatest goodput that the links of a flow's paths allow, bit/s.
fn path_bps(flow: &FlowModel, index: usize, solution: &Solution) -> f64 {
    let of_link = |crossing: &Crossing| {
        solution.links[crossing.link as usize].rate_bps / flow.wire_bits / f64::from(crossing.share)
    };
    flow.payload_bits * solution.data(index).iter().map(of_link).fold(f64::INFINITY, f64::min)
}

fn flow_prediction(flow: &FlowModel, state: FlowState, class: Class, path_bps: f64) -> FlowPrediction {
    let most_bps = path_bps.min(flow.payload_bits * flow.source_rate * (1.0 + flow.source_noise));
    // If the equations are not solved, a link may have more load than it can carry.
    let goodput_bps = (state.rate * flow.payload_bits * (1.0 - flow.loss.ratio)).min(most_bps);
    let Interval { low, high } = class.interval();
    let noise = if class == Class::Limit { flow.source_noise } else { 0.0 };
    let (low, high) = ((low - noise).max(0.0), high + noise);
    FlowPrediction {
        goodput_bps,
        interval_bps: (goodput_bps * low, (goodput_bps * high).min(QUEUED * most_bps)),
        limited_by: class.name(),
        rtt_s: state.rtt_s,
        window: if flow.control.is_some() { state.window } else { f64::NAN },
        completion: None,
        between_s: flow.burst / state.rate,
        timeout_s: timeout_s(flow, state),
        sawtooth: sawtooth(state),
        common_bps: (0.0, 0.0),
        paths: flow.data.count,
        most_bps: path_bps,
        shares: None,
    }
}

/// The window of a flow that follows its law, if that has growth.
fn sawtooth(state: FlowState) -> Option<WindowRange> {
    let greatest = state.window / state.mean_share;
    let range = WindowRange { least: state.remaining * greatest, greatest, growth: state.growth };
    (state.responds > 0.5 && state.growth > 0.0).then_some(range)
}

/// What BBR loses of its goodput, for each share of its packets that goes to failed links: fitted to the packet engine, over 2, 4 and 8 paths.
const BBR_OVER_FAILED: f64 = 2.5;
/// Greatest ratio of the goodput of other controls to that of [Padhye's model](crate::predict::padhye), in the same runs.
const MOST_OVER_FAILED: f64 = 5.0;

/// The prediction for a flow that still sends over paths of which some have failed. `other` is that over the other paths.
fn of_failing_paths(flow: &FlowModel, other: FlowPrediction) -> FlowPrediction {
    let (share, most) = match &flow.control {
        None => (1.0, 1.0),
        Some(_) if flow.is_bbr() => ((1.0 - BBR_OVER_FAILED * flow.lost).max(0.0), 1.0 - flow.lost),
        Some(_) => (1.0, MOST_OVER_FAILED),
    };
    let low_bps = if flow.control.is_none() { other.interval_bps.0 } else { 0.0 };
    FlowPrediction {
        goodput_bps: share * other.goodput_bps,
        interval_bps: (low_bps, (most * other.interval_bps.1).min(other.most_bps)),
        limited_by: "failed paths",
        ..other
    }
}

/// The fullest link of a flow's path, if the flow is limited by what other flows leave there, and the bit/s that the flow has on it.
fn shared_link(flow: &FlowModel, index: usize, class: Class, solution: &Solution) -> Option<(LinkId, f64)> {
    let is_limited = class == Class::Limit || class == Class::Loss || class.is_of_special_bbr();
    let state = solution.flows[index];
    if is_limited || state.rate >= 0.999 * state.spray_limit {
        return None;
    }
    let usage = |crossing: &&Crossing| solution.links[crossing.link as usize].excess();
    let crossing = solution.data(index).iter().max_by(|one, other| usage(one).total_cmp(&usage(other)))?;
    let bps = state.rate * flow.wire_bits * f64::from(crossing.share);
    (usage(&crossing) > FULL).then_some((crossing.link, bps))
}

/// Load of a link, of what it can carry, above which its flows share its capacity.
const FULL: f64 = 0.9;

/// Packets a second on each link.
fn packets(flows: &[FlowModel], solution: &Solution) -> Vec<f64> {
    let mut packets = vec![0.0; solution.links.len()];
    for (index, (flow, state)) in flows.iter().zip(&solution.flows).enumerate() {
        for crossing in solution.data(index) {
            packets[crossing.link as usize] += state.rate * f64::from(crossing.share);
        }
        for crossing in solution.acks(index) {
            packets[crossing.link as usize] += state.rate * flow.acks * f64::from(crossing.share);
        }
    }
    packets
}

fn link_prediction(link: &LinkModel, packets: f64, in_phase: bool) -> LinkPrediction {
    LinkPrediction {
        carried_bps: link.load_bps.min(link.rate_bps),
        packets,
        utilisation: (link.load_bps / link.rate_bps).min(1.0),
        queue_delay_s: link.queue_s.min(link.buffer_s),
        drops: link.dropped(packets),
        losses: packets * link.loss,
        in_phase,
    }
}
