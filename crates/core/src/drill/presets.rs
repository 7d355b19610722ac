//! Stacks to run scripts against.

use crate::spec::{Follows, ProtocolSpec, SpuriousResponse, StackSettings, StackSpec};
use crate::tcp::ack::{self, AckSpec};
use crate::tcp::congestion::slow_start::SlowStartSpec;
use crate::tcp::congestion::{self, CongestionSpec};
use crate::tcp::detection::{self, DetectionSpec};
use crate::units::Duration;

/// The stack of the RFCs: NewReno, duplicate ACKs, delayed ACKs, SACK. Open choices have the defaults of scenarios.
pub fn rfc() -> StackSpec {
    StackSpec {
        name: "rfc".to_string(),
        congestion: CongestionSpec::NewReno(congestion::loss_based::newreno::Parameters::default()).into(),
        detection: DetectionSpec::DupAck(detection::dup_ack::Parameters::default()),
        ack: AckSpec::Delayed(ack::delayed::Parameters::default()),
        slow_start: SlowStartSpec::Classic(Default::default()),
        protocol: ProtocolSpec::default(),
        entropy: None,
        settings: StackSettings {
            receive_window: 65_535,
            min_rto: Duration::from_millis(1000),
            ..StackSettings::default()
        },
    }
}

/// Linux's default stack: CUBIC, RACK-TLP, quick ACKs, F-RTO, undo by DSACK and timestamps, a timeout of at least SRTT + 200 ms.
pub fn linux() -> StackSpec {
    StackSpec {
        name: "linux".to_string(),
        congestion: CongestionSpec::LinuxCubic(congestion::linux::cubic::Parameters::default()).into(),
        detection: DetectionSpec::RackTlp(detection::rack_tlp::Parameters {
            rtt_by_sequence: true,
            ..detection::rack_tlp::Parameters::default()
        }),
        ack: AckSpec::QuickAck(ack::quick_ack::Parameters::default()),
        settings: StackSettings {
            spurious: SpuriousResponse::Eifel,
            f_rto: true,
            min_rto: Duration::from_millis(200),
            max_rto: Duration::from_secs(120),
            rto_granularity: Duration::from_millis(200),
            follows: Follows::Linux,
            // The clock of the kernels that packetdrill's scripts are written for: their timers end at whole milliseconds.
            hz: 1000,
            ..rfc().settings
        },
        ..rfc()
    }
}
