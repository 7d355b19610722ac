//! Every n-th packet is lost.

use super::LossModel;

#[derive(Debug)]
pub(super) struct Periodic {
    every: u64,
    until_next: u64,
}

impl Periodic {
    pub(super) fn new(every: u64) -> Periodic {
        Periodic { every, until_next: every }
    }
}

impl LossModel for Periodic {
    fn is_lost(&mut self) -> bool {
        self.until_next -= 1;
        let lost = self.until_next == 0;
        if lost {
            self.until_next = self.every;
        }
        lost
    }
}

pub(super) fn check(every: u64) -> Result<(), String> {
    if every == 0 { Err("every is 0: it must be at least 1".into()) } else { Ok(()) }
}
