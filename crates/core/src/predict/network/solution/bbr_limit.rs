//! Greatest rate of BBR over several paths, and of BBR version 3 over paths that lose packets.

use super::class::Class;
use super::spraying::most_overtaking;
use crate::predict::network::flows::model::{FlowModel, Paths, Route};
use crate::predict::network::laws::law::Bbr;
use crate::predict::network::links::model::LinkModel;

/// Bandwidth-delay products that the window of BBR allows in flight: its window gain.
const WINDOW_GAIN: f64 = 2.0;
/// Of the ratio of the window to what a flow needs: the value at which a sender whose detector waits long has all its rate, and the power by which the
/// rate falls below it. The measured rate falls with the rate, and the window with it.
const PATIENT: (f64, f64) = (0.95, 2.5);
/// The same of other senders: what they take for lost leaves less room.
const IMPATIENT: (f64, f64) = (1.2, 10.0);
/// Segments in flight that remain of a window that has collapsed (BBRMinPipeCwnd, and a quantum).
const COLLAPSED: f64 = 6.0;
/// A flow whose window is less than this multiple of the first of these values is of the class [`Class::BbrFarApart`].
const MARGIN: f64 = 1.25;

/// Share of the rate that queues of drawn paths cost one flow alone, in each version: some path is empty at any time, and another one drops.
const DRAWN: [f64; 3] = [0.05, 0.1, 0.13];
/// Flows that share a path use what another one leaves, so only fewer than this lose the share [`DRAWN`].
const FEW: f64 = 1.5;

/// Packets that a path may be behind another one at the rate of a flow with three duplicate ACKs, above which its rate no longer grows.
const BEHIND: f64 = 7.0;
/// Relative loss of rate by a disorder of one packet, where queues of the paths differ.
const DISORDERED: f64 = 0.1;

/// Coefficient and powers of version 3's law for losses.
const OF_LOSS: (f64, f64, f64) = (0.0243, 0.92, 0.6);
/// How losses above the threshold count in it, and by which power.
const ABOVE_THRESHOLD: (f64, i32) = (0.53, 4);

/// Paths whose rates differ by less than this ratio have queues of one length.
const EVEN: f64 = 1.001;
/// Limits that take less than this share are none.
const NONE: f64 = 0.005;

/// Whether this version of BBR answers the flow's losses at random.
pub fn answers_losses(flow: &FlowModel, version: Bbr) -> bool {
    matches!(version, Bbr::Three { .. }) && flow.loss.ratio > 0.0
}

/// The class of a BBR flow that has several paths or answers losses.
pub fn class(flow: &FlowModel, version: Bbr) -> Class {
    if flow.counted().is_some() {
        Class::BbrSprayedCounting
    } else if room(flow) < MARGIN * patience(flow, version).0 {
        Class::BbrFarApart
    } else if answers_losses(flow, version) {
        Class::BbrLoss
    } else {
        Class::BbrSprayed
    }
}

/// The limit of a flow, packets a second; infinite if its paths' capacities alone limit it.
pub fn limit(flow: &FlowModel, version: Bbr, links: &[LinkModel]) -> f64 {
    let (mut fair, mut flows) = (f64::INFINITY, 1.0);
    for (link, share) in &flow.data.shares {
        let link = &links[*link as usize];
        let rate = link.rate_bps / (link.bbr_senders * flow.wire_bits);
        if rate < fair {
            (fair, flows) = (rate, link.bbr_senders / f64::from(*share));
        }
    }
    let mut part = if answers_losses(flow, version) { under_losses(flow, version, (fair, flows)) } else { 1.0 };
    if flow.data.count > 1 {
        part *= if flow.data.in_turn || flows > FEW { 1.0 } else { 1.0 - DRAWN[number(version)] };
        part *= flow.counted().map_or(1.0, |threshold| under_counting(flow, threshold, fair, links));
        let (enough, power) = patience(flow, version);
        part *= (room(flow) / enough).min(1.0).powf(power);
    }
    if part > 1.0 - NONE { f64::INFINITY } else { (part * fair).max((COLLAPSED / flow.idle_rtt_s).min(fair)) }
}

fn number(version: Bbr) -> usize {
    match version {
        Bbr::Draft => 0,
        Bbr::Linux => 1,
        Bbr::Three { .. } => 2,
    }
}

fn patience(flow: &FlowModel, version: Bbr) -> (f64, f64) {
    let by_timer = flow.long_run().is_some_and(|control| control.by_timer);
    if by_timer || version == Bbr::Linux { PATIENT } else { IMPATIENT }
}

/// Ratio of BBR's window to the segments in flight at its rate. The window is [`WINDOW_GAIN`] times the product of rate and least RTT, which is that of
/// the shortest path. The segments stay for the mean RTT. Below 1, the window limits the rate that BBR measures next, and so on: the window collapses.
fn room(flow: &FlowModel) -> f64 {
    let spared_s = |paths: &Paths| {
        let mean_s: f64 = paths.routes.iter().map(|route| route.share * route.delay_s).sum();
        mean_s - paths.routes.iter().map(|route| route.delay_s).fold(mean_s, f64::min)
    };
    WINDOW_GAIN * (1.0 - (spared_s(&flow.data) + spared_s(&flow.ack)) / flow.idle_rtt_s)
}

/// Part of its rate that a flow keeps whose detector counts duplicate ACKs. Recoveries hold the rate at which a late path is [`BEHIND`] packets behind.
fn under_counting(flow: &FlowModel, threshold: f64, fair: f64, links: &[LinkModel]) -> f64 {
    let slowest = flow.data.shares.iter().map(|(link, _)| links[*link as usize].rate_bps).fold(f64::INFINITY, f64::min);
    let packet_s = flow.wire_bits / slowest;
    let delays: Vec<f64> = flow.data.routes.iter().map(|route| route.delay_s).collect();
    let narrowest =
        |route: &Route| route.links.iter().map(|link| links[*link as usize].rate_bps).fold(f64::INFINITY, f64::min);
    let is_even = flow.data.routes.iter().all(|route| narrowest(route) <= EVEN * slowest);
    if flow.data.in_turn && is_even && most_overtaking(&delays, packet_s) < threshold {
        return 1.0;
    }
    let spread_s = delays.iter().copied().fold(0.0, f64::max) - delays.iter().copied().fold(f64::INFINITY, f64::min);
    let disorder = if flow.data.in_turn && is_even { 0.0 } else { DISORDERED * fair * packet_s };
    let behind = fair * spread_s / (BEHIND * threshold / 3.0);
    1.0 / ((1.0 + disorder) * (1.0 + behind * behind).sqrt())
}

/// Part of the rate that version 3 keeps under losses at random. In a round trip that loses packets while it cruises, its short-term bounds fall towards what
/// arrives, and only the next probe lifts them. A probe ends early where a round trip loses more than the threshold.
fn under_losses(flow: &FlowModel, version: Bbr, (fair, flows): (f64, f64)) -> f64 {
    let Bbr::Three { loss_threshold } = version else { return 1.0 };
    let (coefficient, of_loss, of_window) = OF_LOSS;
    let ratio = flow.loss.ratio / loss_threshold.max(1e-3);
    let above = 1.0 + ABOVE_THRESHOLD.0 * ratio.powi(ABOVE_THRESHOLD.1);
    let window = fair * flow.idle_rtt_s / flows.max(1.0);
    1.0 / (1.0 + coefficient * ratio.powf(of_loss) * window.powf(of_window) * above)
}
