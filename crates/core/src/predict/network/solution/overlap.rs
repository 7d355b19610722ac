//! Refuses flows that end and that would need more of a link together than it has.
//!
//! Each is predicted as if no other planned flow were there. So what they need of a link at the same time must fit into it.

use crate::packet::Simulation;
use crate::predict::network::FlowPrediction;
use crate::predict::network::error::PredictError;
use crate::spec::LinkId;
use std::collections::BTreeSet;
use std::fmt::Write;
use std::ops::Range;

/// What a planned flow that ends needs of a link while it lasts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Claim {
    /// The flow's number.
    pub flow: u32,
    /// A link of its data.
    pub link: LinkId,
    /// Its mean rate on the wire over the rate that the link leaves to flows that end.
    pub share: f64,
}

/// Rounding of sums of shares.
const ROUNDING: f64 = 1e-9;
/// Flows that the refusal names.
const NAMED: usize = 3;

/// Checks the claims of the times in which they hold, in seconds. `flows` has the predictions for the whole run.
///
/// # Errors
/// Names the first link, by its number, that cannot carry all claims, and flows that need it at the same time.
pub fn check<'a>(
    run: &Simulation,
    flows: &[FlowPrediction],
    parts: impl IntoIterator<Item = (Range<f64>, &'a [Claim])>,
) -> Result<(), PredictError> {
    for (time, claims) in parts {
        let changes = claims.iter().filter_map(|claim| {
            let start_s = run.plan(claim.flow).start.as_secs();
            let end_s = start_s + flows[claim.flow as usize].completion?.median_s;
            let (from_s, to_s) = (start_s.max(time.start), end_s.min(time.end));
            (from_s < to_s).then_some([(claim, from_s, claim.share), (claim, to_s, -claim.share)])
        });
        let mut changes: Vec<(&Claim, f64, f64)> = changes.flatten().collect();
        changes.sort_by(|one, other| one.0.link.cmp(&other.0.link).then(one.1.total_cmp(&other.1)));
        for of_link in changes.chunk_by(|one, other| one.0.link == other.0.link) {
            let (mut active, mut shares) = (BTreeSet::new(), 0.0);
            for at_once in of_link.chunk_by(|one, other| one.1.total_cmp(&other.1).is_eq()) {
                for (claim, _, share) in at_once {
                    shares += share;
                    if *share < 0.0 {
                        active.remove(&claim.flow)
                    } else {
                        active.insert(claim.flow)
                    };
                }
                let (claim, at_s, _) = at_once[0];
                if shares > 1.0 + ROUNDING {
                    return Err(refusal(run, claim.link, (at_s, shares), &active));
                }
            }
        }
    }
    Ok(())
}

fn refusal(run: &Simulation, link: LinkId, (at_s, shares): (f64, f64), active: &BTreeSet<u32>) -> PredictError {
    let mut names = active.iter().take(NAMED).map(u32::to_string).collect::<Vec<String>>().join(", ");
    if active.len() > NAMED {
        let _ = write!(names, " and {} more", active.len() - NAMED);
    }
    let link = run.spec().link_name(link);
    PredictError::Refused(format!(
        "flows that end and share link {link} at the same time: at {at_s:.3} s, flows {names} would need {shares:.2} times the rate that it has for them"
    ))
}
