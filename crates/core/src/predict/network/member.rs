//! What a flow is to a link.

use super::flows::FlowModel;

/// A flow's part of a link.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Member {
    /// The flow's index; small, since a run may have millions of members.
    pub index: u32,
    /// Whether its ACKs cross the link, and not its data.
    pub acks: bool,
    /// The share of these packets that crosses the link.
    pub share: f32,
    /// Probability that an event of the link reaches the flow.
    pub takes_part: f32,
}

impl Member {
    /// The flow's index.
    pub fn flow(&self) -> usize {
        self.index as usize
    }

    /// How readily a full drop-tail queue drops its packets: of a burst the more.
    pub fn droppable(&self, flows: &[FlowModel]) -> f64 {
        flows[self.flow()].burst
    }

    /// Packets on the link for each that the flow sends.
    pub fn packets(&self, flows: &[FlowModel]) -> f64 {
        f64::from(self.share) * if self.acks { flows[self.flow()].acks } else { 1.0 }
    }

    /// Bits on the link for each packet that the flow sends.
    pub fn bits(&self, flows: &[FlowModel]) -> f64 {
        let flow = &flows[self.flow()];
        self.packets(flows) * if self.acks { flow.ack_bits } else { flow.wire_bits }
    }
}
