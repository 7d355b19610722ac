//! The variables in sections `.struct_ops`: which program serves which operation.

use crate::Error;
use crate::btf::{Btf, Kind};
use crate::elf::{Section, Symbol};

/// Most operations and members of an object. Linux's `sched_ext_ops` has some forty; those of a broken file may overlap.
const MOST_MEMBERS: usize = 1024;
/// Most characters of a member's text. The names of operations have at most 128 (`SCX_OPS_NAME_LEN`).
const LONGEST_TEXT: usize = 128;

/// The value that a member has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    /// A program.
    Program {
        /// Index of its section in the file.
        section: usize,
        /// Bytes from the section's begin.
        offset: u64,
        /// Parameters that the member's type has.
        parameters: usize,
    },
    /// A text in an array of characters.
    Text(String),
    /// A number.
    Number(u64),
}

/// A member with a value; members that are zero are left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    /// Name of the member in the structure.
    pub name: String,
    /// Value of the member.
    pub value: Value,
}

/// A variable of an operations' type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Instance {
    /// The variable's name.
    pub variable: String,
    /// The structure's name, such as `tcp_congestion_ops`.
    pub structure: String,
    /// Members of the instance.
    pub members: Vec<Member>,
}

impl Instance {
    /// The value of a member.
    pub fn value(&self, member: &str) -> Option<&Value> {
        self.members.iter().find(|one| one.name == member).map(|one| &one.value)
    }

    /// The text of its member `name`; else the name of the variable.
    pub fn name(&self) -> &str {
        match self.value("name") {
            Some(Value::Text(name)) => name,
            _ => &self.variable,
        }
    }
}

/// All instances of an object.
pub fn instances(btf: &Btf, sections: &[Section], symbols: &[Symbol]) -> Result<Vec<Instance>, Error> {
    let (mut found, mut count) = (Vec::new(), 0);
    for (index, section) in sections.iter().enumerate().filter(|(_, section)| section.is_struct_ops()) {
        let variables = btf.iter().find_map(|(_, one)| match &one.kind {
            Kind::Section(variables) if one.name == section.name => Some(variables),
            _ => None,
        });
        for (variable, offset, _) in variables.into_iter().flatten() {
            let Kind::Variable(of) = btf.get(*variable).kind else { continue };
            // BTF's offsets of static data are filled in by the symbols.
            let name = btf.get(*variable).name.clone();
            let symbol = symbols.iter().find(|symbol| symbol.name == name && symbol.section == Some(index));
            let start = symbol.map_or(u64::from(*offset), |symbol| symbol.value);
            let structure = btf.get(btf.resolve(of)).name.clone();
            let mut members = Vec::new();
            count += 1 + btf.members(of).len();
            if count > MOST_MEMBERS {
                return Err(Error::new(format!("defines more than {MOST_MEMBERS} operations and their members")));
            }
            for member in btf.members(of) {
                let at = start.saturating_add(u64::from(member.bit_offset / 8));
                if let Some(value) = value(btf, section, symbols, member.of, at)? {
                    members.push(Member { name: member.name.clone(), value });
                }
            }
            found.push(Instance { variable: name, structure, members });
        }
    }
    Ok(found)
}

fn value(btf: &Btf, section: &Section, symbols: &[Symbol], of: usize, at: u64) -> Result<Option<Value>, Error> {
    let of = btf.resolve(of);
    let size = btf.size(of) as usize;
    let start = usize::try_from(at).unwrap_or(usize::MAX);
    let bytes = start.checked_add(size).and_then(|end| section.data.get(start..end));
    let bytes = bytes.ok_or_else(|| Error::new(format!("ends within its section {}", section.name)))?;
    Ok(match btf.get(of).kind {
        Kind::Pointer(to) => {
            let relocation = section.relocations.iter().find(|relocation| relocation.offset == at);
            let symbol = relocation.and_then(|relocation| symbols.get(relocation.symbol));
            let Some((symbol, code)) = symbol.and_then(|symbol| Some((symbol, symbol.section?))) else {
                return Ok(None);
            };
            let parameters = match btf.get(btf.resolve(to)).kind {
                Kind::Prototype(parameters) => parameters,
                _ => 0,
            };
            // The relocation of data keeps its addend in place.
            let addend = bytes.iter().rev().fold(0u64, |value, byte| value << 8 | u64::from(*byte));
            Some(Value::Program { section: code, offset: symbol.value.wrapping_add(addend), parameters })
        }
        Kind::Array { .. } if size <= LONGEST_TEXT && bytes.iter().any(|byte| *byte != 0) => {
            let length = bytes.iter().position(|byte| *byte == 0).unwrap_or(size);
            Some(Value::Text(String::from_utf8_lossy(&bytes[..length]).into_owned()))
        }
        Kind::Int { .. } | Kind::Enum { .. } if size <= 8 && bytes.iter().any(|byte| *byte != 0) => {
            Some(Value::Number(bytes.iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte))))
        }
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// BTF of a variable `v` in a section, whose structure has `members` members that are the same array of `length` characters.
    fn btf(members: u32, length: u32) -> Vec<u8> {
        const NAMES: &str = "\0char\0ops\0v\0.struct_ops\0";
        let at = |name: &str| NAMES.find(&format!("\0{name}\0")).unwrap() as u32 + 1;
        let of_kind = |kind: u32, count: u32| kind << 24 | count;
        let mut words = vec![at("char"), of_kind(1, 0), 1, 8];
        words.extend([0, of_kind(3, 0), 0, 1, 1, length]);
        words.extend([at("ops"), of_kind(4, members), length]);
        words.extend((0..members).flat_map(|_| [at("v"), 2, 0]));
        words.extend([at("v"), of_kind(14, 0), 3, 1]);
        words.extend([at(".struct_ops"), of_kind(15, 1), length, 4, 0, length]);
        let bytes = 4 * words.len() as u32;
        let header = [0x1_eb9f, 24, 0, bytes, bytes, NAMES.len() as u32];
        header.into_iter().chain(words).flat_map(u32::to_le_bytes).chain(NAMES.bytes()).collect()
    }

    fn found(members: u32, length: u32) -> Result<Vec<Instance>, Error> {
        let data = vec![b'x'; length as usize];
        let name = ".struct_ops".to_string();
        let section =
            Section { name, data, is_code: false, is_writable: true, is_loaded: true, relocations: Vec::new() };
        instances(&Btf::parse(&btf(members, length)).unwrap().0, &[section], &[])
    }

    #[test]
    fn overlapping_members_of_a_broken_object_take_little_memory() {
        let operations = found(2, 128).unwrap();
        assert_eq!(operations[0].members[1].value, Value::Text("x".repeat(128)));
        assert_eq!(found(2, 129).unwrap()[0].members, []);
        assert!(found(1023, 1).is_ok());
        assert!(found(1024, 1).unwrap_err().to_string().contains("more than 1024 operations and their members"));
    }
}
