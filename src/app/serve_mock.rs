//! The simulator behind HTTP: what a server of it is made from, and serving until it is stopped.

use std::{env, path::Path, sync::Arc};

use jiff::{Timestamp, tz::TimeZone};
use secrecy::SecretString;

use super::AppError;
use crate::{
    config::PriceTable,
    domain::{Case, ModelId, Rates},
    golden::{self, CaseDefaults},
};
pub use crate::{
    mock::{FaultRates, MockLatency, MockSettings, StreamPace, listen, serve},
    providers::{SimulatedTarget, simulator::CacheSettings},
};

/// Finds settings with which no server can be made.
///
/// # Errors
/// All that is wrong with them.
pub fn check(settings: &MockSettings) -> Result<(), AppError> {
    let problems = settings.problems();
    if problems.is_empty() { Ok(()) } else { Err(AppError::usage(problems.join("\n"))) }
}

/// What the shipped prices say of a model today.
///
/// # Errors
/// They have no row for it.
pub fn shipped_rates(model: &ModelId) -> Result<Rates, AppError> {
    let today = TimeZone::UTC.to_datetime(Timestamp::now()).date();
    let price = PriceTable::shipped();
    let price = price.find(model, today);
    let missing = || AppError::usage(format!("the shipped price table has no row for `{model}`"));
    Ok(price.ok_or_else(missing)?.rates)
}

/// The key in the environment variable of that name.
///
/// # Errors
/// It is not set.
pub fn key_in(variable: &str) -> Result<SecretString, AppError> {
    match env::var(variable) {
        Ok(key) if !key.is_empty() => Ok(SecretString::from(key)),
        _ => Err(AppError::usage(format!("the variable `{variable}` is not set"))),
    }
}

/// The cases of a golden set, whose questions the server answers.
///
/// # Errors
/// Every fault of the file.
pub fn cases(golden: &Path) -> Result<Vec<Arc<Case>>, AppError> {
    Ok(golden::load(golden, &CaseDefaults::default())?.cases)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::testing::Stored;

    #[test]
    fn shipped_prices_know_their_models_alone() {
        assert!(shipped_rates(&ModelId::from("claude-opus-5")).is_ok());
        let error = shipped_rates(&ModelId::from("m")).unwrap_err().to_string();
        assert_eq!(error, "the shipped price table has no row for `m`");
    }

    #[test]
    fn a_key_that_is_not_set_is_told_by_its_variable() {
        let error = key_in("NO_SUCH_KEY_HERE").unwrap_err().to_string();
        assert_eq!(error, "the variable `NO_SUCH_KEY_HERE` is not set");
    }

    #[test]
    fn a_server_is_made_of_sound_settings_and_cases() {
        check(&MockSettings::default()).unwrap();
        assert!(check(&MockSettings { burst_s: -1.0, ..MockSettings::default() }).is_err());
        assert_eq!(cases(&Stored::empty("").beside("golden.jsonl")).unwrap().len(), 8);
    }
}
