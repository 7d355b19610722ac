//! A loser tree over the FIFOs of a link's inputs: yields the next packet in order.
//!
//! Where many flows meet, packets of the FIFOs alternate irregularly, and a heap would mispredict a branch for each packet. The loser tree
//! decides each match without a branch, and every packet needs the same number of matches.

use crate::packet::epochs::inbox::Key;
use crate::packet::link::fifo::Fifo;
use crate::spec::LinkId;

/// FIFOs at leaves, with the keys of their next packets. An empty FIFO has [`Key::NEVER`]; so has the tree when all are merged.
#[derive(Debug)]
pub struct LoserTree {
    /// The least key.
    first: Key,
    /// Node n compares the least keys of nodes 2n and 2n + 1: it stores the greater one, and the lesser one moves up.
    losers: Vec<Key>,
    /// The least key of each node, while the tree is built.
    winners: Vec<Key>,
    fifos: Vec<Fifo>,
    /// The leaf of each link whose FIFO is in the tree.
    leaf_of: Vec<u32>,
}

impl LoserTree {
    /// An empty tree, for a network with this number of links.
    pub fn new(links: usize) -> LoserTree {
        LoserTree {
            first: Key::NEVER,
            losers: Vec::new(),
            winners: Vec::new(),
            fifos: Vec::new(),
            leaf_of: vec![0; links],
        }
    }

    /// Fills the tree with the FIFOs of links, and the keys of their next packets.
    pub fn begin(&mut self, fifos: impl ExactSizeIterator<Item = (LinkId, Fifo, Key)>) {
        let leaves = fifos.len().next_power_of_two();
        self.fifos.clear();
        self.losers.resize(leaves, Key::NEVER);
        self.winners.clear();
        self.winners.resize(2 * leaves, Key::NEVER);
        for (leaf, (link, fifo, key)) in fifos.enumerate() {
            self.leaf_of[link as usize] = leaf as u32;
            self.fifos.push(fifo);
            self.winners[leaves + leaf] = key;
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

    /// The leaf of a link's FIFO.
    #[inline(always)]
    pub fn leaf(&self, link: LinkId) -> usize {
        self.leaf_of[link as usize] as usize
    }

    /// The FIFO at a leaf.
    #[inline(always)]
    pub fn fifo(&self, leaf: usize) -> Fifo {
        self.fifos[leaf]
    }

    /// The FIFO at a leaf, to take a packet out of it; [`Self::set`] must follow.
    #[inline(always)]
    pub fn fifo_mut(&mut self, leaf: usize) -> &mut Fifo {
        &mut self.fifos[leaf]
    }

    /// Sets the new key of the FIFO at this leaf, which had the least key.
    #[inline(always)]
    pub fn set(&mut self, leaf: usize, mut key: Key) {
        let mut node = (self.losers.len() + leaf) / 2;
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
        /// The first key is the least of all keys, whichever key follows it in its FIFO.
        #[test]
        fn the_first_is_the_least(times in prop::collection::vec(0u64..50, 1..20), later in prop::collection::vec(prop::option::of(0u64..50), 0..60)) {
            let link = |leaf: usize| 3 * leaf as LinkId;
            let key = |leaf, at| Key::new(Time::ZERO, Time(at), Rank::arrival(link(leaf)));
            let mut keys: Vec<Key> = times.iter().enumerate().map(|(leaf, at)| key(leaf, *at)).collect();
            let mut tree = LoserTree::new(60);
            tree.begin(keys.iter().enumerate().map(|(leaf, key)| (link(leaf), Fifo::default(), *key)));
            for at in later {
                prop_assert_eq!(Some(tree.first()), keys.iter().min().copied());
                if tree.first() == Key::NEVER {
                    break;
                }
                let leaf = tree.leaf(tree.first().rank().link());
                prop_assert_eq!(keys[leaf], tree.first());
                keys[leaf] = at.map_or(Key::NEVER, |at| key(leaf, at));
                tree.set(leaf, keys[leaf]);
            }
        }
    }
}
