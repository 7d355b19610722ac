//! How a link appears to its flows.

use super::crossing::Crossing;
use super::discipline::Discipline;
use super::links::LinkModel;
use super::sender::Sender;
use super::totals::Totals;

/// See [`Totals::returning`]: from this on, ACKs hold one another back.
const BOTH_WAYS: f64 = 0.2;
/// What of other queues' clocks goes where ACKs hold one another back.
const UNCLOCKED: f64 = 0.9;
/// How readily a full queue drops a packet of a host at the link, over one that came over a link.
const FROM_HOST: f64 = 0.7;
/// The same where ACKs hold one another back.
const BURST_FROM_HOST: f64 = 2.1;

/// The state of a link, as its flows see it. It is small, so that all links of a large network fit into the cache, and on one line of it.
#[derive(Debug, Clone, Copy)]
#[repr(align(64))]
pub struct Price {
    /// Congestion events a second.
    events: f64,
    /// Mean wait, seconds.
    pub queue_s: f64,
    /// What each BBR flow may send, bit/s.
    pub bbr_bps: f64,
    /// Packets dropped in an event.
    drops: f64,
    /// One over the load; where a full queue drops, over the load by how readily it drops it.
    by_load: f64,
    /// Whether a full queue drops.
    drop_tail: bool,
    /// What of the clocks of other queues still counts: ACKs that hold one another back leave none.
    clocks: f64,
    /// How much more readily a full queue drops packets of hosts at the link than packets that came over a link.
    from_host: f64,
}

impl Price {
    /// Of a link, which carried these totals.
    pub fn of(link: &LinkModel, totals: &Totals) -> Price {
        let drop_tail = link.discipline == Discipline::DropTail;
        // ACKs are dropped as full packets are.
        let full_bits = link.packet_s * link.rate_bps;
        let load = if drop_tail { totals.droppable_bps + totals.acks * full_bits } else { totals.load_bps };
        let two_way = (totals.returning() / BOTH_WAYS).min(1.0);
        Price {
            events: link.events,
            queue_s: link.queue_s,
            bbr_bps: link.bbr_bps,
            drops: link.drops,
            by_load: if load > 0.0 { 1.0 / load } else { f64::INFINITY },
            drop_tail,
            clocks: 1.0 - UNCLOCKED * two_way,
            from_host: FROM_HOST + (BURST_FROM_HOST - FROM_HOST) * two_way,
        }
    }

    /// Events a second that reach a flow. A share of the packets has that share of the drops: `takes_part` counts it.
    pub fn events_at(&self, crossing: &Crossing) -> f64 {
        self.events * f64::from(crossing.takes_part)
    }

    /// How readily the link drops packets of a flow. `spacing_s` is the mean time between the events that the flow sees, of all links.
    ///
    /// ACKs that wait in a queue leave it together, and release packets in bursts: no queue has clocked these. A host sends such a burst at once, and
    /// the next link spreads it (Zhang, Shenker and Clark 1991).
    pub fn droppability(&self, sender: &Sender<'_>, crossing: &Crossing, spacing_s: f64) -> f64 {
        if !self.drop_tail {
            return 1.0;
        }
        let own = self.events_at(crossing) * spacing_s;
        let sent = if crossing.link == sender.first { self.from_host } else { 1.0 };
        sender.droppability((1.0 - own.min(1.0)) * self.clocks) * sent * f64::from(crossing.meets)
    }

    /// Probability that an event reaches a flow of this rate. An event drops a number of packets. Each is the flow's with the probability of its
    /// share; full queues choose. `spacing_s` is that of [`Self::droppability`].
    pub fn reaches(&self, sender: &Sender<'_>, rate: f64, crossing: &Crossing, spacing_s: f64) -> f64 {
        let load_bps = f64::from(crossing.share) * rate * sender.wire_bits;
        let of_drops = (load_bps * self.droppability(sender, crossing, spacing_s) * self.by_load).min(1.0);
        if self.drops <= 1.0 { of_drops } else { 1.0 - (self.drops * (1.0 - of_drops).ln()).exp() }
    }
}
