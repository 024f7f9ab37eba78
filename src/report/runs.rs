//! A list of runs, and the sizes of a store, on the screen.

use super::{
    format::{count, milliseconds},
    table::Table,
};
use crate::app::{runs::RunList, store_life::StoreSize};

/// The runs, the latest first.
pub fn runs_text(list: &RunList) -> String {
    if list.runs.is_empty() {
        return "no run yet: `caseload run config/demo.toml` makes one".to_owned();
    }
    let headings = ["run", "status", "began (UTC)", "took", "golden set", "fingerprint"];
    let mut table = Table::new(0, headings).left(&[1, 2, 4, 5]);
    for run in &list.runs {
        #[expect(clippy::cast_precision_loss, reason = "milliseconds of a run are far below 2^52")]
        let took = run.finished_at.map(|end| milliseconds((end.0 - run.created_at.0) as f64));
        table.row([
            run.id.to_string(),
            run.status.to_owned(),
            run.created_at.to_string().chars().take(16).collect::<String>().replace('T', " "),
            took.unwrap_or_default(),
            run.golden_name.clone(),
            run.golden_fingerprint.to_string().chars().take(12).collect(),
        ]);
    }
    table.text()
}

/// How large the store `name` is, by kind of data and by run.
pub fn store_size_text(name: &str, sizes: &StoreSize) -> String {
    let mut kinds = Table::new(2, ["kind", "rows", "size"]);
    for kind in sizes.kinds.iter().filter(|kind| kind.rows > 0) {
        kinds.row([kind.kind.clone(), count(kind.rows), bytes(kind.bytes)]);
    }
    let mut runs = Table::new(2, ["run", "trials", "answers", "stored in", "the rest, about"]);
    for run in &sizes.runs {
        runs.row([
            run.id.to_string(),
            count(run.trials),
            bytes(run.answer_bytes),
            bytes(run.answer_bytes_stored),
            bytes(run.rest_bytes),
        ]);
    }
    format!(
        "{name} · version {} · {}, log {}, free {}\n\n{}\n\n{}",
        sizes.store_version,
        bytes(sizes.file_bytes),
        bytes(sizes.log_bytes),
        bytes(sizes.free_bytes),
        kinds.text().trim_end(),
        runs.text().trim_end(),
    )
}

/// Bytes for people.
pub fn bytes(bytes: u64) -> String {
    #[expect(clippy::cast_precision_loss, reason = "three digits are shown")]
    let mut value = bytes as f64;
    if value < 1_000.0 {
        return format!("{bytes} B");
    }
    for unit in ["kB", "MB", "GB"] {
        value /= 1_000.0;
        if value < 999.95 {
            return format!("{value:.1} {unit}");
        }
    }
    format!("{:.1} TB", value / 1_000.0)
}

#[cfg(test)]
mod tests {
    use super::bytes;

    #[test]
    fn sizes_have_at_most_four_digits() {
        for (size, text) in
            [(0, "0 B"), (999, "999 B"), (1_000, "1.0 kB"), (999_960, "1.0 MB"), (12_345_678_901, "12.3 GB")]
        {
            assert_eq!(bytes(size), text);
        }
    }
}
