//! Columns of values, for results.

use crate::packet::output::columns::ColumnOf;
use crate::spec::NodeId;

/// The values of one column. In a column of numbers, NaN is unknown.
#[derive(Debug, Clone, PartialEq)]
pub enum Column {
    /// Indexes and small counts.
    U32(Vec<u32>),
    /// Counts.
    U64(Vec<u64>),
    /// Numbers.
    F64(Vec<f64>),
    /// Names.
    Texts(Vec<&'static str>),
    /// Nodes one after another.
    Paths(Vec<Vec<NodeId>>),
}

impl Column {
    /// The values of a column of indexes.
    ///
    /// # Panics
    /// If it is another; so below.
    pub fn u32s(&self) -> &[u32] {
        if let Column::U32(values) = self { values } else { panic!("a column of other than u32") }
    }

    /// The values of a column of numbers.
    pub fn f64s(&self) -> &[f64] {
        if let Column::F64(values) = self { values } else { panic!("a column of other than f64") }
    }

    /// A column of the same type without values, and room for this number of them.
    fn like(&self, rows: usize) -> Column {
        match self {
            Column::U32(_) => Column::U32(Vec::with_capacity(rows)),
            Column::U64(_) => Column::U64(Vec::with_capacity(rows)),
            Column::F64(_) => Column::F64(Vec::with_capacity(rows)),
            Column::Texts(_) => Column::Texts(Vec::with_capacity(rows)),
            Column::Paths(_) => Column::Paths(Vec::with_capacity(rows)),
        }
    }

    /// Appends all values of another column of the same type.
    fn append(&mut self, other: Column) {
        match (self, other) {
            (Column::U32(values), Column::U32(others)) => values.extend(others),
            (Column::U64(values), Column::U64(others)) => values.extend(others),
            (Column::F64(values), Column::F64(others)) => values.extend(others),
            (Column::Texts(values), Column::Texts(others)) => values.extend(others),
            (Column::Paths(values), Column::Paths(others)) => values.extend(others),
            _ => panic!("columns of two types"),
        }
    }

    /// Appends a value of another column of the same type.
    fn push_from(&mut self, other: &Column, row: usize) {
        match (self, other) {
            (Column::U32(values), Column::U32(others)) => values.push(others[row]),
            (Column::U64(values), Column::U64(others)) => values.push(others[row]),
            (Column::F64(values), Column::F64(others)) => values.push(others[row]),
            (Column::Texts(values), Column::Texts(others)) => values.push(others[row]),
            (Column::Paths(values), Column::Paths(others)) => values.push(others[row].clone()),
            _ => panic!("columns of two types"),
        }
    }

    /// All values as whole numbers, equal if and only if the values are equal to the bit.
    pub fn bits(&self) -> Vec<u64> {
        match self {
            Column::U32(values) => values.iter().copied().map(u64::from).collect(),
            Column::U64(values) => values.clone(),
            Column::F64(values) => values.iter().map(|value| value.to_bits()).collect(),
            Column::Texts(values) => values.iter().flat_map(|text| text.bytes()).map(u64::from).collect(),
            Column::Paths(values) => values.iter().flatten().copied().map(u64::from).collect(),
        }
    }
}

/// A table: named columns of equal length, in a fixed order.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Table {
    /// The columns; a unit is part of the name.
    pub columns: Vec<(&'static str, Column)>,
}

impl Table {
    /// A table without rows.
    pub fn new<R>(columns: &[ColumnOf<R>]) -> Table {
        Table::with_capacity(columns, 0)
    }

    /// A table with room for exactly this number of rows. Large tables are most of the memory that a process keeps after a run.
    fn with_capacity<R>(columns: &[ColumnOf<R>], rows: usize) -> Table {
        Table { columns: columns.iter().map(|column| (column.name, column.with_capacity(rows))).collect() }
    }

    /// A table of these rows.
    pub fn of<R>(columns: &[ColumnOf<R>], rows: impl ExactSizeIterator<Item = R>) -> Table {
        let mut table = Table::with_capacity(columns, rows.len());
        rows.for_each(|row| table.push(columns, &row));
        table
    }

    /// Adds a row to a table of these columns.
    pub fn push<R>(&mut self, columns: &[ColumnOf<R>], row: &R) {
        for ((_, values), column) in self.columns.iter_mut().zip(columns) {
            column.push(values, row);
        }
    }

    /// Gathers a table with the columns of these. `positions` returns, for the first table and a column's name, the table and row of each
    /// value. A single table is returned without a copy.
    ///
    /// # Panics
    /// If there is no table, or they have different columns.
    pub fn gathered(mut tables: Vec<Table>, positions: impl Fn(&Table, &str) -> Vec<(usize, usize)>) -> Table {
        if tables.len() == 1 {
            return tables.remove(0);
        }
        let gather = |index: usize| {
            let (name, first) = &tables[0].columns[index];
            let positions = positions(&tables[0], name);
            let mut column = first.like(positions.len());
            positions.into_iter().for_each(|(table, row)| column.push_from(&tables[table].columns[index].1, row));
            (*name, column)
        };
        Table { columns: (0..tables[0].columns.len()).map(gather).collect() }
    }

    /// Appends the rows of a table with the same columns. A table without columns gets them.
    ///
    /// # Panics
    /// If they have different columns.
    pub fn append(&mut self, other: Table) {
        if self.columns.is_empty() {
            self.columns = other.columns;
            return;
        }
        for ((name, values), (other_name, others)) in self.columns.iter_mut().zip(other.columns) {
            assert_eq!(*name, other_name, "tables of two kinds");
            values.append(others);
        }
    }

    /// A column by name.
    pub fn column(&self, name: &str) -> Option<&Column> {
        self.columns.iter().find(|(other, _)| *other == name).map(|(_, column)| column)
    }

    /// The numbers of a column by name, for every type of column.
    ///
    /// # Panics
    /// If there is no such column.
    pub fn numbers(&self, name: &str) -> Vec<f64> {
        match self.column(name).unwrap_or_else(|| panic!("no column {name}")) {
            Column::U32(values) => values.iter().map(|value| f64::from(*value)).collect(),
            Column::U64(values) => values.iter().map(|value| *value as f64).collect(),
            Column::F64(values) => values.clone(),
            Column::Texts(_) | Column::Paths(_) => panic!("no numbers in column {name}"),
        }
    }
}
