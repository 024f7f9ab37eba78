//! A new run of an experiment.

use super::{AppError, Ready, Session, early_stop, estimate, new_run::create_run};
use crate::{config, store::Store};

/// Makes the run in its store, with what it is estimated to take; nothing is asked yet.
///
/// # Errors
/// A key is missing, the baseline of an early stop cannot be had, or the store cannot be written.
pub fn begin(ready: Ready) -> Result<Session, AppError> {
    config::missing_keys(&ready.experiment.settings.providers).none_or(())?;
    early_stop::check(&ready.store, &ready.experiment)?;
    let mut store = Store::open(&ready.store)?;
    let created = create_run(&mut store, &ready)?;
    let estimated = match ready.whole()? {
        Some(whole) => estimate::at_start(&store, &whole, created.id, false)?,
        None => estimate::at_start(&store, &ready.experiment, created.id, false)?,
    };
    store.add_estimate(created.id, &estimated)?;
    // The rest of the golden set ends here: the scorecard is made from the store.
    Ok(Session::of_new(created, ready.experiment, store))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        app::testing::{Stored, work},
        domain::RunStatus,
    };

    #[test]
    fn a_new_run_is_kept_with_its_estimate_before_anything_is_asked() {
        let stored = Stored::empty("");
        let session = begin(stored.ready()).unwrap();
        assert_eq!(session.name().as_str(), "test-1");
        let estimate = stored.open().estimate_of(session.run()).unwrap().unwrap();
        assert_eq!((&estimate["cases"], &estimate["pilot"]), (&8.into(), &false.into()));
        let summary = work(session);
        assert_eq!((summary.status, summary.ended, summary.pending), (RunStatus::Complete, 32, 0));
    }

    #[test]
    fn without_its_key_no_run_is_made() {
        let stored =
            Stored::empty("[provider.simulator]\nkind = \"openai\"\napi_key_env = \"NO_SUCH_KEY_HERE\"\n");
        assert!(begin(stored.ready()).unwrap_err().to_string().contains("NO_SUCH_KEY_HERE"));
        assert!(!stored.path().exists());
    }
}
