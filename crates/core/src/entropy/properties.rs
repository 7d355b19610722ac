//! Properties of all policies.

use super::*;
use crate::rng::Purpose;
use proptest::prelude::*;

const ROUND_TRIP: Duration = Duration::from_millis(1);

fn draws(seed: u64) -> Stream {
    Stream::new(seed, Purpose::Entropy, 7)
}

fn at(step: usize) -> Time {
    Time::ZERO + Duration::from_millis(step as u64)
}

/// The policies that have a number of values, with this number.
fn with_values(values: u32) -> Vec<EntropySpec> {
    vec![
        EntropySpec::Oblivious(oblivious::Parameters { values }),
        EntropySpec::Bitmap(bitmap::Parameters { values, ..bitmap::Parameters::default() }),
        EntropySpec::Reps(reps::Parameters { values, ..reps::Parameters::default() }),
        EntropySpec::Mixed(bitmap::Parameters { values, ..bitmap::Parameters::default() }),
    ]
}

proptest! {
    /// Whatever comes back, and whenever the timer expires, a policy gives one of its values.
    #[test]
    fn a_policy_gives_one_of_its_values(
        values in 1u32..100, seed: u64,
        steps in prop::collection::vec((0u8..5, 0u32..100), 1..200),
    ) {
        for spec in with_values(values) {
            let mut policy = spec.build(draws(seed));
            for (step, (kind, value)) in steps.iter().enumerate() {
                match kind {
                    0 => policy.on_feedback(at(step), ROUND_TRIP, value % values, Feedback::Marked),
                    1 => policy.on_feedback(at(step), ROUND_TRIP, value % values, Feedback::Trimmed),
                    2 => policy.on_timeout(at(step)),
                    _ => policy.on_feedback(at(step), ROUND_TRIP, value % values, Feedback::Good),
                }
                prop_assert!(policy.next(at(step)) < values, "{}", spec.name());
            }
        }
    }

    /// Each round of `oblivious` has every value once; so has `bitmap` without penalties.
    #[test]
    fn a_round_has_every_value_once(values in 1u32..70, seed: u64) {
        for spec in &with_values(values)[..2] {
            let mut policy = spec.build(draws(seed));
            for _ in 0..3 {
                let mut round: Vec<u32> = (0..values).map(|_| policy.next(Time::ZERO)).collect();
                round.sort_unstable();
                prop_assert_eq!(round, (0..values).collect::<Vec<_>>());
            }
        }
    }

    /// REPS uses a value as often as it came back without a mark, in this order, if no more come back between two packets than the ring keeps.
    #[test]
    fn reps_uses_what_came_back_once(seed: u64, values in prop::collection::vec(0u32..64, 1..8)) {
        let mut policy = EntropySpec::Reps(reps::Parameters::default()).build(draws(seed));
        values.iter().for_each(|value| policy.on_feedback(Time::ZERO, ROUND_TRIP, *value, Feedback::Good));
        let used: Vec<u32> = values.iter().map(|_| policy.next(Time::ZERO)).collect();
        prop_assert_eq!(used, values);
    }
}

/// A frozen ring is used again and again; when the time is over, values are drawn.
#[test]
fn reps_freezes_after_a_timeout() {
    let mut policy = EntropySpec::Reps(reps::Parameters::default()).build(draws(1));
    for value in [3, 5] {
        policy.on_feedback(at(0), ROUND_TRIP, value, Feedback::Good);
    }
    policy.on_timeout(at(1));
    let frozen: Vec<u32> = (0..6).map(|_| policy.next(at(2))).collect();
    assert_eq!(frozen, [3, 5, 3, 5, 3, 5]);
    policy.on_feedback(at(20), ROUND_TRIP, 9, Feedback::Marked);
    let drawn: Vec<u32> = (0..16).map(|_| policy.next(at(20))).collect();
    assert!(drawn.iter().any(|value| ![3, 5].contains(value)), "{drawn:?}");
}

/// A value with a penalty of 2 is skipped in two rounds.
#[test]
fn bitmap_skips_a_value_as_often_as_its_penalty() {
    let parameters = bitmap::Parameters { values: 4, ..bitmap::Parameters::default() };
    let mut policy = EntropySpec::Bitmap(parameters).build(draws(1));
    for _ in 0..2 {
        policy.on_feedback(at(0), ROUND_TRIP, 2, Feedback::Marked);
    }
    let used: Vec<u32> = (0..10).map(|_| policy.next(at(0))).collect();
    let first = used.iter().position(|value| *value == 2).expect("used again");
    assert!(used[..first].len() >= 6, "{used:?}");
}

/// Linux's twelve congested rounds change the value, eleven do not.
#[test]
fn plb_changes_after_twelve_congested_rounds() {
    let mut policy = EntropySpec::Plb(plb::Parameters::default()).build(draws(1));
    let before = policy.next(at(0));
    for round in 0..11 {
        policy.on_feedback(at(2 * round), ROUND_TRIP, before, Feedback::Marked);
        assert_eq!(policy.next(at(2 * round)), before, "round {round}");
    }
    policy.on_feedback(at(22), ROUND_TRIP, before, Feedback::Marked);
    assert_ne!(policy.next(at(22)), before);
}
