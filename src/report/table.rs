//! Plain tables: columns aligned by spaces, nothing drawn.

use comfy_table::{CellAlignment, ContentArrangement, presets};

/// A table without lines: the first column is left-aligned text, the others are numbers unless said
/// otherwise.
#[derive(Debug)]
pub struct Table {
    table: comfy_table::Table,
    indent: usize,
}

impl Table {
    /// A table with these column headings, each line indented by `indent` spaces.
    pub fn new<const N: usize>(indent: usize, headings: [&str; N]) -> Self {
        let mut table = comfy_table::Table::new();
        table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled);
        table.set_header(headings);
        for (at, column) in table.column_iter_mut().enumerate() {
            column.set_padding((0, 2));
            column.set_cell_alignment(if at == 0 { CellAlignment::Left } else { CellAlignment::Right });
        }
        Self { table, indent }
    }

    /// The same, with the columns at `columns` left-aligned.
    #[must_use]
    pub fn left(mut self, columns: &[usize]) -> Self {
        for at in columns {
            if let Some(column) = self.table.column_mut(*at) {
                column.set_cell_alignment(CellAlignment::Left);
            }
        }
        self
    }

    /// Adds a row.
    pub fn row<const N: usize>(&mut self, cells: [String; N]) {
        self.table.add_row(cells);
    }

    /// Whether there is a row.
    pub fn is_empty(&self) -> bool {
        self.table.is_empty()
    }

    /// The text: one line a row, no trailing spaces, a line end after each.
    pub fn text(&self) -> String {
        let indent = " ".repeat(self.indent);
        self.table.lines().map(|line| format!("{indent}{}\n", line.trim_end())).collect()
    }
}
