//! Rate samples that reach a congestion control (draft-ietf-ccwg-bbr section 4.1), worked out by hand.

use super::*;
use crate::tcp::congestion::linux::LinuxControl;
use crate::tcp::events::{AckEvent, RateSample};
use std::sync::Mutex;

/// A fixed window of ten segments that records the rate samples.
struct Recorder(Arc<Mutex<Vec<RateSample>>>);

impl CongestionControl for Recorder {
    fn on_ack(&mut self, ack: &AckEvent, _rtt: &RttEstimate) {
        self.0.lock().unwrap().extend(ack.rate);
    }

    fn on_congestion(&mut self, _event: &CongestionEvent, _rtt: &RttEstimate) {}

    fn cwnd(&self) -> f64 {
        10.0
    }
}

impl LinuxControl for Recorder {}

/// A connection that samples rates, with `written` segments sent at 0 ms, and its samples.
fn sampled(written: u32) -> (Pair, Arc<Mutex<Vec<RateSample>>>) {
    sampled_by(json!({}), written)
}

fn sampled_by(mut changes: serde_json::Value, written: u32) -> (Pair, Arc<Mutex<Vec<RateSample>>>) {
    changes["congestion"] = json!({"name": "bbr"});
    let stack = stack(changes);
    let samples = Arc::default();
    let mut sender = Sender::new(&stack, 1, Stream::new(1, Purpose::Congestion, 0));
    sender.congestion = CachedControl::new(Box::new(Recorder(Arc::clone(&samples))));
    sender.owns_recovery = false;
    sender.write(Time::ZERO, written);
    let receiver = Receiver::new(true, stack.ack.build(ReceiverContext::of_stack(&stack)));
    let mut pair = Pair { sender, receiver, now: Time::ZERO };
    pair.send();
    (pair, samples)
}

/// Four segments are sent, and the window has room for more: C.app_limited = 0 delivered + 4 in flight. Two further ones are sent
/// before the fourth is delivered, so their samples are application-limited; those of the first four are not. After an idle time,
/// C.app_limited = 6 delivered + 0 in flight: samples are limited for segments sent before the seventh is delivered.
#[test]
fn a_segment_sent_while_the_application_was_the_limit_gives_a_limited_sample() {
    let (mut pair, samples) = sampled(4);
    pair.sender.write(ms(50), 2);
    assert_eq!(pair.at(50).send().len(), 2);
    pair.at(100).deliver(0..4);
    pair.at(150).deliver([4, 5]);
    pair.sender.write(ms(160), 50);
    assert_eq!(pair.at(160).send().len(), 10);
    pair.at(260).deliver(6..16);
    pair.at(360).deliver(16..26);
    let limited: Vec<bool> = samples.lock().unwrap().iter().map(|sample| sample.app_limited).collect();
    assert_eq!(limited, [vec![false; 4], vec![true; 12], vec![false; 10]].concat());
}

/// RS.lost = C.lost - P.lost. Segments 0 to 2 are marked lost at the ACK of 5. For segments sent before this ACK and delivered
/// after it, RS.lost is three. For segments sent later, and for retransmissions, it is zero.
#[test]
fn a_sample_counts_the_segments_lost_since_its_segment_was_sent() {
    let (mut pair, samples) = sampled(50);
    let sent = pair.at(100).deliver([3, 4, 5, 6, 7]);
    assert_eq!(sent.iter().filter(|(_, again)| *again).count(), 3, "{sent:?}");
    pair.at(200).deliver_as([0, 1, 2], true);
    let lost: Vec<u32> = samples.lock().unwrap().iter().map(|sample| sample.lost).collect();
    assert_eq!(lost, [0, 0, 0, 3, 3, 0, 0, 0]);
}

/// Three segments are late and sent again. Their copies are delivered too, and Linux counts them (`tcp_dsack_seen`): twelve segments and
/// copies by the ACK of the ninth segment. That was sent before any delivery.
#[test]
fn linux_counts_a_spurious_retransmission_as_delivered() {
    for (follows, total) in [("rfc", 9), ("linux", 12)] {
        let (mut pair, samples) = sampled_by(json!({"follows": follows}), 50);
        let sent = pair.at(100).deliver([3, 4, 5, 6, 7]);
        assert_eq!(sent.iter().filter(|(_, again)| *again).count(), 3, "{sent:?}");
        pair.at(110).deliver([0, 1, 2]);
        pair.at(200).deliver_as([0, 1, 2], true);
        pair.at(210).deliver([8]);
        let last = *samples.lock().unwrap().last().unwrap();
        assert_eq!((last.total_delivered, last.delivered), (total, total as u32), "{follows}");
    }
}
