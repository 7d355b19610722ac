//! Loss on a wire, as a function of the link and the number of packets that have arrived at it.
//!
//! The draw for a packet is a hash of the link and the packet's arrival index ([`crate::rng`]). It does not depend on
//! events elsewhere, nor on the order in which an engine visits the links.
//!
//! To add a model: a file here with its parameters, its [`LossModel`] and its [`Build`], and a line in the registry [`LossSpec`].
//!
//! A model may use random draws and the spec, and nothing of the engine.

mod bernoulli;
mod chance;
mod gilbert_elliott;
mod list;
mod periodic;

use crate::rng::{Purpose, Stream};
use crate::spec::LinkId;

crate::algorithm_registry! {
    /// Losses on the wire. Whether a packet is lost is drawn when it arrives at the link. A lost packet has used its share of the rate.
    pub enum LossSpec by "model", parameters as dyn Build {
        /// Each packet independently.
        Bernoulli = "bernoulli": bernoulli,
        /// Two states with a loss ratio each, changing per packet that enters the queue (Gilbert 1960, Elliott 1963).
        GilbertElliott = "gilbert-elliott": gilbert_elliott,
        /// Every n-th packet that enters the queue.
        Periodic = "periodic": periodic,
        /// The packets with these numbers, counted from 1 over all that arrive at the link.
        List = "list": list,
    }
}

/// Builds a loss model from its parameters.
trait Build {
    /// The model of one link, with the link's draws for losses and for states.
    fn build(&self, losses: Stream, states: Stream) -> Box<dyn LossModel>;

    /// Share of packets that is lost in the long run.
    fn stationary_ratio(&self) -> f64;
}

impl LossSpec {
    /// Share of packets that is lost in the long run (0 for a finite list).
    pub fn stationary_ratio(&self) -> f64 {
        self.parameters().stationary_ratio()
    }

    /// Each packet with this probability, independently.
    pub(crate) fn bernoulli(ratio: f64) -> LossSpec {
        LossSpec::Bernoulli(bernoulli::Parameters { ratio: crate::parameters::Share(ratio) })
    }
}

/// Decides for the packets of one link, in the order of their arrival, which are lost.
trait LossModel: std::fmt::Debug + Send + Sync {
    /// Whether the next packet is lost. The caller calls it exactly once per packet that the queue has accepted.
    fn is_lost(&mut self) -> bool;

    /// Called when the queue has dropped the next packet. Only models that number all arrivals use it.
    fn on_dropped(&mut self) {}
}

/// The losses of one link.
#[derive(Debug)]
pub struct LossProcess(Option<Box<dyn LossModel>>);

impl LossProcess {
    /// The process of `link` in the run of this `seed`. The spec must have passed [`LossSpec::check`].
    pub fn new(spec: Option<&LossSpec>, seed: u64, link: LinkId) -> LossProcess {
        LossProcess::after_changes(spec, seed, link, 0)
    }

    /// The process of `link` after `changes` changes of its loss model; each change has draws of its own.
    pub fn after_changes(spec: Option<&LossSpec>, seed: u64, link: LinkId, changes: u32) -> LossProcess {
        let owner = u64::from(changes) << 32 | u64::from(link);
        let losses = Stream::new(seed, Purpose::Loss, owner);
        let states = Stream::new(seed, Purpose::LossState, owner);
        LossProcess(spec.map(|spec| spec.parameters().build(losses, states)))
    }

    /// Whether there is a model of losses.
    pub fn loses(&self) -> bool {
        self.0.is_some()
    }

    /// Whether the next packet is lost. The caller calls it exactly once per packet that the queue has accepted.
    #[inline]
    pub fn is_lost(&mut self) -> bool {
        self.0.as_mut().is_some_and(|model| model.is_lost())
    }

    /// Called when the queue has dropped the next packet.
    #[inline]
    pub fn on_dropped(&mut self) {
        if let Some(model) = &mut self.0 {
            model.on_dropped();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::{Value, json};

    /// A model as a compiled run gives it.
    fn model(spec: Value) -> LossSpec {
        serde_json::from_value(spec).unwrap()
    }

    fn channel(good_to_bad: f64, bad_to_good: f64, loss_good: f64, loss_bad: f64) -> LossSpec {
        model(json!({"model": "gilbert-elliott", "good_to_bad": good_to_bad, "bad_to_good": bad_to_good,
            "loss_good": loss_good, "loss_bad": loss_bad}))
    }

    fn periodic(every: u32) -> LossSpec {
        model(json!({"model": "periodic", "every": every}))
    }

    fn list(packets: &[u64]) -> LossSpec {
        model(json!({"model": "list", "packets": packets}))
    }

    fn losses(spec: &LossSpec, seed: u64, link: LinkId, packets: usize) -> Vec<bool> {
        let mut process = LossProcess::new(Some(spec), seed, link);
        (0..packets).map(|_| process.is_lost()).collect()
    }

    fn ratio(lost: &[bool]) -> f64 {
        lost.iter().filter(|lost| **lost).count() as f64 / lost.len() as f64
    }

    #[test]
    fn bernoulli_loses_its_ratio_and_one_loss_says_nothing_about_the_next() {
        let lost = losses(&LossSpec::bernoulli(0.02), 5, 3, 1_000_000);
        // Five standard deviations of the binomial: 5 sqrt(0.02 * 0.98 / 1e6).
        assert!((ratio(&lost) - 0.02).abs() < 7e-4, "{}", ratio(&lost));
        let after_a_loss: Vec<bool> = lost.windows(2).filter(|pair| pair[0]).map(|pair| pair[1]).collect();
        assert!((ratio(&after_a_loss) - 0.02).abs() < 5e-3, "{}", ratio(&after_a_loss));
    }

    #[test]
    fn bernoulli_with_ratio_zero_loses_nothing() {
        assert_eq!(ratio(&losses(&LossSpec::bernoulli(0.0), 1, 0, 100_000)), 0.0);
    }

    #[test]
    fn losses_differ_between_links_and_seeds_and_repeat_otherwise() {
        let spec = LossSpec::bernoulli(0.5);
        assert_eq!(losses(&spec, 1, 1, 64), losses(&spec, 1, 1, 64));
        assert_ne!(losses(&spec, 1, 1, 64), losses(&spec, 1, 2, 64));
        assert_ne!(losses(&spec, 1, 1, 64), losses(&spec, 2, 1, 64));
    }

    #[test]
    fn gilbert_bursts_are_geometric_with_the_mean_of_the_bad_state() {
        // Gilbert's channel with certain loss in the bad state: a loss burst is a stay in the bad state.
        let spec = channel(0.01, 0.25, 0.0, 1.0);
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
        let spec = channel(0.02, 0.08, 0.01, 0.3);
        // A fifth of the time bad: 0.8 * 0.01 + 0.2 * 0.3.
        assert!((spec.stationary_ratio() - 0.068).abs() < 1e-12);
        let lost = losses(&spec, 2, 4, 1_000_000);
        assert!((ratio(&lost) - 0.068).abs() < 0.003, "{}", ratio(&lost));
    }

    #[test]
    fn gilbert_elliott_meets_its_stationary_law_from_the_first_packet() {
        let spec = channel(0.001, 0.003, 0.0, 1.0);
        let first: Vec<bool> = (0..20_000).map(|link| losses(&spec, 1, link, 1)[0]).collect();
        assert!((ratio(&first) - 0.25).abs() < 0.02, "{}", ratio(&first));
    }

    #[test]
    fn periodic_loses_every_nth_packet() {
        let lost = losses(&periodic(3), 1, 1, 9);
        assert_eq!(lost, [false, false, true, false, false, true, false, false, true]);
    }

    #[test]
    fn a_list_loses_exactly_the_packets_it_names_counted_from_one() {
        let lost = losses(&list(&[1, 4, 5]), 1, 1, 7);
        assert_eq!(lost, [true, false, false, true, true, false, false]);
    }

    #[test]
    fn an_outage_is_a_loss_of_one() {
        let bad = channel(1.0, 0.0, 1.0, 1.0);
        for spec in [LossSpec::bernoulli(1.0), periodic(1), bad] {
            assert_eq!(spec.check(), Ok(()));
            assert_eq!(spec.stationary_ratio(), 1.0);
            assert!(losses(&spec, 1, 1, 1000).into_iter().all(|lost| lost), "{spec:?}");
        }
    }

    #[test]
    fn check_names_the_field_and_its_value() {
        let error = |spec: LossSpec| spec.check().unwrap_err();
        assert_eq!(error(LossSpec::bernoulli(1.5)), "ratio = 1.5: must be between 0 and 1");
        assert!(error(LossSpec::bernoulli(f64::NAN)).contains("ratio = NaN"));
        assert!(error(periodic(0)).contains("every = 0"));
        assert!(error(list(&[0, 1])).contains("counted from 1"));
        assert!(error(channel(0.1, 0.5, -0.1, 1.0)).contains("loss_good = -0.1"));
        assert_eq!(channel(0.1, 0.5, 0.0, 1.0).check(), Ok(()));
    }

    #[test]
    fn a_list_may_name_packets_in_any_order_and_twice() {
        assert_eq!(losses(&list(&[4, 1, 4]), 1, 1, 5), [true, false, false, true, false]);
    }

    proptest! {
        #[test]
        fn a_list_loses_what_it_names_as_far_as_packets_arrive(
            packets in proptest::collection::btree_set(1u64..200, 0..40), arriving in 0usize..250,
        ) {
            let spec = list(&packets.iter().copied().collect::<Vec<_>>());
            prop_assert_eq!(spec.check(), Ok(()));
            let lost: Vec<u64> = losses(&spec, 1, 1, arriving)
                .iter().zip(1u64..).filter(|(lost, _)| **lost).map(|(_, number)| number).collect();
            let expected: Vec<u64> = packets.into_iter().filter(|number| *number <= arriving as u64).collect();
            prop_assert_eq!(lost, expected);
        }
    }
}
