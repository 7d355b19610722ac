//! Sums over all flows of a link.

use super::bbr_share::BbrShare;
use crate::predict::network::flows::crossing::Crossing;
use crate::predict::network::flows::model::FlowState;
use crate::predict::network::flows::sender::Sender;
use std::ops::Add;

/// Sums over the flows of a link. Each flow is weighted with the share of its packets that crosses the link. The struct fills two cache lines.
#[derive(Debug, Clone, Copy, Default)]
#[repr(align(64))]
pub struct Totals {
    /// Data and ACKs, bit/s.
    pub load_bps: f64,
    /// Data, bit/s.
    pub data_bps: f64,
    /// Sum of data loads, each multiplied by its flow's RTT.
    pub rtt_load: f64,
    /// Sum of data loads, each multiplied by its droppability (see [`Sender::droppability`]).
    pub droppable_bps: f64,
    /// Packets a second, data and ACKs.
    pub packets: f64,
    /// ACKs a second.
    pub acks: f64,
    /// Data packets a second that these ACKs acknowledge.
    pub acknowledged: f64,
    /// Segments by which the windows grow per round trip.
    pub growth: f64,
    /// Segments by which the windows grow per second.
    pub growth_a_second: f64,
    /// Mean load that an event takes away.
    pub lost_bps: f64,
    /// The same load, weighted with how far each flow's growth is from linear (see [`super::sawtooth::Sawtooth::curve`]).
    pub curved_bps: f64,
    /// Sums over BBR flows and over other flows.
    pub bbr: BbrShare,
}

/// The contribution of a flow to the totals of each of its links.
pub struct Part {
    /// Data, bit/s and packets a second.
    data_bps: f64,
    rate: f64,
    /// See [`Totals`].
    rtt_load: f64,
    growth: f64,
    growth_a_second: f64,
    lost_bps: f64,
    curved_bps: f64,
    bbr: BbrShare,
    /// ACKs a second.
    acks: f64,
    /// Bits of ACKs a second.
    acks_bps: f64,
}

impl Part {
    /// The contribution of a flow in this state.
    pub fn of(sender: &Sender<'_>, state: &FlowState) -> Part {
        let data_bps = state.rate * sender.wire_bits;
        let lost = 1.0 - state.remaining;
        let lost_bps = data_bps * lost * state.responds;
        let curve = if lost > 0.0 { (state.mean_share - f64::midpoint(1.0, state.remaining)) / lost } else { 0.0 };
        Part {
            data_bps,
            rate: state.rate,
            rtt_load: data_bps * state.rtt_s,
            growth: state.growth,
            growth_a_second: state.growth / state.rtt_s,
            lost_bps,
            curved_bps: lost_bps * curve,
            bbr: if sender.is_bbr {
                BbrShare { flows: 1.0, load_bps: data_bps, others: 0.0, others_bps: 0.0 }
            } else {
                BbrShare { flows: 0.0, load_bps: 0.0, others: state.responds, others_bps: state.responds * data_bps }
            },
            acks: state.rate * sender.acks,
            acks_bps: state.rate * sender.acks * sender.ack_bits,
        }
    }
}

impl Totals {
    /// Adds a flow's data, weighted with this droppability where a full queue drops.
    pub fn add_data(&mut self, part: &Part, crossing: &Crossing, droppability: f64) {
        let (share, takes_part) = (f64::from(crossing.share), f64::from(crossing.takes_part));
        self.load_bps += share * part.data_bps;
        self.data_bps += share * part.data_bps;
        self.rtt_load += share * part.rtt_load;
        self.droppable_bps += share * droppability * part.data_bps;
        self.packets += share * part.rate;
        self.growth += share * part.growth;
        self.growth_a_second += share * part.growth_a_second;
        self.lost_bps += share * takes_part * part.lost_bps;
        self.curved_bps += share * takes_part * part.curved_bps;
        self.bbr.flows += share * part.bbr.flows;
        self.bbr.load_bps += share * part.bbr.load_bps;
        self.bbr.others += share * part.bbr.others;
        self.bbr.others_bps += share * part.bbr.others_bps;
    }

    /// Ratio of acknowledged packets to the sum of acknowledged packets and data packets. The acknowledged packets are those whose ACKs cross the link. It
    /// is 0 for data in one direction, and 1/2 for equally many packets in both directions.
    pub fn returning(&self) -> f64 {
        let data = self.packets - self.acks;
        self.acknowledged / (self.acknowledged + data).max(1e-9)
    }

    /// Adds a flow's ACKs.
    pub fn add_acks(&mut self, part: &Part, crossing: &Crossing) {
        let share = f64::from(crossing.share);
        self.load_bps += share * part.acks_bps;
        self.packets += share * part.acks;
        self.acks += share * part.acks;
        self.acknowledged += share * part.rate;
    }
}

impl Add for Totals {
    type Output = Totals;

    fn add(self, other: Totals) -> Totals {
        Totals {
            load_bps: self.load_bps + other.load_bps,
            data_bps: self.data_bps + other.data_bps,
            rtt_load: self.rtt_load + other.rtt_load,
            droppable_bps: self.droppable_bps + other.droppable_bps,
            packets: self.packets + other.packets,
            acks: self.acks + other.acks,
            acknowledged: self.acknowledged + other.acknowledged,
            growth: self.growth + other.growth,
            growth_a_second: self.growth_a_second + other.growth_a_second,
            lost_bps: self.lost_bps + other.lost_bps,
            curved_bps: self.curved_bps + other.curved_bps,
            bbr: BbrShare {
                flows: self.bbr.flows + other.bbr.flows,
                load_bps: self.bbr.load_bps + other.bbr.load_bps,
                others: self.bbr.others + other.bbr.others,
                others_bps: self.bbr.others_bps + other.bbr.others_bps,
            },
        }
    }
}
