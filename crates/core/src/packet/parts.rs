//! A run on several threads: the network in parts, each with an engine of its own, and the same results, bit for bit.
//!
//! Every part has all nodes and links, but things happen only at its own nodes: the queue of a link is where the link begins; where it
//! ends, in another part, there is only its wire. What one part does comes to another no sooner than over the shortest link between
//! parts. So the parts go through rounds of that length, each by itself, and meet between them ([`meeting`]), to hand over what
//! arrives from one to another in the next round. Which node belongs to which part ([`division`]) changes nothing in the results.

mod division;
mod meeting;

use super::build::BuildError;
use super::results::StateShare;
use super::simulation::Engine;
use super::table::Table;
use super::windows::Windows;
use crate::spec::{LinkId, NodeId, RunSpec};
use crate::units::Time;
use division::{Division, divide};
use meeting::Meeting;

/// So many packet-hops of a part in a round are worth a thread: with fewer, it would mostly wait for the others.
const WORTH_A_THREAD: f64 = 1_000.0;

/// Columns of the results of flows that only the sender knows.
const OF_SENDER: [&str; 9] = [
    "segments_sent",
    "retransmits",
    "retransmit_ratio",
    "timeouts",
    "recoveries",
    "undone",
    "srtt_s",
    "min_rtt_s",
    "cwnd_segments",
];

/// A run in windows of time, on as many threads as it has parts.
pub struct Parts {
    engines: Vec<Engine<Windows>>,
    division: Division,
}

impl Parts {
    /// A run on so many threads, or on fewer: no more than have enough to do between two meetings, and on one if the run is sampled or
    /// captured, or measures its links for its routes, for then all of the network must be known at once.
    ///
    /// # Errors
    /// As [`Engine::new`].
    pub fn new(spec: RunSpec, threads: usize) -> Result<Parts, BuildError> {
        let is_watched = spec.sample.is_some()
            || !spec.captures.is_empty()
            || spec.routings.iter().any(|routing| routing.link_state.is_some());
        let engine = Engine::<Windows>::new(spec)?;
        let most = if is_watched { 1 } else { threads.min(engine.spec.nodes.len()) };
        let divisions = (2..=most).rev().map(|parts| divide(&engine, parts));
        let worth = |division: &Division| division.hops_in_a_round / division.parts as f64 >= WORTH_A_THREAD;
        let division = { divisions }.find(worth).unwrap_or_else(|| Division::whole(&engine));
        Parts::of(engine, division)
    }

    /// The run of an engine that has not begun, on exactly so many threads.
    #[cfg(test)]
    pub(super) fn exactly(engine: Engine<Windows>, threads: usize) -> Result<Parts, BuildError> {
        let division = divide(&engine, threads);
        Parts::of(engine, division)
    }

    fn of(engine: Engine<Windows>, division: Division) -> Result<Parts, BuildError> {
        let spec = engine.spec.clone();
        let mut engines = vec![engine];
        for _ in 1..division.parts {
            engines.push(Engine::new(spec.clone())?);
        }
        for (part, engine) in engines.iter_mut().enumerate().take(division.parts * usize::from(division.parts > 1)) {
            engine.keep(&division, part);
        }
        Ok(Parts { engines, division })
    }

    /// Processes about so many events; `false` once the run has ended.
    pub fn advance(&mut self, events: u64) -> bool {
        if let [engine] = &mut self.engines[..] {
            return engine.advance(events);
        }
        let meeting = Meeting::new(&self.division, self.packet_hops() + events);
        let meeting = &meeting;
        let (first, others) = self.engines.split_at_mut(1);
        std::thread::scope(|scope| {
            for (index, engine) in others.iter_mut().enumerate() {
                scope.spawn(move || meeting.attend(engine, index + 1));
            }
            meeting.attend(&mut first[0], 0)
        })
    }

    /// [`Self::advance`] to the end of the run, all parts in turn on this thread.
    #[cfg(test)]
    pub(super) fn finish_in_turn(&mut self) {
        while Meeting::new(&self.division, self.packet_hops() + 1_000).attend_in_turn(&mut self.engines) {}
    }

    /// Threads that the run is on.
    pub fn threads(&self) -> usize {
        self.engines.len()
    }

    /// Virtual time reached.
    pub fn now(&self) -> Time {
        self.engines[0].now()
    }

    /// Packets that have crossed a link, lost ones included.
    pub fn packet_hops(&self) -> u64 {
        self.engines.iter().map(Engine::packet_hops).sum()
    }

    /// As [`Engine::packets_without_route`].
    pub fn packets_without_route(&self) -> u64 {
        self.engines.iter().map(Engine::packets_without_route).sum()
    }

    /// As [`Engine::packets_expired`].
    pub fn packets_expired(&self) -> u64 {
        self.engines.iter().map(Engine::packets_expired).sum()
    }

    /// The one engine of a run that is watched as a whole, with all its changes of routes; without such in another run.
    pub fn whole(&self) -> &Engine<Windows> {
        &self.engines[0]
    }

    /// As [`Self::whole`], to take its samples and captures.
    pub fn whole_mut(&mut self) -> &mut Engine<Windows> {
        &mut self.engines[0]
    }

    /// As [`Engine::flow_table`].
    pub fn flow_table(&self) -> Table {
        self.joined(Engine::flow_table, |column, flow| {
            let identity = &self.engines[0].flows[flow].identity;
            if OF_SENDER.contains(&column) { identity.src } else { identity.dst }
        })
    }

    /// As [`Engine::link_table`].
    pub fn link_table(&self) -> Table {
        self.joined(Engine::link_table, |_, link| self.engines[0].spec.links[link].src)
    }

    /// The table of each part, every value from the part that this node belongs to.
    fn joined(&self, table: impl Fn(&Engine<Windows>) -> Table, node: impl Fn(&str, usize) -> NodeId) -> Table {
        let mut joined = table(&self.engines[0]);
        for (part, engine) in self.engines.iter().enumerate().skip(1) {
            joined.take_over(table(engine), |column, row| self.division.part_of(node(column, row)) == part);
        }
        joined
    }

    /// As [`Engine::state_shares`].
    pub fn state_shares(&self) -> Vec<StateShare> {
        let mut shares: Vec<StateShare> = Vec::new();
        for engine in &self.engines {
            let is_here = |share: &StateShare| engine.order.is_here(engine.flows[share.flow as usize].identity.src);
            shares.extend(engine.state_shares().into_iter().filter(is_here));
        }
        shares.sort_by_key(|share| share.flow);
        shares
    }
}

impl Engine<Windows> {
    /// Only what happens at the nodes of a part happens here. Packets are taken out of the links that lead out up to a round ahead.
    fn keep(&mut self, division: &Division, part: usize) {
        let is_here = |node: NodeId| division.part_of(node) == part;
        self.order.keep(is_here);
        for (link, spec) in self.spec.links.iter().enumerate() {
            match (is_here(spec.src), is_here(spec.dst)) {
                (true, true) => {}
                (true, false) => {
                    self.order.outgoing.push(link as LinkId);
                    self.links[link].look_ahead(division.round);
                }
                (false, _) => self.links[link].become_wire(),
            }
        }
    }
}
