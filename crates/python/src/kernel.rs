//! A run of the kernel engine.

use crate::{columns, read_spec};
use anabranch_core::packet::emulated::{DelayFigures, EmulatedNetwork};
use anabranch_core::packet::output::route_log::ROUTES;
use anabranch_core::packet::output::table::{Column, Table};
use anabranch_core::traffic::reordering::ReorderingCounts;
use anabranch_core::units::Time;
use anabranch_emulator::emulator::Report;
use anabranch_emulator::run::{Ended, Host, Run};
use anabranch_emulator::socket_options::TcpInfo;
use anabranch_emulator::traffic::StackOptions;
use anabranch_emulator::traffic::records::{FlowRecord, FlowSample};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use std::collections::HashMap;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::time::Duration;

/// A look at whether the run has ended.
const GLANCE: Duration = Duration::from_millis(10);

/// A run that is in progress or has ended, with the results that Python has not fetched yet.
#[pyclass]
pub struct KernelRun {
    run: Option<Run>,
    ended: Option<Ended>,
    now: Time,
    packet_hops: u64,
    interval_s: f64,
    samples: Vec<FlowSample>,
    link_series: Table,
    link_state: Table,
    captures: HashMap<u32, Vec<u8>>,
}

/// The most subflows of a flow from each node whose flows have subflows.
#[pyfunction]
pub fn most_subflows(py: Python<'_>, spec: &str) -> PyResult<HashMap<u32, u32>> {
    let spec = py.detach(|| read_spec(spec)).map_err(PyValueError::new_err)?;
    let network =
        py.detach(|| EmulatedNetwork::<()>::new(spec)).map_err(|error| PyValueError::new_err(error.to_string()))?;
    let mut of_connections: HashMap<u32, u32> = HashMap::new();
    for connection in network.flows().filter_map(|flow| network.connection_of(flow)) {
        *of_connections.entry(connection).or_default() += 1;
    }
    let mut most = HashMap::new();
    for (connection, subflows) in of_connections {
        let of_node: &mut u32 = most.entry(network.plan(connection).src).or_default();
        *of_node = subflows.max(*of_node);
    }
    Ok(most)
}

/// A copy of a descriptor that Python has open.
#[allow(unsafe_code)]
pub fn copy_of(descriptor: i32) -> PyResult<OwnedFd> {
    if descriptor < 0 {
        return Err(PyValueError::new_err(format!("descriptor {descriptor}: must be open")));
    }
    // SAFETY: the caller has it open during this call, and closes it only after the constructor has returned. Another number would be an error of
    // `dup`, which is returned.
    let borrowed = unsafe { BorrowedFd::borrow_raw(descriptor) };
    Ok(borrowed.try_clone_to_owned()?)
}

#[pymethods]
impl KernelRun {
    /// The run of a compiled spec. Each host is (node, TUN device, network namespace). Each stack is (congestion control, TCP_MAXSEG, payload of a
    /// segment, paced, whether it is of Multipath TCP).
    #[new]
    fn new(
        py: Python<'_>,
        spec: &str,
        hosts: Vec<(u32, i32, i32)>,
        stacks: Vec<(String, u32, u32, bool, bool)>,
    ) -> PyResult<KernelRun> {
        let spec = read_spec(spec).map_err(PyValueError::new_err)?;
        let host =
            |(node, device, namespace)| Ok(Host { node, device: copy_of(device)?, namespace: copy_of(namespace)? });
        let hosts = hosts.into_iter().map(host).collect::<PyResult<Vec<Host>>>()?;
        let stack = |(congestion, maximum_segment, payload, paced, is_multipath)| StackOptions {
            congestion,
            maximum_segment,
            payload,
            paced,
            is_multipath,
        };
        let stacks = stacks.into_iter().map(stack).collect();
        let interval_s = spec.sample.map_or(f64::NAN, |interval| interval.as_secs());
        let run = py.detach(|| Run::begin(spec, hosts, stacks)).map_err(PyValueError::new_err)?;
        Ok(KernelRun {
            run: Some(run),
            ended: None,
            now: Time::ZERO,
            packet_hops: 0,
            interval_s,
            samples: Vec::new(),
            link_series: Table::default(),
            link_state: Table::default(),
            captures: HashMap::new(),
        })
    }

    /// The thread that moves packets, and the one that has the traffic.
    #[getter]
    fn threads(&self) -> Vec<i32> {
        self.run.as_ref().map_or(Vec::new(), |run| run.threads().map(|thread| thread.as_raw()).to_vec())
    }

    /// Waits this number of seconds; `False` once the run has ended.
    fn advance(&mut self, py: Python<'_>, seconds: f64) -> bool {
        let Some(run) = &mut self.run else { return false };
        let (goes_on, reports, samples) = py.detach(|| {
            let mut left = Duration::from_secs_f64(seconds);
            while !left.is_zero() && !run.has_ended() {
                std::thread::sleep(left.min(GLANCE));
                left = left.saturating_sub(GLANCE);
            }
            (!run.has_ended(), run.take_reports(), run.take_samples())
        });
        self.keep(reports, samples);
        goes_on
    }

    /// Ends the run, at once if it is in progress.
    fn end(&mut self, py: Python<'_>) -> PyResult<()> {
        let Some(run) = self.run.take() else { return Ok(()) };
        let (ended, reports, samples) = py.detach(|| run.end()).map_err(PyValueError::new_err)?;
        self.now = ended.now;
        self.keep(reports, samples);
        self.ended = Some(ended);
        Ok(())
    }

    #[getter]
    fn now_s(&self) -> f64 {
        self.run.as_ref().map_or(self.now, Run::now).as_secs()
    }

    #[getter]
    fn packet_hops(&self) -> u64 {
        self.packet_hops
    }

    /// Measurements of the flows by Linux and by the network, by column, for an ended run.
    fn flows<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let ended = self.ended()?;
        let emulator = &ended.driven.network;
        let delays: Vec<DelayFigures> =
            (0..ended.flows.len() as u32).map(|flow| emulator.delay_figures(flow)).collect();
        let mut table = flow_table(&ended.flows);
        table.columns.extend(delay_table(&delays).columns);
        columns(py, table)
    }

    /// Linux's times of what limited the flows, seconds, and whether their applications write over time.
    fn limits<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        columns(py, limit_table(&self.ended()?.flows))
    }

    /// Why Linux ended flows: (flow, reason).
    fn failures(&self) -> PyResult<Vec<(usize, String)>> {
        let flows = self.ended()?.flows.iter().enumerate();
        Ok(flows.filter_map(|(flow, record)| Some((flow, record.failure.clone()?))).collect())
    }

    fn links<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let ended = self.ended()?;
        let ends = ended.flows.iter().map(|flow| flow.end.unwrap_or(Time::NEVER));
        columns(py, ended.driven.network.network().link_table(ends))
    }

    fn routes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let changes = self.ended()?.driven.network.network().route_changes();
        columns(py, Table::of(ROUTES, changes.iter().cloned()))
    }

    /// Mean, 99th percentile and greatest lateness in seconds, packets written, packets that devices refused, and foreign packets.
    fn lateness(&self) -> PyResult<(f64, f64, f64, u64, u64, u64)> {
        let driven = &self.ended()?.driven;
        let late = &driven.lateness;
        Ok((
            late.mean_s(),
            late.quantile_s(0.99),
            late.greatest_s(),
            late.packets(),
            driven.refused,
            driven.network.foreign(),
        ))
    }

    #[getter]
    fn packets_without_route(&self) -> PyResult<u64> {
        Ok(self.ended()?.driven.network.network().packets_without_route())
    }

    #[getter]
    fn packets_expired(&self) -> PyResult<u64> {
        Ok(self.ended()?.driven.network.network().packets_expired())
    }

    fn take_flow_series<'py>(&mut self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        columns(py, series_table(&std::mem::take(&mut self.samples), self.interval_s))
    }

    fn take_link_series<'py>(&mut self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        columns(py, std::mem::take(&mut self.link_series))
    }

    fn take_link_state<'py>(&mut self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        columns(py, std::mem::take(&mut self.link_state))
    }

    fn take_capture<'py>(&mut self, py: Python<'py>, link: u32) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.captures.remove(&link).unwrap_or_default())
    }
}

impl KernelRun {
    fn ended(&self) -> PyResult<&Ended> {
        self.ended.as_ref().ok_or_else(|| PyValueError::new_err("the run goes on: end it first"))
    }

    fn keep(&mut self, reports: Vec<Report>, samples: Vec<FlowSample>) {
        self.samples.extend(samples);
        for report in reports {
            self.packet_hops = report.packet_hops;
            self.link_series.append(report.link_series);
            self.link_state.append(report.link_state);
            for (link, piece) in report.captures {
                self.captures.entry(link).or_default().extend(piece);
            }
        }
    }
}

/// Seconds; NaN for an unknown duration.
fn seconds(duration: Option<Duration>) -> f64 {
    duration.map_or(f64::NAN, |duration| duration.as_secs_f64())
}

/// Columns of the table of flows, by their names there. NaN is unknown.
fn flow_table(flows: &[FlowRecord]) -> Table {
    let number = |value: &dyn Fn(&FlowRecord) -> f64| Column::F64(flows.iter().map(value).collect());
    let counted = |value: &dyn Fn(&FlowRecord) -> u64| Column::U64(flows.iter().map(value).collect());
    Table {
        columns: vec![
            ("end_s", number(&|flow| flow.end.map_or(f64::NAN, Time::as_secs))),
            ("delivered_bytes", counted(&|flow| flow.total.delivered - flow.warm.delivered)),
            (
                "segments_sent",
                counted(&|flow| {
                    flow.total.info.sent + flow.total.datagrams - flow.warm.info.sent - flow.warm.datagrams
                }),
            ),
            ("retransmits", counted(&|flow| flow.total.info.retransmits - flow.warm.info.retransmits)),
            ("spurious_retransmits", counted(&|flow| flow.total.info.duplicates - flow.warm.info.duplicates)),
            ("timeouts", number(&|flow| timeouts(flow).unwrap_or(f64::NAN))),
            ("marked_segments", counted(&|flow| flow.total.info.marked - flow.warm.info.marked)),
            ("reordered_segments", number(&|flow| of_order(flow, since_warm_up(flow, |order| order.reordered)))),
            ("reordering_extent_max", number(&|flow| of_order(flow, f64::from(flow.total.order.extent_max)))),
            (
                "reordering_extent_mean",
                number(&|flow| {
                    let reordered = since_warm_up(flow, |order| order.reordered);
                    of_order(flow, since_warm_up(flow, |order| order.extent_sum) / reordered)
                }),
            ),
            ("srtt_s", number(&|flow| seconds(flow.total.info.srtt))),
            ("min_rtt_s", number(&|flow| seconds(flow.total.info.min_rtt))),
            (
                "cwnd_segments",
                number(&|flow| if flow.total.info.cwnd == 0 { f64::NAN } else { f64::from(flow.total.info.cwnd) }),
            ),
        ],
    }
}

/// The columns of the table of flows about delays.
fn delay_table(delays: &[DelayFigures]) -> Table {
    let number = |value: &dyn Fn(&DelayFigures) -> f64| Column::F64(delays.iter().map(value).collect());
    Table {
        columns: vec![
            ("delay_mean_s", number(&|flow| flow.mean)),
            ("delay_median_s", number(&|flow| flow.percentiles[0])),
            ("delay_p95_s", number(&|flow| flow.percentiles[1])),
            ("delay_p99_s", number(&|flow| flow.percentiles[2])),
            ("delay_max_s", number(&|flow| flow.greatest)),
            ("jitter_s", number(&|flow| flow.jitter)),
            ("rtt_median_s", number(&|flow| flow.round_trips[0])),
            ("rtt_p95_s", number(&|flow| flow.round_trips[1])),
            ("rtt_p99_s", number(&|flow| flow.round_trips[2])),
        ],
    }
}

/// A count since the end of the warm-up.
fn since_warm_up(flow: &FlowRecord, count: fn(&ReorderingCounts) -> u64) -> f64 {
    (count(&flow.total.order) - count(&flow.warm.order)) as f64
}

/// The value if the flow's order of arrival is known.
fn of_order(flow: &FlowRecord, value: f64) -> f64 {
    if flow.is_numbered { value } else { f64::NAN }
}

/// Linux's times of what limits the flows, seconds, since the end of the warm-up.
fn limit_table(flows: &[FlowRecord]) -> Table {
    let seconds = |time: fn(&TcpInfo) -> Duration| {
        let since_warm_up =
            |flow: &FlowRecord| time(&flow.total.info).saturating_sub(time(&flow.warm.info)).as_secs_f64();
        Column::F64(flows.iter().map(since_warm_up).collect())
    };
    Table {
        columns: vec![
            ("busy", seconds(|info| info.busy)),
            ("window", seconds(|info| info.window_limited)),
            ("buffer", seconds(|info| info.buffer_limited)),
            ("is_multipath", Column::U32(flows.iter().map(|flow| flow.is_multipath.into()).collect())),
            ("writes_over_time", Column::U32(flows.iter().map(|flow| flow.writes_over_time.into()).collect())),
        ],
    }
}

fn timeouts(flow: &FlowRecord) -> Option<f64> {
    // A flow that began after the warm-up had none then.
    Some((flow.total.info.timeouts? - flow.warm.info.timeouts.unwrap_or(0)) as f64)
}

/// The table of flow samples.
fn series_table(samples: &[FlowSample], interval_s: f64) -> Table {
    let number = |value: &dyn Fn(&FlowSample) -> f64| Column::F64(samples.iter().map(value).collect());
    let of_tcp = |sample: &FlowSample, value: f64| if sample.is_udp { f64::NAN } else { value };
    Table {
        columns: vec![
            ("time_s", number(&|sample| sample.time.as_secs())),
            ("flow", Column::U32(samples.iter().map(|sample| sample.flow).collect())),
            ("cwnd_segments", number(&|sample| of_tcp(sample, f64::from(sample.info.cwnd)))),
            ("ssthresh_segments", number(&|sample| sample.info.ssthresh.map_or(f64::NAN, f64::from))),
            ("in_flight_segments", number(&|sample| of_tcp(sample, f64::from(sample.info.in_flight)))),
            ("srtt_s", number(&|sample| seconds(sample.info.srtt))),
            ("goodput_bps", number(&|sample| sample.delivered as f64 * 8.0 / interval_s)),
            ("retransmits", Column::U64(samples.iter().map(|sample| sample.retransmits).collect())),
        ],
    }
}
