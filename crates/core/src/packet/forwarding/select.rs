//! How one of several links or paths is chosen: by whose turn it is, by a hash or a draw, for each packet, flowlet or flow.

use crate::rng::{Stream, hash_words};
use crate::spec::{Granularity, HashField, NodeId, RoutingSpec, Selector};
use crate::units::Time;
use std::collections::HashMap;

/// What a selector may look at.
#[derive(Debug, Clone, Copy)]
pub struct Key {
    /// The flow.
    pub flow: u32,
    /// The group of flows that it belongs to.
    pub group: u32,
    /// Where this packet comes from.
    pub src: NodeId,
    /// Where it goes.
    pub dst: NodeId,
    /// Whether it travels from the flow's receiver to its sender.
    pub reverse: bool,
    /// A number that no other packet of the flow has in this direction.
    pub number: u32,
}

/// A flowlet of a flow, or all of it.
#[derive(Debug, Clone, Copy)]
struct Unit {
    /// When its last packet came.
    last: Time,
    number: u32,
    /// The index of the member chosen for it.
    chosen: u32,
}

/// What has to be remembered from choice to choice among the same alternatives.
#[derive(Debug, Clone, Default)]
pub struct SelectorState {
    turn: u32,
    /// For each flow and direction; only where these keep to what was chosen.
    units: HashMap<(u32, bool), Unit>,
}

impl SelectorState {
    /// Whether choices under this routing depend on earlier ones.
    pub fn is_needed(routing: &RoutingSpec) -> bool {
        routing.select == Selector::RoundRobin || matches!(routing.per, Granularity::Flowlet { .. })
    }

    /// The index of the member, of so many, whose turn it is.
    #[inline(always)]
    fn take_turn(&mut self, members: usize) -> u32 {
        let chosen = self.turn;
        let is_last = chosen as usize + 1 >= members;
        self.turn = if is_last { 0 } else { chosen + 1 };
        chosen
    }

    fn unit(&self, key: &Key) -> Option<Unit> {
        self.units.get(&(key.flow, key.reverse)).copied()
    }

    fn keep(&mut self, key: &Key, unit: Unit) {
        self.units.insert((key.flow, key.reverse), unit);
    }
}

/// Links, or first positions of routes, of which one is chosen.
#[derive(Debug, Clone, Copy)]
pub struct NextHopSet<'a> {
    /// All of them.
    pub members: &'a [u32],
    /// Cumulative weights, ending at 1; empty if all weigh the same.
    pub cumulative: &'a [f64],
}

impl NextHopSet<'_> {
    /// The member chosen for a packet now, if there is any; `draws` are those of these alternatives.
    #[inline(always)]
    pub fn choose(
        &self,
        routing: &RoutingSpec,
        memory: &mut SelectorState,
        draws: impl Fn() -> Stream,
        now: Time,
        key: &Key,
    ) -> Option<u32> {
        match self.members {
            [] => None,
            [only] => Some(*only),
            members if routing.per == Granularity::Packet && routing.select == Selector::RoundRobin => {
                Some(members[memory.take_turn(members.len()) as usize])
            }
            members => {
                let index = self.choose_index(routing, memory, draws(), now, key);
                Some(members[index as usize])
            }
        }
    }

    #[inline(never)]
    fn choose_index(
        &self,
        routing: &RoutingSpec,
        memory: &mut SelectorState,
        draws: Stream,
        now: Time,
        key: &Key,
    ) -> u32 {
        let Granularity::Flowlet { gap } = routing.per else {
            let number = if routing.per == Granularity::Packet { key.number } else { 0 };
            if routing.per == Granularity::Flow && routing.select == Selector::RoundRobin {
                if let Some(unit) = memory.unit(key) {
                    return unit.chosen;
                }
                let chosen = self.draw(routing, memory, draws, key, 0);
                memory.keep(key, Unit { last: now, number: 0, chosen });
                return chosen;
            }
            return self.draw(routing, memory, draws, key, number);
        };
        let previous = memory.unit(key);
        let (number, chosen) = match previous {
            Some(unit) if now - unit.last < gap => (unit.number, unit.chosen),
            _ => {
                let number = previous.map_or(0, |unit| unit.number + 1);
                (number, self.draw(routing, memory, draws, key, number))
            }
        };
        memory.keep(key, Unit { last: now, number, chosen });
        chosen
    }

    /// Chooses for the `unit`-th unit (packet, flowlet, or the one flow) of a flow.
    fn draw(&self, routing: &RoutingSpec, memory: &mut SelectorState, draws: Stream, key: &Key, unit: u32) -> u32 {
        let count = self.members.len() as u32;
        if routing.select == Selector::RoundRobin {
            return memory.take_turn(self.members.len());
        }
        let bits = match routing.select {
            Selector::Hash => {
                let fields = routing.hash.iter().map(|field| key.field(*field));
                hash_words(draws.bits(u64::from(unit)), &fields.collect::<Vec<u64>>())
            }
            _ => {
                let direction = u64::from(key.reverse) << 63;
                draws.bits(direction | u64::from(key.flow) << 32 | u64::from(unit))
            }
        };
        if routing.select == Selector::Weighted && !self.cumulative.is_empty() {
            let point = (bits >> 11) as f64 * (1.0 / (1u64 << 53) as f64);
            return (self.cumulative.partition_point(|sum| *sum <= point) as u32).min(count - 1);
        }
        ((u128::from(bits) * u128::from(count)) >> 64) as u32
    }
}

impl Key {
    /// A header field of the packet. The receiver's packets carry the sender's ports exchanged, as in real headers.
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
