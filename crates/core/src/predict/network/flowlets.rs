//! Predictions of runs with flowlets, as a mixture of two kinds of runs. In one, each packet chooses a path. In the other, each flow keeps one.

use super::error::PredictError;
use super::flows::model::Flowlets;
use super::solution::class::{Class, Interval};
use super::{FlowPrediction, LinkPrediction, Prediction};
use crate::packet::Simulation;
use crate::spec::{Granularity, RunSpec};

/// Greatest number of solutions in which flows keep their paths.
const MOST_TURNS: usize = 8;
/// Time between bursts, in gaps, from which on a flow leaves its path. The gap is compared with the longest time between packets, not with the mean.
const LEAVES: f64 = 0.7;

/// Predicts a run by `predict_as`, which knows how long its flowlets are.
///
/// # Errors
/// Those of `predict_as`.
pub fn predict(
    run: &mut Simulation,
    predict_as: impl Fn(&mut Simulation, Flowlets) -> Result<Prediction, PredictError>,
) -> Result<Prediction, PredictError> {
    let short = predict_as(run, Flowlets::Short)?;
    let gaps: Vec<Option<f64>> = (0..run.planned_flows()).map(|flow| gap_s(run.spec(), run.plan(flow).group)).collect();
    let lasting = gaps.iter().zip(&short.flows).filter(|(gap, flow)| gap.is_some() && flow.paths > 1);
    let turns = lasting.map(|(_, flow)| flow.paths).max().unwrap_or(0).min(MOST_TURNS);
    if turns == 0 {
        return Ok(short);
    }
    let turn = |index: usize| Flowlets::Long { turn: (index as f64 + 0.5) / turns as f64 };
    let long = (0..turns).map(|index| predict_as(run, turn(index))).collect::<Result<Vec<_>, _>>()?;
    Ok(mixed(&short, &long, &gaps))
}

/// The gap of a group's flowlets, seconds.
fn gap_s(spec: &RunSpec, group: u32) -> Option<f64> {
    match spec.routings[spec.traffic[group as usize].routing].per {
        Granularity::Flowlet { gap } => Some(gap.as_secs()),
        _ => None,
    }
}

fn mean(of: impl Iterator<Item = f64>) -> f64 {
    let (sum, count) = of.fold((0.0, 0_u32), |(sum, count), value| (sum + value, count + 1));
    sum / f64::from(count)
}

/// The weight of the run in which each packet chooses, for a flow: 0 if its bursts on one path come within the gap, 1 if they would not even where it has all
/// paths. Between the two, a flow is as fast as its bursts come with the gap between them. If they come faster it keeps a path whose queue slows them down;
/// if they come slower it gets further paths.
fn weight(short: &FlowPrediction, long_s: f64, gap_s: f64) -> f64 {
    let gaps = long_s / (LEAVES * gap_s);
    (gaps.ln() / (short.paths as f64).ln()).clamp(0.0, 1.0)
}

fn mixed(short: &Prediction, long: &[Prediction], gaps: &[Option<f64>]) -> Prediction {
    let of_long =
        |index: usize, value: fn(&FlowPrediction) -> f64| mean(long.iter().map(|run| value(&run.flows[index])));
    let weights: Vec<Option<f64>> = (short.flows.iter().zip(gaps).enumerate())
        .map(|(index, (flow, gap))| {
            let rate = of_long(index, |flow| 1.0 / flow.between_s);
            gap.filter(|_| flow.paths > 1).map(|gap| weight(flow, 1.0 / rate, gap))
        })
        .collect();
    let of_others = mean(weights.iter().flatten().copied());
    let flow = |index: usize, flow: &FlowPrediction| {
        let weight = weights[index].unwrap_or(of_others);
        let mix = |value: fn(&FlowPrediction) -> f64| {
            // Where its path has failed, it has no RTT and no window.
            let known = || long.iter().map(|run| value(&run.flows[index])).filter(|value| !value.is_nan());
            if known().next().is_none() {
                return value(flow);
            }
            value(flow).powf(weight) * mean(known()).powf(1.0 - weight)
        };
        let goodput_bps = mix(|flow| flow.goodput_bps);
        let Interval { low, high } = Class::Flowlets.interval();
        let interval_bps = match weights[index] {
            Some(_) => (low * goodput_bps, (high * goodput_bps).min(flow.most_bps.max(goodput_bps))),
            None => {
                let ends = |end: fn(&FlowPrediction) -> f64| long.iter().map(move |run| end(&run.flows[index]));
                (
                    ends(|flow| flow.interval_bps.0).fold(flow.interval_bps.0, f64::min),
                    ends(|flow| flow.interval_bps.1).fold(flow.interval_bps.1, f64::max),
                )
            }
        };
        FlowPrediction {
            goodput_bps,
            interval_bps,
            limited_by: if weights[index].is_some() { Class::Flowlets.name() } else { flow.limited_by },
            rtt_s: mix(|flow| flow.rtt_s),
            window: mix(|flow| flow.window),
            between_s: mix(|flow| flow.between_s),
            // The error of the mixture is that of all flows.
            shares: flow.shares.filter(|_| weights[index].is_none()),
            ..*flow
        }
    };
    let link = |index: usize, link: &LinkPrediction| {
        let mix = |value: fn(&LinkPrediction) -> f64| {
            of_others * value(link) + (1.0 - of_others) * mean(long.iter().map(|run| value(&run.links[index])))
        };
        LinkPrediction {
            carried_bps: mix(|link| link.carried_bps),
            packets: mix(|link| link.packets),
            utilisation: mix(|link| link.utilisation),
            queue_delay_s: mix(|link| link.queue_delay_s),
            drops: mix(|link| link.drops),
            losses: mix(|link| link.losses),
            in_phase: link.in_phase,
        }
    };
    Prediction {
        flows: short.flows.iter().enumerate().map(|(index, one)| flow(index, one)).collect(),
        links: short.links.iter().enumerate().map(|(index, one)| link(index, one)).collect(),
        parts: Vec::new(),
        claims: short.claims.clone(),
        converged: short.converged && long.iter().all(|run| run.converged),
        unique: short.unique && long.iter().all(|run| run.unique),
    }
}
