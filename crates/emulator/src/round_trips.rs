//! Round trips of TCP's data, as its host sees them: from a segment that leaves the host until a cumulative ACK of it reaches the host.
//!
//! Linux reports only its smoothed RTT. So the network measures: an ACK gives the round trip of the first segment that it passes, as Linux takes
//! it. After a retransmission, the segments in flight give none (Karn's algorithm), because an ACK that fills a hole also passes segments that had
//! arrived long before.

use crate::packets::{FiveTuple, TCP, read, segment};
use anabranch_core::histogram::Histogram;
use anabranch_core::units::Time;
use std::collections::{HashMap, VecDeque};

/// The round trips of all connections, by the addresses and ports of their data.
pub struct RoundTrips {
    /// Only from this time on.
    from: Time,
    connections: HashMap<FiveTuple, Connection>,
}

#[derive(Default)]
struct Connection {
    /// The sequence number behind each segment in flight that was sent once, and when it was sent.
    in_flight: VecDeque<(u32, Time)>,
    /// The sequence number behind all data so far.
    next: Option<u32>,
    samples: Histogram,
}

/// Whether a sequence number comes after another one (RFC 9293 section 3.4).
fn is_after(one: u32, other: u32) -> bool {
    (one.wrapping_sub(other) as i32) > 0
}

impl RoundTrips {
    /// None yet. Samples count from this time on.
    pub fn new(from: Time) -> RoundTrips {
        RoundTrips { from, connections: HashMap::new() }
    }

    /// Notes a packet that a host sends.
    pub fn on_sent(&mut self, now: Time, packet: &[u8]) {
        let Some((header, tcp)) = read(packet).zip(segment(packet)).filter(|(header, _)| header.tuple.protocol == TCP)
        else {
            return;
        };
        if tcp.end == tcp.begin {
            return;
        }
        let connection = self.connections.entry(header.tuple).or_default();
        if connection.next.is_some_and(|next| is_after(next, tcp.begin)) {
            connection.in_flight.clear();
        } else {
            connection.in_flight.push_back((tcp.end, now));
            connection.next = Some(tcp.end);
        }
    }

    /// Notes a packet that reaches a host.
    pub fn on_delivered(&mut self, now: Time, packet: &[u8]) {
        let Some((header, tcp)) = read(packet).zip(segment(packet)) else { return };
        let Some(connection) = self.connections.get_mut(&header.tuple.reversed()) else { return };
        let mut first = None;
        while let Some((end, sent)) = connection.in_flight.front().copied()
            && !is_after(end, tcp.acknowledged)
        {
            connection.in_flight.pop_front();
            first = first.or(Some(sent));
        }
        if let Some(sent) = first.filter(|_| now >= self.from) {
            connection.samples.record(now - sent);
        }
    }

    /// The samples of a connection.
    pub fn samples(&self, data: &FiveTuple) -> Option<&Histogram> {
        self.connections.get(data).map(|connection| &connection.samples)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use etherparse::PacketBuilder;

    const MS: u64 = 1_000_000_000;

    fn packet(from: u8, sequence: u32, acknowledged: u32, payload: usize) -> Vec<u8> {
        let mut bytes = Vec::new();
        let (source, destination) = (u16::from(from), u16::from(3 - from));
        PacketBuilder::ipv4([10, 0, 0, from], [10, 0, 0, 3 - from], 64)
            .tcp(source, destination, sequence, 1000)
            .ack(acknowledged)
            .write(&mut bytes, &vec![0; payload])
            .unwrap();
        bytes
    }

    /// Segments at 0, 10 and 20 ms around the wrap of sequence numbers. An ACK of the first two comes after 50 ms, and one of the third after 90
    /// ms: 50 and 70 ms. A segment at 100 ms is sent again, so its ACK gives none. Before 60 ms, nothing counts in the second case.
    #[test]
    fn an_ack_gives_the_round_trip_of_the_first_segment_that_it_passes() {
        let first = u32::MAX - 1000;
        for (from, expected) in [(0, [50, 70]), (60, [70, 70])] {
            let mut trips = RoundTrips::new(Time(from * MS));
            for number in 0..3 {
                trips
                    .on_sent(Time(u64::from(number) * 10 * MS), &packet(1, first.wrapping_add(number * 1000), 7, 1000));
            }
            trips.on_delivered(Time(50 * MS), &packet(2, 7, first.wrapping_add(2000), 0));
            trips.on_delivered(Time(90 * MS), &packet(2, 7, first.wrapping_add(3000), 0));
            for at in [100, 200] {
                trips.on_sent(Time(at * MS), &packet(1, first.wrapping_add(3000), 7, 1000));
            }
            trips.on_delivered(Time(250 * MS), &packet(2, 7, first.wrapping_add(4000), 0));
            let tuple = read(&packet(1, 0, 0, 1)).unwrap().tuple;
            let samples = trips.samples(&tuple).unwrap();
            let found = [0.0, 1.0].map(|share| (samples.quantile_s(share) * 1e3).round() as u64);
            assert_eq!(found, expected);
        }
    }
}
