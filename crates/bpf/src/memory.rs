//! The memory that one connection's program may read and write: one arena, whose addresses are offsets.

use std::ops::Range;

/// The address of the arena's first byte. Below it, accesses through null pointers fault.
pub const FIRST_ADDRESS: u64 = 4096;

/// Memory of one connection.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Memory {
    bytes: Vec<u8>,
    /// For every byte, 1 if programs may write it, otherwise 0.
    writable: Vec<u8>,
}

impl Memory {
    /// Appends a region that programs may read, and write in some ranges of it. Returns its address, a multiple of 8.
    pub fn add(&mut self, contents: &[u8], writable: impl IntoIterator<Item = Range<usize>>) -> u64 {
        let start = self.bytes.len().next_multiple_of(8);
        self.bytes.resize(start, 0);
        self.bytes.extend_from_slice(contents);
        self.writable.resize(self.bytes.len(), 0);
        for range in writable {
            self.writable[start..][range].fill(1);
        }
        FIRST_ADDRESS + start as u64
    }

    /// Bytes of all regions.
    pub(crate) fn len(&self) -> usize {
        self.bytes.len()
    }

    #[inline(always)]
    fn place(&self, address: u64, size: usize) -> Option<usize> {
        let start = usize::try_from(address.checked_sub(FIRST_ADDRESS)?).ok()?;
        (start <= self.bytes.len() && self.bytes.len() - start >= size).then_some(start)
    }

    /// The bytes at an address.
    pub fn bytes(&self, address: u64, size: usize) -> Option<&[u8]> {
        self.place(address, size).map(|start| &self.bytes[start..start + size])
    }

    /// The bytes at an address, even if programs may not write them.
    pub fn bytes_mut(&mut self, address: u64, size: usize) -> Option<&mut [u8]> {
        self.place(address, size).map(|start| &mut self.bytes[start..start + size])
    }

    /// The text at an address, up to its zero byte.
    pub fn text(&self, address: u64, longest: usize) -> Option<String> {
        let start = self.place(address, 1)?;
        let bytes = self.bytes[start..].iter().take(longest).take_while(|byte| **byte != 0);
        Some(String::from_utf8_lossy(&bytes.copied().collect::<Vec<_>>()).into_owned())
    }

    /// Whether programs may write all bytes of a range.
    pub fn is_writable(&self, address: u64, size: usize) -> bool {
        self.place(address, size).is_some_and(|start| self.writable[start..start + size].iter().all(|byte| *byte == 1))
    }

    #[inline(always)]
    pub(crate) fn load<const N: usize>(&self, address: u64) -> Option<[u8; N]> {
        let start = self.place(address, N)?;
        self.bytes[start..start + N].try_into().ok()
    }

    #[inline(always)]
    pub(crate) fn store<const N: usize>(&mut self, address: u64, value: [u8; N]) -> Option<()> {
        let start = self.place(address, N)?;
        if self.writable[start..start + N] != [1; N] {
            return None;
        }
        self.bytes[start..start + N].copy_from_slice(&value);
        Some(())
    }

    /// The unsigned number of 1, 2, 4 or 8 bytes at an address; zero outside.
    #[inline]
    pub fn read(&self, address: u64, size: usize) -> u64 {
        let value = match size {
            8 => self.load(address).map(u64::from_le_bytes),
            4 => self.load(address).map(|bytes| u32::from_le_bytes(bytes).into()),
            2 => self.load(address).map(|bytes| u16::from_le_bytes(bytes).into()),
            _ => self.load(address).map(|bytes| u8::from_le_bytes(bytes).into()),
        };
        value.unwrap_or(0)
    }

    /// Writes a number of 1, 2, 4 or 8 bytes, even where programs may not write. Does nothing outside of the arena.
    #[inline]
    pub fn write(&mut self, address: u64, size: usize, value: u64) {
        match size {
            8 => self.put(address, value.to_le_bytes()),
            4 => self.put(address, (value as u32).to_le_bytes()),
            2 => self.put(address, (value as u16).to_le_bytes()),
            _ => self.put(address, [value as u8]),
        }
    }

    #[inline(always)]
    fn put<const N: usize>(&mut self, address: u64, value: [u8; N]) {
        if let Some(start) = self.place(address, N) {
            self.bytes[start..start + N].copy_from_slice(&value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_ranges_that_are_given_can_be_written_and_nothing_outside_read() {
        let mut memory = Memory::default();
        assert_eq!(memory.add(&[1, 2, 3], None), FIRST_ADDRESS);
        let address = memory.add(&[0; 16], Some(4..8));
        assert_eq!(address, FIRST_ADDRESS + 8);
        assert_eq!(memory.store(address + 4, 7u32.to_le_bytes()), Some(()));
        assert_eq!(memory.store(address + 4, 7u64.to_le_bytes()), None);
        assert_eq!(memory.store(address, 7u32.to_le_bytes()), None);
        assert_eq!(memory.load::<8>(address), Some((7u64 << 32).to_le_bytes()));
        assert_eq!(memory.load::<8>(address + 9), None);
        assert_eq!(memory.load::<1>(u64::MAX), None);
        assert_eq!(memory.load::<1>(0), None);
    }
}
