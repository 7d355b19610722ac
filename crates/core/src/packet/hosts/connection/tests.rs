use super::*;
use crate::rng::{Purpose, Stream};
use crate::spec::StackSpec;
use crate::tcp::receiver::Receiver;
use crate::tcp::sender::Sender;
use crate::units::Duration;
use proptest::prelude::*;
use serde_json::json;
use std::collections::VecDeque;

const RTT: Duration = Duration::from_millis(40);

fn connection(follows: &str, receive_window: u64) -> Connection {
    let stack: StackSpec = serde_json::from_value(json!({
        "name": "stack", "congestion": {"name": "newreno"}, "slow_start": {"name": "classic"},
        "detection": {"name": "rack-tlp", "rtt_by_sequence": follows == "linux"}, "ack": {"name": "quick-ack"}, "sack": true,
        "spurious": "eifel", "f_rto": true, "limited_transmit": true, "ecn": false, "pacing": false, "handshake": true,
        "mss": 1448, "header": 52, "initial_window": 10, "receive_window": receive_window, "follows": follows,
        "min_rto": 200_000_000_000_u64, "max_rto": 1_000_000_000_000_u64, "initial_rto": 1_000_000_000_000_u64}))
    .unwrap();
    let mut sender = Sender::new(&stack, 1, Stream::new(1, Purpose::Congestion, 0));
    sender.write(Time::ZERO, 1_000_000);
    Connection::new(sender, Receiver::of_stack(&stack), None)
}

/// Both ends over a path that loses every n-th packet, with another n in each direction.
struct Path {
    connection: Connection,
    pool: SackPool,
    now: Time,
    data: VecDeque<(Time, Packet)>,
    acks: VecDeque<(Time, Packet)>,
    /// For data and for ACKs: the number of packets sent, and n if every n-th packet is lost.
    sent: [(u64, u64); 2],
    /// The segment behind the window, as the receiver has said it.
    edge: u32,
}

impl Path {
    fn new(connection: Connection, lost: [u64; 2]) -> Path {
        let edge = connection.sender.window_edge();
        let sent = lost.map(|every| (0, every));
        let (data, acks) = (VecDeque::new(), VecDeque::new());
        Path { connection, pool: SackPool::default(), now: Time::ZERO, data, acks, sent, edge }
    }

    fn transmit(&mut self, packet: Packet, is_ack: bool) {
        let (count, every) = &mut self.sent[usize::from(is_ack)];
        *count += 1;
        if !packet.has(SYN) && *count % *every == 0 {
            if packet.has(HAS_SACK) {
                self.pool.release(packet.number());
            }
            return;
        }
        let due = self.now + RTT / 2 + Duration::from_micros(*count % 7);
        if is_ack { &mut self.acks } else { &mut self.data }.push_back((due, packet));
    }

    fn answer(&mut self, packet: Packet) {
        let edge = match packet.has(HAS_SACK).then(|| self.pool.announcement(packet.number())).flatten() {
            Some(Announcement { window, .. }) if window > 0 => packet.segment() + window,
            _ => self.connection.receiver.window_edge().unwrap_or(u32::MAX),
        };
        assert!(edge >= self.edge, "the right edge moves back");
        self.edge = edge;
        self.transmit(packet, true);
    }

    /// The next event; everything that may be sent is sent after it.
    fn step(&mut self) {
        let at = |queue: &VecDeque<(Time, Packet)>| queue.iter().map(|(due, _)| *due).min().unwrap_or(Time::NEVER);
        let (data, ack) = (at(&self.data), at(&self.acks));
        let (ends, waits) = (self.connection.sender.deadline(), self.connection.receiver.deadline());
        let (ends, waits) = (ends.unwrap_or(Time::NEVER), waits.unwrap_or(Time::NEVER));
        self.now = data.min(ack).min(ends).min(waits).max(self.now);
        if self.now == data {
            let index = self.data.iter().position(|(due, _)| *due == data).unwrap();
            let (_, packet) = self.data.remove(index).unwrap();
            if packet.has(SYN) {
                if let Some(reply) = self.connection.accept(self.now, &packet, &mut self.pool) {
                    self.transmit(reply, true);
                }
            } else {
                assert!(packet.segment() < self.edge, "more than the receiver has said");
                if let Some(ack) = self.connection.answer(self.now, packet.words(), u32::MAX, &mut self.pool) {
                    self.answer(ack);
                }
            }
        } else if self.now == ack {
            let index = self.acks.iter().position(|(due, _)| *due == ack).unwrap();
            let (_, packet) = self.acks.remove(index).unwrap();
            if packet.has(SYN) {
                if let Some((ack, _)) = self.connection.establish(self.now, packet, &mut self.pool) {
                    self.transmit(ack, false);
                }
            } else {
                self.connection.take_ack(self.now, packet.words(), &mut self.pool);
            }
        } else if self.now == waits {
            let ack = self.connection.receiver.acknowledge(self.now);
            let packet = self.connection.packet_of(0, self.now, &ack, &mut self.pool);
            self.answer(packet);
        } else {
            self.connection.sender.on_deadline(self.now);
        }
        while let Some((packet, _)) = self.connection.next_packet(0, self.now, &mut self.pool) {
            self.transmit(packet, false);
        }
    }

    fn run(&mut self, until: Time) {
        while let Some((packet, _)) = self.connection.next_packet(0, self.now, &mut self.pool) {
            self.transmit(packet, false);
        }
        while self.now < until {
            self.step();
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    /// With any losses, the right edge never moves back, no segment lies beyond it, and the connection continues.
    #[test]
    fn linux_never_sends_beyond_the_window_that_the_receiver_has_said(
        receive_window in 65_537_u64..1_000_000, data in 15_u64..400, acks in 2_u64..50,
    ) {
        let mut path = Path::new(connection("linux", receive_window), [data, acks]);
        path.run(Time::ZERO + Duration::from_secs(2));
        let delivered = path.connection.receiver.delivered();
        path.run(Time::ZERO + Duration::from_secs(4));
        prop_assert!(path.connection.receiver.delivered() > delivered);
    }
}

/// Linux first announces 64 KB. Its buffer grows only when a second round trip brings more than ten segments, and 3 MB need many
/// more round trips. Other stacks open their window at once.
#[test]
fn only_linux_opens_its_window_by_and_by() {
    let window = |follows, round_trips| {
        let mut path = Path::new(connection(follows, 3 << 20), [u64::MAX; 2]);
        path.run(Time::ZERO + RTT * round_trips);
        path.connection.sender.window_edge() - path.connection.sender.scoreboard().una()
    };
    assert_eq!([1, 3, 30].map(|round_trips| window("rfc", round_trips)), [2172; 3]);
    assert_eq!([1, 3].map(|round_trips| window("linux", round_trips)), [45, 44]);
    // The ACK of a segment that fills a hole comes before the application reads up to seven of them.
    assert!((2165..=2171).contains(&window("linux", 30)));
    assert!((3 * 44..1000).contains(&window("linux", 9)));
}

/// Linux answers the SYN-ACK with an ACK of its own, and then sends data; the first segment of others is the answer.
#[test]
fn only_linux_ends_the_handshake_with_an_ack() {
    for (follows, first) in [("linux", Some(SYN | PUSH)), ("rfc", None)] {
        let mut connection = connection(follows, 3 << 20);
        let mut pool = SackPool::default();
        let (syn, _) = connection.next_packet(0, Time::ZERO, &mut pool).unwrap();
        let reply = connection.accept(Time::ZERO, &syn, &mut pool).unwrap();
        let ack = connection.establish(Time::ZERO + RTT, reply, &mut pool).map(|(ack, _)| ack);
        assert_eq!(ack, first.map(|flags| Packet::new(0, 0, 1, flags)));
        assert!(ack.is_none_or(|ack| connection.accept(Time::ZERO + RTT, &ack, &mut pool).is_none()));
        assert!(connection.next_packet(0, Time::ZERO + RTT, &mut pool).is_some_and(|(data, _)| !data.has(SYN)));
    }
}
