//! Little-endian numbers at places that may lie outside.

use crate::Error;

/// Most bytes of a name (Linux's `KSYM_NAME_LEN`). Many types of a broken file may share a long one, and each would copy it.
const LONGEST_NAME: usize = 512;

/// A name that is not too long.
pub fn checked(name: &str) -> Result<&str, Error> {
    if name.len() > LONGEST_NAME {
        return Err(Error::new(format!("has a name of more than {LONGEST_NAME} bytes")));
    }
    Ok(name)
}

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

    /// The text from `offset` to the next zero byte, which is a name.
    pub fn text(self, offset: usize) -> Result<&'a str, Error> {
        let rest = self.0.get(offset..).ok_or_else(|| Error::new("names a text outside its table"))?;
        let length = rest.iter().take(LONGEST_NAME + 1).take_while(|byte| **byte != 0).count();
        let text = std::str::from_utf8(&rest[..length]).map_err(|_| Error::new("has a name that is not UTF-8"))?;
        checked(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_has_at_most_512_bytes() {
        let text = |length: usize, end: &str| format!("{}{end}", "x".repeat(length));
        assert_eq!(Bytes(text(512, "\0").as_bytes()).text(0), Ok(text(512, "").as_str()));
        for end in ["", "\0", "\u{e9}"] {
            assert!(Bytes(text(513, end).as_bytes()).text(0).is_err(), "{end}");
        }
        assert_eq!(Bytes(text(513, "\0").as_bytes()).text(1), Ok(text(512, "").as_str()));
    }
}
