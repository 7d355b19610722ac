//! The packets with these numbers are lost, counted from 1.

use super::LossModel;

#[derive(Debug)]
pub(super) struct List {
    packets: Vec<u64>,
    next: usize,
    arrivals: u64,
}

impl List {
    pub(super) fn new(packets: &[u64]) -> List {
        List { packets: packets.to_vec(), next: 0, arrivals: 0 }
    }
}

impl LossModel for List {
    fn is_lost(&mut self) -> bool {
        self.arrivals += 1;
        let lost = self.packets.get(self.next) == Some(&self.arrivals);
        self.next += usize::from(lost);
        lost
    }
}

pub(super) fn check(packets: &[u64]) -> Result<(), String> {
    if packets.first() == Some(&0) {
        return Err("packets contains 0: packets are counted from 1".into());
    }
    match packets.windows(2).find(|pair| pair[0] >= pair[1]) {
        Some(pair) => {
            Err(format!("packets has {} before {}: the numbers must be ascending, each once", pair[0], pair[1]))
        }
        None => Ok(()),
    }
}
