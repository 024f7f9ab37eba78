//! What the store knows of an account from its last run: how many requests it took at once.

use crate::{
    config::{Experiment, Frozen, ProviderSettings},
    domain::QueueRecord,
    store::{Store, StoreError},
};

/// How many requests each account took at once when it was last used, where that ended without a sign
/// of pressure; in the order of the settings.
pub(super) fn limits(store: &Store, experiment: &Experiment) -> Result<Vec<Option<u32>>, StoreError> {
    experiment.settings.providers.iter().map(|account| limit(store, account)).collect()
}

fn limit(store: &Store, account: &ProviderSettings) -> Result<Option<u32>, StoreError> {
    let Some((record, config)) = store.last_of_queue(&account.name)? else { return Ok(None) };
    // A run that this version cannot read tells nothing.
    let Ok(frozen) = Frozen::of_stored(&config) else { return Ok(None) };
    let is_same = frozen.settings.providers.iter().any(|other| is_same(other, account));
    Ok(is_same.then(|| calm_limit(&record)).flatten())
}

/// Two experiments may give the same name to different accounts.
fn is_same(one: &ProviderSettings, other: &ProviderSettings) -> bool {
    let account = |settings: &ProviderSettings| {
        (settings.kind, settings.base_url.clone(), settings.api_key_env.clone())
    };
    one.name == other.name && account(one) == account(other)
}

/// Where the limit stood at the end, unless anything was ever refused.
fn calm_limit(record: &QueueRecord) -> Option<u32> {
    let is_calm = record.pauses.is_empty() && record.concurrency.iter().all(|step| step.why != "halved");
    record.concurrency.last().filter(|_| is_calm).map(|last| last.limit)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        app::testing::Stored,
        domain::{ConcurrencyRecord, PauseRecord},
    };

    fn record(steps: &[(u32, &str)], pauses: Vec<PauseRecord>) -> QueueRecord {
        let step = |&(limit, why): &(u32, &str)| ConcurrencyRecord { at_ms: 0, limit, why: why.to_owned() };
        QueueRecord {
            provider: "acme".into(),
            learnt: Default::default(),
            concurrency: steps.iter().map(step).collect(),
            pauses,
            most_members: 0,
        }
    }

    #[test]
    fn a_calm_end_is_where_the_next_run_begins_and_pressure_is_not() {
        let grown = [(32, "start"), (128, "fourfold"), (512, "fourfold")];
        assert_eq!(calm_limit(&record(&grown, vec![])), Some(512));
        let pause = PauseRecord { at_ms: 5, wait_ms: 9, shared: false };
        assert_eq!(calm_limit(&record(&grown, vec![pause])), None);
        assert_eq!(calm_limit(&record(&[(32, "start"), (16, "halved"), (17, "one_more")], vec![])), None);
        assert_eq!(calm_limit(&record(&[], vec![])), None);
    }

    #[test]
    fn an_account_is_known_by_its_server_and_key_and_not_by_its_name_alone() {
        let stored = Stored::new();
        let mut ready = stored.ready();
        let known = |experiment: &Experiment| limits(&stored.open(), experiment).unwrap();
        assert!(matches!(known(&ready.experiment)[..], [Some(32..)]));
        ready.experiment.settings.providers[0].base_url = Some("https://other.example".to_owned());
        assert_eq!(known(&ready.experiment), [None]);
        let empty = Stored::empty("");
        Store::open(empty.path()).unwrap();
        assert_eq!(limits(&empty.open(), &empty.ready().experiment).unwrap(), [None]);
    }
}
