//! The fast paths of a sender give the same results as its general paths.

use super::super::options::Prediction;
use super::*;
use proptest::prelude::*;

/// Processes a predicted ACK. The inner value has the segments sent, or `None` if the general path must decide. The outer value
/// is `None` if the ACK was not predicted.
fn take_by_short_path<const LEARNS: bool>(
    sender: Option<PredictedAcks<'_, LEARNS>>,
    now: Time,
) -> Option<Option<Vec<Transmission>>> {
    let mut sender = sender?;
    let holds = sender.on_ack(now, now);
    Some(holds.then(|| {
        let mut sent = Vec::new();
        for _ in 0..sender.to_send() {
            let (segment, number, push) = sender.send(now);
            sent.push(Transmission::Data {
                segment,
                number,
                retransmission: false,
                window_reduced: false,
                push,
                oldest: 0,
            });
        }
        sender.stop();
        sent
    }))
}

/// Segments from the fast paths: none while pacing delays them, a burst at once, or one by one.
fn send_by_short_paths(sender: &mut Sender, now: Time) -> Vec<Transmission> {
    let mut sent = Vec::new();
    loop {
        if let Some(Burst { segment, number, count }) = sender.poll_burst(now) {
            sent.extend((0..count).map(|index| Transmission::Data {
                segment: segment + index,
                number: number + index,
                retransmission: false,
                window_reduced: false,
                push: false,
                oldest: 0,
            }));
            return sent;
        }
        let Some(transmission) = sender.poll_transmit(now) else { return sent };
        sent.push(transmission);
    }
}

proptest! {
    /// The fast paths give the same results as the general ones. Two senders, one without fast paths, see the same network. It
    /// loses, reorders, duplicates, marks and delays segments.
    #[test]
    fn a_predicted_ack_is_like_any(
        steps in prop::collection::vec((0u8..16, 0usize..12, 0u64..30), 1..400),
        sack: bool, ecn: bool, f_rto: bool, pacing: bool, delayed: bool, linux: bool,
        congestion in prop::sample::select(vec!["newreno", "cubic", "westwood", "vegas", "bbr", "linux-bbr", "kikolo"]),
        detection in prop::sample::select(DetectionSpec::describe()).prop_map(|info| info.name),
    ) {
        let changes = json!({
            "follows": if linux { "linux" } else { "rfc" }, "sack": sack, "ecn": ecn, "f_rto": f_rto, "pacing": pacing, "spurious": if f_rto { "eifel" } else { "none" },
            "congestion": {"name": congestion}, "ack": {"name": if delayed { "delayed" } else { "immediate" }}, "detection": {"name": detection}
        });
        let stack = stack(changes);
        let mut short = Sender::new(&stack, 1, Stream::new(1, Purpose::Congestion, 0));
        let mut long = Sender::new(&stack, 1, Stream::new(1, Purpose::Congestion, 0));
        let options = std::sync::Arc::make_mut(&mut long.options);
        (options.prediction, options.only_the_timer) = (Prediction::Off, false);
        let mut receiver = Receiver::new(stack.sack, stack.ack.build(ReceiverContext::of_stack(&stack))).with_echo(stack.ecn_echo, stack.mss);
        let mut now = Time::ZERO;
        short.write(Time::ZERO, 300);
        long.write(Time::ZERO, 300);
        let (mut network, mut acks) = (std::collections::VecDeque::new(), std::collections::VecDeque::new());
        for (action, position, pause) in steps {
            now += Duration::from_millis(pause);
            for sent in send_by_short_paths(&mut short, now) {
                prop_assert_eq!(Some(sent), long.poll_transmit(now));
                network.push_back(sent);
            }
            prop_assert_eq!(None, long.poll_transmit(now));
            let deadline = long.deadline();
            prop_assert_eq!(short.deadline(), deadline);
            for instant in [1, 20, 200, 1000].map(|wait| now + Duration::from_millis(wait)) {
                let has_none = deadline.is_none_or(|deadline| deadline >= instant);
                prop_assert_eq!(short.no_deadline_before(instant), has_none);
                prop_assert!(has_none || !short.quiet_until(instant));
            }
            let index = if action < 10 { 0 } else { position };
            if action == 15 {
                network.remove(index);
            } else if action == 14 {
                acks.remove(index);
            } else if let Some(Transmission::Data { segment, retransmission, window_reduced, .. }) = network.remove(index) {
                let marked = action == 13 && ecn;
                let data = DataSegment { segment, retransmission, marked, window_reduced, push: false, timestamp: None };
                acks.extend(receiver.on_segment(now, &data));
            }
            if position < 11 && let Some(ack) = acks.pop_front() {
                long.on_ack(now, &ack);
                let is_cumulative_only = ack.sack.is_empty() && !ack.ecn_echo && ack.accecn.is_none() && short.takes_bursts();
                let cumulative = ack.cumulative;
                let passed = if !is_cumulative_only {
                    None
                } else if short.detector_learns() {
                    take_by_short_path(short.predict_acks::<true>(cumulative), now)
                } else {
                    take_by_short_path(short.predict_acks::<false>(cumulative), now)
                };
                match passed {
                    Some(Some(sent)) => {
                        for sent in sent {
                            prop_assert_eq!(Some(sent), long.poll_transmit(now));
                            network.push_back(sent);
                        }
                        prop_assert_eq!(None, long.poll_transmit(now));
                    }
                    Some(None) => {}
                    None => short.on_ack(now, &ack),
                }
            }
            prop_assert_eq!(short.limit, long.limit);
            if long.deadline().is_some_and(|deadline| deadline <= now) {
                if !short.is_paced_to(now) {
                    short.on_deadline(now);
                }
                long.on_deadline(now);
            }
            prop_assert_eq!(format!("{:?} {:?}", short.board, short.rtt), format!("{:?} {:?}", long.board, long.rtt));
            prop_assert_eq!((short.phase, short.round_end, short.undo_until), (long.phase, long.round_end, long.undo_until));
            prop_assert_eq!(short.unanswered_timeout, long.unanswered_timeout);
            prop_assert_eq!(short.congestion.cwnd(), long.congestion.cwnd());
        }
    }
}

/// Sends all that the sender may send now.
fn send_all(sender: &mut Sender, now: Time) {
    while sender.poll_transmit(now).is_some() {}
}

proptest! {
    /// Each ACK of a series is judged for itself: the application may have left the window unfilled before one of them.
    #[test]
    fn in_a_series_every_ack_stands_for_itself(
        steps in prop::collection::vec((1u32..40, 0u32..60, 1u64..40), 1..60), is_fast_rto: bool,
    ) {
        let stack = stack(json!({"detection": {"name": if is_fast_rto { "fast-rto" } else { "rack-tlp" }}}));
        let mut in_series = Sender::new(&stack, 1, Stream::new(1, Purpose::Congestion, 0));
        let mut one_by_one = Sender::new(&stack, 1, Stream::new(1, Purpose::Congestion, 0));
        std::sync::Arc::make_mut(&mut one_by_one.options).prediction = Prediction::Off;
        let (mut now, mut cumulative) = (Time::ZERO, 0);
        for (acknowledged, written, pause) in steps {
            for sender in [&mut in_series, &mut one_by_one] {
                sender.write(now, written);
                send_all(sender, now);
            }
            now += Duration::from_millis(pause);
            let until = one_by_one.board.next().min(cumulative + acknowledged);
            while cumulative < until {
                let first = cumulative;
                if let Some(mut series) = in_series.predict_acks::<true>(cumulative + 1) {
                    while cumulative < until {
                        cumulative += 1;
                        if !series.on_ack(now, now) {
                            break;
                        }
                        for _ in 0..series.to_send() {
                            series.send(now);
                        }
                        series.stop();
                    }
                } else {
                    cumulative += 1;
                    in_series.on_ack(now, &cumulative_ack(cumulative));
                }
                send_all(&mut in_series, now);
                for cumulative in first + 1..=cumulative {
                    one_by_one.on_ack(now, &cumulative_ack(cumulative));
                    send_all(&mut one_by_one, now);
                }
                prop_assert_eq!(in_series.congestion.cwnd(), one_by_one.congestion.cwnd());
            }
        }
    }
}

/// A duplicate ACK and one from before pass nothing.
#[test]
fn an_ack_that_does_not_pass_the_next_segment_is_not_predicted() {
    for detection in ["dup-ack", "rack-tlp"] {
        let mut pair = Pair::new(json!({"detection": {"name": detection}}));
        pair.at(100).deliver([0, 1]);
        for cumulative in [2, 1, 0] {
            pair.sender.on_ack(pair.now, &cumulative_ack(cumulative));
            assert_eq!((pair.sender.board.una(), pair.sender.board.in_flight()), (2, 12), "{detection}, {cumulative}");
        }
    }
}
