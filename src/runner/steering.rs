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

#[cfg(test)]
mod tests {
    use std::{path::Path, sync::Arc};

    use tempfile::TempDir;
    use tokio::{task::JoinHandle, time::sleep};

    use super::*;
    use crate::{
        domain::{LiveLimits, Reply},
        runner::fixtures::{self, new_run},
    };

    /// A run in a store, its queues `p` and `q`, and one who carries what is asked of them.
    struct Steered {
        folder: TempDir,
        run: RunRow,
        p: Arc<ProviderQueue>,
        q: Arc<ProviderQueue>,
        carrying: JoinHandle<()>,
    }

    fn store_in(folder: &Path) -> Store {
        Store::open(folder.join("test.db")).unwrap()
    }

    fn steered() -> Steered {
        let folder = TempDir::new().unwrap();
        let run = new_run(&mut store_in(folder.path())).id;
        let queue = |name| fixtures::queue_named(name, 4, |_| (Duration::ZERO, Ok(Reply::answered("yes"))));
        let (p, q) = (queue("p"), queue("q"));
        let queues = vec![("p".into(), Arc::downgrade(&p)), ("q".into(), Arc::downgrade(&q))];
        let carrying = tokio::spawn(follow_controls(store_in(folder.path()), run, queues));
        Steered { folder, run, p, q, carrying }
    }

    fn at_most(max_in_flight: u32) -> QueueControl {
        let limits = LiveLimits { max_in_flight: Some(max_in_flight), ..LiveLimits::default() };
        QueueControl { paused: false, limits }
    }

    impl Steered {
        /// Another process asks `p` for at most so many in flight, and a second goes by.
        async fn asks_p_for(&self, max_in_flight: u32) {
            let mut store = store_in(self.folder.path());
            store.steer(self.run, &["p".into()], |_| at_most(max_in_flight)).unwrap();
            sleep(Duration::from_secs(1)).await;
        }

        fn max_in_flight(&self) -> [u32; 2] {
            [self.p.max_in_flight(), self.q.max_in_flight()]
        }
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_asked_reaches_the_queue_of_that_name_and_no_other() {
        let steered = steered();
        steered.asks_p_for(2).await;
        assert_eq!(steered.max_in_flight(), [2, 4]);
        steered.asks_p_for(3).await;
        assert_eq!(steered.max_in_flight(), [3, 4]);
    }

    #[tokio::test(start_paused = true)]
    async fn what_was_done_is_not_done_again() {
        let steered = steered();
        steered.asks_p_for(2).await;
        steered.p.steer(at_most(9));
        sleep(Duration::from_secs(5)).await;
        assert_eq!(steered.max_in_flight(), [9, 4]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_store_that_cannot_be_read_leaves_the_run_going() {
        let steered = steered();
        let connection = rusqlite::Connection::open(steered.folder.path().join("test.db")).unwrap();
        connection.execute("ALTER TABLE run_control RENAME TO elsewhere", []).unwrap();
        sleep(Duration::from_secs(1)).await;
        connection.execute("ALTER TABLE elsewhere RENAME TO run_control", []).unwrap();
        steered.asks_p_for(2).await;
        assert_eq!(steered.max_in_flight(), [2, 4]);
    }

    #[tokio::test(start_paused = true)]
    async fn nobody_looks_once_the_last_queue_is_gone() {
        let Steered { p, q, carrying, .. } = steered();
        drop(p);
        sleep(Duration::from_secs(5)).await;
        assert!(!carrying.is_finished());
        drop(q);
        sleep(Duration::from_secs(1)).await;
        assert!(carrying.is_finished());
    }
}
