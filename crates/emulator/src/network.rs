//! The network that packets cross between devices, at times that the caller sets.

use anabranch_core::units::Time;

/// A network between numbered devices.
pub trait Network {
    /// A packet comes from a device now.
    fn send(&mut self, now: Time, device: u32, packet: &[u8], output: &mut impl Output);

    /// Moves packets on, up to this time.
    fn advance(&mut self, now: Time, output: &mut impl Output);

    /// When a packet moves next; [`Time::NEVER`] if none does.
    fn next_event(&self) -> Time;
}

/// Receives the packets that have crossed the network.
pub trait Output {
    /// A packet reaches this device, and should have reached it at this time.
    fn write(&mut self, due: Time, device: u32, packet: &[u8]);
}
