//! The goodput of a stack for any path, as a table that routing reads.
//!
//! With few losses, the predict engine answers. Beyond [`PREDICTED`], timeouts and their backoff determine the rate. There the
//! packet engine sends a flow over such a path until it has lost [`LOST`] packets.

use crate::packet::{DisciplineSpec, LossSpec, Simulation};
use crate::predict::bulk;
use crate::predict::network::{PredictError, Watch, predict};
use crate::routing::GoodputLaw;
use crate::spec::{LinkSpec, QueueLimit, QueueSpec, RunSpec, StackSpec};
use crate::tcp::congestion::CongestionSpec;
use crate::tcp::congestion::choice::ControlSpec;
use crate::units::{Duration, Rate};

/// Loss ratios of the table.
const LOSSES: [f64; 18] =
    [1e-9, 1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 3e-4, 1e-3, 3e-3, 0.01, 0.02, 0.03, 0.05, 0.08, 0.12, 0.2, 0.35, 0.6];
/// Round-trip times of the table, seconds.
const RTTS_S: [f64; 8] = [1e-4, 1e-3, 3e-3, 0.01, 0.03, 0.1, 0.3, 1.0];
/// Link rates of the table for controls that measure the rate, bit/s.
const RATES_BPS: [f64; 5] = [1e6, 1e7, 1e8, 1e9, 1e10];
/// The link rate for all others: none limits them.
const UNLIMITED_BPS: f64 = 1e13;
/// Greatest loss ratio that the predict engine answers here.
const PREDICTED: f64 = 0.02;
/// Packets that a simulated flow loses: its goodput then deviates by about 3 % from the mean.
const LOST: f64 = 1500.0;
/// Greatest link rate of a simulated flow that measures the rate, bit/s. At higher rates, its share of the rate counts as equal.
const SIMULATED_BPS: f64 = 1e7;
/// Duration of the run that the predict engine answers, seconds: its rates are those of the long run.
const PREDICTED_S: f64 = 1.0;
/// Segments that a simulated link carries in a round trip, and its greatest rate, where no rate limits the flow. At such losses, windows
/// have a tenth.
const WIDE: f64 = 1000.0;
const FASTEST_BPS: f64 = 1e10;
/// Virtual time after which a simulation ends, seconds.
const LONGEST_S: f64 = 70_000.0;
const EVENTS: u64 = 2_000;

/// The table of a stack.
///
/// # Errors
/// A stack that the predict engine or the packet engine refuses.
pub fn law(stack: &StackSpec) -> Result<GoodputLaw, PredictError> {
    let measures_rate = matches!(
        &stack.congestion,
        ControlSpec::Named(CongestionSpec::Bbr(_) | CongestionSpec::LinuxBbr(_) | CongestionSpec::Bbr3(_))
    );
    let rates_bps = if measures_rate { RATES_BPS.to_vec() } else { vec![UNLIMITED_BPS] };
    let mut paths = Vec::new();
    for loss in LOSSES {
        for rtt_s in RTTS_S {
            paths.extend(rates_bps.iter().map(|&rate_bps| Path { loss, rtt_s, rate_bps }));
        }
    }
    let few = paths.iter().filter(|path| path.loss <= PREDICTED).copied().collect::<Vec<_>>();
    let (predicted, _) = predict(run(stack, &few, PREDICTED_S), 1, &Watch::default())?;
    let mut goodput_bps: Vec<f64> = predicted.flows.iter().map(|flow| flow.goodput_bps).collect();
    for path in &paths[few.len()..] {
        goodput_bps.push(simulated(stack, *path)?.max(1.0));
    }
    let efficiency = f64::from(stack.mss) / f64::from(stack.mss + stack.header);
    let law = GoodputLaw { losses: LOSSES.to_vec(), rtts_s: RTTS_S.to_vec(), rates_bps, goodput_bps, efficiency };
    Ok(law.monotone())
}

/// A path of one link.
#[derive(Debug, Clone, Copy)]
struct Path {
    loss: f64,
    rtt_s: f64,
    rate_bps: f64,
}

/// Goodput in the packet engine, bit/s.
fn simulated(stack: &StackSpec, path: Path) -> Result<f64, PredictError> {
    let is_limited = path.rate_bps < UNLIMITED_BPS;
    let segment_bits = 8.0 * f64::from(stack.mss);
    let wide_bps = (WIDE * segment_bits / path.rtt_s).min(FASTEST_BPS);
    let rate_bps = if is_limited { path.rate_bps.min(SIMULATED_BPS) } else { wide_bps };
    let longest_s = LONGEST_S.min(f64::from(1 << 30) * segment_bits / rate_bps);
    let mut simulation = Simulation::new(run(stack, &[Path { rate_bps, ..path }], longest_s))?;
    let wanted = LOST / path.loss * f64::from(stack.mss);
    loop {
        let goes_on = simulation.advance(EVENTS);
        let delivered = simulation.flow_table().numbers("delivered_bytes")[0];
        if !goes_on || delivered >= wanted {
            let scale = if is_limited { path.rate_bps / rate_bps } else { 1.0 };
            return Ok(8.0 * delivered / simulation.now().as_secs() * scale);
        }
    }
}

/// A run of a flow over each path. Queues hold a round trip, or the receiver's window where no rate limits. The ways back lose nothing.
fn run(stack: &StackSpec, paths: &[Path], duration_s: f64) -> RunSpec {
    let link = |src: usize, dst: usize, path: &Path, loss: Option<LossSpec>| {
        let packets = path.rate_bps.min(1e10) * path.rtt_s / 8.0 / f64::from(stack.mss);
        LinkSpec {
            src: src as u32,
            dst: dst as u32,
            rate: Rate::from_bps(path.rate_bps),
            delay: Duration::from_secs_f64(path.rtt_s / 2.0),
            cost: 1.0,
            queue: QueueSpec {
                limit: QueueLimit::Packets(packets.max(20.0) as u32),
                discipline: DisciplineSpec::DropTail(Default::default()),
            },
            loss,
            rate_schedule: None,
            delay_schedule: None,
            jitter: None,
            shaper: None,
        }
    };
    let both = |(index, path): (usize, &Path)| {
        let (one, other) = (2 * index, 2 * index + 1);
        [link(one, other, path, Some(LossSpec::bernoulli(path.loss))), link(other, one, path, None)]
    };
    let links = paths.iter().enumerate().flat_map(both).collect();
    let pairs = (0..paths.len() as u32).map(|index| (2 * index, 2 * index + 1)).collect();
    bulk::run(stack, links, pairs, None, Duration::from_secs_f64(duration_s), 1)
}
