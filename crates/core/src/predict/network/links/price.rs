//! Prices: the state of a link as its flows see it.

use super::discipline::Discipline;
use super::model::LinkModel;
use super::totals::Totals;
use crate::predict::network::flows::crossing::Crossing;
use crate::predict::network::flows::sender::Sender;

/// Value of [`Totals::returning`] from which on ACKs fully delay one another.
const BOTH_WAYS: f64 = 0.2;
/// Share of other queues' ACK clock that is lost where ACKs delay one another.
const UNCLOCKED: f64 = 0.9;
/// How readily a full queue drops a packet of a host at the link, relative to a packet that came over another link.
const FROM_HOST: f64 = 0.7;
/// The same ratio where ACKs delay one another.
const BURST_FROM_HOST: f64 = 2.1;

/// The state of a link, as its flows see it. It is small and fills one cache line, so that all links of a large network fit into the cache.
#[derive(Debug, Clone, Copy)]
#[repr(align(64))]
pub struct Price {
    /// Congestion events a second.
    events: f64,
    /// Mean wait, seconds.
    pub queue_s: f64,
    /// Rate that each BBR flow may send at, bit/s.
    pub bbr_bps: f64,
    /// Packets dropped in an event.
    drops: f64,
    /// Reciprocal of the load. For drop-tail, each flow's load is weighted by its droppability.
    by_load: f64,
    /// Whether the queue is drop-tail.
    drop_tail: bool,
    /// Factor for the effect of other queues' ACK clock. ACKs that delay one another reduce it.
    clocks: f64,
    /// How readily a full queue drops packets of hosts at the link, relative to packets that came over another link.
    from_host: f64,
}

impl Price {
    /// The price of a link that carried these totals.
    pub fn of(link: &LinkModel, totals: &Totals) -> Price {
        let drop_tail = link.discipline == Discipline::DropTail;
        // A full queue drops an ACK as readily as a full packet.
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

    /// Events a second that reach a flow. `takes_part` accounts for the share of its packets that crosses the link.
    pub fn events_at(&self, crossing: &Crossing) -> f64 {
        self.events * f64::from(crossing.takes_part)
    }

    /// How readily the link drops packets of a flow. `spacing_s` is the mean time between the events of all links that the flow sees.
    ///
    /// ACKs that wait in a queue leave it together and release packets in bursts. No queue has spaced these packets. A host sends such a burst at
    /// once, and the next link spreads it (Zhang, Shenker and Clark 1991).
    pub fn droppability(&self, sender: &Sender<'_>, crossing: &Crossing, spacing_s: f64) -> f64 {
        if !self.drop_tail {
            return 1.0;
        }
        let own = self.events_at(crossing) * spacing_s;
        let sent = if crossing.link == sender.first { self.from_host } else { 1.0 };
        sender.droppability((1.0 - own.min(1.0)) * self.clocks) * sent * f64::from(crossing.meets)
    }

    /// Probability that an event reaches a flow of this rate. An event drops several packets. Each belongs to the flow with a probability equal to
    /// its share of the load, weighted by droppability if the queue is drop-tail. `spacing_s` is as in [`Self::droppability`].
    pub fn reaches(&self, sender: &Sender<'_>, rate: f64, crossing: &Crossing, spacing_s: f64) -> f64 {
        let load_bps = f64::from(crossing.share) * rate * sender.wire_bits;
        let of_drops = (load_bps * self.droppability(sender, crossing, spacing_s) * self.by_load).min(1.0);
        if self.drops <= 1.0 { of_drops } else { 1.0 - (self.drops * (1.0 - of_drops).ln()).exp() }
    }
}
