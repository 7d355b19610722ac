//! The network that packets cross between devices, at times that the caller sets.

use anabranch_core::units::Time;

/// A network between numbered devices.
pub trait Network {
    /// Sends a packet from a device now.
    fn send(&mut self, now: Time, device: u32, packet: &[u8], output: &mut impl Output);

    /// Moves packets on, up to this time.
    fn advance(&mut self, now: Time, output: &mut impl Output);

    /// Time of the next event of a packet; [`Time::NEVER`] if there is none.
    fn next_event(&self) -> Time;
}

/// Receives the packets that have crossed the network.
pub trait Output {
    /// Writes a packet to this device, which it should have reached at `due`.
    fn write(&mut self, due: Time, device: u32, packet: &[u8]);
}
