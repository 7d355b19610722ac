//! Selectors: choose one of several next hops or routes for each packet, flowlet or flow.
//!
//! To add a selector: a file here with its parameters and its [`Choose`], and a line in the registry [`Selector`].

mod adaptive;
mod drill;
mod hash;
mod random;
mod round_robin;
mod weighted;

use crate::rng::Stream;
use crate::spec::{Granularity, HashField, LinkId, NodeId, RoutingSpec};
use crate::units::Time;
use rustc_hash::FxHashMap;

crate::algorithm_registry! {
    /// The choice among several next hops or paths.
    pub enum Selector by "name", parameters as dyn Choose {
        /// By a hash of header fields.
        Hash = "hash": hash,
        /// In turn.
        RoundRobin = "round-robin": round_robin,
        /// Uniformly at random.
        Random = "random": random,
        /// At random, in proportion to weights.
        Weighted = "weighted": weighted,
        /// The link with the fewest bytes in its queue, of a path its first; one of them at random if several have as many.
        Adaptive = "adaptive": adaptive,
        /// The link with the fewest bytes in its queue of two drawn ones and the last best (DRILL, Ghorbani et al., SIGCOMM 2017).
        Drill = "drill": drill,
    }
}

/// How a selector chooses.
trait Choose {
    /// The index of the member for a packet, flowlet or flow.
    fn choose(&self, set: &NextHopSet<'_>, choice: Choice<'_>) -> u32;

    /// What it remembers from one choice to the next.
    fn memory(&self) -> Memory {
        Memory::Nothing
    }

    /// Whether choices depend on the queues of the links.
    fn reads_backlogs(&self) -> bool {
        false
    }

    /// Whether choices depend on the members' weights.
    fn reads_weights(&self) -> bool {
        false
    }

    /// Whether a node draws alike for all destinations, under a routing that hashes these fields.
    fn ignores_destination(&self, _hash: &[HashField]) -> bool {
        false
    }
}

/// What a selector remembers from one choice to the next: a number, 0 at first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Memory {
    /// Nothing.
    Nothing,
    /// Of the set of next hops to one destination, or of routes.
    OfSet,
    /// Of the links, for all destinations that have them as next hops.
    OfLinks,
}

/// What a selector may use for one choice.
pub struct Choice<'a> {
    /// The packet, or the first packet of the flowlet.
    key: &'a PacketKey,
    /// The number of the packet or flowlet in its flow; 0 for a flow.
    number: u32,
    /// The header fields that a hash reads.
    hash: &'a [HashField],
    draws: Stream,
    memory: &'a mut u32,
    backlogs: &'a mut dyn Backlogs,
}

impl Choice<'_> {
    /// Random bits of this packet, flowlet or flow.
    fn bits(&self) -> u64 {
        let direction = u64::from(self.key.reverse) << 63;
        self.draws.bits(direction | u64::from(self.key.flow) << 32 | u64::from(self.number))
    }
}

impl Default for Selector {
    fn default() -> Selector {
        Selector::Hash(hash::Parameters {})
    }
}

impl Selector {
    /// What it remembers from one choice to the next.
    pub fn memory(&self) -> Memory {
        self.parameters().memory()
    }

    /// Whether choices depend on the queues of the links.
    pub fn reads_backlogs(&self) -> bool {
        self.parameters().reads_backlogs()
    }

    /// Whether choices depend on the members' weights.
    pub fn reads_weights(&self) -> bool {
        self.parameters().reads_weights()
    }

    /// Whether a node draws alike for all destinations, under a routing that hashes these fields.
    pub fn ignores_destination(&self, hash: &[HashField]) -> bool {
        self.parameters().ignores_destination(hash)
    }

    /// Whether choices of flows depend on earlier choices, or on queues, so that they are unknown before the run.
    pub fn decides_in_the_run(&self) -> bool {
        self.memory() != Memory::Nothing || self.reads_backlogs()
    }
}

/// The properties of a packet that a selector may use.
#[derive(Debug, Clone, Copy)]
pub struct PacketKey {
    /// The flow.
    pub flow: u32,
    /// The traffic group of the flow.
    pub group: u32,
    /// The packet's source.
    pub src: NodeId,
    /// The packet's destination.
    pub dst: NodeId,
    /// Whether the packet goes from the flow's receiver to its sender.
    pub reverse: bool,
    /// The packet's number, unique in its flow and direction.
    pub number: u32,
}

/// The queues of links, for selectors that read them.
pub trait Backlogs {
    /// Bytes that have not departed from a link, [`u64::MAX`] if the link is down.
    fn bytes(&mut self, link: LinkId) -> u64;
}

impl<B: Backlogs> Backlogs for &mut B {
    fn bytes(&mut self, link: LinkId) -> u64 {
        (**self).bytes(link)
    }
}

/// All queues are empty.
pub struct NoBacklogs;

impl Backlogs for NoBacklogs {
    fn bytes(&mut self, _link: LinkId) -> u64 {
        0
    }
}

/// A flowlet of a flow. With selection per flow, the whole flow is flowlet 0.
#[derive(Debug, Clone, Copy)]
struct Flowlet {
    /// When its last packet was forwarded.
    last: Time,
    number: u32,
    /// The index of the member chosen for it.
    chosen: u32,
}

/// The current flowlet of each flow and direction at each of several sets.
#[derive(Debug, Clone, Default)]
pub struct Flowlets(FxHashMap<(u32, u32, bool), Flowlet>);

/// State on which the choices of one set depend, besides the packet.
#[derive(Debug)]
pub struct SelectorState<'a> {
    /// What the selector remembers.
    pub memory: &'a mut u32,
    /// The flowlets of this set, and of others.
    pub flowlets: &'a mut Flowlets,
    /// The number of this set among them.
    pub set: u32,
}

impl SelectorState<'_> {
    /// Whether choices under this routing depend on earlier ones.
    pub fn is_needed(routing: &RoutingSpec) -> bool {
        let keeps_choices = routing.per == Granularity::Flow && routing.select.decides_in_the_run();
        routing.select.memory() == Memory::OfSet || matches!(routing.per, Granularity::Flowlet { .. }) || keeps_choices
    }

    fn flowlet(&self, key: &PacketKey) -> Option<Flowlet> {
        self.flowlets.0.get(&(self.set, key.flow, key.reverse)).copied()
    }

    fn set_flowlet(&mut self, key: &PacketKey, flowlet: Flowlet) {
        self.flowlets.0.insert((self.set, key.flow, key.reverse), flowlet);
    }
}

/// The set from which a selector chooses: links, or hop indexes of routes.
#[derive(Debug, Clone, Copy)]
pub struct NextHopSet<'a> {
    /// The members.
    pub members: &'a [u32],
    /// The members' cumulative weights, ending at 1; empty if all weights are equal.
    pub cumulative: &'a [f64],
    /// For routes, the links of all routes, in which a member is the position of its first link; `None` if the members are links.
    pub hops: Option<&'a [LinkId]>,
}

impl NextHopSet<'_> {
    /// The member for a packet; `None` if the set is empty. `draws` returns the random draws of this set.
    #[inline(always)]
    pub fn select(
        &self,
        routing: &RoutingSpec,
        mut state: SelectorState<'_>,
        draws: impl Fn() -> Stream,
        now: Time,
        key: &PacketKey,
        mut backlogs: impl Backlogs,
    ) -> Option<u32> {
        match self.members {
            [] => None,
            [only] => Some(*only),
            // A shortcut for spraying in turn, the most frequent choice: it needs no draws and no call.
            members if routing.per == Granularity::Packet && matches!(routing.select, Selector::RoundRobin(_)) => {
                Some(members[round_robin::next(state.memory, members.len()) as usize])
            }
            members => {
                let index = self.select_index(routing, &mut state, draws(), now, key, &mut backlogs);
                Some(members[index as usize])
            }
        }
    }

    #[inline(never)]
    fn select_index(
        &self,
        routing: &RoutingSpec,
        state: &mut SelectorState<'_>,
        draws: Stream,
        now: Time,
        key: &PacketKey,
        backlogs: &mut dyn Backlogs,
    ) -> u32 {
        let mut choose = |number, memory: &mut u32| {
            let choice = Choice { key, number, hash: &routing.hash, draws, memory, backlogs };
            routing.select.parameters().choose(self, choice)
        };
        let gap = match routing.per {
            Granularity::Packet => return choose(key.number, state.memory),
            Granularity::Flow if !routing.select.decides_in_the_run() => return choose(0, state.memory),
            Granularity::Flow => None,
            Granularity::Flowlet { gap } => Some(gap),
        };
        let previous = state.flowlet(key);
        let continues = |flowlet: &Flowlet| gap.is_none_or(|gap| now - flowlet.last < gap);
        let (number, chosen) = match previous {
            Some(flowlet) if continues(&flowlet) => (flowlet.number, flowlet.chosen),
            _ => {
                let number = previous.map_or(0, |flowlet| flowlet.number + 1);
                (number, choose(number, state.memory))
            }
        };
        state.set_flowlet(key, Flowlet { last: now, number, chosen });
        chosen
    }

    /// The index of the member that these bits draw, all alike.
    fn uniform(&self, bits: u64) -> u32 {
        ((u128::from(bits) * self.members.len() as u128) >> 64) as u32
    }

    /// The link whose queue counts for a member.
    fn link_of(&self, member: u32) -> LinkId {
        self.hops.map_or(member, |hops| hops[member as usize])
    }
}

impl PacketKey {
    /// A header field of the packet. A packet of the receiver has the sender's ports exchanged, as in real headers.
    fn field(&self, field: HashField) -> u64 {
        let sender_port = 1 << 32 | u64::from(self.flow);
        let receiver_port = 2 << 32 | u64::from(self.group);
        match (field, self.reverse) {
            (HashField::Source, _) => u64::from(self.src),
            (HashField::Destination, _) => u64::from(self.dst),
            (HashField::SourcePort, false) | (HashField::DestinationPort, true) => sender_port,
            (HashField::DestinationPort, false) | (HashField::SourcePort, true) => receiver_port,
        }
    }
}
