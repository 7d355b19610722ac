//! Predictions of runs whose links or routes change. A phase is the time between two changes. Each is predicted with the links and routes that hold in it.
//!
//! The goodput of a flow without end is the mean over its measured time. Both ends of its interval are means as well: what makes the prediction
//! of one phase too high may do so in all of them. A flow that ends goes through the phases at the rate that it would have if each lasted
//! (`transfer`). After a change, senders wait and grow (`recovery`).
//!
//! May use: `solution/`, and the links and routes of the packet engine at any instant.

mod recovery;
mod transfer;

use super::error::PredictError;
use super::solution::overlap;
use super::watch::Watch;
use super::{FlowPrediction, LinkPrediction, NO_PATH, Prediction};
use crate::packet::Simulation;
use crate::units::Time;

/// Greatest number of phases of a run.
const MOST: usize = 1000;
/// Greatest number of predictions of flows in all phases: they are in memory together, with 250 bytes each.
const MOST_FLOWS: usize = 10_000_000;

/// A time between two changes, seconds.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Phase {
    begin_s: f64,
    end_s: f64,
}

impl Phase {
    /// The share of a time that is in this phase.
    fn share_of(self, (from_s, to_s): (f64, f64)) -> f64 {
        let common_s = (self.end_s.min(to_s) - self.begin_s.max(from_s)).max(0.0);
        if to_s > from_s { common_s / (to_s - from_s) } else { 0.0 }
    }
}

/// Predicts a run that changes at these instants. `predict_now` predicts a run whose links and routes stay as they are.
///
/// # Errors
/// Those of `predict_now`; or the run has more than [`MOST`] phases, or too many flows for them.
pub fn predict(
    mut run: Simulation,
    changes: &[Time],
    watch: &Watch,
    predict_now: impl Fn(&mut Simulation) -> Result<Prediction, PredictError>,
) -> Result<Prediction, PredictError> {
    let mut begins = vec![Time::ZERO];
    begins.extend(changes.iter().filter(|at| **at > Time::ZERO));
    if begins.len() > MOST {
        let what = format!("{} changes of links and routes, more than {}", begins.len() - 1, MOST - 1);
        return Err(PredictError::Refused(what));
    }
    let flows = run.planned_flows() as usize;
    if begins.len() * flows > MOST_FLOWS {
        let most = MOST_FLOWS / begins.len();
        let what = format!("{} changes of links and routes with {flows} flows, more than {most}", begins.len() - 1);
        return Err(PredictError::Refused(what));
    }
    let run_end_s = run.spec().duration.as_secs();
    let (mut phases, mut parts) = (Vec::new(), Vec::new());
    for (index, begin) in begins.iter().enumerate() {
        let done = |phases: usize| phases as f64 / begins.len() as f64;
        watch.begin(done(index)..done(index + 1));
        run.pass_changes(*begin);
        let end_s = begins.get(index + 1).map_or(run_end_s, |next| next.as_secs());
        phases.push(Phase { begin_s: begin.as_secs(), end_s });
        parts.push(predict_now(&mut run)?);
    }
    // Where all changes are at the beginning, nothing changes.
    Ok(if let [_] = phases[..] { parts.swap_remove(0) } else { mean(&run, &phases, parts)? })
}

/// The mean of the predictions of all phases.
fn mean(run: &Simulation, phases: &[Phase], mut parts: Vec<Prediction>) -> Result<Prediction, PredictError> {
    let spec = run.spec();
    let (warm_s, end_s) = (spec.warm_up.as_secs(), spec.duration.as_secs());
    let mut flows = Vec::new();
    for flow in 0..run.planned_flows() {
        let plan = run.plan(flow);
        let start_s = plan.start.as_secs();
        let mut of_phases: Vec<FlowPrediction> = parts.iter().map(|part| part.flows[flow as usize]).collect();
        if let Some(bytes) = plan.bytes {
            flows.push(transfer::prediction(phases, &of_phases, start_s, bytes));
            of_phases.fill(NO_PATH);
        } else {
            recovery::apply(phases, &mut of_phases, start_s);
            let shares: Vec<f64> = phases.iter().map(|phase| phase.share_of((start_s.max(warm_s), end_s))).collect();
            flows.push(mean_of_flow(&shares, &of_phases));
            of_phases.iter_mut().zip(&shares).for_each(|(prediction, share)| *prediction = scaled(prediction, *share));
        }
        parts.iter_mut().zip(of_phases).for_each(|(part, prediction)| part.flows[flow as usize] = prediction);
    }
    let lasting = phases.iter().zip(&parts).enumerate().map(|(index, (phase, part))| {
        // The last rates go on.
        let end_s = if index + 1 < phases.len() { phase.end_s } else { f64::INFINITY };
        (phase.begin_s..end_s, &part.claims[..])
    });
    overlap::check(run, &flows, lasting)?;
    for (phase, part) in phases.iter().zip(&mut parts) {
        let share = phase.share_of((warm_s, end_s));
        part.links.iter_mut().for_each(|link| scale_link(link, share));
    }
    Ok(Prediction {
        flows,
        links: (0..spec.links.len()).map(|link| sum_of_links(parts.iter().map(|part| part.links[link]))).collect(),
        converged: parts.iter().all(|part| part.converged),
        unique: parts.iter().all(|part| part.unique),
        parts,
        claims: Vec::new(),
    })
}

/// The mean over phases with these shares of the measured time. Its limit is that of the longest phase in which the flow has a path.
fn mean_of_flow(shares: &[f64], of_phases: &[FlowPrediction]) -> FlowPrediction {
    let phases = || shares.iter().copied().zip(of_phases);
    let of_all = |value: fn(&FlowPrediction) -> f64| phases().map(|(share, flow)| share * value(flow)).sum::<f64>();
    let with_path = || phases().filter(|(share, flow)| *share > 0.0 && flow.paths > 0);
    let Some((_, longest)) = with_path().max_by(|one, other| one.0.total_cmp(&other.0)) else { return NO_PATH };
    let mean = |weight: fn(f64, &FlowPrediction) -> f64, value: fn(&FlowPrediction) -> f64| {
        let (sum, weights) = with_path().fold((0.0, 0.0), |(sum, weights), (share, flow)| {
            (sum + weight(share, flow) * value(flow), weights + weight(share, flow))
        });
        sum / weights
    };
    FlowPrediction {
        goodput_bps: of_all(|flow| flow.goodput_bps),
        interval_bps: (of_all(|flow| flow.interval_bps.0), of_all(|flow| flow.interval_bps.1)),
        rtt_s: mean(|share, flow| share * flow.goodput_bps.max(f64::MIN_POSITIVE), |flow| flow.rtt_s),
        window: mean(|share, _| share, |flow| flow.window),
        paths: with_path().map(|(_, flow)| flow.paths).max().unwrap_or(0),
        most_bps: of_all(|flow| flow.most_bps),
        shares: None,
        ..*longest
    }
}

/// What a phase with this share of the measured time adds to the goodput of a flow.
fn scaled(flow: &FlowPrediction, share: f64) -> FlowPrediction {
    FlowPrediction {
        goodput_bps: share * flow.goodput_bps,
        interval_bps: (share * flow.interval_bps.0, share * flow.interval_bps.1),
        most_bps: share * flow.most_bps,
        common_bps: (share * flow.common_bps.0, share * flow.common_bps.1),
        shares: flow.shares.map(|(link, bps)| (link, share * bps)),
        ..*flow
    }
}

/// Makes the values of a link what a phase with this share of the measured time adds to them. Its wait stays.
fn scale_link(link: &mut LinkPrediction, share: f64) {
    let LinkPrediction { carried_bps, packets, utilisation, drops, losses, .. } = link;
    for value in [carried_bps, packets, utilisation, drops, losses] {
        *value *= share;
    }
    link.in_phase &= share > 0.0;
}

fn sum_of_links(parts: impl Iterator<Item = LinkPrediction>) -> LinkPrediction {
    let mut sum = parts
        .map(|part| LinkPrediction { queue_delay_s: part.packets * part.queue_delay_s, ..part })
        .reduce(|sum, part| LinkPrediction {
            carried_bps: sum.carried_bps + part.carried_bps,
            packets: sum.packets + part.packets,
            utilisation: sum.utilisation + part.utilisation,
            queue_delay_s: sum.queue_delay_s + part.queue_delay_s,
            drops: sum.drops + part.drops,
            losses: sum.losses + part.losses,
            in_phase: sum.in_phase || part.in_phase,
        })
        .expect("a run has a phase");
    sum.utilisation = sum.utilisation.min(1.0); // shares of a time may add up to a little more than it
    sum.queue_delay_s = if sum.packets > 0.0 { sum.queue_delay_s / sum.packets } else { 0.0 };
    sum
}
