//! What can be done with experiments, runs and stores, a use case a file: settled arguments in, data out,
//! without a terminal.
//!
//! What sends requests is `async`: the runtime and the signal to stop are the caller's. What only reads is
//! not. Results have the shapes that `--json` prints; how they read on a screen is decided in `report`.
//!
//! ```no_run
//! use caseload::app::{AppError, Overrides, Ready, Shutdown, Store, history, run};
//! use tokio::sync::watch;
//!
//! # async fn example() -> Result<(), AppError> {
//! let ready = Ready::read("config/demo.toml".as_ref(), &Overrides::default())?;
//! let store = ready.store.clone();
//! let session = run::begin(ready)?;
//! let (_stop, shutdown) = watch::channel(Shutdown::No);
//! let summary = session.work(vec![Box::new(|event| println!("{event:?}"))], shutdown).await?;
//! println!("{} trials ended, {} are still to do", summary.ended, summary.pending);
//!
//! let trend = history::trend(&Store::open_to_read(&store)?, &history::Look::default(), 30)?;
//! for target in &trend.targets {
//!     println!("{}: {:?}", target.target, target.runs.last().map(|run| run.pass_rate));
//! }
//! # Ok(())
//! # }
//! ```

pub mod baseline;
pub mod check;
pub mod compare;
pub mod compare_case;
pub mod confirm;
pub mod count_tokens;
pub mod designs;
mod compressed;
mod early_stop;
mod error;
pub mod estimate;
mod event_file;
mod event_line;
pub mod export;
pub mod failures;
mod find_experiment;
pub mod find_run;
mod fresh;
pub mod gain;
pub mod gates;
pub mod grade;
pub mod history;
mod known_accounts;
pub mod mock_servers;
mod new_run;
pub mod pilot;
mod ready;
pub mod rehearse;
pub mod resume;
pub mod run;
pub mod runs;
pub mod serve_mock;
mod session;
pub mod show;
pub mod steer;
pub mod store_life;
#[cfg(test)]
mod testing;
mod thaw;

pub use self::{
    error::AppError,
    event_file::EventFile,
    event_line::{EventLine, Names},
    ready::Ready,
    session::{Listener, QueueWork, Session},
};
pub use crate::{
    compare::{DEFAULT_BASELINE, Verdict},
    config::{DEFAULT_STORE, Overrides, STORE_VARIABLE},
    golden::{Filter, Selection},
    providers::exec::supervisor,
    runner::{RunSummary, Shutdown},
    spend::Ledger,
    store::{Forget, Merged, RunDetail, Store},
};
