//! BBR's share of a link, which does not depend on the link's drops.

/// The BBR flows of a link, and the flows that react to losses.
#[derive(Debug, Clone, Copy, Default)]
pub struct BbrShare {
    /// Number of BBR flows.
    pub flows: f64,
    /// Load by BBR flows.
    pub load_bps: f64,
    /// Number of flows that react to losses.
    pub others: f64,
    /// Load by flows that react to losses.
    pub others_bps: f64,
}

impl BbrShare {
    /// Share of a full link that BBR flows get. The formula has the form of Ware et al. 2019 in buffer size and flow counts. It is fitted to the
    /// packet engine.
    pub fn share(&self, idle_s: f64, buffer_s: f64) -> f64 {
        let logit = 2.94 - 0.9 * (buffer_s / idle_s).ln() + 1.09 * (self.flows / self.others.max(1e-6)).ln();
        1.0 / (1.0 + (-logit).exp())
    }

    /// Utilisation, and mean wait in seconds. Two delay-bandwidth products limit BBR's flight. Of several flows, each overestimates its own
    /// product. A single flow drains the queue.
    pub fn keep(&self, idle_s: f64, buffer_s: f64) -> (f64, f64) {
        if self.flows + self.others > 1.0 {
            (0.99, (0.9 * buffer_s).min(2.5 * idle_s))
        } else {
            (0.975, (0.4 * buffer_s).min(0.2 * idle_s))
        }
    }
}
