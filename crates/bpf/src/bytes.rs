//! Little-endian numbers at places that may lie outside.

use crate::Error;

/// Bytes that are read at any offset.
#[derive(Debug, Clone, Copy)]
pub struct Bytes<'a>(pub &'a [u8]);

impl<'a> Bytes<'a> {
    /// `length` bytes from `offset` on.
    pub fn slice(self, offset: usize, length: usize) -> Result<Bytes<'a>, Error> {
        let end = offset.checked_add(length).filter(|end| *end <= self.0.len());
        end.map(|end| Bytes(&self.0[offset..end])).ok_or_else(|| Error::new("is cut off: it ends within a table"))
    }

    /// The 16-bit number at `offset`.
    pub fn u16(self, offset: usize) -> Result<u16, Error> {
        let bytes = self.slice(offset, 2)?.0;
        Ok(u16::from_le_bytes([bytes[0], bytes[1]]))
    }

    /// The 32-bit number at `offset`.
    pub fn u32(self, offset: usize) -> Result<u32, Error> {
        let bytes = self.slice(offset, 4)?.0;
        Ok(u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
    }

    /// The 32-bit number at `offset`, as an index.
    pub fn index(self, offset: usize) -> Result<usize, Error> {
        self.u32(offset).map(|value| value as usize)
    }

    /// The text from `offset` to the next zero byte.
    pub fn text(self, offset: usize) -> Result<&'a str, Error> {
        let rest = self.0.get(offset..).ok_or_else(|| Error::new("names a text outside its table"))?;
        let length = rest.iter().position(|byte| *byte == 0).unwrap_or(rest.len());
        std::str::from_utf8(&rest[..length]).map_err(|_| Error::new("has a name that is not UTF-8"))
    }
}
