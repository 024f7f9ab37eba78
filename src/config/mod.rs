//! The experiment file: as written, as it is meant, and made ready to run.

mod application;
mod connect;
mod document;
mod experiment;
mod prices;
mod prompt;
mod settings;
mod written;

pub use self::{
    connect::{connect, missing_keys},
    document::Document,
    experiment::{Experiment, PlannedCase, Target},
    prices::PriceTable,
    prompt::{PromptError, PromptTemplate},
    settings::{
        DEFAULT_STORE, Overrides, Plan, ProviderKind, ProviderSettings, STORE_VARIABLE, Settings,
        TargetSettings, read,
    },
};
