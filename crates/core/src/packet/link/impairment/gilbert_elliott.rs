//! The two-state channel (Gilbert 1960, Elliott 1963).
//!
//! The state changes after every packet that enters the queue. The state of the first packet is drawn from the stationary distribution, so the loss ratio does not
//! depend on the position in the run.

use super::chance::Chance;
use super::{Build, LossModel};
use crate::parameters::Share;
use crate::rng::Stream;

crate::parameters! {
    /// The channel.
    pub struct Parameters {
        /// Probability of leaving the good state, per packet.
        pub good_to_bad: Share, in 0.0..=1.0;
        /// Probability of leaving the bad state, per packet.
        pub bad_to_good: Share, in 0.0..=1.0;
        /// Loss ratio in the good state.
        pub loss_good: Share = Share(0.0), in 0.0..=1.0;
        /// Loss ratio in the bad state.
        pub loss_bad: Share = Share(1.0), in 0.0..=1.0;
    }
}

impl Parameters {
    /// Share of packets that see the bad state. If the channel never changes, it stays in the good state.
    fn stationary_bad(&self) -> f64 {
        let (leaves, returns) = (self.good_to_bad.0, self.bad_to_good.0);
        if leaves == 0.0 { 0.0 } else { leaves / (leaves + returns) }
    }
}

impl Build for Parameters {
    fn build(&self, losses: Stream, states: Stream) -> Box<dyn LossModel> {
        Box::new(GilbertElliott {
            good_to_bad: Chance::new(self.good_to_bad),
            bad_to_good: Chance::new(self.bad_to_good),
            loss_good: Chance::new(self.loss_good),
            loss_bad: Chance::new(self.loss_bad),
            bad: Chance::new(Share(self.stationary_bad())).hits(states.bits(0)),
            losses,
            states,
            arrivals: 0,
        })
    }

    fn stationary_ratio(&self) -> f64 {
        let bad = self.stationary_bad();
        (1.0 - bad) * self.loss_good.0 + bad * self.loss_bad.0
    }
}

#[derive(Debug)]
struct GilbertElliott {
    good_to_bad: Chance,
    bad_to_good: Chance,
    loss_good: Chance,
    loss_bad: Chance,
    bad: bool,
    losses: Stream,
    states: Stream,
    arrivals: u64,
}

impl LossModel for GilbertElliott {
    fn is_lost(&mut self) -> bool {
        self.arrivals += 1;
        let (loss, leave) =
            if self.bad { (self.loss_bad, self.bad_to_good) } else { (self.loss_good, self.good_to_bad) };
        let lost = loss.hits(self.losses.bits(self.arrivals));
        self.bad ^= leave.hits(self.states.bits(self.arrivals));
        lost
    }
}
