//! Which of several lines brings the next packet to the link that takes all of theirs: a winner tree.
//!
//! Where many flows meet, packets of the lines alternate without rule, and a heap would guess wrong at each of them. Here each
//! match is decided without a branch, and there are as many matches after every packet.

use super::inbox::Key;
use crate::spec::LinkId;

/// The keys of the next packets of lines; a line without one has [`Key::NEVER`].
#[derive(Debug)]
pub struct Heads {
    /// Node 1 is the root, the lesser of nodes 2n and 2n + 1 stands at node n; the lines' own keys are the second half.
    keys: Vec<Key>,
    /// For each link whose line is among them, its node.
    leaves: Vec<u32>,
}

impl Heads {
    /// No lines yet, of a network with so many links.
    pub fn new(links: usize) -> Heads {
        Heads { keys: vec![Key::NEVER; 2], leaves: vec![1; links] }
    }

    /// From now on the lines of these links, none of which has a packet yet.
    pub fn begin(&mut self, links: &[LinkId]) {
        let leaves = links.len().next_power_of_two();
        self.keys.clear();
        self.keys.resize(2 * leaves, Key::NEVER);
        for (leaf, link) in (leaves as u32..).zip(links) {
            self.leaves[*link as usize] = leaf;
        }
    }

    /// The least key.
    #[inline(always)]
    pub fn first(&self) -> Key {
        self.keys[1]
    }

    /// The least key of the other lines.
    #[inline(always)]
    pub fn first_beside(&self, link: LinkId) -> Key {
        let mut node = self.leaves[link as usize] as usize;
        let mut least = Key::NEVER;
        while node > 1 {
            least = least.min(self.keys[node ^ 1]);
            node /= 2;
        }
        least
    }

    /// The next packet of a line has this key.
    #[inline(always)]
    pub fn set(&mut self, link: LinkId, mut key: Key) {
        let mut node = self.leaves[link as usize] as usize;
        self.keys[node] = key;
        while node > 1 {
            key = key.min(self.keys[node ^ 1]);
            node /= 2;
            self.keys[node] = key;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::inbox::Rank;
    use super::*;
    use crate::units::Time;
    use proptest::prelude::*;

    proptest! {
        /// The first is the least of all keys, and beside a line of all others, whatever was set.
        #[test]
        fn the_first_is_the_least(lines in 1u32..20, steps in prop::collection::vec((0u32..20, prop::option::of(0u64..50)), 1..60)) {
            let links: Vec<LinkId> = (0..lines).map(|line| 3 * line).collect();
            let mut heads = Heads::new(60);
            heads.begin(&links);
            let mut keys = vec![Key::NEVER; lines as usize];
            for (line, at) in steps {
                let line = (line % lines) as usize;
                let key = |at| Key::new(Time::ZERO, Time(at), Rank::arrival(links[line]));
                keys[line] = at.map_or(Key::NEVER, key);
                heads.set(links[line], keys[line]);
                prop_assert_eq!(Some(heads.first()), keys.iter().min().copied());
                for (line, link) in links.iter().enumerate() {
                    let others = keys.iter().enumerate().filter(|(other, _)| *other != line);
                    let least = others.map(|(_, key)| *key).min().unwrap_or(Key::NEVER);
                    prop_assert_eq!(heads.first_beside(*link), least);
                }
            }
        }
    }
}
