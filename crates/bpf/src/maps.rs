//! Maps: the data that programs keep besides the socket (Linux, `Documentation/bpf/maps.rst`). Every connection has its own
//! copy.

use crate::Error;
use crate::btf::{Btf, Kind, TypeId};
use crate::machine::BYTES_OF_A_JUMP;
use crate::memory::Memory;

/// Bytes before the entries: how many are in use, in hash maps.
const HEAD: usize = 8;

/// Entries of a hash map that are searched in about the time of a jump.
const ENTRIES_OF_A_JUMP: usize = 2;

/// Most bytes of a map.
const LARGEST: u64 = 1 << 20;

/// The key of a map's values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MapKind {
    /// An index.
    Array,
    /// A key of bytes.
    Hash,
    /// One value for each socket.
    SocketStorage,
}

/// A map that an object declares.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Map {
    pub name: String,
    pub kind: MapKind,
    pub key_size: usize,
    pub value_size: usize,
    pub entries: usize,
    /// Whether Linux makes room for a new key when it is full (LRU).
    pub evicts: bool,
    /// The address of its values in the memory.
    pub address: u64,
}

/// Flags of an update about the key (Linux, `bpf.h`).
const ONLY_NEW: u64 = 1;
const ONLY_OLD: u64 = 2;

/// Errors that Linux's maps return.
const NOT_FOUND: i64 = -2;
const TOO_BIG: i64 = -7;
const EXISTS: i64 = -17;
const INVALID: i64 = -22;

/// Reads a declaration in a section `.maps`: a structure whose members point to types, or to arrays whose length is a number.
pub fn declared(btf: &Btf, name: &str, of: TypeId) -> Result<Map, Error> {
    let (kind, evicts) = (MapKind::Array, false);
    let mut map = Map { name: name.into(), kind, key_size: 0, value_size: 0, entries: 1, evicts, address: 0 };
    let mut kind = 0;
    for member in btf.members(of) {
        let Kind::Pointer(to) = btf.get(btf.resolve(member.of)).kind else { continue };
        let number = match btf.get(btf.resolve(to)).kind {
            Kind::Array { count, .. } => count,
            _ => 0,
        };
        match member.name.as_str() {
            "type" => kind = number,
            "max_entries" => map.entries = number as usize,
            "key_size" => map.key_size = number as usize,
            "value_size" => map.value_size = number as usize,
            "key" => map.key_size = btf.size(to) as usize,
            "value" => map.value_size = btf.size(to) as usize,
            _ => {}
        }
    }
    map.kind = match kind {
        2 | 6 => MapKind::Array,
        1 | 5 | 9 | 10 => MapKind::Hash,
        24 => MapKind::SocketStorage,
        other => return Err(Error::new(format!("map {name} of type {other}"))),
    };
    map.evicts = matches!(kind, 9 | 10);
    if map.kind == MapKind::SocketStorage {
        map.entries = 1;
    }
    if map.value_size == 0 || map.size().is_none() {
        return Err(Error::new(format!("map {name} of {} x {} bytes", map.entries, map.value_size)));
    }
    Ok(map)
}

impl Map {
    /// Greatest cost of finding and copying a value, in jumps.
    pub fn work(&self, memory: &Memory) -> usize {
        (self.key_size + self.value_size) / BYTES_OF_A_JUMP + self.slots(memory) / ENTRIES_OF_A_JUMP
    }

    /// Entries that are or were in use: the first ones.
    fn slots(&self, memory: &Memory) -> usize {
        match self.kind {
            MapKind::Hash => memory.read(self.address, HEAD) as usize,
            _ => 0,
        }
    }

    /// Bytes of an entry: whether it is used, key and value, except in arrays.
    fn entry_size(&self) -> usize {
        match self.kind {
            MapKind::Array => self.value_size.next_multiple_of(8),
            _ => 8 + self.key_size.next_multiple_of(8) + self.value_size.next_multiple_of(8),
        }
    }

    /// Bytes of the map, unless they are too many.
    pub fn size(&self) -> Option<usize> {
        let parts = [self.key_size, self.value_size, self.entries].map(|part| part as u64);
        if parts.iter().any(|part| *part > LARGEST) {
            return None;
        }
        let size = HEAD as u64 + self.entries as u64 * self.entry_size() as u64;
        (size <= LARGEST).then_some(size as usize)
    }

    fn entry(&self, index: usize) -> u64 {
        self.address + (HEAD + index * self.entry_size()) as u64
    }

    fn value_of(&self, index: usize) -> u64 {
        let head = if self.kind == MapKind::Array { 0 } else { 8 + self.key_size.next_multiple_of(8) };
        self.entry(index) + head as u64
    }

    fn is_used(&self, memory: &Memory, index: usize) -> bool {
        self.kind == MapKind::Array || memory.read(self.entry(index), 8) != 0
    }

    fn find(&self, memory: &Memory, key: &[u8]) -> Option<usize> {
        if self.kind == MapKind::Array {
            let index = key.iter().take(4).rev().fold(0usize, |value, byte| value << 8 | usize::from(*byte));
            return (index < self.entries).then_some(index);
        }
        (0..self.slots(memory)).find(|index| {
            self.is_used(memory, *index) && memory.bytes(self.entry(*index) + 8, self.key_size) == Some(key)
        })
    }

    /// The address of a key's value, or zero. `None` if the key lies outside the memory.
    pub fn lookup(&self, memory: &Memory, key: u64) -> Option<u64> {
        let key = memory.bytes(key, self.key_size)?;
        Some(self.find(memory, key).map_or(0, |index| self.value_of(index)))
    }

    /// Whether Linux would forget another key to set this one.
    pub fn would_evict(&self, memory: &Memory, key: u64) -> bool {
        let is_full = || (0..self.entries).all(|index| self.is_used(memory, index));
        let is_new = || memory.bytes(key, self.key_size).is_some_and(|key| self.find(memory, key).is_none());
        self.evicts && is_full() && is_new()
    }

    /// Sets a key's value; returns zero or Linux's error.
    pub fn update(&self, memory: &mut Memory, key: u64, value: u64, flags: u64) -> Option<i64> {
        let key = memory.bytes(key, self.key_size)?.to_vec();
        let value = memory.bytes(value, self.value_size)?.to_vec();
        let found = self.find(memory, &key);
        let index = match (found, flags) {
            (_, 3..) => return Some(INVALID),
            (None, _) if self.kind == MapKind::Array => return Some(TOO_BIG),
            (Some(_), ONLY_NEW) => return Some(EXISTS),
            (None, ONLY_OLD) => return Some(NOT_FOUND),
            (Some(index), _) => index,
            (None, _) => {
                let slots = self.slots(memory);
                match (0..slots).find(|index| !self.is_used(memory, *index)) {
                    Some(index) => index,
                    None if slots == self.entries => return Some(TOO_BIG),
                    None => {
                        memory.write(self.address, HEAD, slots as u64 + 1);
                        slots
                    }
                }
            }
        };
        if self.kind != MapKind::Array {
            memory.write(self.entry(index), 8, 1);
            memory.bytes_mut(self.entry(index) + 8, self.key_size)?.copy_from_slice(&key);
        }
        memory.bytes_mut(self.value_of(index), self.value_size)?.copy_from_slice(&value);
        Some(0)
    }

    /// Forgets a key; returns zero or Linux's error.
    pub fn delete(&self, memory: &mut Memory, key: u64) -> Option<i64> {
        let key = memory.bytes(key, self.key_size)?;
        Some(match self.find(memory, key) {
            _ if self.kind == MapKind::Array => INVALID,
            Some(index) => {
                memory.write(self.entry(index), 8, 0);
                0
            }
            None => NOT_FOUND,
        })
    }

    /// The address of a socket's value, which begins as `initial` or zeros; zero if there is none and none is to be made.
    pub fn storage(&self, memory: &mut Memory, initial: u64, may_create: bool) -> Option<u64> {
        if !self.is_used(memory, 0) {
            if !may_create {
                return Some(0);
            }
            let value = match initial {
                0 => vec![0; self.value_size],
                address => memory.bytes(address, self.value_size)?.to_vec(),
            };
            memory.write(self.entry(0), 8, 1);
            memory.bytes_mut(self.value_of(0), self.value_size)?.copy_from_slice(&value);
        }
        Some(self.value_of(0))
    }

    /// Forgets a socket's value.
    pub fn forget(&self, memory: &mut Memory) -> i64 {
        let was_used = self.is_used(memory, 0);
        memory.write(self.entry(0), 8, 0);
        if was_used { 0 } else { NOT_FOUND }
    }

    /// The parts of its region that programs may write: the values.
    pub fn writable(&self) -> Vec<std::ops::Range<usize>> {
        let start = |index| (self.value_of(index) - self.address) as usize;
        (0..self.entries).map(|index| start(index)..start(index) + self.value_size).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As Linux's `array_map_update_elem` and `htab_map_update_elem`.
    #[test]
    fn an_update_returns_the_error_of_linux() {
        for (kind, errors) in [
            (MapKind::Array, [TOO_BIG, TOO_BIG, INVALID, EXISTS, 0]),
            (MapKind::Hash, [NOT_FOUND, 0, INVALID, EXISTS, 0]),
        ] {
            let (name, evicts) = ("map".to_string(), false);
            let mut map = Map { name, kind, key_size: 4, value_size: 4, entries: 2, evicts, address: 0 };
            let mut memory = Memory::default();
            map.address = memory.add(&vec![0; map.size().unwrap()], map.writable());
            let key = memory.add(&7u32.to_le_bytes(), None);
            let mut update = |flags| map.update(&mut memory, key, key, flags).unwrap();
            assert_eq!([update(ONLY_OLD), update(ONLY_NEW), update(3)], errors[..3], "{kind:?}");
            let first = memory.add(&0u32.to_le_bytes(), None);
            map.update(&mut memory, first, key, 0);
            let mut update = |flags| map.update(&mut memory, first, key, flags).unwrap();
            assert_eq!([update(ONLY_NEW), update(ONLY_OLD)], errors[3..], "{kind:?}");
        }
    }
}
