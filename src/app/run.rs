//! A new run of an experiment.

use super::{AppError, Ready, Session, early_stop, estimate, new_run::create_run};
use crate::{config, store::Store};

/// Makes the run in its store, with what it is estimated to take; nothing is asked yet.
///
/// # Errors
/// A key is missing, the baseline of an early stop cannot be had, or the store cannot be written.
pub fn begin(ready: Ready) -> Result<Session, AppError> {
    config::missing_keys(&ready.experiment.settings.providers).none_or(())?;
    let mut store = Store::open(&ready.store)?;
    early_stop::check(&store, &ready.experiment)?;
    let created = create_run(&mut store, &ready)?;
    let estimated = match ready.whole()? {
        Some(whole) => estimate::at_start(&store, &whole, created.id, false)?,
        None => estimate::at_start(&store, &ready.experiment, created.id, false)?,
    };
    store.add_estimate(created.id, &estimated)?;
    // The rest of the golden set ends here: the scorecard is made from the store.
    Ok(Session::of_new(created, ready.experiment, store))
}
