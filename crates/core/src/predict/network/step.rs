//! How the price of a link follows its excess load.

/// The power of the excess by which a price follows it: at first, and the bounds.
const FIRST: f64 = 0.5;
/// See [`FIRST`].
const LEAST: f64 = 0.01;
/// See [`FIRST`].
const GREATEST: f64 = 1.0;
/// By how much the power adapts to whether the load swings.
const SHRINK: f64 = 0.7;
/// See [`SHRINK`].
const GROW: f64 = 1.4;
/// What of a change the next one repeats, at most. Many links in a row share their flows, and would take many small changes.
const MOMENTUM: f64 = 0.9;
/// Iterations without a swing after which it is half of a change.
const STEADY: f64 = 3.0;
/// Iterations without a swing after which the load is at rest, and only drifts.
const CALM: f64 = 30.0;
/// The greatest change, in logarithms.
const GREATEST_CHANGE: f64 = 3.0;

/// The step of a link.
#[derive(Debug, Clone, Copy)]
pub struct Step {
    power: f64,
    /// The last change, in logarithms.
    change: f64,
    /// Iterations since the load swung.
    steady: f64,
}

impl Step {
    /// Before the first iteration.
    pub const FIRST: Step = Step { power: FIRST, change: 0.0, steady: 0.0 };

    /// The change of the price, in logarithms, at this excess of the load, in logarithms. `heat` below 1 makes the changes of loads that swing smaller,
    /// so that they come to rest.
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
