//! How the price of a link follows its excess load.

/// The power of the excess by which a price follows it: at first, and the bounds.
const FIRST: f64 = 0.5;
/// See [`FIRST`].
const LEAST: f64 = 0.01;
/// See [`FIRST`].
const GREATEST: f64 = 2.0;
/// By how much the power adapts to whether the load swings.
const SHRINK: f64 = 0.6;
/// See [`SHRINK`].
const GROW: f64 = 1.2;
/// What of a change the next one repeats. Many links in a row share their flows, and would take many small changes.
const MOMENTUM: f64 = 0.6;
/// The greatest excess that counts, in logarithms.
const GREATEST_EXCESS: f64 = 2.0;

/// The step of a link.
#[derive(Debug, Clone, Copy)]
pub struct Step {
    power: f64,
    /// The last change, in logarithms.
    change: f64,
}

impl Step {
    /// Before the first iteration.
    pub const FIRST: Step = Step { power: FIRST, change: 0.0 };

    /// The change of the price, in logarithms, at this excess of the load, in logarithms. `heat` below 1 makes changes smaller: what swings for long
    /// comes to rest.
    pub fn follow(&mut self, excess: f64, heat: f64) -> f64 {
        if excess * self.change < 0.0 {
            *self = Step { power: (self.power * SHRINK).max(LEAST), change: 0.0 };
        } else {
            self.power = (self.power * GROW).min(GREATEST);
        }
        let power = self.power.min(heat * GREATEST);
        self.change = heat * MOMENTUM * self.change + power * excess.clamp(-GREATEST_EXCESS, GREATEST_EXCESS);
        self.change
    }
}
