//! The equilibrium: rates of congestion events at which no link carries more than it can, and no flow less than its law gives.

use super::flows::{FlowModel, FlowState};
use super::law::Response;
use super::links::LinkModel;

/// Events a round trip of every link at the two starts.
pub const FEW_EVENTS: f64 = 1e-4;
/// See [`FEW_EVENTS`].
pub const MANY_EVENTS: f64 = 0.3;
/// Solutions closer than this are one.
pub const SAME: f64 = 0.05;

const ITERATIONS: u32 = 3000;
/// A solution is found when no rate and no price changes by more than this share.
const TOLERANCE: f64 = 1e-4;
/// The weight of a new queue beside the former one.
const DAMPING: f64 = 0.2;
/// The power of the excess load by which a price follows it: bounds, and by how much it adapts to whether the load swings.
const STEP: (f64, f64) = (0.01, 2.0);
const FIRST_STEP: f64 = 0.25;
const SHRINK: f64 = 0.6;
const GROW: f64 = 1.05;
/// Links with less load than this share of their capacity have no price. Most links are such: they are looked at in every so many iterations only.
const IDLE: f64 = 0.5;
/// See [`IDLE`].
const CHECK: u32 = 20;
/// The window, in segments, in which every other loss ends in a timeout.
const TIMEOUT_WINDOW: f64 = 5.0;

/// Packets that may overtake another, for three duplicate ACKs, at a window of [`USUAL_WINDOW`].
const TOLERATED: f64 = 1.25;
/// Segments of a window whose growth balances about one reduction in 11 round trips.
const USUAL_WINDOW: f64 = 16.0;

/// What the solver has found.
#[derive(Debug, Clone)]
pub struct Solution {
    /// By flow.
    pub flows: Vec<FlowState>,
    /// By link.
    pub links: Vec<LinkModel>,
    /// Whether nothing changed any more.
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
    let mut states: Vec<FlowState> = flows.iter().map(begin).collect();
    for link in &mut links {
        let rtts = link.members.iter().map(|member| flows[member.flow()].idle_rtt_s);
        let shortest = rtts.fold(f64::INFINITY, f64::min);
        link.events = if link.can_queue && !link.members.is_empty() { start / shortest } else { 0.0 };
    }
    let mut steps = vec![(FIRST_STEP, 0.0_f64); links.len()];
    let mut priced: Vec<bool> = links.iter().map(|link| link.can_queue && !link.members.is_empty()).collect();
    let mut converged = false;
    for iteration in 0..ITERATIONS {
        let moved = respond(flows, &links, &priced, &mut states);
        let checks_all = iteration % CHECK == 0 || iteration + 1 == ITERATIONS;
        let mut pulled = 0.0_f64;
        for ((link, step), priced) in links.iter_mut().zip(&mut steps).zip(&mut priced) {
            if !*priced && !checks_all {
                continue;
            }
            let (queue_s, usable) = (link.queue_s, link.usable);
            link.follow(&states, DAMPING);
            if !link.can_queue || link.members.is_empty() {
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
            *step = (
                if excess * step.1 < 0.0 { (step.0 * SHRINK).max(STEP.0) } else { (step.0 * GROW).min(STEP.1) },
                excess,
            );
            link.charge(step.0 * excess.clamp(-2.0, 2.0));
            // A link with capacity to spare loses its price.
            let change = excess.max(-excess * link.full());
            pulled = pulled.max(change).max((link.usable - usable).abs()).max((link.queue_s - queue_s).abs() / 0.1);
        }
        if checks_all && iteration > 0 && moved < TOLERANCE && pulled < 4.0 * TOLERANCE {
            converged = true;
            break;
        }
    }
    Solution { flows: states, links, converged }
}

fn begin(flow: &FlowModel) -> FlowState {
    FlowState {
        rate: flow.source_rate.min(1.0 / flow.idle_rtt_s.max(1e-6)),
        window: 1.0,
        rtt_s: flow.idle_rtt_s,
        growth: 0.0,
        events: (0.0, 0.0),
        responds: 0.0,
        remaining: 1.0,
        mean_share: 1.0,
        spray_limit: f64::INFINITY,
    }
}

/// What flows send at the prices of the links that have one; the greatest change, in logarithms.
fn respond(flows: &[FlowModel], links: &[LinkModel], priced: &[bool], states: &mut [FlowState]) -> f64 {
    let mut events_s = vec![0.0; flows.len()];
    let mut squares = vec![0.0; flows.len()];
    let mut queues_s = vec![0.0; flows.len()];
    for (link, _) in links.iter().zip(priced).filter(|(_, priced)| **priced) {
        for member in &link.members {
            queues_s[member.flow()] += f64::from(member.share) * link.queue_s;
            if !member.acks {
                // A share of the packets has that share of the drops: `takes_part` counts it.
                let events = link.events * f64::from(member.takes_part);
                events_s[member.flow()] += events;
                squares[member.flow()] += events * events * f64::from(member.takes_part);
            }
        }
    }
    let mut moved = 1.0_f64;
    for (index, flow) in flows.iter().enumerate() {
        let new = state(flow, (events_s[index], squares[index]), flow.idle_rtt_s + queues_s[index], links);
        let ratio = new.rate / states[index].rate;
        moved = moved.max(ratio.max(ratio.recip()));
        states[index] = new;
    }
    moved.ln()
}

fn state(flow: &FlowModel, (events_s, squares): (f64, f64), rtt_s: f64, links: &[LinkModel]) -> FlowState {
    let Some(control) = flow.long_run() else {
        return FlowState { rate: flow.source_rate, rtt_s, ..begin(flow) };
    };
    let of_links = events_s * rtt_s;
    let limit = (control.window_limit / rtt_s).min(flow.source_rate);
    let at = |window: f64| {
        let at_random = if flow.loss > 0.0 { -libm::expm1(-flow.loss * window) } else { 0.0 };
        let events = of_links + at_random;
        // Of one link, all of whose events the flow takes part in, distances are even.
        let even = squares * rtt_s * rtt_s / (events * events).max(1e-300);
        let balance = control.response.balance((of_links, at_random), rtt_s, flow.idle_rtt_s, even.min(1.0));
        balance.map(|balance| (at_random, balance))
    };
    let Some(mut found) = at(1.0) else {
        let bbr_bps =
            flow.data.shares.iter().map(|(link, _)| links[*link as usize].bbr_bps).fold(f64::INFINITY, f64::min);
        let held = bbr_bps / flow.wire_bits;
        let rate = held.min(limit);
        return FlowState { rate, window: rate * rtt_s, rtt_s, responds: rate / held, ..begin(flow) };
    };
    // Only events at random depend on the window.
    let by_events = if flow.loss > 0.0 {
        balanced(|window| at(window).map_or(0.0, |(_, balance)| balance.window))
    } else {
        found.1.window
    };
    let by_law = match *control.response {
        // What does not wait is on the way.
        Response::Waiting(waiting, _) => by_events.min(waiting * rtt_s / (rtt_s - flow.idle_rtt_s).max(1e-9)),
        _ => by_events,
    };
    let window = by_law.min(control.window_limit);
    if flow.loss > 0.0 {
        found = at(window).expect("it answered for a window of one segment");
    }
    let (at_random, balance) = found;
    let events = of_links + at_random;
    // After a loss in a small window, too few segments follow for a detector: a timeout.
    let timeout_s = (control.min_rto_s + rtt_s).max(2.0 * rtt_s);
    let timeouts = events / (1.0 + (window / TIMEOUT_WINDOW).powi(2)) * timeout_s / rtt_s;
    let spray_limit = spray_limit(flow, control.threshold, links);
    let lawful = by_law.max(1.0) / rtt_s / (1.0 + timeouts);
    let rate = lawful.min(limit).min(spray_limit);
    let responds = (rate / lawful).powi(2);
    let growth = (1.0 - balance.remaining) * events * by_law * responds;
    FlowState {
        rate,
        window: rate * rtt_s,
        rtt_s,
        growth,
        events: (of_links, at_random),
        responds,
        remaining: balance.remaining,
        mean_share: balance.mean_share,
        spray_limit,
    }
}

/// The window that a falling function of it maps to itself.
fn balanced(of: impl Fn(f64) -> f64) -> f64 {
    let (mut low, mut high) = (0.1_f64, 1e9_f64);
    for _ in 0..60 {
        let middle = (low * high).sqrt();
        if of(middle) > middle { low = middle } else { high = middle }
    }
    low
}

/// Packets a second beyond which a sender that counts duplicate ACKs takes reordering for loss: of n paths, n - 1 in n packets may overtake.
fn spray_limit(flow: &FlowModel, threshold: Option<f64>, links: &[LinkModel]) -> f64 {
    let Some(threshold) = threshold.filter(|threshold| threshold.is_finite()) else { return f64::INFINITY };
    if flow.data.count < 2 {
        return f64::INFINITY;
    }
    let slowest = flow.data.shares.iter().map(|(link, _)| links[*link as usize].rate_bps).fold(f64::INFINITY, f64::min);
    let paths = flow.data.count as f64;
    let apart_s = flow.data.spread_s + flow.disorder * flow.wire_bits / slowest;
    let usual = TOLERATED * threshold / 3.0 * paths / (paths - 1.0) / apart_s;
    // A window of W balances one reduction in W^2 packets or so. The rarer they have to be, the fewer packets may overtake: by the power 1/8 of W.
    usual * (USUAL_WINDOW / (usual * flow.idle_rtt_s)).sqrt().sqrt().sqrt()
}
