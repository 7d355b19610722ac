//! Runs a simulation on several threads: each partition of the network has its own engine, and the results are the same bit for bit.
//!
//! Every partition has all nodes and links, but processes only the events of its own nodes. The queue of a link belongs to the partition where the link
//! begins. If the link ends in another partition, that partition has only its wire. A packet needs at least the delay of the shortest link between
//! partitions, so partitions process rounds of that length. At a [`barrier`] they exchange the packets that arrive in the next round. [`partition`]
//! divides the nodes. [`patience`] says when a waiting thread sleeps.
//!
//! May use: the engine and the loop of epochs.

mod barrier;
mod partition;
mod patience;

use crate::packet::build::BuildError;
use crate::packet::engine::Engine;
use crate::packet::engine::results::{StateShare, is_of_sender};
use crate::packet::epochs::event_loop::EpochLoop;
use crate::packet::hosts::flow::Flow;
use crate::packet::output::route_log::RouteChange;
use crate::packet::output::table::{Column, Table};
use crate::spec::{LinkId, NodeId, RunSpec};
use crate::units::Time;
use barrier::Barrier;
use partition::{Partitioning, divide};
use std::time::{Duration, Instant};

/// The packet-hops of a partition in a round that are worth a thread: with fewer, it would mostly wait for the others.
const MIN_HOPS_PER_ROUND: f64 = 1_000.0;

/// The packet-hops of one call at least: threads begin and end with each call, which takes as long as some thousand packet-hops.
const MIN_HOPS_PER_CALL: u64 = if cfg!(test) { 500 } else { 2_000_000 };

/// A run in epochs, with one thread for each partition.
pub struct Partitions {
    engines: Vec<Engine<EpochLoop>>,
    division: Partitioning,
    /// The CPU time of all threads, without waits; `None` where the system does not say it.
    worked: Option<Duration>,
    /// The time of the clock of all calls.
    took: Duration,
}

impl Partitions {
    /// A run on this number of threads, or on fewer: each must have enough to do in a round. A run whose routing measures its links has one thread,
    /// because the controller reads all links at once. So has a run with samples of flows that wait for others: at a sample, the partition of the
    /// receiver may not know yet that a flow has started.
    ///
    /// # Errors
    /// As [`Engine::new`].
    pub fn new(spec: RunSpec, threads: usize) -> Result<Partitions, BuildError> {
        let measures = spec.routings.iter().any(|routing| routing.link_state.is_some());
        let waits = spec.traffic.iter().any(|group| group.application.has_dependencies());
        let undivided = measures || spec.sample.is_some() && waits;
        let engine = Engine::<EpochLoop>::new(spec)?;
        let at_most = if undivided { 1 } else { threads.min(engine.spec.nodes.len()) };
        let mut divisions = (2..=at_most).rev().map(|count| divide(&engine, count));
        let worth = |division: &Partitioning| division.hops_per_round / division.count as f64 >= MIN_HOPS_PER_ROUND;
        let division = divisions.find(worth).unwrap_or_else(|| Partitioning::whole(&engine));
        Partitions::of(engine, division)
    }

    /// The run of an engine that has not begun, on exactly this number of threads.
    #[cfg(test)]
    pub(in crate::packet) fn exactly(engine: Engine<EpochLoop>, threads: usize) -> Result<Partitions, BuildError> {
        let division = divide(&engine, threads);
        Partitions::of(engine, division)
    }

    fn of(engine: Engine<EpochLoop>, division: Partitioning) -> Result<Partitions, BuildError> {
        let mut engines = vec![engine];
        for _ in 1..division.count {
            engines.push(Engine::new(engines[0].spec.clone())?);
        }
        engines.iter_mut().enumerate().for_each(|(index, engine)| engine.restrict_to(&division, index));
        Ok(Partitions { engines, division, worked: Some(Duration::ZERO), took: Duration::ZERO })
    }

    /// Processes at least about this number of events; `false` once the run has ended.
    pub fn advance(&mut self, events: u64) -> bool {
        if let [engine] = &mut self.engines[..] {
            return engine.advance(events);
        }
        let work = self.packet_hops() + self.engines[0].work_of_controls();
        let barrier = Barrier::new(&self.division, work + events.max(MIN_HOPS_PER_CALL));
        let barrier = &barrier;
        let (first, others) = self.engines.split_at_mut(1);
        let began = Instant::now();
        let (goes_on, worked) = std::thread::scope(|scope| {
            let run = |(index, engine)| scope.spawn(move || barrier.run(engine, index + 1));
            let threads: Vec<_> = others.iter_mut().enumerate().map(run).collect();
            let (goes_on, first) = barrier.run(&mut first[0], 0);
            let of_others = threads.into_iter().map(|thread| match thread.join() {
                Ok((_, worked)) => worked,
                Err(panic) => std::panic::resume_unwind(panic),
            });
            (goes_on, of_others.chain([first]).sum::<Option<Duration>>())
        });
        if !goes_on {
            self.note_last_starts();
        }
        self.took += began.elapsed();
        self.worked = self.worked.zip(worked).map(|(before, now)| before + now);
        goes_on
    }

    /// How much work the threads did in a second, in CPU seconds without waits. One thread with a core to itself does 1. `None` for a run on one thread,
    /// and where the system does not say it.
    pub fn thread_gain(&self) -> Option<f64> {
        let took = self.took.as_secs_f64();
        self.worked.filter(|_| took > 0.0).map(|worked| worked.as_secs_f64() / took)
    }

    /// [`Self::advance`] to the end of the run, all partitions in turn on this thread.
    #[cfg(test)]
    pub(in crate::packet) fn finish_in_turn(&mut self) {
        while Barrier::new(&self.division, self.packet_hops() + 1_000).run_in_turn(&mut self.engines) {}
        self.note_last_starts();
    }

    /// The starts of the last round, after which partitions do not meet again.
    fn note_last_starts(&mut self) {
        for sender in 0..self.engines.len() {
            for (at, flow) in std::mem::take(&mut self.engines[sender].event_loop.started_flows) {
                let receiver = self.engines[sender].hosts.identity(flow).dst;
                self.engines[self.division.partition_of(receiver)].note_start(at, flow);
            }
        }
    }

    /// The fault of a congestion control that comes with the scenario: the name of its stack, the time and the problem. `None` without a fault.
    pub fn fault(&self) -> Option<String> {
        let stacks = &self.engines[0].spec.stacks;
        stacks
            .iter()
            .find_map(|stack| Some(format!("stack '{}', congestion, {}", stack.name, stack.congestion.fault()?)))
    }

    /// The number of threads.
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

    /// See [`Engine::events`].
    pub fn events(&self) -> u64 {
        self.engines.iter().map(Engine::events).sum()
    }

    /// See [`Engine::packets_without_route`].
    pub fn packets_without_route(&self) -> u64 {
        self.engines.iter().map(Engine::packets_without_route).sum()
    }

    /// See [`Engine::packets_expired`].
    pub fn packets_expired(&self) -> u64 {
        self.engines.iter().map(Engine::packets_expired).sum()
    }

    /// See [`Engine::route_changes`]. With several partitions there are none.
    pub fn route_changes(&self) -> &[RouteChange] {
        self.engines[0].route_changes()
    }

    /// See [`Engine::take_link_state`]. With several partitions there are no measurements.
    pub fn take_link_state(&mut self) -> Table {
        self.engines[0].take_link_state()
    }

    /// See [`Engine::take_capture`].
    pub fn take_capture(&mut self, link: LinkId) -> Vec<u8> {
        let is_link = (link as usize) < self.engines[0].network.links().len();
        let partition = if is_link { self.partition_of_link(link) } else { 0 };
        self.engines[partition].take_capture(link)
    }

    /// See [`Engine::take_flow_series`]. A partition has the samples of the flows that begin or end there.
    pub fn take_flow_series(&mut self) -> Table {
        if let [engine] = &mut self.engines[..] {
            return engine.take_flow_series();
        }
        let tables: Vec<Table> = self.engines.iter_mut().map(Engine::take_flow_series).collect();
        let samples: Vec<Vec<(u64, u32)>> = tables.iter().map(samples).collect();
        let mut all = Vec::new();
        for (partition, samples) in samples.iter().enumerate() {
            all.extend(
                samples.iter().filter(|(_, flow)| self.partition_of_flow("in_flight_segments", *flow) == partition),
            );
        }
        all.sort_unstable();
        Table::gathered(tables, |_, column| {
            let position = |sample: &(u64, u32)| {
                let partition = self.partition_of_flow(column, sample.1);
                (partition, samples[partition].binary_search(sample).expect("both ends of a flow are sampled together"))
            };
            all.iter().map(position).collect()
        })
    }

    /// See [`Engine::take_link_series`].
    pub fn take_link_series(&mut self) -> Table {
        let tables: Vec<Table> = self.engines.iter_mut().map(Engine::take_link_series).collect();
        Table::gathered(tables, |first, _| {
            let links = first.column("link").map_or(&[][..], Column::u32s);
            by_row(links.iter().map(|link| self.partition_of_link(*link)))
        })
    }

    /// See [`Engine::flow_table`].
    pub fn flow_table(&self) -> Table {
        let tables: Vec<Table> = self.engines.iter().map(Engine::flow_table).collect();
        let flows = 0..self.engines[0].hosts.planned().len() as u32;
        Table::gathered(tables, |_, column| by_row(flows.clone().map(|flow| self.partition_of_flow(column, flow))))
    }

    /// See [`Engine::impossible_goodput`].
    pub fn impossible_goodput(&self) -> Option<String> {
        self.engines.iter().find_map(|engine| engine.impossible_goodput_at(|node| engine.event_loop.is_here(node)))
    }

    /// See [`Engine::link_table`].
    pub fn link_table(&self) -> Table {
        let flows = self.engines[0].hosts.planned().iter().enumerate();
        // The partition of the receiver knows when a flow ends.
        let end = |(flow, known): (usize, &Flow)| {
            self.engines[self.division.partition_of(known.identity.dst)].hosts.planned()[flow].end
        };
        let ends: Vec<Time> = flows.map(end).collect();
        let of_ends = |engine: &Engine<EpochLoop>| engine.link_table_of(ends.iter().copied());
        let tables: Vec<Table> = self.engines.iter().map(of_ends).collect();
        let links = 0..self.engines[0].network.links().len() as LinkId;
        Table::gathered(tables, |_, _| by_row(links.clone().map(|link| self.partition_of_link(link))))
    }

    /// The partition that has this column of a flow: the one of its sender or of its receiver.
    fn partition_of_flow(&self, column: &str, flow: u32) -> usize {
        let identity = self.engines[0].hosts.identity(flow);
        self.division.partition_of(if is_of_sender(column) { identity.src } else { identity.dst })
    }

    /// The partition that has a link's queue.
    fn partition_of_link(&self, link: LinkId) -> usize {
        self.division.partition_of(self.engines[0].spec.links[link as usize].src)
    }

    /// See [`Engine::state_shares`].
    pub fn state_shares(&self) -> Vec<StateShare> {
        let mut shares: Vec<StateShare> = Vec::new();
        for engine in &self.engines {
            let is_here = |share: &StateShare| engine.event_loop.is_here(engine.hosts.identity(share.flow).src);
            shares.extend(engine.state_shares().into_iter().filter(is_here));
        }
        shares.sort_by_key(|share| share.flow);
        shares
    }
}

/// For each row, the partition whose table has its value, and the index of the row.
fn by_row(partitions: impl Iterator<Item = usize>) -> Vec<(usize, usize)> {
    partitions.enumerate().map(|(row, partition)| (partition, row)).collect()
}

/// The time of each sample, as its bits, and its flow; in order.
fn samples(series: &Table) -> Vec<(u64, u32)> {
    let (times, flows) = (series.column("time_s"), series.column("flow"));
    let times = times.map_or(&[][..], Column::f64s).iter().map(|time| time.to_bits());
    times.zip(flows.map_or(&[][..], Column::u32s).iter().copied()).collect()
}

impl Engine<EpochLoop> {
    /// Processes the events of the nodes of one partition only. Packets leave outgoing links up to a round before they arrive.
    fn restrict_to(&mut self, division: &Partitioning, partition: usize) {
        let is_here = |node: NodeId| division.partition_of(node) == partition;
        self.event_loop.restrict_to(is_here);
        for (link, spec) in self.spec.links.iter().enumerate() {
            match (is_here(spec.src), is_here(spec.dst)) {
                (true, true) => {}
                (true, false) => {
                    self.event_loop.outgoing.push(link as LinkId);
                    self.network.set_epoch_length(link as LinkId, division.round);
                }
                (false, _) => self.network.become_wire(link as LinkId),
            }
        }
    }
}
