//! Loss recovery without SACK after a timeout, and with many losses in one window: NewReno's (RFC 6582) and Reno's (RFC 5681).

use crate::rng::{Purpose, Stream};
use crate::spec::StackSpec;
use crate::tcp::receiver::{Ack, SackBlocks};
use crate::tcp::sender::{Sender, Transmission};
use crate::units::{Duration, Time};

const RTT: Duration = Duration::from_millis(100);

fn sender() -> Sender {
    sender_of("newreno")
}

fn sender_of(congestion: &str) -> Sender {
    let stack: StackSpec = serde_json::from_value(serde_json::json!({
        "name": congestion, "congestion": { "name": congestion }, "slow_start": { "name": "classic" },
        "detection": { "name": "dup-ack" },
        "ack": { "name": "immediate" }, "sack": false, "spurious": "none", "f_rto": false, "limited_transmit": true,
        "ecn": false, "pacing": false, "handshake": false, "mss": 1000, "header": 40, "initial_window": 20,
        "receive_window": 1_000_000_000, "min_rto": 200_000_000_000_u64, "max_rto": 60_000_000_000_000_u64,
        "initial_rto": 1_000_000_000_000_u64,
    }))
    .expect("a valid stack");
    let mut sender = Sender::new(&stack, 1, Stream::new(1, Purpose::Congestion, 0));
    sender.write(Time::ZERO, u32::MAX);
    sender
}

fn send_all(sender: &mut Sender, now: Time) -> Vec<u32> {
    std::iter::from_fn(|| sender.poll_transmit(now))
        .map(|sent| match sent {
            Transmission::Data { segment, .. } => segment,
            Transmission::Syn | Transmission::Answer { .. } => unreachable!("there is no handshake, and no timestamp"),
        })
        .collect()
}

fn acknowledge(sender: &mut Sender, now: Time, cumulative: u32) -> Vec<u32> {
    sender.on_ack(
        now,
        &Ack {
            cumulative,
            sack: SackBlocks::default(),
            echoes_retransmission: false,
            timestamps: None,
            ecn_echo: false,
            accecn: None,
        },
    );
    send_all(sender, now)
}

#[test]
fn rfc5681_section_3_1_duplicates_of_what_is_sent_again_after_a_timeout_neither_open_the_window_nor_send() {
    let mut sender = sender();
    assert_eq!(send_all(&mut sender, Time::ZERO).len(), 20);
    let expiry = sender.deadline().expect("data is outstanding");
    sender.on_deadline(expiry);
    assert_eq!(send_all(&mut sender, expiry), [0], "RFC 5681 section 3.1: a loss window of one segment");

    // Only segment 0 was lost, but the ACKs of the others were lost too. So half of the retransmissions arrive twice.
    let later = expiry + RTT;
    assert_eq!(acknowledge(&mut sender, later, 1), [1, 2]);
    let window = sender.congestion().cwnd();
    for _ in 0..10 {
        assert_eq!(acknowledge(&mut sender, later, 1), [] as [u32; 0]);
    }
    assert_eq!(sender.congestion().cwnd(), window);

    // All segments below the highest one sent before the timeout have arrived. The sender sends a window of new data.
    // Duplicate ACKs of the other retransmissions in the network allow no more.
    let new = acknowledge(&mut sender, later + RTT, 20);
    assert_eq!(new.first(), Some(&20));
    for _ in 0..10 {
        assert_eq!(acknowledge(&mut sender, later + RTT, 20), [] as [u32; 0]);
    }
}

#[test]
fn rfc6582_section_3_2_only_the_first_partial_ack_restarts_the_retransmission_timer() {
    let mut sender = sender();
    send_all(&mut sender, Time::ZERO);
    // An ACK of nothing new but the first segment gives an RTT sample; then three duplicates begin recovery.
    let mut now = Time::ZERO + RTT;
    for _ in 0..4 {
        acknowledge(&mut sender, now, 1);
    }
    assert_eq!(sender.counters().recoveries, 1);

    now += RTT;
    acknowledge(&mut sender, now, 2);
    let deadline = sender.deadline().expect("data is outstanding");
    assert!(deadline >= now + Duration::from_millis(200), "the first partial ACK restarts the timer");

    now += RTT;
    let again = acknowledge(&mut sender, now, 3);
    assert_eq!(again.first(), Some(&3), "a partial ACK sends the next hole");
    assert!(sender.deadline().expect("data is outstanding") <= deadline, "the second partial ACK does not");
}

/// Segments 0 and 5 of a window of 20 are lost, up to the ACK of the first repair. Returns the sender, the time, and the
/// segments sent for this ACK.
fn first_partial_ack(congestion: &str) -> (Sender, Time, Vec<u32>) {
    let mut sender = sender_of(congestion);
    send_all(&mut sender, Time::ZERO);
    let mut now = Time::ZERO + RTT;
    for _ in 0..18 {
        acknowledge(&mut sender, now, 0);
    }
    assert_eq!((sender.counters().recoveries, sender.congestion().cwnd()), (1, 10.0));
    now += RTT;
    let sent = acknowledge(&mut sender, now, 5);
    (sender, now, sent)
}

#[test]
fn rfc6582_section_3_2_newreno_repairs_the_second_loss_at_the_partial_ack_and_halves_once() {
    let (sender, _, sent) = first_partial_ack("newreno");
    assert_eq!(sent.first(), Some(&5));
    assert_eq!((sender.counters().recoveries, sender.congestion().cwnd()), (1, 10.0));
}

#[test]
fn rfc5681_section_3_2_reno_leaves_recovery_at_the_partial_ack_and_begins_another_at_three_more_duplicates() {
    let (mut sender, now, sent) = first_partial_ack("reno");
    assert!(!sent.contains(&5), "{sent:?}");
    assert_eq!((sender.counters().recoveries, sender.congestion().cwnd()), (1, 10.0));
    acknowledge(&mut sender, now, 5);
    acknowledge(&mut sender, now, 5);
    assert_eq!(sender.counters().recoveries, 1);
    let again = acknowledge(&mut sender, now, 5);
    assert_eq!(again.first(), Some(&5));
    // RFC 5681 equation 4: half of the flight, which exceeds the window.
    assert_eq!((sender.counters().recoveries, sender.congestion().cwnd()), (2, 10.0));
}
