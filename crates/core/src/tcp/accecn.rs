//! More accurate ECN feedback (AccECN, RFC 9768): a receiver counts marked packets and bytes, and each of its ACKs has both counters.
//!
//! The packets are in a field of three bits (ACE), so that a sender must judge whether it has wrapped since the last ACK that arrived. The bytes
//! are in an option of 24 bits, whose own bytes belong to the stack's `header`. Every segment counts as a full one, also the last of a flow. The
//! negotiation succeeds, and the option's counters of unmarked bytes, which senders do not need, are not modelled.

use std::num::NonZeroU32;

/// The values of the field ACE.
const ACE_VALUES: u32 = 8;
/// Counters of packets begin with this number (RFC 9768 section 3.2.1).
const FIRST_ACE: u32 = 5;
/// The values of a counter in the option (RFC 9768 section 3.2.3).
const BYTE_VALUES: u32 = 1 << 24;
/// A receiver acknowledges this number of marks at once (RFC 9768 section 3.2.2.5.1, with data that is not yet acknowledged).
const MARKS_PER_ACK: u32 = 2;

/// The counters that an ACK carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Feedback(NonZeroU32);

impl Feedback {
    /// Set in every feedback.
    const IS_SOME: NonZeroU32 = NonZeroU32::MIN.saturating_add((1 << 31) - 1);
    const HAS_OPTION: u32 = 1 << 27;
    /// The feedback before any mark, without the option.
    pub const NO_MARKS: Feedback = Feedback(Feedback::IS_SOME.saturating_add(FIRST_ACE << 24));

    /// The feedback of a receiver that has counted these marked packets and, for the option, bytes.
    pub fn new(packets: u32, bytes: Option<u32>) -> Feedback {
        let ace = packets.wrapping_add(FIRST_ACE) % ACE_VALUES;
        let option = bytes.map_or(0, |bytes| Feedback::HAS_OPTION | (bytes % BYTE_VALUES));
        Feedback(Feedback::IS_SOME | ace << 24 | option)
    }

    /// The field ACE: the number of marked packets, modulo eight.
    pub fn ace(self) -> u32 {
        self.0.get() >> 24 & (ACE_VALUES - 1)
    }

    /// The option's counter of marked bytes (ECEB), modulo 2^24.
    pub fn bytes(self) -> Option<u32> {
        (self.0.get() & Feedback::HAS_OPTION != 0).then(|| self.0.get() & (BYTE_VALUES - 1))
    }
}

/// The counter of a receiver.
#[derive(Debug, Clone, Copy)]
pub struct MarkCounter {
    /// Marked packets (r.cep).
    packets: u32,
    /// Marked packets since the last ACK.
    pending: u32,
    /// Whether the last packet was marked.
    was_marked: bool,
    /// Bytes of a segment, if ACKs have the option.
    segment_bytes: Option<u32>,
}

impl MarkCounter {
    /// The counter of a receiver of segments of this many bytes, whose ACKs have the option or not.
    pub fn new(segment_bytes: u32, with_option: bool) -> MarkCounter {
        MarkCounter { packets: 0, pending: 0, was_marked: false, segment_bytes: with_option.then_some(segment_bytes) }
    }

    /// Counts a data packet. Returns whether an ACK is due at once: where marks begin or end, as in Linux (`tcp_ecn_received_counters`), and
    /// after two of them (RFC 9768 section 3.2.2.5.1).
    pub fn count(&mut self, marked: bool) -> bool {
        let changes = std::mem::replace(&mut self.was_marked, marked) != marked;
        self.packets = self.packets.wrapping_add(u32::from(marked));
        self.pending += u32::from(marked);
        changes || self.pending >= MARKS_PER_ACK
    }

    /// The feedback of an ACK that is sent now.
    pub fn acknowledge(&mut self) -> Feedback {
        self.pending = 0;
        Feedback::new(self.packets, self.segment_bytes.map(|bytes| self.packets.wrapping_mul(bytes)))
    }
}

/// The counters of a sender: what it knows of the receiver's.
#[derive(Debug, Clone, Copy, Default)]
pub struct KnownMarks {
    /// Marked packets (s.cep).
    packets: u32,
    /// Marked bytes, modulo 2^24 (s.ceb).
    bytes: u32,
}

impl KnownMarks {
    /// The marked packets.
    pub fn packets(&self) -> u32 {
        self.packets
    }

    /// Takes the feedback of an ACK that newly reports this number of segments of `segment_bytes` each. Returns the number of packets that were
    /// marked since the last ACK that was taken.
    ///
    /// An ACK that reports nothing new may be older than the last one, and is not taken. Without the option, the field may have wrapped if the
    /// ACK reports eight segments or more. Then the greatest number is taken that the field allows: no mark is missed, but some may be counted
    /// that never were (RFC 9768 section A.2.1). With it, the number is the least that has the bytes.
    pub fn take(&mut self, feedback: Feedback, delivered: u32, segment_bytes: u32) -> u32 {
        if delivered == 0 {
            return 0;
        }
        let by_field = feedback.ace().wrapping_sub(self.packets.wrapping_add(FIRST_ACE)) % ACE_VALUES;
        let new = match feedback.bytes() {
            Some(bytes) => {
                let by_option = (bytes.wrapping_sub(self.bytes) % BYTE_VALUES).div_ceil(segment_bytes);
                if by_option > BYTE_VALUES / 2 / segment_bytes {
                    return 0; // an older ACK, which overtook no news of its own
                }
                self.bytes = bytes;
                by_field + by_option.saturating_sub(by_field).next_multiple_of(ACE_VALUES)
            }
            None if delivered < ACE_VALUES => by_field,
            None => delivered - (delivered - by_field) % ACE_VALUES,
        };
        self.packets = self.packets.wrapping_add(new);
        new
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SEGMENT: u32 = 1460;

    /// RFC 9768 section A.2.1: with nine segments reported and the field ahead by one, one mark is likely, but nine are safe.
    #[test]
    fn rfc9768_appendix_a_2_1_the_safe_number_is_the_greatest_that_the_field_allows() {
        let taken = |ace, delivered| KnownMarks::default().take(Feedback::new(ace, None), delivered, SEGMENT);
        assert_eq!([taken(0, 7), taken(1, 7), taken(7, 7)], [0, 1, 7]);
        assert_eq!([taken(1, 8), taken(1, 9), taken(1, 16), taken(0, 8), taken(3, 20)], [1, 9, 9, 8, 19]);
    }

    #[test]
    fn rfc9768_section_3_2_2_5_1_marks_are_acknowledged_where_they_begin_and_end_and_in_pairs() {
        let mut receiver = MarkCounter::new(SEGMENT, true);
        let due: Vec<bool> = [false, false, true, true, true, true, false, false]
            .map(|marked| {
                let is_due = receiver.count(marked);
                if is_due {
                    receiver.acknowledge();
                }
                is_due
            })
            .to_vec();
        assert_eq!(due, [false, false, true, false, true, false, true, false]);
    }

    /// The packets of a script with their marks; whether the receiver acknowledges each by its own policy, and whether the ACK is lost.
    fn script() -> impl Strategy<Value = Vec<(bool, bool, bool)>> {
        (1u32..10, 0u32..10, 1u32..9).prop_flat_map(|(marks, losses, delays)| {
            let one = (0u32..10, 0u32..10, 0u32..10)
                .prop_map(move |(mark, loss, delay)| (mark < marks, loss < losses, delay >= delays));
            prop::collection::vec(one, 1..400)
        })
    }

    /// Runs a script. Returns the packets and the marks between the ACKs that arrive, and the marks that the sender counts.
    fn run(script: &[(bool, bool, bool)], with_option: bool) -> Vec<(u32, u32, u32)> {
        let (mut receiver, mut sender) = (MarkCounter::new(SEGMENT, with_option), KnownMarks::default());
        let (mut delivered, mut marks, mut found) = (0, 0, Vec::new());
        for (marked, is_lost, acknowledges) in script {
            let is_due = receiver.count(*marked);
            (delivered, marks) = (delivered + 1, marks + u32::from(*marked));
            if is_due || *acknowledges {
                let feedback = receiver.acknowledge();
                if !is_lost {
                    assert_eq!(sender.take(feedback, 0, SEGMENT), 0, "an ACK without news");
                    found.push((delivered, marks, sender.take(feedback, delivered, SEGMENT)));
                    (delivered, marks) = (0, 0);
                }
            }
        }
        found
    }

    proptest! {
        /// With the option, the sender counts exactly the receiver's marks, whatever marks, delays and losses of ACKs.
        #[test]
        fn with_the_option_every_ack_brings_the_exact_number(script in script()) {
            for (delivered, marks, counted) in run(&script, true) {
                prop_assert_eq!(counted, marks, "of {} packets", delivered);
            }
        }

        /// Without it, the count is exact while fewer than eight packets are reported at once. Otherwise it differs by eights, and is never less than
        /// the marks so far.
        #[test]
        fn without_the_option_no_mark_is_missed(script in script()) {
            let mut surplus = 0;
            for (delivered, marks, counted) in run(&script, false) {
                let difference = counted as i64 - i64::from(marks);
                prop_assert!(difference >= 0 && difference % 8 == 0, "{} of {} marks", counted, marks);
                prop_assert!(counted <= delivered);
                prop_assert!(delivered >= 8 || difference == 0);
                surplus += difference;
            }
            prop_assert!(surplus >= 0);
        }
    }
}
