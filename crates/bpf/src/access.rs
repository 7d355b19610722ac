//! Accesses to fields: how an object names them, and where a layout has them (CO-RE).

use crate::btf::{Btf, Kind, StructMember, TypeId};

/// Deepest nesting of anonymous members.
const DEEPEST: usize = 16;

/// A step into a type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// A member by name.
    Member(String),
    /// An element of an array.
    Index(u32),
}

/// The end of an access path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    pub of: TypeId,
    pub bit_offset: u32,
    /// Bits of a bit field, else zero.
    pub bits: u32,
}

/// Reads an access such as `0:12:1` to a type: its steps by name, and where it ends. The first number counts whole structures.
pub fn read(btf: &Btf, root: TypeId, access: &str) -> Option<(Vec<Step>, Place)> {
    let mut numbers = access.split(':').map(|number| number.parse::<u32>().ok());
    let first = numbers.next()??;
    let mut steps = Vec::new();
    let mut place = Place { of: root, bit_offset: first.checked_mul(btf.size(root).checked_mul(8)?)?, bits: 0 };
    if first > 0 {
        steps.push(Step::Index(first));
    }
    for number in numbers {
        let number = number?;
        if let Some(member) = btf.members(place.of).get(number as usize) {
            if !member.name.is_empty() {
                steps.push(Step::Member(member.name.clone()));
            }
            place = place.within(member)?;
        } else {
            place = place.element(btf, number)?;
            steps.push(Step::Index(number));
        }
    }
    Some((steps, place))
}

/// Follows steps by name through a type.
pub fn find(btf: &Btf, root: TypeId, steps: &[Step]) -> Option<Place> {
    let mut place = Place { of: root, bit_offset: 0, bits: 0 };
    for (number, step) in steps.iter().enumerate() {
        place = match step {
            Step::Index(index) if number == 0 => {
                let bit_offset = index.checked_mul(btf.size(root).checked_mul(8)?)?;
                Place { bit_offset, ..place }
            }
            Step::Index(index) => place.element(btf, *index)?,
            Step::Member(name) => member(btf, place, name, 0)?,
        };
    }
    Some(place)
}

/// The member of a name, also within anonymous members.
fn member(btf: &Btf, place: Place, name: &str, depth: usize) -> Option<Place> {
    let members = btf.members(place.of);
    if let Some(found) = members.iter().find(|member| member.name == name) {
        return place.within(found);
    }
    let mut anonymous = members.iter().filter(|member| member.name.is_empty() && depth < DEEPEST);
    anonymous.find_map(|inner| member(btf, place.within(inner)?, name, depth + 1))
}

impl Place {
    fn within(self, member: &StructMember) -> Option<Place> {
        Some(Place { of: member.of, bit_offset: self.bit_offset.checked_add(member.bit_offset)?, bits: member.bits })
    }

    fn element(self, btf: &Btf, index: u32) -> Option<Place> {
        let Kind::Array { of, .. } = btf.get(btf.resolve(self.of)).kind else { return None };
        let bits = index.checked_mul(btf.size(of).checked_mul(8)?)?;
        Some(Place { of, bit_offset: self.bit_offset.checked_add(bits)?, bits: 0 })
    }
}

/// The steps as a path, such as `icsk_ack.pending`.
pub fn path(steps: &[Step]) -> String {
    let parts: Vec<String> = steps
        .iter()
        .map(|step| match step {
            Step::Member(name) => name.clone(),
            Step::Index(index) => index.to_string(),
        })
        .collect();
    parts.join(".")
}
