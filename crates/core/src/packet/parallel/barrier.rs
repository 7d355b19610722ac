//! How the parts go through rounds, and what they hand over between two.
//!
//! All parts come to the same instants by themselves: the ends of rounds, and what happens to the network as a whole. They meet once a
//! round, when all before an instant is done: each has put down what it has for the others, and when something happens next.

use super::partition::Partitioning;
use crate::packet::engine::Engine;
use crate::packet::epochs::event_loop::EpochLoop;
use crate::packet::link::packet::{HAS_SACK, Packet};
use crate::packet::link::sack_pool::SackPool;
use crate::spec::LinkId;
use crate::tcp::receiver::SackBlocks;
use crate::units::Time;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Who waits looks so often whether all have come, some tenths of a millisecond, before it leaves the core to others.
const LOOKS: u32 = 20_000;

/// What one part has for another.
#[derive(Default)]
struct Mail {
    /// Packets that arrive in the next round, link by link.
    packets: Vec<Packet>,
    /// Of which link the next ones are, and how many.
    runs: Vec<(LinkId, usize)>,
    /// The blocks that stand beside them and the ACKs' numbers, in their order.
    beside: Vec<(SackBlocks, u32)>,
    /// Flows that are done, and the time until which their connections stay.
    done: Vec<(Time, u32)>,
}

/// What a part says at a meeting.
#[derive(Default)]
struct Word {
    /// When something happens there next.
    next: AtomicU64,
    packet_hops: AtomicU64,
}

/// What is put down for one meeting.
struct Table {
    words: Vec<Word>,
    /// From each part to each other, by receiver and sender.
    mail: Vec<Vec<Mutex<Mail>>>,
}

/// Where the parts meet.
pub struct Barrier<'a> {
    division: &'a Partitioning,
    /// One for every second meeting, so that nobody writes what another still reads.
    tables: [Table; 2],
    waiting: AtomicUsize,
    meetings: AtomicUsize,
    sleepers: Mutex<()>,
    all_are_here: Condvar,
    is_broken: AtomicBool,
    /// The parts part when so many packet-hops are behind them.
    enough: u64,
}

/// Whoever waits for a thread that has panicked must not wait for ever.
struct Alarm<'a>(&'a Barrier<'a>);

impl Drop for Alarm<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.is_broken.store(true, Ordering::SeqCst);
            self.0.wake();
        }
    }
}

impl Table {
    fn new(parts: usize) -> Table {
        let mail = || std::iter::repeat_with(Mutex::default).take(parts).collect();
        Table {
            words: std::iter::repeat_with(Word::default).take(parts).collect(),
            mail: std::iter::repeat_with(mail).take(parts).collect(),
        }
    }

    fn mail(&self, receiver: usize, sender: usize) -> MutexGuard<'_, Mail> {
        self.mail[receiver][sender].lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<'a> Barrier<'a> {
    /// Of all parts, until so many packet-hops are behind them.
    pub fn new(division: &'a Partitioning, enough: u64) -> Barrier<'a> {
        Barrier {
            division,
            tables: [Table::new(division.parts), Table::new(division.parts)],
            waiting: AtomicUsize::new(0),
            meetings: AtomicUsize::new(0),
            sleepers: Mutex::new(()),
            all_are_here: Condvar::new(),
            is_broken: AtomicBool::new(false),
            enough,
        }
    }

    /// A part goes through rounds with the others, until enough has happened; `false` at the end of the run.
    pub fn attend(&self, engine: &mut Engine<EpochLoop>, part: usize) -> bool {
        let _alarm = Alarm(self);
        loop {
            let meeting = self.meetings.load(Ordering::Acquire);
            let table = &self.tables[meeting % 2];
            if !self.speak(engine, part, table) {
                return false;
            }
            self.wait(meeting);
            if !self.go_on(engine, part, table) {
                return true;
            }
        }
    }

    /// [`Self::attend`] of all parts, one after another on this thread.
    #[cfg(test)]
    pub fn attend_in_turn(&self, engines: &mut [Engine<EpochLoop>]) -> bool {
        loop {
            let table = &self.tables[self.meetings.fetch_add(1, Ordering::Relaxed) % 2];
            let parts = || 0..self.division.parts;
            if parts().filter(|part| self.speak(&mut engines[*part], *part, table)).count() == 0 {
                return false;
            }
            if parts().filter(|part| self.go_on(&mut engines[*part], *part, table)).count() == 0 {
                return true;
            }
        }
    }

    /// All before the next round is done here: the part puts down what arrives elsewhere in that round, and when something happens here
    /// next. `false`, and nothing put down, if there is no next round.
    fn speak(&self, engine: &mut Engine<EpochLoop>, part: usize, table: &Table) -> bool {
        if engine.done() > engine.clock.end() {
            engine.clock.set(engine.clock.end());
            return false;
        }
        engine.change_network();
        let arrives = self.give_mail(engine, part, table, self.end_of_round(engine));
        table.words[part].next.store(arrives.min(engine.next_event()).0, Ordering::Relaxed);
        table.words[part].packet_hops.store(engine.packet_hops(), Ordering::Relaxed);
        true
    }

    /// All parts have spoken: this one takes what there is for it, and goes through the next round, or on to that in which something
    /// happens. `false`, and no further, if enough has happened.
    fn go_on(&self, engine: &mut Engine<EpochLoop>, part: usize, table: &Table) -> bool {
        for sender in (0..self.division.parts).filter(|sender| *sender != part) {
            engine.take_mail(&mut table.mail(part, sender));
        }
        let packet_hops: u64 = table.words.iter().map(|word| word.packet_hops.load(Ordering::Relaxed)).sum();
        if packet_hops >= self.enough {
            return false;
        }
        let next = table.words.iter().map(|word| word.next.load(Ordering::Relaxed)).min().unwrap_or(u64::MAX);
        let (round, end_of_round) = (self.division.round.0, self.end_of_round(engine));
        if Time(next) < end_of_round {
            engine.go_until(end_of_round);
        } else {
            let later = Time(next / round * round).max(end_of_round);
            engine.skip_to(later.min(engine.clock.next_change()).min(Time(engine.clock.end().0 + 1)));
        }
        true
    }

    /// The end of the round that begins, or goes on, when all is done that is: what happens to the network cuts it short.
    fn end_of_round(&self, engine: &Engine<EpochLoop>) -> Time {
        let round = self.division.round.0;
        Time((engine.done().0 / round + 1) * round).min(engine.clock.next_change()).min(Time(engine.clock.end().0 + 1))
    }

    /// Gives away what arrives elsewhere before an instant, and the flows that are done. Returns when the first packet arrives.
    fn give_mail(&self, engine: &mut Engine<EpochLoop>, part: usize, table: &Table, before: Time) -> Time {
        let mut first = Time::NEVER;
        for index in 0..engine.order.outgoing.len() {
            let link = engine.order.outgoing[index];
            let state = engine.network.link(link);
            if state.next_arrival() < before {
                first = first.min(state.next_arrival());
                let receiver = self.division.part_of(state.dst);
                engine.give_packets(link, before, &mut table.mail(receiver, part));
            }
        }
        for (at, flow) in std::mem::take(&mut engine.order.done_flows) {
            let receiver = engine.hosts.identity(flow).dst;
            table.mail(self.division.part_of(receiver), part).done.push((at, flow));
        }
        first
    }

    /// Waits until all parts have come to a meeting.
    fn wait(&self, meeting: usize) {
        if self.waiting.fetch_add(1, Ordering::AcqRel) + 1 == self.division.parts {
            self.waiting.store(0, Ordering::Relaxed);
            self.meetings.store(meeting + 1, Ordering::Release);
            self.wake();
            return;
        }
        let is_over = || self.meetings.load(Ordering::Acquire) != meeting;
        for _ in 0..LOOKS {
            if is_over() {
                return;
            }
            std::hint::spin_loop();
        }
        let mut sleepers = self.sleepers.lock().unwrap_or_else(PoisonError::into_inner);
        while !is_over() {
            assert!(!self.is_broken.load(Ordering::SeqCst), "another part of the run has failed");
            sleepers = self.all_are_here.wait(sleepers).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Wakes whoever sleeps until all are here. Under the lock, so that nobody goes to sleep between looking and sleeping.
    fn wake(&self) {
        let _sleepers = self.sleepers.lock().unwrap_or_else(PoisonError::into_inner);
        self.all_are_here.notify_all();
    }
}

impl Mail {
    #[inline(always)]
    fn put(&mut self, pool: &mut SackPool, packet: Packet) {
        if packet.has(HAS_SACK) {
            let number = pool.number(packet.number());
            let mut blocks = SackBlocks::default();
            pool.take(packet.number(), &mut blocks);
            self.beside.push((blocks, number));
        }
        self.packets.push(packet);
    }
}

impl Engine<EpochLoop> {
    /// The network events of the instant before which all is done happen.
    fn change_network(&mut self) {
        if self.clock.next_change() == self.done() {
            self.clock.set(self.done());
            while self.clock.next_network_event() == self.done() {
                self.on_network_event();
            }
        }
    }

    /// Gives away what arrives over a link before an instant.
    fn give_packets(&mut self, link: LinkId, before: Time, mail: &mut Mail) {
        let already = mail.packets.len();
        self.network.drain_wire(link, before, |pool, packet| mail.put(pool, packet));
        mail.runs.push((link, mail.packets.len() - already));
    }

    /// What arrives over links from another part in the next round, and the flows that are done there.
    fn take_mail(&mut self, mail: &mut Mail) {
        let (mut packets, mut beside) = (mail.packets.drain(..), mail.beside.drain(..));
        for (link, count) in mail.runs.drain(..) {
            for mut packet in packets.by_ref().take(count) {
                if packet.has(HAS_SACK) {
                    let (blocks, number) = beside.next().expect("what stands beside a packet comes with it");
                    packet.set_number(self.network.pool_mut().put(&blocks, number));
                }
                self.network.put_on_wire(link, packet);
            }
            self.order.is_due(link, self.network.link(link).next_arrival());
        }
        let (hosts, mut context) = self.hosts();
        for (at, flow) in mail.done.drain(..) {
            hosts.retire_at(at, flow, &mut context);
        }
    }
}
