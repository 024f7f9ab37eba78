//! How often the real cost lies in the estimate's interval, and how far the real time is off.
//!
//! ```sh
//! cargo run --release --example estimate_accuracy -- 200
//! ```

#![allow(
    clippy::print_stdout,
    unreachable_pub,
    reason = "an example prints its result and is nobody's library"
)]

mod play;

use rayon::prelude::*;

fn main() {
    let runs = std::env::args().nth(1).and_then(|runs| runs.parse().ok()).unwrap_or(200_u64);
    println!("{:20} {:>5} {:>16} {:>18}", "set-up", "runs", "cost in interval", "median time off");
    for setup in play::SETUPS {
        let folder = std::env::temp_dir().join(format!("caseload-accuracy-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder can be made");
        play::write_project(&folder, setup);
        let rehearsals: Vec<play::Rehearsal> =
            (1..=runs).into_par_iter().map(|seed| play::rehearse(&folder, seed)).collect();
        let inside = 100.0 * play::costs_inside(&rehearsals) as f64 / rehearsals.len().max(1) as f64;
        let off = 100.0 * play::median_wall_off(&rehearsals);
        println!("{:20} {runs:>5} {inside:>14.1} % {off:>16.1} %", setup.0);
        let _ = std::fs::remove_dir_all(&folder);
    }
}
