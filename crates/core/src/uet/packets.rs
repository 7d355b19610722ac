//! What the packets of a message say.

/// Packets that an ACK reports beyond the cumulative number.
pub const BITMAP: u32 = 64;
/// Bytes of a unit of credit.
pub const QUANTUM: u64 = 256;

/// The number of a request for credit, which is no packet of the message.
pub const REQUEST: u32 = u32::MAX;

/// A data packet, or a request for credit without data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Data {
    /// Its number in the message.
    pub number: u32,
    /// Its entropy value.
    pub value: u32,
    /// Whether it was sent before.
    pub retransmission: bool,
    /// Whether it asks for an ACK at once.
    pub asks: bool,
    /// The credit up to which its sender wants grants, units since the start; 0 without credit.
    pub wanted: u32,
}

/// An acknowledgement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ack {
    /// All packets with lower numbers have arrived.
    pub cumulative: u32,
    /// The first packet of the bitmap.
    pub reference: u32,
    /// The packets from [`Self::reference`] on that have arrived beyond the cumulative number; the lowest bit is the first one.
    pub bitmap: u64,
    /// The packet that it answers.
    pub answered: u32,
    /// The entropy value of that packet.
    pub value: u32,
    /// Whether that packet was marked.
    pub marked: bool,
    /// Whether that packet was a retransmission.
    pub retransmission: bool,
    /// Bytes that have arrived so far, each packet counted once.
    pub received: u64,
}

/// The answer to a trimmed packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Nack {
    /// The packet whose payload was cut.
    pub number: u32,
    /// Its entropy value.
    pub value: u32,
    /// Whether it was cut at the last hop.
    pub at_last_hop: bool,
}
