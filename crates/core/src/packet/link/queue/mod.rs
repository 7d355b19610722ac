//! Queue disciplines: decide whether a link queues, marks or drops a packet.
//!
//! To add one that decides when a packet arrives: a file here with its [`OnArrival`], its variant of [`QueueSpec`], and one line in
//! [`Discipline::new`]. Such a discipline sees an [`Arrival`] and nothing else. [`codel`] decides when a packet is dequeued, and sees how long the
//! packet has waited.
//!
//! May use: random draws and the spec. It knows no link, no flow and nothing of the engine.

pub mod codel;
pub mod ecn_threshold;
pub mod red;

use crate::packet::link::packet::Packet;
use crate::rng::Stream;
use crate::spec::QueueSpec;
use crate::units::{Duration, Time};
use codel::Codel;
use ecn_threshold::EcnThreshold;
use red::{Red, RedSettings};
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

/// What a discipline may see of an arriving packet and of its queue, which has room for the packet.
#[derive(Debug, Clone, Copy)]
pub struct Arrival {
    /// The time.
    pub now: Time,
    /// Packets that have not departed, the one in transmission included.
    pub packets: u32,
    /// Since when the queue has no packets, if it has none.
    pub idle_since: Option<Time>,
    /// The transmission time of this packet.
    pub packet_time: Duration,
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
        /// Their bytes.
        waiting_bytes: u64,
    },
}

impl Discipline {
    /// An empty queue; the draws are the link's.
    pub fn new(spec: &QueueSpec, draws: Stream) -> Discipline {
        match *spec {
            QueueSpec::DropTail { .. } => Discipline::DropTail,
            QueueSpec::EcnThreshold { mark, .. } => Discipline::OnArrival(Box::new(EcnThreshold { mark })),
            QueueSpec::Red { minimum, maximum, probability, weight, ecn, .. } => {
                let settings = RedSettings { minimum, maximum, probability, weight, ecn };
                Discipline::OnArrival(Box::new(Red::new(settings, draws)))
            }
            QueueSpec::Codel { target, interval, ecn, .. } => Discipline::Codel {
                codel: Box::new(Codel::new(target, interval, ecn)),
                waiting: VecDeque::new(),
                waiting_bytes: 0,
            },
        }
    }
}
