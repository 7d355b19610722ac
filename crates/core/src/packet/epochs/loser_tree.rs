//! A loser tree over the FIFOs of a link's inputs: yields the next packet in order.
//!
//! Where many flows meet, packets of the FIFOs alternate without rule, and a heap would guess wrong at each of them. Here each
//! match is decided without a branch, and there are as many matches after every packet.

use crate::packet::epochs::inbox::Key;
use crate::packet::link::fifo::Fifo;
use crate::spec::LinkId;

/// FIFOs, and the keys of their next packets; one without a packet has [`Key::NEVER`], and so has the first when all are merged.
#[derive(Debug)]
pub struct LoserTree {
    /// The least key.
    first: Key,
    /// At node n meet the least keys of nodes 2n and 2n + 1; the greater stays here, the lesser goes on. The FIFOs' own keys come from below.
    losers: Vec<Key>,
    /// The least key of each node, while the tree is built.
    winners: Vec<Key>,
    fifos: Vec<Fifo>,
    /// For each link whose FIFO is among them, its place.
    places: Vec<u32>,
}

impl LoserTree {
    /// No FIFOs yet, of a network with so many links.
    pub fn new(links: usize) -> LoserTree {
        LoserTree {
            first: Key::NEVER,
            losers: Vec::new(),
            winners: Vec::new(),
            fifos: Vec::new(),
            places: vec![0; links],
        }
    }

    /// From now on these FIFOs of links, with the keys of their next packets.
    pub fn begin(&mut self, fifos: impl ExactSizeIterator<Item = (LinkId, Fifo, Key)>) {
        let leaves = fifos.len().next_power_of_two();
        self.fifos.clear();
        self.losers.resize(leaves, Key::NEVER);
        self.winners.clear();
        self.winners.resize(2 * leaves, Key::NEVER);
        for (place, (link, fifo, key)) in fifos.enumerate() {
            self.places[link as usize] = place as u32;
            self.fifos.push(fifo);
            self.winners[leaves + place] = key;
        }
        for node in (1..leaves).rev() {
            let (one, other) = (self.winners[2 * node], self.winners[2 * node + 1]);
            self.losers[node] = one.max(other);
            self.winners[node] = one.min(other);
        }
        self.first = self.winners[1];
    }

    /// The least key.
    #[inline(always)]
    pub fn first(&self) -> Key {
        self.first
    }

    /// The place of a link's FIFO.
    #[inline(always)]
    pub fn place(&self, link: LinkId) -> usize {
        self.places[link as usize] as usize
    }

    /// The FIFO at a place.
    #[inline(always)]
    pub fn fifo(&self, place: usize) -> Fifo {
        self.fifos[place]
    }

    /// The same, to take packets out of it: its new key is to be [set](Self::set).
    #[inline(always)]
    pub fn fifo_mut(&mut self, place: usize) -> &mut Fifo {
        &mut self.fifos[place]
    }

    /// The next packet of the FIFO at this place, which was the first, has this key.
    #[inline(always)]
    pub fn set(&mut self, place: usize, mut key: Key) {
        let mut node = (self.losers.len() + place) / 2;
        while node > 0 {
            let other = self.losers[node];
            self.losers[node] = key.max(other);
            key = key.min(other);
            node /= 2;
        }
        self.first = key;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::epochs::inbox::Rank;
    use crate::units::Time;
    use proptest::prelude::*;

    proptest! {
        /// The first is the least of all keys, whatever comes next in the first's FIFO.
        #[test]
        fn the_first_is_the_least(times in prop::collection::vec(0u64..50, 1..20), later in prop::collection::vec(prop::option::of(0u64..50), 0..60)) {
            let link = |place: usize| 3 * place as LinkId;
            let key = |place, at| Key::new(Time::ZERO, Time(at), Rank::arrival(link(place)));
            let mut keys: Vec<Key> = times.iter().enumerate().map(|(place, at)| key(place, *at)).collect();
            let mut tree = LoserTree::new(60);
            tree.begin(keys.iter().enumerate().map(|(place, key)| (link(place), Fifo::default(), *key)));
            for at in later {
                prop_assert_eq!(Some(tree.first()), keys.iter().min().copied());
                if tree.first() == Key::NEVER {
                    break;
                }
                let place = tree.place(tree.first().rank().link());
                prop_assert_eq!(keys[place], tree.first());
                keys[place] = at.map_or(Key::NEVER, |at| key(place, at));
                tree.set(place, keys[place]);
            }
        }
    }
}
