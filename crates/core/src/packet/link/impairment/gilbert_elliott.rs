//! The two-state channel (Gilbert 1960, Elliott 1963).
//!
//! The state changes after every packet. The state of the first packet is drawn from the stationary distribution, so the loss ratio does not
//! depend on the position in the run.

use super::LossModel;
use super::chance::{self, Chance};
use crate::rng::Stream;
use crate::spec::stationary_bad;

/// The probabilities of [`crate::spec::LossSpec::GilbertElliott`].
#[derive(Debug, Clone, Copy)]
pub(super) struct Channel {
    pub good_to_bad: f64,
    pub bad_to_good: f64,
    pub loss_good: f64,
    pub loss_bad: f64,
}

#[derive(Debug)]
pub(super) struct GilbertElliott {
    good_to_bad: Chance,
    bad_to_good: Chance,
    loss_good: Chance,
    loss_bad: Chance,
    bad: bool,
    losses: Stream,
    states: Stream,
    arrivals: u64,
}

impl GilbertElliott {
    pub(super) fn new(channel: Channel, losses: Stream, states: Stream) -> GilbertElliott {
        GilbertElliott {
            good_to_bad: Chance::new(channel.good_to_bad),
            bad_to_good: Chance::new(channel.bad_to_good),
            loss_good: Chance::new(channel.loss_good),
            loss_bad: Chance::new(channel.loss_bad),
            bad: Chance::new(stationary_bad(channel.good_to_bad, channel.bad_to_good)).hits(states.bits(0)),
            losses,
            states,
            arrivals: 0,
        }
    }
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

pub(super) fn check(channel: Channel) -> Result<(), String> {
    chance::check("good_to_bad", channel.good_to_bad)?;
    chance::check("bad_to_good", channel.bad_to_good)?;
    chance::check("loss_good", channel.loss_good)?;
    chance::check("loss_bad", channel.loss_bad)
}
