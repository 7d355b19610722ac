//! Queue disciplines: decide whether a link queues, marks or drops a packet.
//!
//! To add a discipline that decides when a packet arrives: a file here with its parameters, its [`OnArrival`] and its [`Build`], and a line
//! in the registry [`DisciplineSpec`]. Such a discipline only sees an [`Arrival`]. [`codel`] decides when a packet is dequeued, and sees how
//! long the packet has waited.
//!
//! May use: random draws and the spec. It knows no link, no flow and nothing of the engine.

pub mod codel;
pub mod drop_tail;
pub mod ecn_threshold;
pub mod red;

use crate::packet::link::packet::Packet;
use crate::rng::Stream;
use crate::units::{Rate, Time};
use codel::Codel;
use std::collections::VecDeque;

/// The decision about a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    /// The packet is queued, or transmitted, without a mark.
    Accept,
    /// The packet is accepted and marked with congestion experienced (RFC 3168).
    Mark,
    /// The packet is dropped.
    Drop,
}

/// State that a discipline may see: of the arriving packet, and of its queue. A packet without room is dropped, whatever the decision.
#[derive(Debug, Clone, Copy)]
pub struct Arrival {
    /// The time.
    pub now: Time,
    /// Packets that have not departed, the one in transmission included.
    pub packets: u32,
    /// Whether the queue has room for the packet.
    pub has_room: bool,
    /// Since when the queue has no packets, if it has none.
    pub idle_since: Option<Time>,
    /// Size of the packet on the wire, bytes.
    pub size: u64,
    /// Capacity of the link.
    pub rate: Rate,
    /// Whether the packet may be marked.
    pub ecn_capable: bool,
}

/// A discipline that decides when a packet arrives.
pub trait OnArrival: Send + Sync {
    /// Decides about a packet.
    fn decide(&mut self, arrival: &Arrival) -> Decision;
}

/// The discipline of a link.
pub enum Discipline {
    /// Drops a packet if there is no room, and only then.
    DropTail,
    /// Decides when a packet arrives.
    OnArrival(Box<dyn OnArrival>),
    /// Decides when a packet is dequeued.
    Codel {
        /// The state of the algorithm.
        codel: Box<Codel>,
        /// Waiting packets, and since when each waits.
        waiting: VecDeque<(Time, Packet)>,
        /// Bytes of the waiting packets.
        waiting_bytes: u64,
    },
}

crate::algorithm_registry! {
    /// What decides whether a packet is queued, marked or dropped, while the queue has room for it.
    pub enum DisciplineSpec by "discipline", parameters as dyn Build {
        /// First in, first out; a packet that finds the queue full is dropped.
        DropTail = "drop-tail": drop_tail,
        /// Random early detection (Floyd and Jacobson 1993), gentle. Thresholds are averages of the queue in packets.
        Red = "red": red,
        /// Controlled delay (RFC 8289).
        Codel = "codel": codel,
        /// Drop-tail that marks ECN-capable packets from a backlog of `mark` packets on (DCTCP, RFC 8257).
        EcnThreshold = "ecn-threshold": ecn_threshold,
    }
}

/// Builds a discipline from its parameters.
trait Build {
    /// An empty queue; the draws are the link's.
    fn build(&self, draws: Stream) -> Discipline;

    /// Whether the discipline marks ECN-capable packets.
    fn marks(&self) -> bool {
        false
    }
}

impl DisciplineSpec {
    /// An empty queue; the draws are the link's.
    pub(in crate::packet) fn build(&self, draws: Stream) -> Discipline {
        self.parameters().build(draws)
    }

    /// Whether the discipline marks ECN-capable packets.
    pub fn marks(&self) -> bool {
        self.parameters().marks()
    }

    /// A discipline that only drops packets which find the queue full.
    #[cfg(test)]
    pub(crate) fn drop_tail() -> DisciplineSpec {
        DisciplineSpec::DropTail(drop_tail::Parameters {})
    }
}
