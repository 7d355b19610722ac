//! The sources of the packets that are offered to each link, and their next links, by the compiled routes.

use crate::packet::forwarding::{END, Forwarding};
use crate::packet::link::Link;
use crate::spec::LinkId;

/// The source of the packets that are offered to a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Feed {
    /// One other link, in order: packets enter at once.
    Link,
    /// Only its own node: packets enter at once while the node processes its events in order.
    Node,
    /// Several inputs: packets wait for phase 3.
    Merged,
}

/// The next destination of a link's packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Egress {
    /// No route uses the link.
    Nowhere,
    /// All have reached their host.
    Host,
    /// All packets go to this link.
    Link(LinkId),
    /// Different links or hosts.
    Various,
}

/// An input of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Input {
    Node,
    Link(LinkId),
}

/// The inputs and the egress of all links.
pub struct FanIn {
    feeds: Vec<Feed>,
    egresses: Vec<Egress>,
    /// Links that packets always enter in phase 3: queues that decide at their service, and instrumented simple links. An end processes bursts only if
    /// its packets wait, or enter an uninstrumented link.
    late: Vec<bool>,
    /// See [`Self::is_in_turn`].
    in_turn: bool,
}

impl FanIn {
    /// Before the first routes.
    pub fn new(links: &[Link]) -> FanIn {
        let takes_late = |link: &Link| link.decides_at_service() || link.is_simple() && !link.is_uninstrumented();
        FanIn {
            feeds: vec![Feed::Merged; links.len()],
            egresses: vec![Egress::Various; links.len()],
            late: links.iter().map(takes_late).collect(),
            in_turn: links.iter().any(Link::is_watched),
        }
    }

    /// Whether all packets enter a link in the order of the events of its node, each at once, because selectors read the queues.
    #[inline(always)]
    pub fn is_in_turn(&self) -> bool {
        self.in_turn
    }

    /// The source of the packets that are offered to a link.
    #[inline(always)]
    pub fn feed(&self, link: LinkId) -> Feed {
        self.feeds[link as usize]
    }

    /// The next destination of a link's packets.
    #[inline(always)]
    pub fn egress(&self, link: LinkId) -> Egress {
        self.egresses[link as usize]
    }

    /// Computes both for new routes. Packets that hosts send, or that routers forward hop by hop, come from the node.
    pub fn derive(&mut self, forwarding: &Forwarding) {
        if self.in_turn {
            self.feeds.fill(Feed::Node);
            self.egresses.fill(Egress::Various);
            return;
        }
        let by_hop = forwarding.has_hop_by_hop_flows();
        self.egresses.fill(if by_hop { Egress::Various } else { Egress::Nowhere });
        let mut inputs: Vec<Option<Input>> = vec![by_hop.then_some(Input::Node); self.feeds.len()];
        for (feed, late) in self.feeds.iter_mut().zip(&self.late) {
            *feed = if *late { Feed::Merged } else { Feed::Node };
        }
        let mut input = Input::Node;
        for &link in forwarding.hops() {
            if let Input::Link(before) = input {
                let egress = if link == END { Egress::Host } else { Egress::Link(link) };
                let known = &mut self.egresses[before as usize];
                *known = if *known == Egress::Nowhere || *known == egress { egress } else { Egress::Various };
            }
            if link == END {
                input = Input::Node; // the next route begins at a host
                continue;
            }
            let feed = &mut self.feeds[link as usize];
            if *inputs[link as usize].get_or_insert(input) != input {
                *feed = Feed::Merged;
            } else if *feed == Feed::Node && input != Input::Node {
                *feed = Feed::Link;
            }
            input = Input::Link(link);
        }
    }
}
