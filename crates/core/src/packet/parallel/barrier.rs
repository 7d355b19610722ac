//! A barrier: lets partitions go through rounds together, and exchanges packets between two rounds.
//!
//! All partitions compute the same sequence of instants: the ends of rounds, and the network events. They meet once per round, when all events
//! before an instant are processed. Each has then filled the mailboxes of the others and reported the time of its next event.

use super::partition::Partitioning;
use super::patience::{Patience, Worked};
use crate::packet::engine::Engine;
use crate::packet::epochs::event_loop::EpochLoop;
use crate::packet::link::packet::{HAS_SACK, Packet};
use crate::packet::link::sack_pool::{SackPool, SackRecord};
use crate::spec::LinkId;
use crate::units::Time;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Packets that one partition sends to another.
#[derive(Default)]
struct Mailbox {
    /// Packets that arrive in the next round, link by link.
    packets: Vec<Packet>,
    /// For each link, the number of its packets.
    counts: Vec<(LinkId, usize)>,
    /// The SACK pool's entries of these packets, in their order: blocks, numbers and announcements.
    sacks: Vec<SackRecord>,
    /// Flows that are done, and when they retire.
    done: Vec<(Time, u32)>,
    /// Flows that have started after others, and when.
    started: Vec<(Time, u32)>,
}

/// The report of a partition to all others.
#[derive(Default)]
struct Report {
    /// When its next event happens.
    next_event: AtomicU64,
    /// Its packet-hops; that of the first partition also the work of the run's controls.
    work: AtomicU64,
}

/// Reports and mailboxes between two rounds.
struct Exchange {
    reports: Vec<Report>,
    /// The mailboxes, by receiver and sender.
    mailboxes: Vec<Vec<Mutex<Mailbox>>>,
}

/// The barrier between two rounds.
pub struct Barrier<'a> {
    partitioning: &'a Partitioning,
    /// One exchange for even and one for odd rounds, so that no partition writes data that another still reads.
    exchanges: [Exchange; 2],
    /// Partitions that have come.
    waiting: AtomicUsize,
    /// Number of rounds so far.
    rounds: AtomicUsize,
    sleepers: Mutex<()>,
    all_have_come: Condvar,
    is_broken: AtomicBool,
    /// The partitions stop after this work: packet-hops, and events of controls.
    enough: u64,
}

/// Breaks the barrier when its thread panics: the others must not wait for ever.
struct Alarm<'a>(&'a Barrier<'a>);

impl Drop for Alarm<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.is_broken.store(true, Ordering::SeqCst);
            self.0.wake();
        }
    }
}

impl Exchange {
    fn new(partitions: usize) -> Exchange {
        let mailboxes = || std::iter::repeat_with(Mutex::default).take(partitions).collect();
        Exchange {
            reports: std::iter::repeat_with(Report::default).take(partitions).collect(),
            mailboxes: std::iter::repeat_with(mailboxes).take(partitions).collect(),
        }
    }

    fn mailbox(&self, receiver: usize, sender: usize) -> MutexGuard<'_, Mailbox> {
        self.mailboxes[receiver][sender].lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<'a> Barrier<'a> {
    /// A barrier for all partitions. The run pauses after this work: packet-hops, and events of controls.
    pub fn new(partitioning: &'a Partitioning, enough: u64) -> Barrier<'a> {
        Barrier {
            partitioning,
            exchanges: [Exchange::new(partitioning.count), Exchange::new(partitioning.count)],
            waiting: AtomicUsize::new(0),
            rounds: AtomicUsize::new(0),
            sleepers: Mutex::new(()),
            all_have_come: Condvar::new(),
            is_broken: AtomicBool::new(false),
            enough,
        }
    }

    /// Goes through rounds with the other partitions, until there was enough work. Returns `false` at the end of the run, and the CPU time of this
    /// thread without its waits.
    pub fn run(&self, engine: &mut Engine<EpochLoop>, partition: usize) -> (bool, Option<Duration>) {
        let _alarm = Alarm(self);
        let (mut worked, mut patience) = (Worked::begin(), Patience::new(self.partitioning.count));
        let goes_on = loop {
            let round = self.rounds.load(Ordering::Acquire);
            let exchange = &self.exchanges[round % 2];
            if !self.send(engine, partition, exchange) {
                break false;
            }
            worked.without(self.wait(round, &mut patience));
            if !self.process_round(engine, partition, exchange) {
                break true;
            }
        };
        (goes_on, worked.end())
    }

    /// [`Self::run`] of all partitions, one after another on this thread.
    #[cfg(test)]
    pub fn run_in_turn(&self, engines: &mut [Engine<EpochLoop>]) -> bool {
        loop {
            let exchange = &self.exchanges[self.rounds.fetch_add(1, Ordering::Relaxed) % 2];
            let partitions = || 0..self.partitioning.count;
            if partitions().filter(|index| self.send(&mut engines[*index], *index, exchange)).count() == 0 {
                return false;
            }
            if partitions().filter(|index| self.process_round(&mut engines[*index], *index, exchange)).count() == 0 {
                return true;
            }
        }
    }

    /// Call when all events before the next round are processed here. Sends the packets that arrive elsewhere in that round, and reports the next
    /// event. Returns `false`, and sends nothing, if there is no next round.
    fn send(&self, engine: &mut Engine<EpochLoop>, partition: usize, exchange: &Exchange) -> bool {
        if engine.processed_until() > engine.clock.end() {
            engine.clock.set(engine.clock.end());
            return false;
        }
        engine.change_network();
        let first_arrival = self.fill_mailboxes(engine, partition, exchange, self.end_of_round(engine));
        let report = &exchange.reports[partition];
        report.next_event.store(first_arrival.min(engine.next_event()).0, Ordering::Relaxed);
        let of_controls = if partition == 0 { engine.work_of_controls() } else { 0 };
        report.work.store(engine.packet_hops() + of_controls, Ordering::Relaxed);
        true
    }

    /// Called when all partitions have sent. Reads this partition's mailboxes, and processes the next round. If the round has no event, it skips to
    /// the round of the next event. Returns `false`, and does nothing, if there was enough work.
    fn process_round(&self, engine: &mut Engine<EpochLoop>, partition: usize, exchange: &Exchange) -> bool {
        for sender in (0..self.partitioning.count).filter(|sender| *sender != partition) {
            engine.read_mail(&mut exchange.mailbox(partition, sender));
        }
        let reports = || exchange.reports.iter();
        let work: u64 = reports().map(|report| report.work.load(Ordering::Relaxed)).sum();
        if work >= self.enough {
            return false;
        }
        let next = reports().map(|report| report.next_event.load(Ordering::Relaxed)).min().unwrap_or(u64::MAX);
        let (round, end_of_round) = (self.partitioning.round.0, self.end_of_round(engine));
        if Time(next) < end_of_round {
            engine.run_until(end_of_round);
        } else {
            let later = Time(next / round * round).max(end_of_round);
            engine.skip_to(later.min(engine.clock.next_change()).min(Time(engine.clock.end().0 + 1)));
        }
        true
    }

    /// The end of the current round; a network event cuts it short.
    fn end_of_round(&self, engine: &Engine<EpochLoop>) -> Time {
        let round = self.partitioning.round.0;
        let end = Time((engine.processed_until().0 / round + 1) * round);
        end.min(engine.clock.next_change()).min(Time(engine.clock.end().0 + 1))
    }

    /// Sends the packets that arrive elsewhere before an instant, and the flows that are done. Returns when the first packet arrives.
    fn fill_mailboxes(
        &self,
        engine: &mut Engine<EpochLoop>,
        partition: usize,
        exchange: &Exchange,
        before: Time,
    ) -> Time {
        let mut first = Time::NEVER;
        for index in 0..engine.event_loop.outgoing.len() {
            let link = engine.event_loop.outgoing[index];
            let state = engine.network.link(link);
            if state.next_arrival() < before {
                first = first.min(state.next_arrival());
                let receiver = self.partitioning.partition_of(state.dst);
                engine.send_packets(link, before, &mut exchange.mailbox(receiver, partition));
            }
        }
        for (at, flow) in std::mem::take(&mut engine.event_loop.done_flows) {
            let receiver = self.partitioning.partition_of(engine.hosts.identity(flow).dst);
            exchange.mailbox(receiver, partition).done.push((at, flow));
        }
        for (at, flow) in std::mem::take(&mut engine.event_loop.started_flows) {
            let receiver = self.partitioning.partition_of(engine.hosts.identity(flow).dst);
            exchange.mailbox(receiver, partition).started.push((at, flow));
        }
        first
    }

    /// Waits until all partitions have reached the end of this round. Returns how long it looked for them before it slept.
    fn wait(&self, round: usize, patience: &mut Patience) -> Duration {
        if self.waiting.fetch_add(1, Ordering::AcqRel) + 1 == self.partitioning.count {
            self.waiting.store(0, Ordering::Relaxed);
            self.rounds.store(round + 1, Ordering::Release);
            self.wake();
            return Duration::ZERO;
        }
        let is_over = || self.rounds.load(Ordering::Acquire) != round;
        let began = Instant::now();
        if patience.look(is_over) {
            return began.elapsed();
        }
        let looked = began.elapsed();
        let mut sleepers = self.sleepers.lock().unwrap_or_else(PoisonError::into_inner);
        while !is_over() {
            assert!(!self.is_broken.load(Ordering::SeqCst), "another partition of the run has failed");
            sleepers = self.all_have_come.wait(sleepers).unwrap_or_else(PoisonError::into_inner);
        }
        patience.has_slept(began.elapsed());
        looked
    }

    /// Wakes all that sleep. The lock ensures that no thread falls asleep after its last look.
    fn wake(&self) {
        let _sleepers = self.sleepers.lock().unwrap_or_else(PoisonError::into_inner);
        self.all_have_come.notify_all();
    }
}

impl Mailbox {
    #[inline(always)]
    fn put(&mut self, pool: &mut SackPool, packet: Packet) {
        if packet.has(HAS_SACK) {
            self.sacks.push(pool.remove(packet.number()));
        }
        self.packets.push(packet);
    }
}

impl Engine<EpochLoop> {
    /// The network events of the instant before which all is processed.
    fn change_network(&mut self) {
        if self.clock.next_change() == self.processed_until() {
            self.clock.set(self.processed_until());
            while self.clock.next_network_event() == self.processed_until() {
                self.on_network_event();
            }
        }
    }

    /// Sends the packets that arrive over a link before an instant.
    fn send_packets(&mut self, link: LinkId, before: Time, mailbox: &mut Mailbox) {
        let already = mailbox.packets.len();
        self.network.drain_wire(link, before, |pool, packet| mailbox.put(pool, packet));
        mailbox.counts.push((link, mailbox.packets.len() - already));
    }

    /// Puts packets from another partition on their wires, and notes the flows that are done there.
    fn read_mail(&mut self, mailbox: &mut Mailbox) {
        let (mut packets, mut sacks) = (mailbox.packets.drain(..), mailbox.sacks.drain(..));
        for (link, count) in mailbox.counts.drain(..) {
            for mut packet in packets.by_ref().take(count) {
                if packet.has(HAS_SACK) {
                    let record = sacks.next().expect("SACK blocks are sent with their ACK");
                    packet.set_number(self.network.pool_mut().add(&record));
                }
                self.network.put_on_wire(link, packet);
            }
            self.event_loop.wheel.insert(link, self.network.link(link).next_arrival());
        }
        let (hosts, mut context) = self.hosts_in_context();
        for (at, flow) in mailbox.done.drain(..) {
            hosts.retire_at(at, flow, &mut context);
        }
        for (at, flow) in mailbox.started.drain(..) {
            self.note_start(at, flow);
        }
    }

    /// Notes that a flow has started in another partition. Its packets arrive later.
    pub(super) fn note_start(&mut self, at: Time, flow: u32) {
        let now = self.clock.now();
        self.clock.set(at);
        let (hosts, mut context) = self.hosts_in_context();
        hosts.on_started_elsewhere(flow, &mut context);
        self.clock.set(now);
    }
}
