//! The properties of a connection that a script determines in advance: sequence numbers, boundaries of the data, the first timestamp.

use super::script::{Action, Script};
use super::streams::Incoming;

/// The properties of a connection that a script determines in advance.
pub struct Outline {
    /// Our initial sequence number.
    pub isn: u32,
    /// The peer's initial sequence number.
    pub peer_isn: u32,
    /// The boundaries of the peer's data.
    pub incoming: Incoming,
    /// Our first timestamp.
    pub timestamp: u32,
}

impl Outline {
    /// The outline of a script's connection. An arriving packet may join segments of `joined_mss` bytes.
    pub fn of(script: &Script, joined_mss: Option<u32>) -> Outline {
        let segments = |inbound: bool| {
            script.events.iter().filter_map(move |event| match &event.action {
                Action::Inbound(segment) if inbound => Some(segment),
                Action::Outbound(segment) if !inbound => Some(segment),
                _ => None,
            })
        };
        let isn = |inbound: bool| segments(inbound).find(|segment| segment.flags.syn).map_or(0, |segment| segment.seq);
        let peer_isn = isn(true);
        let offset = |number: u32| u64::from(number.wrapping_sub(peer_isn).wrapping_sub(1));
        let data = segments(true).filter(|segment| !segment.flags.syn && !segment.flags.rst).filter_map(|segment| {
            let start = offset(segment.seq);
            let end = start + u64::from(segment.length);
            (segment.length > 0 || segment.flags.fin).then_some((start, end, segment.flags.fin))
        });
        let pieces = data.flat_map(|(start, end, fin)| {
            let size = joined_mss.map_or(end - start, u64::from).max(1);
            let segments = (start..end).step_by(size as usize).map(move |cut| (cut, end.min(cut + size)));
            segments.chain(fin.then_some((end, end + 1)))
        });
        let timestamp = segments(false).find_map(|segment| segment.timestamp()).map_or(0, |(value, _)| value);
        Outline { isn: isn(false), peer_isn, incoming: Incoming::new(pieces), timestamp }
    }
}
