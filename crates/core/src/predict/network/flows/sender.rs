//! The rate of a flow at the prices of its links.

use super::loss::PathLoss;
use super::model::{Control, FlowModel, FlowState};
use crate::predict::network::laws::law::Response;
use crate::spec::LinkId;

/// Window, in segments, at which half of the losses end in a timeout, as counted in the packet engine.
const TIMEOUT_WINDOW: f64 = 1.6;
/// Window at which a loss costs half of [`RECOVERY_ROUND_TRIPS`].
const SMALL_WINDOW: f64 = 5.0;
/// Round trips that a loss costs at the smallest windows: for a recovery without growth, and for rounding to whole segments.
const RECOVERY_ROUND_TRIPS: f64 = 3.0;
/// How readily a full queue drops the later packets of a burst, relative to the first one.
const LATER: f64 = 2.0;
/// By how much more readily a full queue drops a packet that another queue has clocked.
const CLOCKED_ELSEWHERE: f64 = 6.0;
/// The same for bursts and for paced packets.
const BURST_ELSEWHERE: f64 = 1.0;

/// The properties that determine a flow's rate. The struct is small, because the solver reads all flows in every iteration.
pub struct Sender<'a> {
    /// `None` for UDP, and for flows that end.
    control: Option<&'a Control>,
    idle_rtt_s: f64,
    source_rate: f64,
    /// `None` if no link loses packets.
    loss: Option<&'a PathLoss>,
    spray_limit: f64,
    /// See [`FlowModel::wire_bits`].
    pub wire_bits: f64,
    /// How readily a full queue drops its packets if this queue clocks them.
    clocked: f64,
    /// Relative increase of this if another queue clocks them.
    elsewhere: f64,
    /// See [`FlowModel::acks`].
    pub acks: f64,
    /// See [`FlowModel::ack_bits`].
    pub ack_bits: f64,
    /// Whether its congestion control is BBR.
    pub is_bbr: bool,
    /// The link over which its host sends; [`LinkId::MAX`] if packets choose a link.
    pub first: LinkId,
}

/// The state of a flow's links, as the flow sees them.
#[derive(Debug, Clone, Copy, Default)]
pub struct Seen {
    /// Events a second that reach it.
    pub events_s: f64,
    /// Sum of the squares of the links' event rates, each multiplied by the probability that an event of the link reaches the flow.
    pub squares: f64,
    /// Mean wait in queues, seconds.
    pub queues_s: f64,
    /// Rate that a BBR flow may send at, bit/s.
    pub bbr_bps: f64,
}

impl<'a> Sender<'a> {
    /// The sender of a flow over these links.
    pub fn new(flow: &'a FlowModel) -> Sender<'a> {
        let control = flow.long_run();
        Sender {
            control,
            idle_rtt_s: flow.idle_rtt_s,
            source_rate: flow.source_rate,
            loss: Some(&flow.loss).filter(|loss| loss.ratio > 0.0),
            spray_limit: flow.spray_limit,
            wire_bits: flow.wire_bits,
            clocked: 1.0 + LATER * (flow.burst - 1.0),
            elsewhere: if flow.paced || flow.burst > 1.0 { BURST_ELSEWHERE } else { CLOCKED_ELSEWHERE },
            acks: flow.acks,
            ack_bits: flow.ack_bits,
            is_bbr: flow.is_bbr(),
            first: flow.data.shares.first().filter(|_| flow.data.count == 1).map_or(LinkId::MAX, |(link, _)| *link),
        }
    }

    /// The initial rate, packets a second.
    pub fn first_rate(&self) -> f64 {
        self.source_rate.min(1.0 / self.idle_rtt_s.max(1e-6))
    }

    /// How readily a full drop-tail queue drops its packets. A packet that this queue has clocked takes the place that its predecessor left. A packet
    /// that another queue has clocked does not. The second packet of a burst never finds a place. `elsewhere` is the share of packets that other
    /// queues clock.
    pub fn droppability(&self, elsewhere: f64) -> f64 {
        self.clocked * (1.0 + self.elsewhere * elsewhere)
    }

    /// State of the flow when it sees these links.
    pub fn at(&self, seen: &Seen) -> FlowState {
        let rtt_s = self.idle_rtt_s + seen.queues_s;
        let round_trips_s = 1.0 / rtt_s;
        let idle = FlowState {
            rate: self.source_rate,
            window: 1.0,
            rtt_s,
            growth: 0.0,
            events: (0.0, 0.0),
            responds: 0.0,
            remaining: 1.0,
            mean_share: 1.0,
            spray_limit: self.spray_limit,
        };
        let Some(control) = self.control else { return idle };
        let of_links = seen.events_s * rtt_s;
        let limit = (control.window_limit * round_trips_s).min(self.source_rate);
        let at = |window: f64| {
            let at_random = self.loss.map_or(0.0, |loss| loss.hits(window));
            let events = of_links + at_random;
            // If the flow takes part in all events of one link and in no others, its events come at even distances.
            let evenly = if self.loss.is_some_and(|loss| loss.is_periodic) { at_random * at_random } else { 0.0 };
            let even = (seen.squares * rtt_s * rtt_s + evenly) / (events * events).max(1e-300);
            let balance = control.response.balance((of_links, at_random), rtt_s, self.idle_rtt_s, even.min(1.0));
            balance.map(|balance| (at_random, balance))
        };
        let Some(mut found) = at(1.0) else {
            let held = seen.bbr_bps / self.wire_bits;
            let rate = held.min(limit).min(self.spray_limit);
            return FlowState { rate, window: rate * rtt_s, responds: rate / held, ..idle };
        };
        // Only random losses depend on the window.
        let by_events = if self.loss.is_some() {
            balanced(|window| at(window).map_or(0.0, |(_, balance)| balance.window), (0.1, 1e9), 60)
        } else {
            found.1.window
        };
        let by_law = match *control.response {
            // The other segments are in flight on the links.
            Response::Waiting(waiting, _) => by_events.min(waiting * rtt_s / (rtt_s - self.idle_rtt_s).max(1e-9)),
            _ => by_events,
        };
        let window = by_law.min(control.window_limit);
        if self.loss.is_some() {
            found = at(window).expect("it answered for a window of one segment");
        }
        let (at_random, balance) = found;
        let events = of_links + at_random;
        // After a loss in a small window, too few segments follow for a detector, so a timeout repairs it.
        let timeout = control.timeout_s(rtt_s) * round_trips_s * in_small(window, TIMEOUT_WINDOW);
        let recovery = RECOVERY_ROUND_TRIPS * in_small(window, SMALL_WINDOW);
        let lawful = by_law.max(1.0) * round_trips_s / (1.0 + events * (timeout + recovery));
        let rate = lawful.min(limit).min(self.spray_limit);
        let responds = (rate / lawful).powi(2);
        let growth = (1.0 - balance.remaining) * events * by_law * responds;
        FlowState {
            rate,
            window: rate * rtt_s,
            growth,
            events: (of_links, at_random),
            responds,
            remaining: balance.remaining,
            mean_share: balance.mean_share,
            ..idle
        }
    }
}

/// Weight of a small window: near 1 far below `small`, 1/2 at `small`, near 0 far above it.
fn in_small(window: f64, small: f64) -> f64 {
    small * small / (small * small + window * window)
}

/// Fixed point of a falling function between two numbers, by halving the interval of their logarithms.
pub fn balanced(of: impl Fn(f64) -> f64, (mut low, mut high): (f64, f64), halvings: usize) -> f64 {
    for _ in 0..halvings {
        let middle = (low * high).sqrt();
        if of(middle) > middle { low = middle } else { high = middle }
    }
    low
}
