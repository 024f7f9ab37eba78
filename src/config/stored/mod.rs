//! What the store keeps of an experiment: a form of its own, with a version, apart from the settings that
//! the experiment file is read into. Whoever writes or reads it comes through here.
//!
//! An older version is brought to the newest form step by step before it is read: version 2 adds a step
//! from 1, a version 3 would add one from 2, and no step changes any more.

mod leaves;
mod v1;
mod v2;

use serde::Deserialize;
use serde_json::{Value, json};

use self::v2::{StoredRun, StoredTarget};
use super::{
    gates::Gates,
    settings::{Settings, TargetSettings},
};
use crate::{domain::Price, store::ConfigForm};

/// The version that is written.
const VERSION: u64 = 2;

/// Why a stored configuration cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum StoredError {
    /// A later caseload wrote it.
    #[error("they are of version {found}, and this caseload reads versions 1 to {VERSION}")]
    Version {
        /// Its version, as it stands there.
        found: Value,
    },
    /// It is not of the form of its version.
    #[error(transparent)]
    Form(#[from] serde_json::Error),
}

/// What a run froze of its experiment.
#[derive(Clone, Debug, PartialEq)]
pub struct Frozen {
    /// Its settings.
    pub settings: Settings,
    /// The price rows of each target: that in force when the run began, and those of later days.
    pub prices: Vec<Vec<Price>>,
}

/// How the store tells the parts of one run by their configurations.
pub const CONFIG_FORM: ConfigForm = ConfigForm { is_one_run, whole };

impl Frozen {
    /// As the store keeps it.
    pub fn to_stored(&self) -> Value {
        let Self { settings, prices } = self.clone();
        versioned(&StoredRun { settings: settings.into(), prices })
    }

    /// As `stored` tells it, whatever its version.
    ///
    /// # Errors
    /// It is of a version that is not known yet, or not of the form of its version.
    pub fn of_stored(stored: &Value) -> Result<Self, StoredError> {
        let StoredRun { settings, prices } = StoredRun::deserialize(newest(stored, v1::upgrade_run)?)?;
        Ok(Self { settings: settings.into(), prices })
    }
}

/// A target's settings as the store keeps them.
pub fn stored_target(settings: &TargetSettings) -> Value {
    versioned(&StoredTarget::from(settings.clone()))
}

/// A target's settings as `stored` tells them, whatever its version.
///
/// # Errors
/// They are of a version that is not known yet, or not of the form of their version.
pub fn target_settings(stored: &Value) -> Result<TargetSettings, StoredError> {
    Ok(StoredTarget::deserialize(newest(stored, v1::upgrade_target)?)?.into())
}

/// A target's settings by name, for telling which of them differ between runs of any version.
///
/// # Errors
/// They are of a version that is not known yet, or not of the form of their version.
pub fn comparable_target(stored: &Value) -> Result<Value, StoredError> {
    let target = StoredTarget::deserialize(newest(stored, v1::upgrade_target)?)?;
    Ok(serde_json::to_value(target)?)
}

/// Gates as the store keeps them.
pub fn stored_gates(gates: &Gates) -> Value {
    json!(gates)
}

/// Gates as `stored` tells them.
///
/// # Errors
/// They are not gates as this version knows them.
pub fn gates_of_stored(stored: &Value) -> Result<Gates, serde_json::Error> {
    Gates::deserialize(stored)
}

fn versioned(stored: &impl serde::Serialize) -> Value {
    let mut value = json!({ "version": VERSION });
    let stored = serde_json::to_value(stored).expect("settings are plain data");
    if let (Value::Object(value), Value::Object(stored)) = (&mut value, stored) {
        value.extend(stored);
    }
    value
}

/// The newest form of `stored`, without its version.
fn newest(stored: &Value, from_1: fn(&mut Value)) -> Result<Value, StoredError> {
    let mut value = stored.clone();
    match value.as_object_mut().and_then(|object| object.shift_remove("version")) {
        None => from_1(&mut value),
        Some(version) if version == VERSION => {}
        Some(found) => return Err(StoredError::Version { found }),
    }
    Ok(value)
}

/// Whether two configurations are those of parts of one run: all but which shard it is, and where the
/// golden set lay, which its fingerprint stands for.
fn is_one_run(a: &Value, b: &Value) -> bool {
    let comparable = |config: &Value| {
        let mut frozen = Frozen::of_stored(config).ok()?;
        frozen.settings.shard = None;
        frozen.settings.golden.clear();
        // Each machine's own, and raised there by a resume.
        frozen.settings.max_cost = None;
        Some(frozen)
    };
    a == b || comparable(a).is_some_and(|a| Some(a) == comparable(b))
}

/// The configuration of the run that parts with `config` make.
fn whole(config: &Value) -> Value {
    let mut whole = config.clone();
    if let Some(shard) = whole.pointer_mut("/settings/shard") {
        *shard = Value::Null;
    }
    whole
}

#[cfg(test)]
mod tests;
