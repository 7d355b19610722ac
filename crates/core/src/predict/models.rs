//! The prediction formulas by name: their arguments with domains, and the losses for which they hold.

use super::Flow;
use super::padhye::{self, Timing};
use super::response::{self, ResponseLaw};
use serde::Serialize;

/// The set of values that an argument may have.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Domain {
    /// Finite, above 0.
    Positive,
    /// Above 0, or infinite.
    PositiveOrInfinite,
    /// Finite, at least 0.
    NotNegative,
    /// Finite, at least 1.
    AtLeastOne,
    /// From 0 to below 1.
    Loss,
    /// Above 0 and below 1.
    Share,
}

impl Domain {
    /// Whether the domain contains the value. No domain contains NaN.
    pub fn contains(self, value: f64) -> bool {
        match self {
            Domain::Positive => value > 0.0 && value.is_finite(),
            Domain::PositiveOrInfinite => value > 0.0,
            Domain::NotNegative => value >= 0.0 && value.is_finite(),
            Domain::AtLeastOne => value >= 1.0 && value.is_finite(),
            Domain::Loss => (0.0..1.0).contains(&value),
            Domain::Share => value > 0.0 && value < 1.0,
        }
    }

    /// The condition on a value, for an error message.
    pub fn requirement(self) -> &'static str {
        match self {
            Domain::Positive => "finite and greater than 0",
            Domain::PositiveOrInfinite => "greater than 0",
            Domain::NotNegative => "finite and at least 0",
            Domain::AtLeastOne => "finite and at least 1",
            Domain::Loss => "at least 0 and less than 1",
            Domain::Share => "greater than 0 and less than 1",
        }
    }
}

/// An argument of a model.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Argument {
    /// Name of the argument, with its unit.
    pub name: &'static str,
    /// Values that the argument may have.
    pub domain: Domain,
}

/// Range of losses for which a source found that a model holds. The model also computes a rate outside this range.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Validity {
    /// The least loss ratio.
    pub least_loss: f64,
    /// The greatest loss ratio.
    pub greatest_loss: f64,
    /// The consequence of a loss below the range.
    pub below: &'static str,
    /// The consequence of a loss above the range.
    pub above: &'static str,
    /// Source of the range.
    pub source: &'static str,
}

/// A model by name.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Model {
    /// Name, as in Python.
    pub name: &'static str,
    /// One line with subject and source.
    pub summary: &'static str,
    /// Arguments of the model, which follow the arguments in [`FLOW`].
    pub arguments: &'static [Argument],
    /// Losses for which the model holds.
    pub validity: Validity,
    /// The rate in bit/s, from the values of `arguments`.
    #[serde(skip)]
    pub rate: fn(Flow, &[f64]) -> f64,
}

impl Model {
    /// The model with this name.
    pub fn of(name: &str) -> Option<&'static Model> {
        MODELS.iter().find(|model| model.name == name)
    }

    /// Rate in bit/s. `values` are the values of [`FLOW`], then of `arguments`.
    pub fn evaluate(&self, values: &[f64]) -> f64 {
        let flow = Flow { mss_bytes: values[0], rtt_s: values[1], loss: values[2], max_window: values[3] };
        (self.rate)(flow, &values[FLOW.len()..])
    }
}

/// First arguments of every model: the flow and its path.
pub const FLOW: [Argument; 4] = [
    Argument { name: "mss_bytes", domain: Domain::Positive },
    Argument { name: "rtt_s", domain: Domain::Positive },
    Argument { name: "loss", domain: Domain::Loss },
    Argument { name: "max_window", domain: Domain::PositiveOrInfinite },
];

const PACKETS_PER_ACK: Argument = Argument { name: "packets_per_ack", domain: Domain::AtLeastOne };
const TIMEOUT: Argument = Argument { name: "timeout_s", domain: Domain::Positive };

const NO_TIMEOUTS: &str =
    "timeouts, which the model leaves out, take a growing share of the time: it predicts too much";
const TCPBP_SECTION_3: &str = "TCPBP section 3, after Mathis et al. 1997 and Padhye et al. 1998: 1e-5 to 0.05";
/// The greatest loss for which the laws without timeouts were found to hold (TCPBP section 3).
const GREATEST_LOSS: f64 = 0.05;

/// All models.
pub const MODELS: &[Model] = &[
    Model {
        name: "mathis",
        summary: "Reno without timeouts, the inverse-square-root law (Mathis et al. 1997, equation 3)",
        arguments: &[PACKETS_PER_ACK],
        validity: Validity {
            least_loss: 1e-5,
            greatest_loss: GREATEST_LOSS,
            below: "windows become larger than paths and receivers hold: it predicts too much",
            above: NO_TIMEOUTS,
            source: TCPBP_SECTION_3,
        },
        rate: |flow, values| response::mathis(flow, values[0]),
    },
    Model {
        name: "padhye",
        summary: "Reno with timeouts and the receiver's window, the full model (Padhye et al. 1998, section 2.3)",
        arguments: &[TIMEOUT, PACKETS_PER_ACK],
        validity: Validity {
            least_loss: 1e-5,
            greatest_loss: GREATEST_LOSS,
            below: "without max_window, windows become larger than paths and receivers hold: it predicts too much",
            above: "the length of timeouts decides; with SACK and tail loss probes there are fewer than it predicts",
            source: TCPBP_SECTION_3,
        },
        rate: |flow, values| padhye::full(flow, timing(values)),
    },
    Model {
        name: "padhye_short",
        summary: "Reno with timeouts, the approximation (Padhye et al. 1998, section 2.3; RFC 5348, section 3.1)",
        arguments: &[TIMEOUT, PACKETS_PER_ACK],
        validity: Validity {
            least_loss: 1e-5,
            greatest_loss: GREATEST_LOSS,
            below: "without max_window, windows become larger than paths and receivers hold: it predicts too much",
            above: "the approximation leaves the full model, by 7 to 28 % at 0.1",
            source: TCPBP_SECTION_3,
        },
        rate: |flow, values| padhye::short(flow, timing(values)),
    },
    Model {
        name: "cubic",
        summary: "CUBIC, the greater of its cubic and its Reno-friendly region (RFC 9438, sections 5 and 4.3)",
        arguments: &[
            Argument { name: "c", domain: Domain::Positive },
            Argument { name: "beta", domain: Domain::Share },
        ],
        validity: Validity {
            least_loss: 1e-8,
            greatest_loss: GREATEST_LOSS,
            below: "the RFC tabulates no smaller loss",
            above: NO_TIMEOUTS,
            source: "RFC 9438 tables 1 and 2: 1e-8 to 1e-2; TCPBP section 3 for its Reno-friendly region: to 0.05",
        },
        rate: |flow, values| response::cubic(flow, values[0], values[1]),
    },
    Model {
        name: "highspeed",
        summary: "HighSpeed TCP, its response function or Reno's if that is greater (RFC 3649, section 5)",
        arguments: &[],
        validity: Validity {
            least_loss: 1e-10,
            greatest_loss: GREATEST_LOSS,
            below: "the RFC tabulates no smaller loss",
            above: NO_TIMEOUTS,
            source: "RFC 3649 section 5, table of the response function: 1e-10 to 1e-2; TCPBP section 3: to 0.05",
        },
        rate: |flow, _| response::highspeed(flow),
    },
    Model {
        name: "scalable",
        summary: "Scalable TCP, its response function or Reno's if that is greater (Kelly 2003, section 2)",
        arguments: &[],
        validity: Validity {
            least_loss: 0.0,
            greatest_loss: GREATEST_LOSS,
            below: "there is nothing below",
            above: NO_TIMEOUTS,
            source: "no lower end is published; TCPBP section 3: to 0.05",
        },
        rate: |flow, _| response::scalable(flow),
    },
    Model {
        name: "linear",
        summary: "Reno with the linear regime 1/p up to p_max (TCPBP section 3, after Zaragoza 2006; the constant is ours)",
        arguments: &[PACKETS_PER_ACK, Argument { name: "p_max", domain: Domain::Share }],
        validity: Validity {
            least_loss: 0.0,
            greatest_loss: GREATEST_LOSS,
            below: "there is nothing below",
            above: NO_TIMEOUTS,
            source: "TCPBP section 3: 1/p up to p_max, 1/sqrt(p) up to 0.05",
        },
        rate: |flow, values| response::linear(flow, values[0], values[1]),
    },
    Model {
        name: "response",
        summary: "Any response function c / p^y segments a round trip (Xu et al. 2004, section II)",
        arguments: &[
            Argument { name: "c", domain: Domain::Positive },
            Argument { name: "y", domain: Domain::NotNegative },
        ],
        validity: Validity {
            least_loss: 0.0,
            greatest_loss: GREATEST_LOSS,
            below: "there is nothing below",
            above: NO_TIMEOUTS,
            source: "TCPBP section 3: to 0.05; what c and y come from may say less",
        },
        rate: |flow, values| response::response(flow, ResponseLaw { c: values[0], y: values[1] }),
    },
];

fn timing(values: &[f64]) -> Timing {
    Timing { timeout_s: values[0], packets_per_ack: values[1] }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_found() {
        for model in MODELS {
            assert_eq!(MODELS.iter().filter(|other| other.name == model.name).count(), 1);
            assert_eq!(Model::of(model.name).unwrap().name, model.name);
        }
        assert!(Model::of("crystal-ball").is_none());
    }

    #[test]
    fn values_reach_the_arguments_that_they_are_for() {
        let values = [1460.0, 0.1, 0.01, 1e6, 0.2, 2.0];
        let flow = Flow { mss_bytes: 1460.0, rtt_s: 0.1, loss: 0.01, max_window: 1e6 };
        let timing = Timing { timeout_s: 0.2, packets_per_ack: 2.0 };
        assert_eq!(Model::of("padhye").unwrap().evaluate(&values), padhye::full(flow, timing));
    }

    #[test]
    fn no_domain_contains_nan() {
        use Domain::{AtLeastOne, Loss, NotNegative, Positive, PositiveOrInfinite, Share};
        for domain in [Positive, PositiveOrInfinite, NotNegative, AtLeastOne, Loss, Share] {
            assert!(!domain.contains(f64::NAN) && !domain.contains(-1.0), "{domain:?}");
        }
        assert!(Loss.contains(0.0) && !Loss.contains(1.0) && !Share.contains(0.0));
        assert!(PositiveOrInfinite.contains(f64::INFINITY) && !Positive.contains(f64::INFINITY));
    }
}
