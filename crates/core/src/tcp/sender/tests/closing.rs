//! The end of a connection that its application closes right after its last write, by hand. Linux's own behaviour is measured in
//! `validation`.

use super::*;

/// Writes this number of segments and closes the connection at 0 ms. Returns the segments sent then as well.
fn closing(follows: &str, segments: u32) -> (Pair, Vec<u32>) {
    let mut pair = Pair::idle(json!({
        "follows": follows, "congestion": {"name": "linux-reno"}, "detection": {"name": "rack-tlp"}, "hz": 1000,
        "rto_granularity": Duration::from_millis(200)
    }));
    pair.sender.write(Time::ZERO, segments);
    pair.sender.finish();
    let sent = pair.send().into_iter().map(|(segment, _)| segment).collect();
    (pair, sent)
}

/// A window of ten carries five segments, so that the FIN follows as a segment of its own. The last segment of data is lost. The FIN's
/// SACK block comes at 40 ms. A quarter of the least RTT and two ticks later the loss is found, at the next tick. Without a FIN, a probe
/// finds it at 80 ms or later.
#[test]
fn a_fin_behind_the_data_reveals_the_loss_of_the_last_segment() {
    let (mut pair, sent) = closing("linux", 5);
    assert_eq!(sent, [0, 1, 2, 3, 4, 5]);
    pair.at(40).deliver([0, 1, 2, 3, 5]);
    assert_eq!((pair.time_out(), pair.now), (vec![(4, true)], ms(53)));
    pair.at(93).deliver_as([4], true);
    assert!(pair.sender.is_done());

    let (mut pair, sent) = closing("rfc", 5);
    assert_eq!(sent, [0, 1, 2, 3, 4]);
    pair.at(40).deliver([0, 1, 2, 3]);
    assert_eq!(pair.time_out(), [(4, true)]);
    assert!(pair.now >= ms(80), "{:?}", pair.now);
}

/// Eleven segments do not fit in a window of ten. The last one carries the FIN, and Linux sends it even beyond the window.
#[test]
fn the_segment_with_the_fin_exceeds_the_congestion_window_by_one() {
    let (mut pair, sent) = closing("linux", 11);
    assert_eq!(sent.last(), Some(&10));
    pair.at(40).deliver(0..11);
    assert!(pair.sender.is_done());
    assert_eq!(closing("rfc", 11).1.last(), Some(&9));
}

/// Ten of thirteen segments are sent. The first ACK makes room for two, and the last one is sent with them.
#[test]
fn segments_before_the_one_with_the_fin_wait_for_the_window() {
    let (mut pair, sent) = closing("linux", 13);
    assert_eq!(sent.last(), Some(&9));
    assert_eq!(pair.at(40).deliver([0]), [(10, false), (11, false), (12, false)]);
    assert_eq!(pair.deliver([1]), []);
}

/// A lost FIN is sent again like data.
#[test]
fn a_lost_fin_is_sent_again() {
    let (mut pair, _) = closing("linux", 2);
    pair.at(40).deliver([0, 1]);
    assert!(!pair.sender.is_done());
    assert_eq!(pair.time_out(), [(2, true)]);
    pair.now += Duration::from_millis(40);
    pair.deliver_as([2], true);
    assert!(pair.sender.is_done());
}
