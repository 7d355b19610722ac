//! The links that the packets and ACKs of each flow cross. A run may have many millions of crossings.

use super::feeds::Feeds;
use super::model::{FlowModel, Paths};
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
    /// How readily a full queue drops the flow's packets, depending on the link before. Packets that arrive over the same link do not collide,
    /// but they collide with packets of other links.
    pub meets: f32,
}

/// The crossings of all flows in one direction, sorted by flow. For each flow, links with a price come first.
#[derive(Debug, Clone)]
pub struct Crossings {
    /// Index at which each flow's crossings begin; the last entry is the total.
    begins: Vec<u32>,
    /// For each flow: the number of crossings of links with a price.
    priced: Vec<u32>,
    all: Vec<Crossing>,
}

impl Crossings {
    /// Builds the crossings of the flows' data packets.
    pub fn of_data(flows: &[FlowModel], feeds: &Feeds) -> Crossings {
        let meets = |flow: &FlowModel, place: usize| (1.0 / feeds.together(&flow.data, place)).sqrt() as f32;
        Crossings::new(flows, |flow| &flow.data, meets)
    }

    /// Builds the crossings of the flows' ACKs.
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

    /// The crossings of a flow.
    pub fn of(&self, flow: usize) -> &[Crossing] {
        &self.all[self.begins[flow] as usize..self.begins[flow + 1] as usize]
    }

    /// The crossings of a flow on links with a price.
    pub fn priced(&self, flow: usize) -> &[Crossing] {
        let begin = self.begins[flow] as usize;
        &self.all[begin..begin + self.priced[flow] as usize]
    }

    /// The same crossings, to change the participation in events.
    pub fn priced_mut(&mut self, flow: usize) -> &mut [Crossing] {
        let begin = self.begins[flow] as usize;
        &mut self.all[begin..begin + self.priced[flow] as usize]
    }

    /// Moves the crossings of links with a price to the front of each flow.
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
