//! BBR's share of a link, which does not depend on what the link drops.

/// The BBR flows of a link, beside those that answer losses.
#[derive(Debug, Clone, Copy, Default)]
pub struct BbrShare {
    /// How many there are.
    pub flows: f64,
    /// What they load the link with.
    pub load_bps: f64,
    /// How many flows answer losses.
    pub others: f64,
    /// The load by flows that answer losses.
    pub others_bps: f64,
}

impl BbrShare {
    /// Their share of a full link: the form of Ware et al. 2019 in buffer and numbers, fitted to the packet engine.
    pub fn share(&self, idle_s: f64, buffer_s: f64) -> f64 {
        let logit = 2.94 - 0.9 * (buffer_s / idle_s).ln() + 1.09 * (self.flows / self.others.max(1e-6)).ln();
        1.0 / (1.0 + (-logit).exp())
    }

    /// Utilisation and mean wait in seconds. BBR's flight is bounded by two delay-bandwidth products, of which each flow overestimates its own, and
    /// one flow alone drains the queue.
    pub fn keep(&self, idle_s: f64, buffer_s: f64) -> (f64, f64) {
        if self.flows + self.others > 1.0 {
            (0.99, (0.9 * buffer_s).min(2.5 * idle_s))
        } else {
            (0.975, (0.4 * buffer_s).min(0.2 * idle_s))
        }
    }
}
