//! The subflow of the lowest RTT with room in its congestion window: the default of the first Linux implementation (Raiciu et al., NSDI 2012; Paasch,
//! Ferlin, Alay and Bonaventure, "Experimental evaluation of Multipath TCP schedulers", 2014).

use super::{Scheduler, View};

pub struct MinRtt;

impl Scheduler for MinRtt {
    fn choose(&mut self, view: &View) -> Option<usize> {
        view.fastest(|subflow| subflow.has_room)
    }
}

#[cfg(test)]
mod tests {
    use super::super::Subflow;
    use super::super::tests::{choice, subflow};
    use super::*;

    #[test]
    fn the_fastest_subflow_sends_until_its_window_is_full() {
        let choose = |subflows: &[Subflow]| choice(&mut MinRtt, subflows, 1);
        assert_eq!(choose(&[subflow(30, 10.0, 2), subflow(10, 10.0, 9), subflow(20, 10.0, 0)]), Some(1));
        assert_eq!(choose(&[subflow(30, 10.0, 2), subflow(10, 10.0, 10), subflow(20, 10.0, 0)]), Some(2));
        assert_eq!(choose(&[subflow(10, 10.0, 0), subflow(10, 10.0, 0)]), Some(0));
        assert_eq!(choose(&[subflow(10, 10.0, 10)]), None);
    }
}
