//! Which source has the next event of the whole network.

use crate::units::Time;

/// A winner tree over sources that each have one next event. Ties go to the source with the lower index.
///
/// Only the head of a link's queue stands here; a link whose head changes replays the matches on its way to the root.
#[derive(Debug, Clone)]
pub struct WinnerTree {
    /// Node 1 is the root, the winner of nodes 2n and 2n + 1 stands at node n, source s at node `nodes.len() / 2 + s`.
    nodes: Vec<(Time, u32)>,
}

impl WinnerTree {
    /// A tree over `sources` sources that have no event yet.
    pub fn new(sources: usize) -> WinnerTree {
        WinnerTree { nodes: vec![(Time::NEVER, u32::MAX); 2 * sources.next_power_of_two().max(2)] }
    }

    /// The earliest event and its source; at [`Time::NEVER`] if there is none.
    pub fn first(&self) -> (Time, u32) {
        self.nodes[1]
    }

    /// Sets the next event of a source; [`Time::NEVER`] for none.
    pub fn set(&mut self, source: u32, time: Time) {
        let mut node = self.nodes.len() / 2 + source as usize;
        self.nodes[node] = (time, source);
        while node > 1 {
            self.nodes[node / 2] = self.nodes[node].min(self.nodes[node ^ 1]);
            node /= 2;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// The root is the minimum over (time, source) after any sequence of sets.
        #[test]
        fn the_root_is_the_least_time_and_then_the_least_source(
            sources in 1usize..70,
            steps in prop::collection::vec((0usize..70, prop::option::of(0u64..10)), 1..100),
        ) {
            let mut tree = WinnerTree::new(sources);
            let mut times = vec![Time::NEVER; sources];
            for (source, time) in steps {
                let source = source % sources;
                times[source] = time.map_or(Time::NEVER, Time);
                tree.set(source as u32, times[source]);
                let least = times.iter().copied().zip(0..).min().filter(|(time, _)| *time < Time::NEVER);
                prop_assert_eq!(Some(tree.first()).filter(|(time, _)| *time < Time::NEVER), least);
            }
        }
    }
}
