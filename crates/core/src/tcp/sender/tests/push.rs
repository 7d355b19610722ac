//! Segments that Linux marks with PSH. `validation` compares the effects with Linux.

use super::*;
use proptest::prelude::*;

/// Sends all that may be sent: the segments with PSH.
fn pushed(pair: &mut Pair) -> Vec<u32> {
    std::iter::from_fn(|| pair.sender.poll_transmit(pair.now))
        .filter_map(|transmission| match transmission {
            Transmission::Data { segment, push: true, .. } => Some(segment),
            _ => None,
        })
        .collect()
}

fn pair(follows: &str) -> Pair {
    Pair::idle(json!({"follows": follows, "initial_window": 1_000_000, "congestion": {"name": "linux-reno"}}))
}

/// 45 segments are the first window, and more than half of it are 23. Then the window is 201, so that the mark comes after 101 segments. The
/// application stops after 200 segments.
#[test]
fn psh_marks_more_than_half_of_the_largest_window_and_the_end_of_the_data() {
    let mut linux = pair("linux");
    linux.sender.set_first_window(45);
    linux.sender.write(Time::ZERO, 200);
    assert_eq!(pushed(&mut linux), [22]);
    linux.sender.set_window_edge(201);
    assert_eq!(pushed(&mut linux), [123, 199]);
    let mut rfc = pair("rfc");
    rfc.sender.write(Time::ZERO, 200);
    assert!(pushed(&mut rfc).is_empty());
}

proptest! {
    /// For any writes and announced windows: the last segment has PSH. Before the end of a write, no other segment has PSH until half of a
    /// window was sent.
    #[test]
    fn psh_comes_at_ends_of_writes_or_after_half_of_a_window(
        steps in prop::collection::vec((0u32..300, 1u32..400), 1..40), first in 1u32..100,
    ) {
        let mut pair = pair("linux");
        pair.sender.set_first_window(first);
        let (mut written, mut largest, mut since) = (0, first, 0);
        for (more, edge) in steps {
            pair.sender.write(Time::ZERO, more);
            written += more;
            let sent = pair.sender.board.next();
            let edge = pair.sender.window_edge().max(sent + edge);
            pair.sender.set_window_edge(edge);
            largest = largest.max(edge);
            for segment in pushed(&mut pair) {
                prop_assert!(segment + 1 == written || segment + 1 - since == largest / 2 + 1);
                since = segment + 1;
            }
            let next = pair.sender.board.next();
            prop_assert!(next - since <= largest / 2);
            prop_assert!(next < written || since == next);
        }
    }
}
