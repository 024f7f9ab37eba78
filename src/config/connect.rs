//! From settings to living queues: keys are read here, and only here.

use std::{collections::HashMap, env, sync::Arc, time::Duration};

use secrecy::SecretString;
use tokio::sync::mpsc::UnboundedSender;

use super::{application, experiment::Experiment, keys, settings::ProviderSettings, shared_folder};
use crate::{
    domain::{Fault, Faults, RunEvent},
    providers::{HttpModel, HttpSettings, Provider, Replay, Simulator, SimulatorSettings, TokenCounter},
    queue::ProviderQueue,
};

/// Faults of what this machine lacks: variables that hold no key (named, never shown), and programs.
pub fn missing_keys(providers: &[ProviderSettings]) -> Faults {
    let mut missing = keys::faults(providers);
    missing.0.extend(providers.iter().flat_map(application::lacks));
    missing
}

/// The queue of every account, in the order of the settings.
///
/// # Errors
/// A key is not set, or a client cannot be built.
///
/// # Panics
/// Outside of tokio, where an account is shared with other processes.
pub fn connect(
    experiment: &Experiment,
    events: &UnboundedSender<RunEvent>,
) -> Result<Vec<Arc<ProviderQueue>>, Faults> {
    missing_keys(&experiment.settings.providers).none_or(())?;
    let mut queues = vec![];
    let mut faults = Faults::default();
    for (at, settings) in experiment.settings.providers.iter().enumerate() {
        match provider(experiment, at, settings) {
            Ok(provider) => {
                let name = settings.name.clone();
                let seed = experiment.settings.seed;
                let in_queue = application::queue_settings(settings);
                let queue = ProviderQueue::new(name, provider, in_queue, seed, events.clone());
                let queue = Arc::new(queue);
                if settings.kind.is_remote() && settings.queue.limits.shared {
                    queue.share_account(shared_folder::folder(settings, key(settings).as_ref()));
                }
                queues.push(queue);
            }
            Err(message) => {
                let place = format!("`provider.{}`", settings.name);
                faults.0.push(Fault::of_file(&experiment.settings.name, message).at(place));
            }
        }
    }
    faults.none_or(queues)
}

fn provider(
    experiment: &Experiment,
    at: usize,
    settings: &ProviderSettings,
) -> Result<Box<dyn Provider>, String> {
    let own_targets = || experiment.targets.iter().filter(move |target| target.provider == at);
    if let Some(facts) = settings.kind.facts() {
        let key = key(settings);
        let model = HttpModel::new(facts, &http(settings), key.as_ref(), settings.max_tokens_field);
        return Ok(Box::new(model.map_err(|error| error.to_string())?));
    }
    if settings.kind.is_application() {
        return application::provider(settings, http(settings));
    }
    if settings.kind.is_recorded() {
        let outputs = own_targets()
            .filter_map(|target| Some((target.name.clone(), Arc::clone(target.outputs.as_ref()?))));
        return Ok(Box::new(Replay { outputs: outputs.collect::<HashMap<_, _>>() }));
    }
    let targets = own_targets().map(|target| (target.name.clone(), target.settings.simulate.clone()));
    let seed = experiment.settings.seed;
    Ok(Box::new(Simulator::new(SimulatorSettings { seed, targets: targets.collect() })))
}

/// The counter of tokens of an account.
///
/// # Errors
/// Its provider does not count, its key is not set, or it cannot be reached so.
pub fn token_counter(settings: &ProviderSettings) -> Result<TokenCounter, String> {
    let kind = settings.kind;
    let facts = kind.facts().ok_or_else(|| format!("`{kind}` counts no tokens"))?;
    let counting = facts.counting.ok_or_else(|| format!("`{kind}` counts no tokens"))?;
    let key = key(settings).ok_or_else(|| format!("an account of kind `{kind}` needs `api_key_env`"))?;
    TokenCounter::new(facts, counting, &http(settings), &key).map_err(|error| error.to_string())
}

fn http(settings: &ProviderSettings) -> HttpSettings {
    HttpSettings {
        connect_timeout: Duration::from_secs_f64(settings.connect_s),
        idle_timeout: Duration::from_secs_f64(settings.idle_s),
        max_idle_connections: settings.queue.limits.max_in_flight as usize + 64,
        ..HttpSettings::new(settings.base_url.clone().unwrap_or_default())
    }
}

fn key(settings: &ProviderSettings) -> Option<SecretString> {
    let value = env::var(settings.api_key_env.as_ref()?).ok()?;
    Some(SecretString::from(value.trim().to_owned()))
}
