//! What meets where: how links are fed, and where they lead, by the compiled routes.

use crate::packet::forwarding::{END, Forwarding};
use crate::packet::link::Link;
use crate::spec::LinkId;

/// How a link is fed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Feed {
    /// From one other link, in order: what is offered is taken at once.
    Link,
    /// From its own node alone: what is offered is taken at once while the node goes through its events in order.
    Node,
    /// From several places: what is offered waits for phase 3.
    Merged,
}

/// Where a link leads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Egress {
    /// No route has been seen to use it.
    Nowhere,
    /// All packets have reached their host.
    Host,
    /// All packets go on over this link.
    Link(LinkId),
    /// Every packet must be looked at.
    Various,
}

/// What offers packets to a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Feeder {
    Node,
    Link(LinkId),
}

/// Of all links of a run.
pub struct FanIn {
    feeds: Vec<Feed>,
    exits: Vec<Egress>,
    /// Links that take what is offered to them in phase 3, wherever it comes from: those that decide at their service, and simple ones that are
    /// watched, because ends take runs if what these let out waits.
    late: Vec<bool>,
}

impl FanIn {
    /// Nothing is known yet.
    pub fn new(links: &[Link]) -> FanIn {
        let takes_late = |link: &Link| link.decides_at_service() || link.is_simple() && !link.is_uninstrumented();
        FanIn {
            feeds: vec![Feed::Merged; links.len()],
            exits: vec![Egress::Various; links.len()],
            late: links.iter().map(takes_late).collect(),
        }
    }

    /// How a link is fed.
    #[inline(always)]
    pub fn feed(&self, link: LinkId) -> Feed {
        self.feeds[link as usize]
    }

    /// Where a link leads.
    #[inline(always)]
    pub fn exit(&self, link: LinkId) -> Egress {
        self.exits[link as usize]
    }

    /// Finds them for routes: a link is fed from one place if one link alone leads to it, or nothing but its own node: what goes hop by hop and
    /// what hosts send comes from the node.
    pub fn derive(&mut self, forwarding: &Forwarding) {
        let by_hop = forwarding.goes_hop_by_hop();
        self.exits.fill(if by_hop { Egress::Various } else { Egress::Nowhere });
        let mut inputs: Vec<Option<Feeder>> = vec![by_hop.then_some(Feeder::Node); self.feeds.len()];
        for (feed, late) in self.feeds.iter_mut().zip(&self.late) {
            *feed = if *late { Feed::Merged } else { Feed::Node };
        }
        let mut input = Feeder::Node;
        for &link in forwarding.hops() {
            if let Feeder::Link(before) = input {
                let exit = if link == END { Egress::Host } else { Egress::Link(link) };
                let known = &mut self.exits[before as usize];
                *known = if *known == Egress::Nowhere || *known == exit { exit } else { Egress::Various };
            }
            if link == END {
                input = Feeder::Node; // the next route begins at a host
                continue;
            }
            let feed = &mut self.feeds[link as usize];
            if *inputs[link as usize].get_or_insert(input) != input {
                *feed = Feed::Merged;
            } else if *feed == Feed::Node && input != Feeder::Node {
                *feed = Feed::Link;
            }
            input = Feeder::Link(link);
        }
    }
}
