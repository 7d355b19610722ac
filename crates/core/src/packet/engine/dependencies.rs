//! Flows that start when other flows are over, as the messages of a collective operation do.
//!
//! A flow may wait for flows that end at its source, until all their data is delivered there. It may also wait for flows of the same
//! source, until all their data is acknowledged. So a host alone decides when its flows start, and partitions need not ask each other.

use crate::packet::hosts::flow::Flow;
use crate::spec::NodeId;
use crate::units::{Duration, Time};

/// The flows that a flow waits for, in sum.
#[derive(Debug, Clone, Copy, Default)]
struct Wait {
    /// How many flows are not over.
    left: u32,
    /// When the last of the others was over.
    over: Time,
    /// From the end of the last flow to the start.
    delay: Duration,
}

/// The dependencies of all flows of a run; empty lists if there is none.
#[derive(Debug, Default)]
pub struct Dependencies {
    /// By flow.
    waits: Vec<Wait>,
    /// The flows that wait for flow `i` are `followers[first[i]..first[i + 1]]`.
    first: Vec<u32>,
    followers: Vec<u32>,
    /// Flows whose acknowledgement has counted: a sender may be found done several times.
    acknowledged: Vec<bool>,
}

impl Dependencies {
    /// Dependencies between this number of flows: pairs of a flow and one that it waits for, and the delay of each flow.
    pub fn new(flows: usize, pairs: &[(u32, u32)], delays: impl Iterator<Item = (u32, Duration)>) -> Dependencies {
        if pairs.is_empty() {
            return Dependencies::default();
        }
        let mut first = vec![0; flows + 1];
        let mut waits = vec![Wait::default(); flows];
        for &(follower, earlier) in pairs {
            waits[follower as usize].left += 1;
            first[earlier as usize + 1] += 1;
        }
        delays.for_each(|(flow, delay)| waits[flow as usize].delay = delay);
        for flow in 0..flows {
            first[flow + 1] += first[flow];
        }
        let (mut next, mut followers) = (first.clone(), vec![0; pairs.len()]);
        for &(follower, earlier) in pairs {
            let place = &mut next[earlier as usize];
            followers[*place as usize] = follower;
            *place += 1;
        }
        Dependencies { waits, first, followers, acknowledged: vec![false; flows] }
    }

    /// Whether no flow waits.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.followers.is_empty()
    }

    /// Whether the acknowledgement of a flow's data has not counted yet; from now on it has.
    pub fn is_first_acknowledgement(&mut self, flow: u32) -> bool {
        !std::mem::replace(&mut self.acknowledged[flow as usize], true)
    }

    /// Counts a flow that is over at a node, and passes each flow of that node for which it was the last one, with the time of its start. A node
    /// may learn of the ends in another order than that of their times.
    pub fn on_over(&mut self, flow: u32, node: NodeId, now: Time, flows: &[Flow], mut starts: impl FnMut(u32, Time)) {
        let range = self.first[flow as usize] as usize..self.first[flow as usize + 1] as usize;
        for &follower in self.followers[range].iter().filter(|follower| flows[**follower as usize].identity.src == node)
        {
            let wait = &mut self.waits[follower as usize];
            wait.left -= 1;
            wait.over = wait.over.max(now);
            if wait.left == 0 {
                starts(follower, wait.over + wait.delay);
            }
        }
    }
}
