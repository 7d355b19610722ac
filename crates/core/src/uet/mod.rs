//! The message transport of Ultra Ethernet (specification 1.0, 2025), made for packet spraying: a flow is a message, which is complete when all its
//! packets have arrived, in any order.
//!
//! | task | file |
//! | --- | --- |
//! | what to send, and what is lost | [`sender`] |
//! | what has arrived; ACKs and NACKs | [`receiver`] |
//! | the sender's window, from delays and marks | [`nscc`] |
//! | the receiver's credit | [`credit`] |
//! | what the packets say | [`packets`] |
//!
//! State machines without I/O. The path of a packet follows from its entropy value, see [`crate::entropy`].
//! Sizes are bytes on the wire, headers included, unless they are called payload.

pub mod credit;
pub mod nscc;
pub mod packets;
pub mod receiver;
pub mod sender;

#[cfg(test)]
mod properties;

use crate::parameters::Share;
use crate::units::{Duration, Rate};

crate::choice! {
    /// What limits a sender.
    pub enum Control {
        /// A window that the sender adapts to delays and marks (network signal based congestion control).
        Nscc = "nscc",
        /// Credit that the receiver grants to its senders in turn (receiver credit congestion control).
        Rccc = "rccc",
        /// A packet needs window and credit.
        Both = "both",
    }
}

crate::parameters! {
    /// Control, acknowledgements and timers of the message transport.
    pub struct Parameters {
        /// What limits a sender: its window (`nscc`), its receiver's credit (`rccc`), or `both`.
        pub control: Control = Control::Nscc;
        /// Whether queues trim; without it the target delay is a network round trip instead of 0.75 of one.
        pub trimming: bool = true;
        /// The greatest round-trip time of an idle network. Constants of the control scale with it. "0s": that of the scenario's flows of this stack.
        pub network_rtt: Duration = Duration::ZERO;
        /// Time without an answer after which a packet is sent again. "0s": 15 us, and six times what the longest queue of a switch holds, but at least two network round trips.
        pub timeout: Duration = Duration::ZERO;
        /// Accepted bytes after which the receiver acknowledges.
        pub ack_every: u32 as "size" = 16_384;
        /// Packets that the receiver grants at a time.
        pub grant: u32 = 4, in 1..=1_024;
        /// Share of its line rate at which the receiver grants credit.
        pub grant_rate: Share = Share(0.99), in 0.01..=1.0;
    }
}

impl Parameters {
    /// Whether a window limits the sender.
    pub fn has_window(&self) -> bool {
        self.control != Control::Rccc
    }

    /// Whether credit limits the sender.
    pub fn has_credit(&self) -> bool {
        self.control != Control::Nscc
    }
}

/// The network that a message crosses.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NetworkEstimate {
    /// Line rate of the sender's host.
    pub rate: Rate,
    /// Greatest round-trip time of an idle network.
    pub round_trip: Duration,
    /// Retransmission timeout.
    pub timeout: Duration,
}

impl NetworkEstimate {
    /// The greatest window, and the most credit that a sender holds, at this round-trip time: 1.5 bandwidth-delay products, bytes.
    pub fn most_bytes(&self, round_trip: Duration) -> f64 {
        1.5 * self.rate.as_bps() / 8.0 * round_trip.as_secs()
    }
}

/// The sizes of a message and its packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MessageSizes {
    /// Packets of the message.
    pub packets: u32,
    /// A full packet.
    pub full: u32,
    /// The last packet.
    pub last: u32,
    /// A packet without payload.
    pub header: u32,
}

impl MessageSizes {
    /// The packet with this number.
    pub fn of(&self, number: u32) -> u32 {
        if number + 1 == self.packets { self.last } else { self.full }
    }

    /// The packets from this number on.
    pub fn from(&self, number: u32) -> u64 {
        let left = u64::from(self.packets - number);
        if left == 0 { 0 } else { (left - 1) * u64::from(self.full) + u64::from(self.last) }
    }
}
