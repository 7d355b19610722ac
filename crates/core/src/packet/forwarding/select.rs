//! Selectors: choose one of several next hops or routes by round robin, hash, weight or draw, for each packet, flowlet or flow.

use crate::rng::{Stream, hash_words};
use crate::spec::{Granularity, HashField, NodeId, RoutingSpec, Selector};
use crate::units::Time;
use rustc_hash::FxHashMap;

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
    /// Round robin: the index of the next member.
    pub turn: &'a mut u32,
    /// The flowlets of this set, and of others.
    pub flowlets: &'a mut Flowlets,
    /// The number of this set among them.
    pub set: u32,
}

impl SelectorState<'_> {
    /// Whether choices under this routing depend on earlier ones.
    pub fn is_needed(routing: &RoutingSpec) -> bool {
        routing.select == Selector::RoundRobin || matches!(routing.per, Granularity::Flowlet { .. })
    }

    /// Round robin: the index of the next of `members` members.
    #[inline(always)]
    fn advance(&mut self, members: usize) -> u32 {
        let chosen = *self.turn;
        let is_last = chosen as usize + 1 >= members;
        *self.turn = if is_last { 0 } else { chosen + 1 };
        chosen
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
    ) -> Option<u32> {
        match self.members {
            [] => None,
            [only] => Some(*only),
            members if routing.per == Granularity::Packet && routing.select == Selector::RoundRobin => {
                Some(members[state.advance(members.len()) as usize])
            }
            members => {
                let index = self.select_index(routing, &mut state, draws(), now, key);
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
    ) -> u32 {
        let gap = match routing.per {
            Granularity::Packet => return self.draw(routing, state, draws, key, key.number),
            Granularity::Flow if routing.select != Selector::RoundRobin => {
                return self.draw(routing, state, draws, key, 0);
            }
            Granularity::Flow => None,
            Granularity::Flowlet { gap } => Some(gap),
        };
        let previous = state.flowlet(key);
        let continues = |flowlet: &Flowlet| gap.is_none_or(|gap| now - flowlet.last < gap);
        let (number, chosen) = match previous {
            Some(flowlet) if continues(&flowlet) => (flowlet.number, flowlet.chosen),
            _ => {
                let number = previous.map_or(0, |flowlet| flowlet.number + 1);
                (number, self.draw(routing, state, draws, key, number))
            }
        };
        state.set_flowlet(key, Flowlet { last: now, number, chosen });
        chosen
    }

    /// The index of the member for a flow's packet or flowlet of this number.
    fn draw(
        &self,
        routing: &RoutingSpec,
        state: &mut SelectorState<'_>,
        draws: Stream,
        key: &PacketKey,
        number: u32,
    ) -> u32 {
        let count = self.members.len() as u32;
        let bits = match routing.select {
            Selector::RoundRobin => return state.advance(self.members.len()),
            Selector::Hash => {
                let fields = routing.hash.iter().map(|field| key.field(*field));
                hash_words(draws.bits(u64::from(number)), &fields.collect::<Vec<u64>>())
            }
            Selector::Random | Selector::Weighted => {
                let direction = u64::from(key.reverse) << 63;
                draws.bits(direction | u64::from(key.flow) << 32 | u64::from(number))
            }
        };
        if routing.select == Selector::Weighted && !self.cumulative.is_empty() {
            let point = (bits >> 11) as f64 * (1.0 / (1u64 << 53) as f64);
            return (self.cumulative.partition_point(|sum| *sum <= point) as u32).min(count - 1);
        }
        ((u128::from(bits) * u128::from(count)) >> 64) as u32
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
