//! Proportional rate reduction, RFC 6937 and RFC 9937: spreads the reduction of the window over the round trip of recovery.

/// The state of one recovery episode, in segments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProportionalRateReduction {
    flight_at_start: u32,
    delivered: u32,
    /// Transmissions of the flow before recovery.
    sent_before: u32,
    window: u32,
}

/// Segments that may be sent now (RFC 6937 section 3.1, RFC 9937 section 6.2): `delivered` and `sent` count from the start of
/// recovery, `newly_delivered` is this ACK's. The slow-start reduction bound holds if `slow_start`, else the conservative one.
pub fn allowance(
    in_flight: u32,
    ssthresh: u32,
    flight_at_start: u32,
    delivered: u32,
    sent: u32,
    newly_delivered: u32,
    slow_start: bool,
) -> u32 {
    if in_flight > ssthresh {
        let target = (u64::from(delivered) * u64::from(ssthresh)).div_ceil(u64::from(flight_at_start.max(1)));
        (target as u32).saturating_sub(sent)
    } else {
        let limit = delivered.saturating_sub(sent).max(newly_delivered) + u32::from(slow_start);
        (ssthresh - in_flight).min(limit)
    }
}

impl ProportionalRateReduction {
    /// Recovery begins with `flight_at_start` segments in flight before any was marked lost. `transmissions` counts those of the
    /// flow up to now.
    pub fn new(flight_at_start: u32, transmissions: u32) -> ProportionalRateReduction {
        ProportionalRateReduction { flight_at_start, delivered: 0, sent_before: transmissions, window: 0 }
    }

    /// Processes an ACK of recovery, after `transmissions` of the flow; `slow_start` chooses the bound below `ssthresh`.
    pub fn on_ack(
        &mut self,
        in_flight: u32,
        transmissions: u32,
        ssthresh: u32,
        newly_delivered: u32,
        slow_start: bool,
    ) {
        self.delivered += newly_delivered;
        let (flight, sent) = (self.flight_at_start, transmissions - self.sent_before);
        let allowed = allowance(in_flight, ssthresh, flight, self.delivered, sent, newly_delivered, slow_start);
        // The fast retransmission itself is always sent.
        let allowed = if sent == 0 { allowed.max(1) } else { allowed };
        // With nothing in flight no ACK would come any more: the conservative bound alone would wait for ever.
        self.window = (in_flight + allowed).max(1);
    }

    /// The most segments in flight now.
    pub fn window(&self) -> u32 {
        self.window
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rfc6937_section_3_1_one_loss_of_twenty_sends_every_second_ack() {
        // 20 segments in flight, the first is lost, ssthresh is 10: 19 ACKs deliver, 10 segments go out, evenly.
        let mut in_flight = 19;
        let mut recovery = ProportionalRateReduction::new(20, 1000);
        let mut sent = Vec::new();
        for ack in 1..=19 {
            in_flight -= 1;
            recovery.on_ack(in_flight, 1000 + sent.len() as u32, 10, 1, true);
            while in_flight < recovery.window() {
                in_flight += 1;
                sent.push(ack);
            }
        }
        // At the 17th ACK in_flight equals ssthresh: from here on the second branch of the algorithm decides.
        assert_eq!(sent, [1, 3, 5, 7, 9, 11, 13, 15, 18, 19]);
        assert_eq!(in_flight, 10);
    }

    #[test]
    fn rfc6937_section_3_1_heavy_loss_grows_back_to_ssthresh_by_slow_start() {
        // Below ssthresh, each delivered segment allows itself and one more.
        assert_eq!(allowance(4, 10, 20, 1, 0, 1, true), 2);
        assert_eq!(allowance(9, 10, 20, 5, 1, 1, true), 1);
    }

    /// Section 6.2: without SafeACK, below ssthresh one segment goes out for each that was delivered.
    #[test]
    fn rfc9937_section_6_2_further_loss_keeps_to_what_is_delivered() {
        assert_eq!(allowance(4, 10, 20, 1, 0, 1, false), 1);
        assert_eq!(allowance(4, 10, 20, 4, 1, 1, false), 3);
    }
}
