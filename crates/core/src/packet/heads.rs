//! Which of several lines brings the next packet to the link that takes all of theirs: a winner tree.
//!
//! Where many flows meet, packets of the lines alternate without rule, and a heap would guess wrong at each of them. Here each
//! match is decided without a branch, and there are as many matches after every packet.

use super::inbox::Key;
use super::line::Line;
use crate::spec::LinkId;

/// Lines, and the keys of their next packets; one without a packet has [`Key::NEVER`].
#[derive(Debug, Default)]
pub struct Heads {
    /// Node 1 is the root, the lesser of nodes 2n and 2n + 1 stands at node n; the lines' own keys are the second half.
    keys: Vec<Key>,
    lines: Vec<Line>,
    /// For each link whose line is among them, its place.
    places: Vec<u32>,
}

impl Heads {
    /// No lines yet, of a network with so many links.
    pub fn new(links: usize) -> Heads {
        Heads { keys: vec![Key::NEVER; 2], lines: Vec::new(), places: vec![0; links] }
    }

    /// From now on these lines of links, with the keys of their next packets.
    pub fn begin(&mut self, lines: impl ExactSizeIterator<Item = (LinkId, Line, Key)>) {
        let leaves = lines.len().next_power_of_two();
        self.keys.clear();
        self.keys.resize(2 * leaves, Key::NEVER);
        self.lines.clear();
        for (place, (link, line, key)) in lines.enumerate() {
            self.places[link as usize] = place as u32;
            self.keys[leaves + place] = key;
            self.lines.push(line);
        }
        for node in (1..leaves).rev() {
            self.keys[node] = self.keys[2 * node].min(self.keys[2 * node + 1]);
        }
    }

    /// The least key.
    #[inline(always)]
    pub fn first(&self) -> Key {
        self.keys[1]
    }

    /// The place of a link's line.
    #[inline(always)]
    pub fn place(&self, link: LinkId) -> usize {
        self.places[link as usize] as usize
    }

    /// The line at a place.
    #[inline(always)]
    pub fn line(&self, place: usize) -> Line {
        self.lines[place]
    }

    /// The least key of the lines at other places.
    #[inline(always)]
    pub fn first_beside(&self, place: usize) -> Key {
        let mut node = self.keys.len() / 2 + place;
        let mut least = Key::NEVER;
        while node > 1 {
            least = least.min(self.keys[node ^ 1]);
            node /= 2;
        }
        least
    }

    /// The line at a place is so now, its next packet has this key.
    #[inline(always)]
    pub fn set(&mut self, place: usize, line: Line, mut key: Key) {
        self.lines[place] = line;
        let mut node = self.keys.len() / 2 + place;
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
            let mut keys: Vec<Key> = links.iter().map(|link| Key::new(Time::ZERO, Time(25), Rank::arrival(*link))).collect();
            heads.begin(links.iter().zip(&keys).map(|(link, key)| (*link, Line::default(), *key)));
            for (line, at) in steps {
                let line = (line % lines) as usize;
                let key = |at| Key::new(Time::ZERO, Time(at), Rank::arrival(links[line]));
                keys[line] = at.map_or(Key::NEVER, key);
                heads.set(heads.place(links[line]), Line::default(), keys[line]);
                prop_assert_eq!(Some(heads.first()), keys.iter().min().copied());
                for (line, link) in links.iter().enumerate() {
                    let others = keys.iter().enumerate().filter(|(other, _)| *other != line);
                    let least = others.map(|(_, key)| *key).min().unwrap_or(Key::NEVER);
                    prop_assert_eq!(heads.place(*link), line);
                    prop_assert_eq!(heads.first_beside(line), least);
                }
            }
        }
    }
}
