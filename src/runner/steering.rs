//! Carrying what the user asks of a running run from the store to its queues.

use std::{collections::BTreeMap, sync::Weak, time::Duration};

use tokio::time::{MissedTickBehavior, interval};

use crate::{
    domain::{ProviderName, QueueControl, RunRow},
    queue::ProviderQueue,
    store::Store,
};

/// How often the store is asked.
const LOOK: Duration = Duration::from_millis(500);

/// Looks into `store` twice a second for what is asked of `run`'s queues, and does it; until all
/// queues are gone.
pub async fn follow_controls(store: Store, run: RunRow, queues: Vec<(ProviderName, Weak<ProviderQueue>)>) {
    let mut known: BTreeMap<ProviderName, QueueControl> = BTreeMap::new();
    let mut ticks = interval(LOOK);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    while queues.iter().any(|(_, queue)| queue.strong_count() > 0) {
        ticks.tick().await;
        let controls = match store.controls(run) {
            Ok(controls) => controls,
            Err(error) => {
                // The run goes on as it is: its writer tells what is wrong with the store.
                tracing::warn!(%error, "what is asked of the queues cannot be read");
                continue;
            }
        };
        for (name, queue) in &queues {
            let Some(control) = controls.get(name).filter(|control| known.get(name) != Some(control)) else {
                continue;
            };
            if let Some(queue) = queue.upgrade() {
                queue.steer(*control);
            }
        }
        known = controls;
    }
}
