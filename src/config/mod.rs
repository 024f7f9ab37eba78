//! The experiment file: as written, as it is meant, and made ready to run.

mod application;
mod cached_parts;
mod connect;
mod document;
mod experiment;
mod gates;
mod keys;
mod literal_secrets;
mod prices;
mod prompt;
mod prompt_cache;
mod reading;
mod request_hash;
mod settings;
mod shared_folder;
mod stop;
mod stored;
mod target;
mod written;

pub use self::{
    cached_parts::CachedParts,
    connect::{connect, missing_keys, token_counter},
    document::Document,
    experiment::{Experiment, PlannedCase},
    gates::{CountedFlips, FlipBudget, Gates, Margin, MinPassRate, RateOn, read_gates},
    keys::key_warnings,
    prices::{PriceTable, since},
    prompt::{PromptError, PromptTemplate},
    reading::{DEFAULT_STORE, Overrides, Plan, STORE_VARIABLE, read, read_text},
    settings::{ProviderSettings, Settings, TargetSettings},
    stop::{StopGate, StopSettings},
    stored::{
        CONFIG_FORM, Frozen, StoredError, comparable_target, gates_of_stored, stored_gates, stored_target,
        target_settings,
    },
    target::Target,
};
