//! A hash of header fields: all packets with the same fields take the same member, unless they have entropy values.

use super::{Choice, Choose, NextHopSet};
use crate::rng::hash_words;
use crate::spec::HashField;

crate::parameters! {
    /// None.
    pub struct Parameters {}
}

impl Choose for Parameters {
    fn choose(&self, set: &NextHopSet<'_>, choice: Choice<'_>) -> u32 {
        let fields = choice.hash.iter().map(|field| choice.key.field(*field));
        set.uniform(hash_words(choice.draws.bits(u64::from(choice.number)), fields))
    }

    fn ignores_destination(&self, hash: &[HashField]) -> bool {
        !hash.contains(&HashField::Destination)
    }
}
