//! Queue disciplines: what decides whether a packet at a link is queued, marked or dropped.
//!
//! To add one that decides when a packet arrives: a file here with its [`OnArrival`], its variant of [`QueueSpec`], and one line in
//! [`Discipline::new`]. Such a discipline sees an [`Arrival`] and nothing else. [`codel`] decides at its service, and sees how long a packet has waited.
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

/// What becomes of a packet at a queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    /// It is queued, or sent, as it is.
    Accept,
    /// The same with congestion experienced (RFC 3168).
    Mark,
    /// It is dropped.
    Drop,
}

/// What a discipline sees of a packet that arrives, and of its queue, which has room for it.
#[derive(Debug, Clone, Copy)]
pub struct Arrival {
    /// The time.
    pub now: Time,
    /// Packets that have not departed, the one in transmission included.
    pub packets: u32,
    /// If there are none: since when.
    pub idle_since: Option<Time>,
    /// How long the link transmits this packet.
    pub packet_time: Duration,
    /// Whether the packet may be marked.
    pub ecn_capable: bool,
}

/// A discipline that decides when a packet arrives.
pub trait OnArrival: Send + Sync {
    /// What becomes of the packet.
    fn decide(&mut self, arrival: &Arrival) -> Decision;
}

/// The discipline of a link.
pub enum Discipline {
    /// A packet is dropped if there is no room, and only then.
    DropTail,
    /// Decides when a packet arrives.
    OnArrival(Box<dyn OnArrival>),
    /// Decides when a packet is taken out of the queue: those that wait, since when, and their bytes.
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
