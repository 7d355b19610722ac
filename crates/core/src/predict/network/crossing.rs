//! Which links the packets and ACKs of the flows cross: a run may have many millions of such crossings.

use super::feeds::Feeds;
use super::flows::{FlowModel, Paths};
use crate::spec::LinkId;

/// A link that a flow crosses.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Crossing {
    /// The link.
    pub link: LinkId,
    /// The share of the flow's packets, or of its ACKs, that crosses it.
    pub share: f32,
    /// Probability that an event of the link reaches the flow.
    pub takes_part: f32,
    /// How readily a full queue drops the flow's packets, for where they come from: they meet others, but not those of the same link before it.
    pub meets: f32,
}

/// The crossings of all flows in one direction, flow by flow. Those of links that have a price come first in each flow.
#[derive(Debug, Clone)]
pub struct Crossings {
    /// Where each flow's begin, and the end.
    begins: Vec<u32>,
    /// By flow: how many are of links with a price.
    priced: Vec<u32>,
    all: Vec<Crossing>,
}

impl Crossings {
    /// Of the flows' data.
    pub fn of_data(flows: &[FlowModel], feeds: &Feeds) -> Crossings {
        let meets = |flow: &FlowModel, place: usize| (1.0 / feeds.together(&flow.data, place)).sqrt() as f32;
        Crossings::new(flows, |flow| &flow.data, meets)
    }

    /// Of their ACKs.
    pub fn of_acks(flows: &[FlowModel]) -> Crossings {
        Crossings::new(flows, |flow| &flow.ack, |_, _| 1.0)
    }

    fn new(
        flows: &[FlowModel],
        paths: impl Fn(&FlowModel) -> &Paths,
        meets: impl Fn(&FlowModel, usize) -> f32,
    ) -> Crossings {
        let mut begins = vec![0];
        let mut all = Vec::with_capacity(flows.iter().map(|flow| paths(flow).shares.len()).sum());
        for flow in flows {
            all.extend(paths(flow).shares.iter().enumerate().map(|(place, (link, share))| Crossing {
                link: *link,
                share: *share,
                takes_part: 1.0,
                meets: meets(flow, place),
            }));
            begins.push(all.len() as u32);
        }
        let priced = begins.windows(2).map(|ends| ends[1] - ends[0]).collect();
        Crossings { begins, priced, all }
    }

    /// A flow's.
    pub fn of(&self, flow: usize) -> &[Crossing] {
        &self.all[self.begins[flow] as usize..self.begins[flow + 1] as usize]
    }

    /// A flow's on links that have a price.
    pub fn priced(&self, flow: usize) -> &[Crossing] {
        let begin = self.begins[flow] as usize;
        &self.all[begin..begin + self.priced[flow] as usize]
    }

    /// The same, to change who takes part.
    pub fn priced_mut(&mut self, flow: usize) -> &mut [Crossing] {
        let begin = self.begins[flow] as usize;
        &mut self.all[begin..begin + self.priced[flow] as usize]
    }

    /// Takes the links that have a price.
    pub fn sort(&mut self, has_price: &[bool]) {
        for (ends, priced) in self.begins.windows(2).zip(&mut self.priced) {
            let crossings = &mut self.all[ends[0] as usize..ends[1] as usize];
            let mut first = 0;
            for index in 0..crossings.len() {
                if has_price[crossings[index].link as usize] {
                    crossings.swap(first, index);
                    first += 1;
                }
            }
            *priced = first as u32;
        }
    }
}
