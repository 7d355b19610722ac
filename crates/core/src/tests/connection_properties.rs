//! Properties of a sender and a receiver, joined by two channels that lose, delay, reorder, duplicate and mark by a
//! script. The tests cover every congestion control, detector and ACK policy of the registries. For any finite script,
//! everything is delivered once, in order and in time. The sender's counters are correct at every step.

use crate::rng::{Purpose, Stream};
use crate::spec::{EcnEcho, Follows, ProtocolSpec, SpuriousResponse, StackSettings, StackSpec};
use crate::tcp::ack::AckSpec;
use crate::tcp::congestion::CongestionSpec;
use crate::tcp::congestion::slow_start::SlowStartSpec;
use crate::tcp::detection::DetectionSpec;
use crate::tcp::receiver::{Ack, DataSegment, Receiver, Timestamp};
use crate::tcp::sender::{Sender, Transmission};
use crate::units::{Duration, Time};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

/// The effect of a channel on one packet.
#[derive(Debug, Clone, Copy)]
enum Fate {
    Lost,
    /// It arrives this number of milliseconds later than the base delay.
    Late(u64),
    /// It arrives twice, each time this number of milliseconds late.
    Twice(u64, u64),
    /// It arrives with congestion experienced (an ACK: as it is).
    Marked,
}

fn fate() -> impl Strategy<Value = Fate> {
    prop_oneof![
        3 => Just(Fate::Late(0)),
        3 => Just(Fate::Lost),
        2 => (0u64..40).prop_map(Fate::Late),
        1 => (100u64..900).prop_map(Fate::Late),
        1 => (0u64..300, 0u64..300).prop_map(|(first, second)| Fate::Twice(first, second)),
        1 => Just(Fate::Marked),
    ]
}

/// Single fates, outages long enough for the timer, and packets sprayed over two paths of different delay.
fn fates() -> impl Strategy<Value = Vec<Fate>> {
    let sprayed = |(pairs, longer)| [Fate::Late(0), Fate::Late(longer)].repeat(pairs);
    let stretch = prop_oneof![
        30 => fate().prop_map(|fate| vec![fate]),
        1 => (5usize..30).prop_map(|packets| vec![Fate::Lost; packets]),
        1 => (5usize..15, 5u64..120).prop_map(sprayed),
    ];
    prop::collection::vec(stretch, 0..70).prop_map(|stretches| stretches.concat())
}

/// The part of a test case that does not depend on the algorithms.
#[derive(Debug, Clone)]
struct Script {
    data: Vec<Fate>,
    acks: Vec<Fate>,
    /// Writes of the application: milliseconds since the previous write, and number of segments.
    writes: Vec<(u64, u32)>,
    /// Milliseconds that the data channel needs for one segment: a bottleneck with an endless queue.
    serialization: u64,
    /// Paths that the routing offers, as the sender is told.
    paths: u32,
    stack: Switches,
}

#[derive(Debug, Clone, Copy)]
struct Switches {
    sack: bool,
    spurious: SpuriousResponse,
    f_rto: bool,
    limited_transmit: bool,
    pacing: bool,
    ecn: bool,
    handshake: bool,
    slow_start: SlowStartSpec,
    ecn_echo: EcnEcho,
    initial_window: u32,
    receive_window: u32,
    follows: Follows,
    restart_after_idle: bool,
}

fn switches() -> impl Strategy<Value = Switches> {
    let spurious =
        prop_oneof![Just(SpuriousResponse::None), Just(SpuriousResponse::Dsack), Just(SpuriousResponse::Eifel)];
    let slow_start =
        prop::sample::select(every::<SlowStartSpec>(SlowStartSpec::describe().iter().map(|info| info.name)));
    let follows = prop::sample::select(vec![Follows::Rfc, Follows::Linux, Follows::Ns2]);
    let flags = prop::array::uniform7(any::<bool>());
    let echo = prop_oneof![Just(EcnEcho::Classic), Just(EcnEcho::Exact), Just(EcnEcho::Accecn), Just(EcnEcho::Ace)];
    let windows = (1u32..12, prop_oneof![1u32..6, 6u32..200]);
    (flags, spurious, slow_start, echo, windows, follows).prop_map(
        |(flags, spurious, slow_start, ecn_echo, (initial_window, receive_window), follows)| {
            let [sack, f_rto, limited_transmit, pacing, ecn, handshake, restart] = flags;
            Switches {
                sack,
                spurious,
                f_rto,
                limited_transmit,
                pacing,
                ecn,
                handshake,
                slow_start,
                ecn_echo,
                initial_window,
                receive_window,
                follows,
                restart_after_idle: restart,
            }
        },
    )
}

fn script() -> impl Strategy<Value = Script> {
    (
        fates(),
        fates(),
        prop::collection::vec((prop_oneof![3 => 0u64..700, 1 => 1000u64..8000], 1u32..40), 1..4),
        0u64..3,
        1u32..9,
        switches(),
    )
        .prop_map(|(data, acks, writes, serialization, paths, stack)| Script {
            data,
            acks,
            writes,
            serialization,
            paths,
            stack,
        })
}

fn every<T: serde::de::DeserializeOwned>(names: impl IntoIterator<Item = &'static str>) -> Vec<T> {
    let of = |name| serde_json::from_value(serde_json::json!({ "name": name })).expect("defaults suffice");
    names.into_iter().map(of).collect()
}

const MSS: u32 = 1000;
const BASE_DELAY: Duration = Duration::from_millis(20);
const MAX_RTO: Duration = Duration::from_secs(2);

fn stack(congestion: CongestionSpec, detection: DetectionSpec, ack: AckSpec, switches: &Switches) -> StackSpec {
    StackSpec {
        name: String::new(),
        congestion: congestion.into(),
        slow_start: switches.slow_start,
        detection,
        ack,
        protocol: ProtocolSpec::default(),
        entropy: None,
        settings: StackSettings {
            ecn_echo: switches.ecn_echo,
            sack: switches.sack,
            spurious: switches.spurious,
            f_rto: switches.f_rto,
            limited_transmit: switches.limited_transmit,
            ecn: switches.ecn,
            pacing: switches.pacing,
            handshake: switches.handshake,
            mss: MSS,
            initial_window: switches.initial_window,
            receive_window: u64::from(switches.receive_window * MSS),
            max_rto: MAX_RTO,
            follows: switches.follows,
            restart_after_idle: switches.restart_after_idle,
            ..StackSettings::default()
        },
    }
}

enum Event {
    Syn,
    SynAck,
    Answer(u32),
    Data(DataSegment),
    Ack(Ack),
}

/// Both ends, and the packets between them.
struct World<'a> {
    script: &'a Script,
    sender: Sender,
    receiver: Receiver,
    now: Time,
    total: u32,
    written: u32,
    way: BTreeMap<(Time, u64), Event>,
    data_packets: usize,
    ack_packets: usize,
    packets: u64,
    busy_until: Time,
    arrived: Segments,
    /// Arrived segments that no receiver may reject: no segment that makes them too old arrived before.
    accepted: Segments,
    /// The oldest transmission that all arrivals tolerate (PAWS).
    oldest: u32,
    transmissions: u32,
    highest_sent: u32,
}

/// Segments that have arrived.
#[derive(Default)]
struct Segments {
    all: BTreeSet<u32>,
    /// The first that has not.
    in_order: u32,
}

impl Segments {
    fn insert(&mut self, segment: u32) {
        self.all.insert(segment);
        while self.all.contains(&self.in_order) {
            self.in_order += 1;
        }
    }
}

impl<'a> World<'a> {
    fn new(script: &'a Script, stack: &StackSpec) -> World<'a> {
        World {
            script,
            sender: Sender::new(stack, script.paths, Stream::new(1, Purpose::Congestion, 0)),
            receiver: Receiver::of_stack(stack),
            now: Time::ZERO,
            total: script.writes.iter().map(|(_, segments)| segments).sum(),
            written: 0,
            way: BTreeMap::new(),
            data_packets: 0,
            ack_packets: 0,
            packets: 0,
            busy_until: Time::ZERO,
            arrived: Segments::default(),
            accepted: Segments::default(),
            oldest: 0,
            transmissions: 0,
            highest_sent: 0,
        }
    }

    /// Puts a packet on its way: `make` builds it, marked or not.
    fn send(&mut self, is_data: bool, make: impl Fn(bool) -> Event) {
        let (fates, counter) = if is_data {
            (&self.script.data, &mut self.data_packets)
        } else {
            (&self.script.acks, &mut self.ack_packets)
        };
        let fate = fates.get(*counter).copied().unwrap_or(Fate::Late(0));
        *counter += 1;
        let mut departure = self.now;
        if is_data {
            self.busy_until = self.busy_until.max(self.now) + Duration::from_millis(self.script.serialization);
            departure = self.busy_until;
        }
        let mut arrive = |late, marked| {
            self.packets += 1;
            let at = departure + BASE_DELAY + Duration::from_millis(late);
            self.way.insert((at, self.packets), make(marked && self.script.stack.ecn));
        };
        match fate {
            Fate::Lost => {}
            Fate::Late(late) => arrive(late, false),
            Fate::Marked => arrive(0, true),
            Fate::Twice(first, second) => {
                arrive(first, false);
                arrive(second, false);
            }
        }
    }

    fn pump(&mut self) {
        for _ in 0..10_000 {
            let Some(transmission) = self.sender.poll_transmit(self.now) else { return self.check() };
            match transmission {
                Transmission::Syn => self.send(true, |_| Event::Syn),
                Transmission::Answer { segment } => self.send(true, |_| Event::Answer(segment)),
                Transmission::Data { segment, number, retransmission, window_reduced, push, oldest } => {
                    assert_eq!(number, self.transmissions, "numbers of transmissions count up");
                    assert_eq!(retransmission, segment < self.highest_sent);
                    assert!(segment < self.written, "segment {segment} was never written");
                    let una = self.sender.scoreboard().una();
                    assert!(segment - una < self.script.stack.receive_window, "beyond the receive window");
                    assert!(!window_reduced || self.script.stack.ecn, "CWR without ECN");
                    self.transmissions += 1;
                    self.highest_sent = self.highest_sent.max(segment + 1);
                    let push = push || segment + 1 == self.total;
                    self.send(true, |marked| {
                        let timestamp = Some(Timestamp { number, oldest, echo: 0 });
                        Event::Data(DataSegment { segment, retransmission, marked, window_reduced, push, timestamp })
                    });
                }
            }
            self.check();
        }
        panic!("the sender does not stop sending at {}", self.now);
    }

    /// Checks the properties that must hold at every step.
    fn check(&self) {
        let board = self.sender.scoreboard();
        let (mut sacked, mut lost) = (0, 0);
        for segment in board.una()..board.next() {
            if board.is_sacked(segment) {
                sacked += 1;
                assert!(self.arrived.all.contains(&segment), "segment {segment} is sacked and never arrived");
            }
            lost += u32::from(board.is_lost(segment));
        }
        let recounted = board.outstanding() - sacked - lost;
        assert_eq!((board.sacked(), board.lost()), (sacked, lost));
        assert_eq!(board.in_flight(), recounted.saturating_sub(board.duplicates()), "in_flight");
        assert!(board.duplicates() <= recounted && (!self.script.stack.sack || board.duplicates() == 0));
        assert_eq!(board.next(), self.highest_sent);
        let delivered = self.receiver.delivered();
        assert!(board.una() <= delivered, "acknowledged before it was delivered");
        let congestion = self.sender.congestion();
        assert!(congestion.cwnd() >= 1.0 && congestion.cwnd() < 1e9, "cwnd {}", congestion.cwnd());
        assert!(congestion.ssthresh() >= 1.0, "ssthresh {}", congestion.ssthresh());
        assert!(self.sender.window() >= 1);
        assert!(self.sender.pacing_rate().is_none_or(|rate| rate.0 > 0), "a pacing rate of zero");
        let rtt = self.sender.rtt();
        assert!(rtt.rto() <= MAX_RTO.max(Duration::from_secs(1)) && rtt.rto().0 > 0);
        if self.sender.is_done() {
            assert_eq!(delivered, self.written, "done before all is delivered");
        }
        let counters = self.sender.counters();
        assert_eq!(counters.sent, u64::from(self.transmissions));
        assert_eq!(counters.sent - counters.retransmits, u64::from(self.highest_sent));
    }

    fn arrive(&mut self, event: Event) {
        match event {
            Event::Syn => self.send(false, |_| Event::SynAck),
            Event::SynAck => {
                self.sender.on_established(self.now, None);
                self.pump();
            }
            Event::Data(data) => {
                self.arrived.insert(data.segment);
                if let Some(Timestamp { number, oldest, .. }) = data.timestamp {
                    if self.script.stack.follows != Follows::Linux || number >= self.oldest {
                        self.accepted.insert(data.segment);
                    }
                    self.oldest = self.oldest.max(oldest);
                }
                let ack = self.receiver.on_segment(self.now, &data);
                let (least, most) = (self.accepted.in_order, self.arrived.in_order);
                let delivered = self.receiver.delivered();
                assert!((least..=most).contains(&delivered), "{delivered} delivered in order, of {least} to {most}");
                if let Some(ack) = ack {
                    self.send(false, |_| Event::Ack(ack));
                } else {
                    assert!(self.receiver.deadline().is_some(), "a segment without an ACK at any time");
                }
            }
            Event::Answer(segment) => {
                if self.receiver.on_bare_ack(self.now, segment) {
                    let ack = self.receiver.acknowledge(self.now);
                    self.send(false, |_| Event::Ack(ack));
                }
            }
            Event::Ack(ack) => {
                self.sender.on_ack(self.now, &ack);
                self.pump();
            }
        }
    }

    fn run(&mut self) {
        let mut writes = BTreeMap::new();
        let mut at = Time::ZERO;
        for (index, (wait, segments)) in self.script.writes.iter().enumerate() {
            at += Duration::from_millis(*wait);
            writes.insert((at, index), *segments);
        }
        // Each lost packet costs at most a backed-off timeout, and each late one its lateness.
        let adversity = self.script.data.len() + self.script.acks.len();
        let limit = at + Duration::from_secs(60) + (MAX_RTO + Duration::from_millis(1000)) * adversity as u64;
        let mut served_in_this_instant = 0;
        for _ in 0..100_000 {
            let write = writes.first_key_value().map_or(Time::NEVER, |(key, _)| key.0);
            let arrival = self.way.first_key_value().map_or(Time::NEVER, |(key, _)| key.0);
            let due = self.sender.deadline().unwrap_or(Time::NEVER).max(self.now);
            let answer = self.receiver.deadline().unwrap_or(Time::NEVER);
            let next = write.min(arrival).min(due).min(answer);
            if next >= Time::NEVER {
                break;
            }
            // After an outage the RTT of a segment sent once is as long, and pacing spreads a window over it.
            let patience = if self.sender.pacing_rate().is_some() { u64::from(self.total) } else { 1 };
            let limit = Time::ZERO + (limit - Time::ZERO) * patience;
            assert!(next <= limit, "not done at {limit}: {} of {}", self.receiver.delivered(), self.total);
            served_in_this_instant = if next > self.now { 0 } else { served_in_this_instant };
            self.now = next;
            if next == write {
                let (_, segments) = writes.pop_first().expect("it was just looked at");
                self.written += segments;
                self.sender.write(self.now, segments);
                self.pump();
            } else if next == arrival {
                let (_, event) = self.way.pop_first().expect("it was just looked at");
                self.arrive(event);
            } else if next == due {
                self.sender.on_deadline(self.now);
                self.pump();
                served_in_this_instant += 1;
                // Two timers may be due at one instant, the pacing and the detector's.
                assert!(served_in_this_instant < 4, "a deadline that stays in the past at {}", self.now);
            } else {
                let ack = self.receiver.acknowledge(self.now);
                self.send(false, |_| Event::Ack(ack));
            }
        }
        assert!(self.sender.is_done(), "a deadlock at {}: {} of {}", self.now, self.receiver.delivered(), self.total);
        assert_eq!(self.receiver.delivered(), self.total);
        assert_eq!(self.sender.scoreboard().outstanding(), 0);
        // A timeout or an episode may send a window again; neither happens without an adverse packet.
        let counters = self.sender.counters();
        let bound = (adversity as u64 + 1) * 4 + u64::from(self.total) * 4;
        assert!(counters.retransmits <= bound, "{} retransmissions of {} segments", counters.retransmits, self.total);
    }
}

proptest! {
    #[test]
    fn everything_is_delivered_once_in_order_and_in_time(script in script()) {
        for congestion in every::<CongestionSpec>(CongestionSpec::describe().iter().map(|info| info.name)) {
            for detection in every::<DetectionSpec>(DetectionSpec::describe().iter().map(|info| info.name)) {
                for ack in every::<AckSpec>(AckSpec::describe().iter().map(|info| info.name)) {
                    let stack = stack(congestion, detection, ack, &script.stack);
                    let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| World::new(&script, &stack).run()));
                    if let Err(cause) = outcome {
                        let text = cause.downcast_ref::<String>().cloned();
                        let text = text.or_else(|| cause.downcast_ref::<&str>().map(|text| text.to_string()));
                        let names = (congestion.name(), detection.name(), ack.name());
                        prop_assert!(false, "{names:?}: {}", text.unwrap_or_default());
                    }
                }
            }
        }
    }
}
