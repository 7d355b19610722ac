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

impl Column {
    /// The values of a column of small counts.
    ///
    /// # Panics
    /// If it is another; so below.
    pub fn u32s(&self) -> &[u32] {
        if let Column::U32(values) = self { values } else { panic!("a column of other than u32") }
    }

    fn u64s(&self) -> &[u64] {
        if let Column::U64(values) = self { values } else { panic!("a column of other than u64") }
    }

    /// The values of a column of numbers.
    pub fn f64s(&self) -> &[f64] {
        if let Column::F64(values) = self { values } else { panic!("a column of other than f64") }
    }
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

    /// A table with the columns of these: each column's values from places by table and row, which are told of the first table and the
    /// column's name. A single table is its own, uncopied.
    ///
    /// # Panics
    /// If there is no table, or they have different columns.
    pub fn gathered(mut tables: Vec<Table>, places: impl Fn(&Table, &str) -> Vec<(usize, usize)>) -> Table {
        if tables.len() == 1 {
            return tables.remove(0);
        }
        let gather = |index: usize| {
            let (name, first) = &tables[0].columns[index];
            let column = |table: usize| &tables[table].columns[index].1;
            let places = places(&tables[0], name).into_iter();
            let values = match first {
                Column::U32(_) => Column::U32(places.map(|(table, row)| column(table).u32s()[row]).collect()),
                Column::U64(_) => Column::U64(places.map(|(table, row)| column(table).u64s()[row]).collect()),
                Column::F64(_) => Column::F64(places.map(|(table, row)| column(table).f64s()[row]).collect()),
            };
            (*name, values)
        };
        Table { columns: (0..tables[0].columns.len()).map(gather).collect() }
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
