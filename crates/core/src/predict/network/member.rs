//! What a flow is to a link.

use super::flows::FlowModel;

/// A flow's part of a link: all that the link's equations need of the flow besides its state, since a run may have millions of members.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Member {
    /// Bits on the link for each packet that the flow sends.
    pub bits: f64,
    /// The flow's index.
    pub index: u32,
    /// Whether its ACKs cross the link, and not its data.
    pub acks: bool,
    /// Whether it is the data of a BBR flow.
    pub bbr: bool,
    /// The share of these packets that crosses the link.
    pub share: f32,
    /// Packets on the link for each that the flow sends.
    pub packets: f32,
    /// Probability that an event of the link reaches the flow.
    pub takes_part: f32,
    /// How readily a full drop-tail queue drops its packets: of a burst the more.
    pub droppable: f32,
}

impl Member {
    /// The part of a flow of this index.
    pub fn new(flow: &FlowModel, index: usize, acks: bool, share: f32) -> Member {
        let packets = f64::from(share) * if acks { flow.acks } else { 1.0 };
        let bits = packets * if acks { flow.ack_bits } else { flow.wire_bits };
        Member {
            bits,
            index: index as u32,
            acks,
            bbr: !acks && flow.is_bbr(),
            share,
            packets: packets as f32,
            takes_part: 1.0,
            droppable: flow.burst as f32,
        }
    }

    /// The flow's index.
    pub fn flow(&self) -> usize {
        self.index as usize
    }
}
