//! What a flow is to a link.

use super::flows::FlowModel;

/// A flow's part of a link.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Member {
    /// The flow's index.
    pub flow: usize,
    /// Whether its ACKs cross the link, and not its data.
    pub acks: bool,
    /// The share of these packets that crosses the link.
    pub share: f64,
    /// Whether its host sends into this link's queue itself.
    pub first: bool,
    /// Probability that an event of the link reaches the flow.
    pub takes_part: f64,
}

/// How much rarer than others a full queue drops packets that it has itself clocked.
const CLOCKED: f64 = 0.3;

impl Member {
    /// How readily a full drop-tail queue drops its packets. Of a burst the more. The fewer if the flow's host sends into this queue and each ACK
    /// releases one packet, which then comes as another one leaves (phase effects: Floyd and Jacobson 1992).
    pub fn droppable(&self, flows: &[FlowModel]) -> f64 {
        let burst = flows[self.flow].burst;
        if self.first && burst <= 1.0 { CLOCKED } else { burst }
    }

    /// Packets on the link for each that the flow sends.
    pub fn packets(&self, flows: &[FlowModel]) -> f64 {
        self.share * if self.acks { flows[self.flow].acks } else { 1.0 }
    }

    /// Bits on the link for each packet that the flow sends.
    pub fn bits(&self, flows: &[FlowModel]) -> f64 {
        let flow = &flows[self.flow];
        self.packets(flows) * if self.acks { flow.ack_bits } else { flow.wire_bits }
    }
}
