//! Loss on a wire, as a function of the link and the number of packets that have arrived at it.
//!
//! The draw for a packet is a hash of the link and the packet's arrival index ([`crate::rng`]). It does not depend on
//! events elsewhere, nor on the order in which an engine visits the links.
//!
//! To add a model: a file here with its [`LossModel`] and its check, its variant of [`LossSpec`], and one line in each function below.
//!
//! A model may use random draws and the spec, and nothing of the engine.

mod bernoulli;
mod chance;
mod gilbert_elliott;
mod list;
mod periodic;

use crate::rng::{Purpose, Stream};
use crate::spec::{LinkId, LossSpec};
use bernoulli::Bernoulli;
use gilbert_elliott::{Channel, GilbertElliott};
use list::List;
use periodic::Periodic;

/// Decides for the packets of one link, in the order of their arrival, which are lost.
trait LossModel: std::fmt::Debug + Send + Sync {
    /// Whether the next packet to arrive is lost. To be called exactly once per packet.
    fn is_lost(&mut self) -> bool;
}

/// The losses of one link.
#[derive(Debug)]
pub struct LossProcess(Option<Box<dyn LossModel>>);

impl LossProcess {
    /// The process of `link` in the run of this `seed`. The spec must have passed [`check`].
    pub fn new(spec: &LossSpec, seed: u64, link: LinkId) -> LossProcess {
        LossProcess::after_changes(spec, seed, link, 0)
    }

    /// The process of `link` after `changes` changes of its loss model; each change has draws of its own.
    pub fn after_changes(spec: &LossSpec, seed: u64, link: LinkId, changes: u32) -> LossProcess {
        let owner = u64::from(changes) << 32 | u64::from(link);
        let losses = Stream::new(seed, Purpose::Loss, owner);
        let states = Stream::new(seed, Purpose::LossState, owner);
        LossProcess(match spec {
            LossSpec::None => None,
            LossSpec::Bernoulli { ratio } => Some(Box::new(Bernoulli::new(*ratio, losses))),
            &LossSpec::GilbertElliott { good_to_bad, bad_to_good, loss_good, loss_bad } => {
                let channel = Channel { good_to_bad, bad_to_good, loss_good, loss_bad };
                Some(Box::new(GilbertElliott::new(channel, losses, states)))
            }
            LossSpec::Periodic { every } => Some(Box::new(Periodic::new(*every))),
            LossSpec::List { packets } => Some(Box::new(List::new(packets))),
        })
    }

    /// Whether the next packet to arrive is lost. To be called exactly once per packet.
    #[inline]
    pub fn is_lost(&mut self) -> bool {
        self.0.as_mut().is_some_and(|model| model.is_lost())
    }
}

/// Refuses a loss model with a parameter out of range.
///
/// # Errors
/// A sentence that names the field, its value and its range.
pub fn check(spec: &LossSpec) -> Result<(), String> {
    match spec {
        LossSpec::None => Ok(()),
        LossSpec::Bernoulli { ratio } => bernoulli::check(*ratio),
        &LossSpec::GilbertElliott { good_to_bad, bad_to_good, loss_good, loss_bad } => {
            gilbert_elliott::check(Channel { good_to_bad, bad_to_good, loss_good, loss_bad })
        }
        LossSpec::Periodic { every } => periodic::check(*every),
        LossSpec::List { packets } => list::check(packets),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn losses(spec: &LossSpec, seed: u64, link: LinkId, packets: usize) -> Vec<bool> {
        let mut process = LossProcess::new(spec, seed, link);
        (0..packets).map(|_| process.is_lost()).collect()
    }

    fn ratio(lost: &[bool]) -> f64 {
        lost.iter().filter(|lost| **lost).count() as f64 / lost.len() as f64
    }

    #[test]
    fn bernoulli_loses_its_ratio_and_one_loss_says_nothing_about_the_next() {
        let lost = losses(&LossSpec::Bernoulli { ratio: 0.02 }, 5, 3, 1_000_000);
        // Five standard deviations of the binomial: 5 sqrt(0.02 * 0.98 / 1e6).
        assert!((ratio(&lost) - 0.02).abs() < 7e-4, "{}", ratio(&lost));
        let after_a_loss: Vec<bool> = lost.windows(2).filter(|pair| pair[0]).map(|pair| pair[1]).collect();
        assert!((ratio(&after_a_loss) - 0.02).abs() < 5e-3, "{}", ratio(&after_a_loss));
    }

    #[test]
    fn bernoulli_with_ratio_zero_loses_nothing() {
        assert_eq!(ratio(&losses(&LossSpec::Bernoulli { ratio: 0.0 }, 1, 0, 100_000)), 0.0);
    }

    #[test]
    fn losses_differ_between_links_and_seeds_and_repeat_otherwise() {
        let spec = LossSpec::Bernoulli { ratio: 0.5 };
        assert_eq!(losses(&spec, 1, 1, 64), losses(&spec, 1, 1, 64));
        assert_ne!(losses(&spec, 1, 1, 64), losses(&spec, 1, 2, 64));
        assert_ne!(losses(&spec, 1, 1, 64), losses(&spec, 2, 1, 64));
    }

    #[test]
    fn gilbert_bursts_are_geometric_with_the_mean_of_the_bad_state() {
        // Gilbert's channel with certain loss in the bad state: a loss burst is a stay in the bad state.
        let spec = LossSpec::GilbertElliott { good_to_bad: 0.01, bad_to_good: 0.25, loss_good: 0.0, loss_bad: 1.0 };
        let lost = losses(&spec, 9, 1, 2_000_000);
        assert!((spec.stationary_ratio() - 0.01 / 0.26).abs() < 1e-12);
        assert!((ratio(&lost) / spec.stationary_ratio() - 1.0).abs() < 0.03, "{}", ratio(&lost));
        let bursts: Vec<usize> = lost.split(|lost| !lost).map(<[bool]>::len).filter(|length| *length > 0).collect();
        let mean = bursts.iter().sum::<usize>() as f64 / bursts.len() as f64;
        assert!((mean - 4.0).abs() < 0.12, "mean burst {mean}");
        let single = bursts.iter().filter(|length| **length == 1).count() as f64 / bursts.len() as f64;
        assert!((single - 0.25).abs() < 0.02, "bursts of one: {single}");
    }

    #[test]
    fn gilbert_elliott_mixes_the_loss_ratios_of_its_states() {
        let spec = LossSpec::GilbertElliott { good_to_bad: 0.02, bad_to_good: 0.08, loss_good: 0.01, loss_bad: 0.3 };
        // A fifth of the time bad: 0.8 * 0.01 + 0.2 * 0.3.
        assert!((spec.stationary_ratio() - 0.068).abs() < 1e-12);
        let lost = losses(&spec, 2, 4, 1_000_000);
        assert!((ratio(&lost) - 0.068).abs() < 0.003, "{}", ratio(&lost));
    }

    #[test]
    fn gilbert_elliott_meets_its_stationary_law_from_the_first_packet() {
        let spec = LossSpec::GilbertElliott { good_to_bad: 0.001, bad_to_good: 0.003, loss_good: 0.0, loss_bad: 1.0 };
        let first: Vec<bool> = (0..20_000).map(|link| losses(&spec, 1, link, 1)[0]).collect();
        assert!((ratio(&first) - 0.25).abs() < 0.02, "{}", ratio(&first));
    }

    #[test]
    fn periodic_loses_every_nth_packet() {
        let lost = losses(&LossSpec::Periodic { every: 3 }, 1, 1, 9);
        assert_eq!(lost, [false, false, true, false, false, true, false, false, true]);
    }

    #[test]
    fn a_list_loses_exactly_the_packets_it_names_counted_from_one() {
        let lost = losses(&LossSpec::List { packets: vec![1, 4, 5] }, 1, 1, 7);
        assert_eq!(lost, [true, false, false, true, true, false, false]);
    }

    #[test]
    fn an_outage_is_a_loss_of_one() {
        let bad = LossSpec::GilbertElliott { good_to_bad: 1.0, bad_to_good: 0.0, loss_good: 1.0, loss_bad: 1.0 };
        for spec in [LossSpec::Bernoulli { ratio: 1.0 }, LossSpec::Periodic { every: 1 }, bad] {
            assert_eq!(check(&spec), Ok(()));
            assert_eq!(spec.stationary_ratio(), 1.0);
            assert!(losses(&spec, 1, 1, 1000).into_iter().all(|lost| lost), "{spec:?}");
        }
    }

    #[test]
    fn check_names_the_field_and_its_value() {
        let error = |spec| check(&spec).unwrap_err();
        assert!(error(LossSpec::Bernoulli { ratio: 1.5 }).contains("ratio is 1.5"));
        assert!(error(LossSpec::Bernoulli { ratio: f64::NAN }).contains("ratio is NaN"));
        assert!(error(LossSpec::Periodic { every: 0 }).contains("every is 0"));
        assert!(error(LossSpec::List { packets: vec![0, 1] }).contains("counted from 1"));
        assert!(error(LossSpec::List { packets: vec![3, 3] }).contains("3 before 3"));
        let channel = |bad_to_good, loss_good| LossSpec::GilbertElliott {
            good_to_bad: 0.1,
            bad_to_good,
            loss_good,
            loss_bad: 1.0,
        };
        assert!(error(channel(0.5, -0.1)).contains("loss_good is -0.1"));
        assert_eq!(check(&channel(0.5, 0.0)), Ok(()));
    }

    proptest! {
        #[test]
        fn a_list_loses_what_it_names_as_far_as_packets_arrive(
            packets in proptest::collection::btree_set(1u64..200, 0..40), arriving in 0usize..250,
        ) {
            let spec = LossSpec::List { packets: packets.iter().copied().collect() };
            prop_assert_eq!(check(&spec), Ok(()));
            let lost: Vec<u64> = losses(&spec, 1, 1, arriving)
                .iter().zip(1u64..).filter(|(lost, _)| **lost).map(|(_, number)| number).collect();
            let expected: Vec<u64> = packets.into_iter().filter(|number| *number <= arriving as u64).collect();
            prop_assert_eq!(lost, expected);
        }
    }
}
