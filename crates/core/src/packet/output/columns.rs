//! Columns of tables, each declared once: name, type, unit, meaning, when it is unknown, and the function that computes it for a row.
//!
//! The tables of Python and their page in the documentation follow from [`ColumnInfo`], so that a column is added in one place.

use crate::packet::output::table::Column;
use crate::spec::NodeId;
use serde::Serialize;

/// Computes a column's value from the subject of a row. NaN means unknown.
pub enum Value<R> {
    /// The number of something, or a small count.
    Index(fn(&R) -> u32),
    /// A small count that may be unknown.
    IndexIfKnown(fn(&R) -> f64),
    /// The index of something that has a name in the scenario; without a name if it is beyond the last.
    Name(fn(&R) -> u32),
    /// A count.
    Count(fn(&R) -> u64),
    /// A count that may be unknown.
    CountIfKnown(fn(&R) -> f64),
    /// A number.
    Number(fn(&R) -> f64),
    /// A name that the core gives.
    Text(fn(&R) -> &'static str),
    /// Nodes one after another.
    Path(fn(&R) -> Vec<NodeId>),
}

/// A column of the tables whose rows are about an `R`.
pub struct ColumnOf<R> {
    /// Name of the column, which ends in its unit.
    pub name: &'static str,
    /// Unit of the column, if it is not a plain number.
    pub unit: &'static str,
    /// Meaning of the column, in the lines of its declaration.
    pub meaning: &'static [&'static str],
    /// When it is unknown.
    pub unknown: &'static str,
    /// Whether only the node of a flow's sender knows it.
    pub of_sender: bool,
    /// Type of the column, and the function that computes it.
    pub value: Value<R>,
}

/// Public description of one column.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ColumnInfo {
    /// Name of the column, which ends in its unit.
    pub name: &'static str,
    /// `index`, `name`, `count`, `number`, `text` or `path`.
    pub kind: &'static str,
    /// Unit of the column, or an empty text.
    pub unit: &'static str,
    /// Meaning of the column.
    pub meaning: String,
    /// When it is unknown, or nothing.
    pub unknown: &'static str,
}

impl<R> ColumnOf<R> {
    /// The column without values, and room for this number of them.
    pub fn with_capacity(&self, rows: usize) -> Column {
        match self.value {
            Value::Index(_) | Value::Name(_) => Column::U32(Vec::with_capacity(rows)),
            Value::Count(_) => Column::U64(Vec::with_capacity(rows)),
            Value::IndexIfKnown(_) | Value::CountIfKnown(_) | Value::Number(_) => Column::F64(Vec::with_capacity(rows)),
            Value::Text(_) => Column::Texts(Vec::with_capacity(rows)),
            Value::Path(_) => Column::Paths(Vec::with_capacity(rows)),
        }
    }

    /// Appends the value of a row.
    ///
    /// # Panics
    /// If the column is that of another declaration.
    pub fn push(&self, column: &mut Column, row: &R) {
        match (&self.value, column) {
            (Value::Index(value) | Value::Name(value), Column::U32(values)) => values.push(value(row)),
            (Value::Count(value), Column::U64(values)) => values.push(value(row)),
            (Value::IndexIfKnown(value) | Value::CountIfKnown(value) | Value::Number(value), Column::F64(values)) => {
                values.push(value(row))
            }
            (Value::Text(value), Column::Texts(values)) => values.push(value(row)),
            (Value::Path(value), Column::Paths(values)) => values.push(value(row)),
            _ => panic!("{} is a column of another type", self.name),
        }
    }

    /// Description of the column for users.
    pub fn describe(&self) -> ColumnInfo {
        let kind = match self.value {
            Value::Index(_) | Value::IndexIfKnown(_) => "index",
            Value::Name(_) => "name",
            Value::Count(_) | Value::CountIfKnown(_) => "count",
            Value::Number(_) => "number",
            Value::Text(_) => "text",
            Value::Path(_) => "path",
        };
        let meaning = self.meaning.iter().map(|line| line.trim()).collect::<Vec<_>>().join(" ");
        ColumnInfo { name: self.name, kind, unit: self.unit, meaning, unknown: self.unknown }
    }
}

/// Declares the columns of a table, in their order: meaning, name, type, unit, when it is unknown, and its value for a row.
///
/// ```text
/// columns! {
///     /// One row a flow.
///     pub const FLOWS of flow: FlowRow {
///         /// When the last byte was delivered in order.
///         end_s: Number in "s", unknown "not finished" = flow.end();
///         /// Segments sent again.
///         retransmits: Count in "segments", of sender = flow.retransmits();
///     }
/// }
/// ```
macro_rules! columns {
    (
        $(#[$outer:meta])*
        $visibility:vis const $table:ident of $row:ident: $kind_of_row:ty {
            $(
                $(#[doc = $meaning:literal])+
                $name:ident: $kind:ident
                    $(in $unit:literal)? $(, unknown $unknown:literal)? $(, of $sender:ident)? = $value:expr;
            )*
        }
    ) => {
        $(#[$outer])*
        $visibility const $table: &[$crate::packet::output::columns::ColumnOf<$kind_of_row>] = &[
            $( $crate::packet::output::columns::ColumnOf {
                name: stringify!($name),
                unit: concat!($($unit)?),
                meaning: &[$($meaning),+],
                unknown: concat!($($unknown)?),
                of_sender: !concat!($(stringify!($sender))?).is_empty(),
                value: $crate::packet::output::columns::Value::$kind(|$row: &$kind_of_row| $value),
            } ),*
        ];
    };
}
pub(in crate::packet) use columns;
