//! A transport stack: congestion control x loss detection x ACK policy, and the sizes, timers and switches around them.
//!
//! A setting is declared once, in [`StackSettings`]. The schema of scenarios, its checks and defaults, the guide's table and the
//! compiled run follow from that.

use crate::entropy::EntropySpec;
use crate::mptcp;
use crate::tcp::congestion::{choice::ControlSpec, slow_start::SlowStartSpec};
use crate::tcp::detection::{DetectionSpec, dup_ack, rack_tlp};
use crate::tcp::rtt::CLOCK_GRANULARITY;
use crate::tcp::{ack::AckSpec, kernel_clock::KernelClock};
use crate::uet;
use crate::units::Duration;
use serde::{Deserialize, Serialize};
use std::ops::{Deref, DerefMut};

crate::parameters! {
    /// The settings of a stack besides its algorithms.
    pub struct StackSettings {
        /// Selective acknowledgements, RFC 2018.
        pub sack: bool = true;
        /// How the sender recognises a spurious retransmission and takes the reduction back.
        pub spurious: SpuriousResponse = SpuriousResponse::None;
        /// Forward RTO recovery, RFC 5682.
        pub f_rto: bool = false;
        /// Limited transmit, RFC 3042.
        pub limited_transmit: bool = true;
        /// Explicit congestion notification, RFC 3168.
        pub ecn: bool = false;
        /// Sends ECT(1), the identifier of L4S (RFC 9331), instead of ECT(0); needs `ecn`. Only for controls that answer marks by their share, as Prague and DCTCP do.
        pub l4s: bool = false;
        /// How the receiver reports marks: until the sender has answered (RFC 3168), exactly those of the segments acknowledged (RFC 8257 section 3.2), or by counters (AccECN, RFC 9768), with its option or by its field of three bits alone.
        pub ecn_echo: EcnEcho = EcnEcho::Classic;
        /// Spreads sending over the round trip.
        pub pacing: bool = false;
        /// A round trip of SYN and SYN-ACK before data.
        pub handshake: bool = true;
        /// Payload of a full segment.
        pub mss: u32 as "size" = 1460;
        /// Headers of every packet; an ACK is nothing else.
        pub header: u32 as "size" = 40;
        /// Initial congestion window (RFC 6928: 10).
        pub initial_window: u32 as "packets" = 10;
        /// The greatest window that a receiver advertises. With `follows = "linux"` the window begins with 64 KB and grows with what is read, up to this value; "3 MiB" is half of the 6 MB that Linux allows by default.
        pub receive_window: u64 as "size" = 64_000_000;
        /// Least retransmission timeout (RFC 6298: 1 s; Linux: 200 ms).
        pub min_rto: Duration as "positive duration" = Duration::from_millis(200);
        /// Greatest retransmission timeout (RFC 6298: at least 60 s).
        pub max_rto: Duration as "positive duration" = Duration::from_secs(60);
        /// Timeout before the first RTT sample (RFC 6298: 1 s).
        pub initial_rto: Duration as "positive duration" = Duration::from_secs(1);
        /// The least that the timeout exceeds SRTT by (G of RFC 6298; Linux: 200 ms).
        pub rto_granularity: Duration as "positive duration" = CLOCK_GRANULARITY;
        /// Whose rules of window growth, recovery and pacing the sender follows: those of the RFCs, of Linux, or of ns-2 ([the differences](transports.md#rfc-linux-and-ns-2)).
        pub follows: Follows = Follows::Rfc;
        /// Ticks of the kernel's clock a second (100, 250, 300 or 1000): they round the timers of a sender that follows Linux, and are the jiffies of an eBPF program.
        pub hz: u32 = 250, in 32..=1200;
        /// Whether a paced sender that follows Linux may send several segments at once; false as after `ethtool -K eth0 tso off gso off`.
        pub segmentation_offload: bool = true;
        /// An idle timeout ends the window, RFC 5681 section 4.1.
        pub restart_after_idle: bool = true;
    }
}

crate::choice! {
    /// The rules that a sender follows where Linux and ns-2 differ from the RFCs.
    pub enum Follows {
        /// An ACK grows the window by the segments that it passes (RFC 5681 section 3.1, RFC 3465), if the window was the limit when
        /// the sender last stopped. Recovery follows RFC 6937. A paced sender spaces single segments.
        Rfc = "rfc",
        /// An ACK grows the window by the segments that it passes and newly reports, if the window was the limit within the last round
        /// trip. In slow start, the window may grow to twice the greatest flight of that round trip. Recovery follows RFC 9937, also after
        /// congestion marks. A paced sender spaces bursts of a 1024th of a second, of two segments to 64 kB, after the first ten segments
        /// of a connection. A late burst shortens the next wait by up to a half. A flow with a size ends with a FIN.
        Linux = "linux",
        /// Like [`Follows::Rfc`], but an ACK grows the window by one segment for any number of segments that it passes (RFC 2581 section
        /// 3.1).
        Ns2 = "ns-2",
    }
}

crate::choice! {
    /// The echo of congestion marks by a receiver.
    pub enum EcnEcho {
        /// From a mark on until the sender has answered it (RFC 3168 section 6.1.3).
        Classic = "classic",
        /// An ACK echoes the mark of exactly the segments that it acknowledges (RFC 8257 section 3.2).
        Exact = "exact",
        /// Each ACK has the number of marked packets modulo eight and, in an option, the bytes of marked packets (AccECN, RFC 9768).
        Accecn = "accecn",
        /// AccECN without its option, as where a middlebox removes it.
        Ace = "ace",
    }
}

impl EcnEcho {
    /// Whether the receiver reports counters (AccECN) instead of an echo.
    pub fn is_accurate(self) -> bool {
        matches!(self, EcnEcho::Accecn | EcnEcho::Ace)
    }
}

crate::choice! {
    /// The method by which a sender detects that a retransmission was spurious.
    pub enum SpuriousResponse {
        /// No detection.
        None = "none",
        /// Duplicate SACK reports every retransmission of the episode as a duplicate (RFC 2883, RFC 3708).
        Dsack = "dsack",
        /// An ACK echoes a transmission older than the retransmission (Eifel, RFC 3522); DSACK as well.
        Eifel = "eifel",
    }
}

mod tcp {
    crate::parameters! {
        /// No parameter: the keys of the stack describe it.
        pub struct Parameters {}
    }
}

crate::algorithm_registry! {
    /// The protocol of a stack.
    pub enum ProtocolSpec {
        /// A byte stream in order (RFC 9293).
        Tcp = "tcp": tcp,
        /// Several subflows of TCP, each on a path of its own (RFC 8684).
        MpTcp = "mptcp": mptcp,
        /// Messages whose packets arrive in any order (Ultra Ethernet 1.0); congestion, slow_start, detection and ack have no meaning.
        Uet = "uet": uet,
    }
}

impl Default for ProtocolSpec {
    fn default() -> ProtocolSpec {
        ProtocolSpec::Tcp(tcp::Parameters {})
    }
}

/// A transport stack. Its settings are fields of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Written")]
pub struct StackSpec {
    /// The name in the scenario, for results.
    pub name: String,
    /// Determines the congestion window or the rate.
    pub congestion: ControlSpec,
    /// Growth of a window-based congestion control below ssthresh.
    pub slow_start: SlowStartSpec,
    /// Determines which segments are lost, and when.
    pub detection: DetectionSpec,
    /// When the receiver acknowledges.
    pub ack: AckSpec,
    /// Whether the stack is TCP, or a transport of messages.
    #[serde(default)]
    pub protocol: ProtocolSpec,
    /// How the sender chooses entropy values; without a policy each packet has one of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub entropy: Option<EntropySpec>,
    /// Everything else.
    #[serde(flatten)]
    pub settings: StackSettings,
}

/// A stack as JSON has it. Serde ignores unknown keys beside a flattened struct, so the settings are read on their own.
#[derive(Deserialize)]
struct Written {
    name: String,
    congestion: ControlSpec,
    slow_start: SlowStartSpec,
    detection: DetectionSpec,
    ack: AckSpec,
    #[serde(default)]
    protocol: ProtocolSpec,
    #[serde(default)]
    entropy: Option<EntropySpec>,
    #[serde(flatten)]
    settings: serde_json::Map<String, serde_json::Value>,
}

impl TryFrom<Written> for StackSpec {
    type Error = serde_json::Error;

    fn try_from(written: Written) -> Result<StackSpec, serde_json::Error> {
        let Written { name, congestion, slow_start, detection, ack, protocol, entropy, settings } = written;
        let settings = serde_json::from_value(settings.into())?;
        Ok(StackSpec { name, congestion, slow_start, detection, ack, protocol, entropy, settings })
    }
}

impl Deref for StackSpec {
    type Target = StackSettings;

    fn deref(&self) -> &StackSettings {
        &self.settings
    }
}

impl DerefMut for StackSpec {
    fn deref_mut(&mut self) -> &mut StackSettings {
        &mut self.settings
    }
}

impl StackSpec {
    /// The window that the receiver advertises, whole segments; at least one.
    pub fn window_segments(&self) -> u32 {
        u32::try_from(self.receive_window / u64::from(self.mss)).unwrap_or(u32::MAX).max(1)
    }

    /// Whether a paced sender sends several segments at once.
    pub fn sends_quanta(&self) -> bool {
        self.follows == Follows::Linux && self.segmentation_offload
    }

    /// The loss detection in use. Linux's RACK needs SACK; without it Linux counts duplicate ACKs and sends no probes
    /// (`tcp_identify_packet_loss`, `tcp_schedule_loss_probe`).
    pub fn detection_in_use(&self) -> DetectionSpec {
        match self.detection {
            DetectionSpec::RackTlp(rack_tlp::Parameters { threshold, .. })
                if !self.sack && self.follows == Follows::Linux =>
            {
                DetectionSpec::DupAck(dup_ack::Parameters { threshold })
            }
            detection => detection,
        }
    }

    /// The parameters of a transport of messages; `None` for others.
    pub fn messages(&self) -> Option<&uet::Parameters> {
        match &self.protocol {
            ProtocolSpec::Uet(parameters) => Some(parameters),
            ProtocolSpec::Tcp(_) | ProtocolSpec::MpTcp(_) => None,
        }
    }

    /// The subflows of a connection; `None` if it has none.
    pub fn subflows(&self) -> Option<&mptcp::Parameters> {
        match &self.protocol {
            ProtocolSpec::MpTcp(parameters) => Some(parameters),
            ProtocolSpec::Tcp(_) | ProtocolSpec::Uet(_) => None,
        }
    }

    /// The clock of the hosts' kernel, if they follow Linux.
    pub fn clock(&self) -> Option<KernelClock> {
        (self.follows == Follows::Linux).then(|| KernelClock::new(self.hz))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(settings: serde_json::Value) -> Result<StackSpec, serde_json::Error> {
        let mut stack = json!({"name": "x", "congestion": {"name": "newreno"}, "slow_start": {"name": "classic"},
            "detection": {"name": "dup-ack"}, "ack": {"name": "immediate"}});
        stack.as_object_mut().expect("an object").extend(settings.as_object().expect("an object").clone());
        serde_json::from_value(stack)
    }

    /// A compiled stack has its settings beside its algorithms, and an unknown key is an error.
    #[test]
    fn settings_are_keys_of_the_stack_and_no_others_are_read() {
        let stack = read(json!({"mss": 1000, "follows": "linux"})).expect("a stack");
        assert_eq!((stack.mss, stack.follows, stack.hz), (1000, Follows::Linux, 250));
        assert_eq!(serde_json::to_value(&stack).expect("JSON")["mss"], 1000);
        let error = read(json!({"mssx": 1000})).expect_err("an unknown key");
        assert!(error.to_string().contains("unknown field `mssx`"), "{error}");
    }
}
