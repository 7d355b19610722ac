//! Queue disciplines: decide whether a link queues, marks or drops a packet.
//!
//! To add a discipline: a file here with its parameters and its [`Build`], and a line in the registry [`DisciplineSpec`]. If it only decides
//! when a packet arrives, it implements [`OnArrival`] and sees an [`Arrival`]. If it decides when a packet is dequeued, or which packet is, it
//! implements [`AtService`] and holds the packets that wait.
//!
//! May use: random draws and the spec. It knows no link, no flow and nothing of the engine.

pub mod ared;
pub mod cake;
pub mod codel;
pub mod drop_tail;
pub mod dualpi2;
pub mod ecn_threshold;
mod flow_queues;
pub mod fq;
pub mod fq_codel;
pub mod fq_pie;
mod line;
pub mod pie;
pub mod red;
pub mod sfq;
pub mod trimming;

#[cfg(test)]
use crate::packet::link::packet::ACK;
use crate::packet::link::packet::Packet;
use crate::packet::link::packet_sizes::FlowSizes;
use crate::parameters::AlgorithmInfo;
use crate::rng::{Stream, hash_words};
use crate::spec::QueueLimit;
use crate::units::{Rate, Time};
use serde::Serialize;

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

/// The flow of a packet, as a router's hash of addresses and ports sees it: the two directions of a connection are different flows. So are packets
/// with different entropy values, which senders put into a port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FlowKey {
    /// The number of the flow.
    pub flow: u32,
    /// Whether the packet goes from the flow's receiver to its sender.
    pub reverse: bool,
    /// The packet's entropy value; zero if the flow chooses none.
    pub entropy: u32,
}

impl FlowKey {
    /// The flow of a packet that chooses no entropy values.
    #[cfg(test)]
    pub fn of(packet: &Packet) -> FlowKey {
        FlowKey { flow: packet.flow(), reverse: packet.has(ACK), entropy: 0 }
    }

    /// A hash of the flow; the draws are the link's, so that collisions differ between links and seeds.
    pub fn hash(self, draws: Stream) -> u64 {
        let direction = u64::from(self.reverse) << 32;
        hash_words(draws.bits(u64::MAX), [u64::from(self.flow), direction | u64::from(self.entropy)])
    }
}

/// A packet that comes to a queue that decides at its service.
#[derive(Debug, Clone, Copy)]
pub struct Coming {
    /// The time.
    pub now: Time,
    /// The packet's flow.
    pub flow: FlowKey,
    /// The size of the packet in transmission, bytes; `None` while the transmitter is idle.
    pub transmitting: Option<u32>,
    /// Whether the link ends at the packet's host.
    pub at_last_hop: bool,
}

impl Coming {
    /// Whether a queue with this backlog has room for the packet. The packet in transmission counts.
    pub fn has_room(&self, limit: QueueLimit, (packets, bytes): (u32, u64), size: u32) -> bool {
        let transmitting = self.transmitting;
        let packets = packets + u32::from(transmitting.is_some());
        limit.has_room(packets, bytes + u64::from(transmitting.unwrap_or(0)), size)
    }
}

/// What a queue that decides at its service does with a packet that comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Admission {
    /// It accepts the packet.
    Accepted,
    /// It accepts the packet, and marks it with congestion experienced (RFC 3168).
    AcceptedAndMarked,
    /// It accepts the packet, and has cut the payload of this packet or of one that waited.
    AcceptedAndCut,
    /// It drops the packet.
    Refused,
}

/// A packet that a queue dequeues.
#[derive(Debug, Clone, Copy)]
pub struct Dequeued {
    /// The packet.
    pub packet: Packet,
    /// Since when it has waited.
    pub since: Time,
    /// Whether it is marked with congestion experienced (RFC 3168) now.
    pub marks: bool,
}

/// A discipline that decides when a packet is dequeued, or which one is. It holds the packets that wait. A packet that comes when none waits and
/// the transmitter is idle passes without a wait.
pub trait AtService: Send + Sync {
    /// Decides about a packet that comes; may cut its payload. May cut or drop packets that wait, and adds the dropped ones to `dropped`.
    fn admit(
        &mut self,
        packet: &mut Packet,
        coming: &Coming,
        sizes: &FlowSizes,
        dropped: &mut Vec<Packet>,
    ) -> Admission;

    /// Puts an accepted packet of this size into the queue.
    fn enqueue(&mut self, packet: Packet, size: u32, coming: &Coming);

    /// An accepted packet of this size passes without a wait.
    fn pass(&mut self, _packet: Packet, _size: u32, _coming: &Coming, _sizes: &FlowSizes) {}

    /// Dequeues the packet that is transmitted now. Adds packets that it drops to `dropped`. `None` if no packet is left.
    fn dequeue(&mut self, now: Time, sizes: &FlowSizes, dropped: &mut Vec<Packet>) -> Option<Dequeued>;

    /// Packets that wait, and their bytes.
    fn backlog(&self) -> (u32, u64);

    /// Removes all packets, because the link has failed.
    fn drain(&mut self) -> Vec<Packet>;
}

/// The discipline of a link.
pub enum Discipline {
    /// Drops a packet if there is no room, and only then.
    DropTail,
    /// Decides when a packet arrives.
    OnArrival(Box<dyn OnArrival>),
    /// Decides when a packet is dequeued, or which one is.
    AtService(Box<dyn AtService>),
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
        /// Flow queues with CoDel (RFC 8290).
        FqCodel = "fq-codel": fq_codel,
        /// Proportional integral controller enhanced (RFC 8033).
        Pie = "pie": pie,
        /// Flow queues with PIE, as Linux has them.
        FqPie = "fq-pie": fq_pie,
        /// Fair queueing, as Linux has it, without pacing.
        Fq = "fq": fq,
        /// Stochastic fairness queueing (McKenney 1990).
        Sfq = "sfq": sfq,
        /// CAKE (LANMAN 2018), without classes of service and fairness between hosts. The link is its shaper.
        Cake = "cake": cake,
        /// Two coupled queues, one for L4S (RFC 9332). Marks packets of L4S.
        DualPi2 = "dualpi2": dualpi2,
        /// Adaptive RED (Floyd, Gummadi and Shenker 2001), as Linux has it. Thresholds are averages of the queue in bytes.
        Ared = "ared": ared,
        /// Drop-tail that marks ECN-capable packets from a backlog of `mark` packets on (DCTCP, RFC 8257).
        EcnThreshold = "ecn-threshold": ecn_threshold,
        /// Two classes: packets without payload go first. A full queue cuts the payload of data of message transports (Ultra Ethernet) and drops
        /// other data. Marks ECN-capable data.
        Trimming = "trimming": trimming,
    }
}

/// The link in front of which a queue is built.
#[derive(Debug, Clone, Copy)]
pub struct Place {
    /// The limit of the queue.
    pub limit: QueueLimit,
    /// Capacity of the link; the mean of one that varies.
    pub rate: Rate,
    /// The link's draws.
    pub draws: Stream,
}

/// Description of a discipline for the scenario schema.
#[derive(Debug, Clone, Serialize)]
pub struct QueueInfo {
    /// Name and parameters.
    #[serde(flatten)]
    pub algorithm: AlgorithmInfo,
    /// The limit of a queue for which a scenario gives none, as scenarios write it.
    pub limit: String,
}

/// Builds a discipline from its parameters.
trait Build {
    /// An empty queue.
    fn build(&self, place: Place) -> Discipline;

    /// The limit of a queue for which a scenario gives none.
    fn default_limit(&self) -> QueueLimit {
        QueueLimit::Packets(100)
    }

    /// Whether the discipline marks ECN-capable packets.
    fn marks(&self) -> bool {
        false
    }
}

impl DisciplineSpec {
    /// An empty queue.
    pub(in crate::packet) fn build(&self, place: Place) -> Discipline {
        self.parameters().build(place)
    }

    /// Whether the discipline marks ECN-capable packets.
    pub fn marks(&self) -> bool {
        self.parameters().marks()
    }

    /// All disciplines, for the scenario schema.
    pub fn describe_queues() -> Vec<QueueInfo> {
        let with_limit = |algorithm: AlgorithmInfo| {
            let named = serde_json::json!({ "discipline": algorithm.name });
            let limit =
                match serde_json::from_value(named).map(|spec: DisciplineSpec| spec.parameters().default_limit()) {
                    Ok(QueueLimit::Bytes(bytes)) => format!("{bytes}B"),
                    Ok(QueueLimit::Packets(packets)) => format!("{packets} packets"),
                    Err(_) => unreachable!("every parameter of a discipline has a default"),
                };
            QueueInfo { algorithm, limit }
        };
        Self::describe().into_iter().map(with_limit).collect()
    }

    /// A discipline that only drops packets which find the queue full.
    #[cfg(test)]
    pub(crate) fn drop_tail() -> DisciplineSpec {
        DisciplineSpec::DropTail(drop_tail::Parameters {})
    }
}
