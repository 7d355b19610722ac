//! How the price of a link follows its excess load.

/// Exponent by which a price follows the excess load: the first value.
const FIRST: f64 = 0.5;
/// Least exponent.
const LEAST: f64 = 0.01;
/// Greatest exponent.
const GREATEST: f64 = 1.0;
/// Factor for the exponent when the load swings.
const SHRINK: f64 = 0.7;
/// Factor for the exponent when the load does not swing.
const GROW: f64 = 1.4;
/// Greatest share of a change that the next change repeats. Many links in a row share their flows, and would otherwise need many small changes.
const MOMENTUM: f64 = 0.9;
/// Number of iterations without a swing after which half of a change is repeated.
const STEADY: f64 = 3.0;
/// Number of iterations without a swing after which the load no longer swings, but only drifts.
const CALM: f64 = 30.0;
/// The greatest change, in logarithms.
const GREATEST_CHANGE: f64 = 3.0;

/// The state of a link's price changes.
#[derive(Debug, Clone, Copy)]
pub struct Step {
    power: f64,
    /// The last change, in logarithms.
    change: f64,
    /// Iterations since the load swung.
    steady: f64,
}

impl Step {
    /// State before the first iteration.
    pub const FIRST: Step = Step { power: FIRST, change: 0.0, steady: 0.0 };

    /// Change of the price, in logarithms, for this excess of the load, in logarithms. A `heat` below 1 reduces the changes while the load swings, so
    /// that the swings decay.
    pub fn follow(&mut self, excess: f64, heat: f64) -> f64 {
        if excess * self.change < 0.0 {
            *self = Step { power: (self.power * SHRINK).max(LEAST), ..Step::FIRST };
        } else {
            self.power = (self.power * GROW).min(GREATEST);
            self.steady += 1.0;
        }
        let heat = if self.steady > CALM { 1.0 } else { heat };
        let momentum = (self.steady / (self.steady + STEADY)).min(MOMENTUM);
        let change = heat * momentum * self.change + self.power.min(heat * GREATEST) * excess;
        self.change = change.clamp(-GREATEST_CHANGE, GREATEST_CHANGE);
        self.change
    }
}
