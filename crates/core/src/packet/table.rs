//! Columns of numbers, for results.

/// The values of one column. In a column of numbers, NaN is unknown.
#[derive(Debug, Clone, PartialEq)]
pub enum Column {
    /// Indexes and small counts.
    U32(Vec<u32>),
    /// Counts.
    U64(Vec<u64>),
    /// Numbers.
    F64(Vec<f64>),
}

/// A table: named columns of equal length, in a fixed order.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Table {
    /// The columns; a unit is part of the name.
    pub columns: Vec<(&'static str, Column)>,
}

impl Table {
    /// A table without rows, for rows to be pushed.
    pub fn with_columns(columns: &[(&'static str, Column)]) -> Table {
        Table { columns: columns.to_vec() }
    }

    /// Makes room for so many more rows, and no more: large tables are most of what a process keeps after a run.
    pub fn reserve_exact(&mut self, rows: usize) {
        for (_, column) in &mut self.columns {
            match column {
                Column::U32(values) => values.reserve_exact(rows),
                Column::U64(values) => values.reserve_exact(rows),
                Column::F64(values) => values.reserve_exact(rows),
            }
        }
    }

    /// Adds a row, its values in the order of the columns.
    ///
    /// # Panics
    /// If the row has another number of values than the table has columns.
    pub fn push(&mut self, row: &[f64]) {
        assert_eq!(row.len(), self.columns.len(), "a row has a value for each column");
        for ((_, column), value) in self.columns.iter_mut().zip(row) {
            match column {
                Column::U32(values) => values.push(*value as u32),
                Column::U64(values) => values.push(*value as u64),
                Column::F64(values) => values.push(*value),
            }
        }
    }

    /// Takes the value of a column in another table of the same columns and rows, wherever that is the one to take.
    pub fn take_over(&mut self, other: Table, takes: impl Fn(&str, usize) -> bool) {
        fn take<T: Copy>(values: &mut [T], others: &[T], takes: impl Fn(usize) -> bool) {
            let rows = values.iter_mut().zip(others).enumerate();
            rows.filter(|(row, _)| takes(*row)).for_each(|(_, (value, other))| *value = *other);
        }
        for ((name, column), (_, others)) in self.columns.iter_mut().zip(other.columns) {
            match (column, others) {
                (Column::U32(values), Column::U32(others)) => take(values, &others, |row| takes(name, row)),
                (Column::U64(values), Column::U64(others)) => take(values, &others, |row| takes(name, row)),
                (Column::F64(values), Column::F64(others)) => take(values, &others, |row| takes(name, row)),
                _ => panic!("column {name} has two types"),
            }
        }
    }

    /// A column by name.
    pub fn column(&self, name: &str) -> Option<&Column> {
        self.columns.iter().find(|(other, _)| *other == name).map(|(_, column)| column)
    }

    /// The numbers of a column by name, whatever its type.
    ///
    /// # Panics
    /// If there is no such column.
    pub fn numbers(&self, name: &str) -> Vec<f64> {
        match self.column(name).unwrap_or_else(|| panic!("no column {name}")) {
            Column::U32(values) => values.iter().map(|value| f64::from(*value)).collect(),
            Column::U64(values) => values.iter().map(|value| *value as f64).collect(),
            Column::F64(values) => values.clone(),
        }
    }
}
