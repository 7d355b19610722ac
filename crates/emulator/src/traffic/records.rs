//! Records of the flows that Linux sends.

use crate::socket_options::TcpInfo;
use anabranch_core::traffic::reordering::ReorderingCounts;
use anabranch_core::units::Time;

/// Counters of a flow until now.
#[derive(Debug, Clone, Copy, Default)]
pub struct Progress {
    /// Payload that the receiving application has read.
    pub delivered: u64,
    /// Datagrams sent (UDP), each counted at the sender.
    pub datagrams: u64,
    /// Their order of arrival. All zero for TCP.
    pub order: ReorderingCounts,
    /// The sender's connection; all zero for UDP, or before it is open.
    pub info: TcpInfo,
}

/// A flow at the end of the run.
#[derive(Debug, Clone, Default)]
pub struct FlowRecord {
    /// Counters of the whole flow.
    pub total: Progress,
    /// Counters at the end of the warm-up.
    pub warm: Progress,
    /// When its last byte was read; `None` if it was not.
    pub end: Option<Time>,
    /// Whether its order of arrival is known: datagrams that have room for a number.
    pub is_numbered: bool,
    /// Whether it is split over subflows.
    pub is_multipath: bool,
    /// Whether its application writes over time.
    pub writes_over_time: bool,
    /// Whether its connection was ever requested.
    pub has_started: bool,
    /// Why Linux ended the connection, if it did.
    pub failure: Option<String>,
}

/// A flow at a sample.
#[derive(Debug, Clone, Copy)]
pub struct FlowSample {
    /// When.
    pub time: Time,
    /// Which flow.
    pub flow: u32,
    /// Linux's report about the connection.
    pub info: TcpInfo,
    /// Payload read since the last sample.
    pub delivered: u64,
    /// Segments sent again since the last sample.
    pub retransmits: u64,
    /// Whether the flow is UDP, which has no connection.
    pub is_udp: bool,
}
