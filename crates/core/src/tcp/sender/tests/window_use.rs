//! When the window grows though the application, and not the window, limits the sender.

use super::*;

/// Ten segments are sent and acknowledged. The application has written no more, so in slow start the window grows while it is
/// less than twice the segments in flight. In Linux the window was the limit in that round trip, so every ACK counts.
fn after_ten(follows: &str) -> Pair {
    let mut pair = Pair::new(json!({"follows": follows}));
    pair.sender.close();
    pair.at(100).deliver(0..10);
    pair
}

/// Writes these segments and acknowledges all outstanding segments with one ACK. Returns the window then.
fn one_round(pair: &mut Pair, written: &[u32]) -> f64 {
    for segments in written {
        pair.now += Duration::from_millis(10);
        pair.sender.write(pair.now, *segments);
        pair.send();
    }
    pair.now += Duration::from_millis(100);
    pair.deliver_by_one_ack(pair.sender.board.una()..pair.sender.board.next());
    pair.cwnd()
}

#[test]
fn a_window_that_was_the_limit_within_the_round_trip_grows_by_each_of_its_acks() {
    for (follows, cwnd) in [("rfc", 14.0), ("linux", 20.0)] {
        let mut pair = after_ten(follows);
        assert_eq!(pair.cwnd(), cwnd, "{follows}");
        assert_eq!(one_round(&mut pair, &[1]), cwnd, "{follows}: the next round trip");
    }
}

/// In Linux twice the most outstanding of the round trip bounds the window (`tcp_is_cwnd_limited`), not twice the flight at an
/// ACK.
#[test]
fn in_slow_start_the_most_outstanding_of_the_round_trip_bounds_the_window() {
    for (follows, from, to) in [("rfc", 14.0, 18.0), ("linux", 20.0, 24.0)] {
        let mut pair = after_ten(follows);
        assert_eq!(pair.cwnd(), from);
        pair.sender.write(ms(150), 12);
        pair.at(150).send();
        pair.at(250).deliver(10..22);
        assert_eq!(pair.cwnd(), to, "{follows}");
    }
}

/// An ACK of several segments adds two to the window (RFC 3465, L = 2), if the window may grow. It has 20 segments: at least 11 must
/// have been outstanding.
#[test]
fn the_most_outstanding_is_that_of_the_last_round_trip_however_it_was_reached() {
    let pair = || after_ten("linux");
    assert_eq!(pair().cwnd(), 20.0);
    assert_eq!(one_round(&mut pair(), &[10]), 20.0);
    assert_eq!(one_round(&mut pair(), &[11]), 22.0);
    assert_eq!(one_round(&mut pair(), &[6, 5]), 22.0, "in two parts");
    let mut twice = pair();
    assert_eq!(one_round(&mut twice, &[12]), 22.0);
    assert_eq!(one_round(&mut twice, &[4]), 22.0, "the round trip before says nothing");
}

/// Linux looks at the outstanding segments when it sends (`tcp_cwnd_validate`), not when an ACK comes. Each ACK adds two if more
/// than half of the window, 20 at first, was outstanding at some time of the round trip.
#[test]
fn the_most_outstanding_counts_until_the_round_trip_ends_and_something_is_sent() {
    let acks = |written: [u32; 2], acknowledged: [u32; 3]| {
        let mut pair = after_ten("linux");
        pair.sender.write(ms(150), written[0]);
        pair.at(150).send();
        let mut cwnds = Vec::new();
        for (index, until) in acknowledged.into_iter().enumerate() {
            if index == 1 {
                pair.sender.write(ms(250), written[1]);
                pair.send();
            }
            let una = pair.sender.board.una();
            pair.at(250).deliver_by_one_ack(una..until);
            cwnds.push(pair.cwnd());
        }
        cwnds
    };
    assert_eq!(acks([13, 2], [14, 23, 25]), [22.0, 24.0, 26.0], "2 of 24 are outstanding at last, and nothing is sent");
    assert_eq!(acks([11, 12], [12, 21, 33]), [22.0, 24.0, 26.0], "21 were outstanding when the second part was sent");
}

/// In congestion avoidance, which begins at the threshold itself, an unfilled window stays the same for any flight. In Linux the ACK
/// that ends recovery has added a quarter of a segment.
#[test]
fn rfc7661_in_congestion_avoidance_an_unfilled_window_stays() {
    for (follows, grown) in [("rfc", 0.0), ("linux", 0.25)] {
        let mut pair = Pair::new(json!({"follows": follows, "limited_transmit": false}));
        pair.sender.close();
        pair.at(100).deliver(1..10);
        pair.at(200).deliver_as([0], true);
        let cwnd = pair.sender.congestion.ssthresh() + grown;
        assert_eq!((pair.sender.board.outstanding(), pair.cwnd()), (0, cwnd));
        (0..3).for_each(|_| assert_eq!(one_round(&mut pair, &[3]), cwnd, "{follows}"));
    }
}
