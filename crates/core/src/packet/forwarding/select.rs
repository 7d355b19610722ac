//! Selectors: choose one of several next hops or routes by round robin, hash, weight, draw or queue, for each packet, flowlet or flow.

use crate::rng::{Stream, hash_words};
use crate::spec::{Granularity, HashField, LinkId, NodeId, RoutingSpec, Selector};
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
    /// Round robin: the index of the next member. DRILL: the last best member, plus one.
    pub turn: &'a mut u32,
    /// The flowlets of this set, and of others.
    pub flowlets: &'a mut Flowlets,
    /// The number of this set among them.
    pub set: u32,
}

impl SelectorState<'_> {
    /// Whether choices under this routing depend on earlier ones.
    pub fn is_needed(routing: &RoutingSpec) -> bool {
        let keeps_choices = routing.per == Granularity::Flow && routing.select.reads_backlogs();
        routing.select == Selector::RoundRobin || matches!(routing.per, Granularity::Flowlet { .. }) || keeps_choices
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
        backlogs: impl Backlogs,
    ) -> Option<u32> {
        match self.members {
            [] => None,
            [only] => Some(*only),
            members if routing.per == Granularity::Packet && routing.select == Selector::RoundRobin => {
                Some(members[state.advance(members.len()) as usize])
            }
            members => {
                let index = self.select_index(routing, &mut state, draws(), now, key, backlogs);
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
        backlogs: impl Backlogs,
    ) -> u32 {
        let gap = match routing.per {
            Granularity::Packet => return self.draw(routing, state, draws, key, key.number, backlogs),
            Granularity::Flow if !routing.select.decides_in_the_run() => {
                return self.draw(routing, state, draws, key, 0, backlogs);
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
                (number, self.draw(routing, state, draws, key, number, backlogs))
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
        backlogs: impl Backlogs,
    ) -> u32 {
        let count = self.members.len() as u32;
        let direction = u64::from(key.reverse) << 63;
        let own = || draws.bits(direction | u64::from(key.flow) << 32 | u64::from(number));
        let bits = match routing.select {
            Selector::RoundRobin => return state.advance(self.members.len()),
            Selector::Adaptive => return self.shortest(own(), backlogs),
            Selector::Drill => return self.drill(own(), state.turn, backlogs),
            Selector::Hash => {
                let fields = routing.hash.iter().map(|field| key.field(*field));
                hash_words(draws.bits(u64::from(number)), fields)
            }
            Selector::Random | Selector::Weighted => own(),
        };
        if routing.select == Selector::Weighted && !self.cumulative.is_empty() {
            let point = (bits >> 11) as f64 * (1.0 / (1u64 << 53) as f64);
            return (self.cumulative.partition_point(|sum| *sum <= point) as u32).min(count - 1);
        }
        ((u128::from(bits) * u128::from(count)) >> 64) as u32
    }

    /// The link whose queue counts for a member.
    fn link_of(&self, member: u32) -> LinkId {
        self.hops.map_or(member, |hops| hops[member as usize])
    }

    /// The index of the member with the shortest queue; `bits` choose among equal ones.
    fn shortest(&self, bits: u64, mut backlogs: impl Backlogs) -> u32 {
        let (mut shortest, mut equal, mut best) = (u64::MAX, 0_u64, 0);
        for (index, member) in (0..).zip(self.members) {
            let bytes = backlogs.bytes(self.link_of(*member));
            if bytes < shortest || equal == 0 {
                (shortest, equal, best) = (bytes, 1, index);
            } else if bytes == shortest {
                // The n-th equal one takes the place of those before it with probability 1/n.
                equal += 1;
                if hash_words(bits, [equal]).is_multiple_of(equal) {
                    best = index;
                }
            }
        }
        best
    }

    /// The index of the member with the shortest queue of two that `bits` draw and the last best, which it replaces.
    fn drill(&self, bits: u64, last_best: &mut u32, mut backlogs: impl Backlogs) -> u32 {
        let count = self.members.len() as u64;
        let first = ((bits >> 32) * count) >> 32;
        // Another one than the first.
        let second = (first + 1 + (((bits & 0xffff_ffff) * (count - 1)) >> 32)) % count;
        let remembered = self.members.iter().position(|member| *last_best == member + 1).unwrap_or(first as usize);
        let candidates = [first as usize, second as usize, remembered];
        let best = candidates.into_iter().min_by_key(|index| backlogs.bytes(self.link_of(self.members[*index])));
        let best = best.unwrap_or(0);
        *last_best = self.members[best] + 1;
        best as u32
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
