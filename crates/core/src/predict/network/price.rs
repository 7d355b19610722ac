//! What a flow sees of a link.

use super::discipline::Discipline;
use super::links::LinkModel;
use super::sender::Sender;
use super::totals::Totals;

/// What a flow sees of a link, small enough that those of a large network stay in the cache.
#[derive(Debug, Clone, Copy)]
pub struct Price {
    /// Congestion events a second.
    pub events: f64,
    /// Mean wait, seconds.
    pub queue_s: f64,
    /// What each BBR flow may send, bit/s.
    pub bbr_bps: f64,
    /// Packets dropped in an event.
    drops: f64,
    /// One over the load, by bursts where the discipline takes notice of them.
    by_load: f64,
    /// Whether it does.
    of_bursts: bool,
}

impl Price {
    /// Of a link, which carried these totals.
    pub fn of(link: &LinkModel, totals: &Totals) -> Price {
        let of_bursts = link.discipline == Discipline::DropTail;
        let load = if of_bursts { totals.burst_load } else { totals.load_bps };
        Price {
            events: link.events,
            queue_s: link.queue_s,
            bbr_bps: link.bbr_bps,
            drops: link.drops,
            by_load: if load > 0.0 { 1.0 / load } else { f64::INFINITY },
            of_bursts,
        }
    }

    /// Probability that an event reaches a flow of this rate, of which a share crosses the link. An event drops a number of packets, each of the flow with
    /// the probability of its share; full queues choose.
    pub fn reaches(&self, sender: &Sender<'_>, rate: f64, share: f32) -> f64 {
        let load = f64::from(share) * rate * sender.wire_bits * if self.of_bursts { sender.burst } else { 1.0 };
        let of_drops = (load * self.by_load).min(1.0);
        if self.drops <= 1.0 { of_drops } else { 1.0 - (1.0 - of_drops).powf(self.drops) }
    }
}
