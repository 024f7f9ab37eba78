//! One account, several processes on this machine: who else uses it now.
//!
//! Every process keeps a small file in the account's folder and renews it four times a second; it
//! says when that was, whom the process sees beside itself, and until when the account pauses. Each
//! of *n* live members keeps to an *n*th of every limit. Whoever joins starts only once all others
//! have seen it, and with nothing in hand, so that together they are never above the limit; whoever
//! has not been heard of for a few seconds is dead. Files need no locks: each has one writer.

use std::{
    fs, io,
    path::{Path, PathBuf},
    process,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use serde::{Deserialize, Serialize};

use crate::domain::UnixMillis;

/// How often a member renews its file.
pub(super) const BEAT: Duration = Duration::from_millis(250);

/// A member that has not been heard of for longer is dead.
const DEAD_MS: i64 = 3_000;

/// Files of the dead are taken away after this long.
const FORGOTTEN_MS: i64 = 60_000;

/// What members' files end in. Others in the folder are being written.
const SUFFIX: &str = "member";

/// This process's place among those that use one account; given up when dropped.
#[derive(Debug)]
pub(super) struct Membership {
    folder: PathBuf,
    name: String,
    /// Until when the server told this process to wait, in Unix milliseconds.
    paused_until: Mutex<Option<i64>>,
    /// One draft at a time.
    draft: Mutex<()>,
}

/// What one member tells the others.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Word {
    at: i64,
    sees: Vec<String>,
    paused_until: Option<i64>,
}

/// How a member finds the account.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Company {
    /// Live members, this one included.
    pub(super) members: u32,
    /// Whether all others have seen this one.
    pub(super) is_seen: bool,
    /// How long another member was told to wait from now on.
    pub(super) wait: Option<Duration>,
}

impl Membership {
    /// Joins those who use the account of `folder`, which is made where there is none.
    ///
    /// # Errors
    /// The folder cannot be made or written.
    pub(super) fn join(folder: &Path) -> io::Result<(Self, Company)> {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        make_private(folder)?;
        // A number and the time beside the process id: containers may share the folder.
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("{}-{}-{number}", process::id(), UnixMillis::now().0);
        let membership =
            Self { folder: folder.to_owned(), name, paused_until: Mutex::default(), draft: Mutex::default() };
        // To be seen before looking: of two that join at once, at least one sees the other.
        membership.write(&Word { at: UnixMillis::now().0, ..Word::default() })?;
        let company = membership.beat()?;
        Ok((membership, company))
    }

    /// Renews this member's file and looks who else is there.
    ///
    /// # Errors
    /// The folder cannot be read or written.
    pub(super) fn beat(&self) -> io::Result<Company> {
        let now = UnixMillis::now().0;
        let others = self.others(now)?;
        let word = Word {
            at: now,
            sees: others.iter().map(|(name, _)| name.clone()).collect(),
            paused_until: *self.paused_until.lock().unwrap_or_else(PoisonError::into_inner),
        };
        self.write(&word)?;
        let wait = others.iter().filter_map(|(_, word)| word.paused_until).max();
        let wait = wait.and_then(|until| u64::try_from(until - now).ok()).filter(|wait| *wait > 0);
        Ok(Company {
            members: u32::try_from(others.len() + 1).unwrap_or(u32::MAX),
            is_seen: others.iter().all(|(_, word)| word.sees.contains(&self.name)),
            wait: wait.map(Duration::from_millis),
        })
    }

    /// Tells the others at once that the account pauses for `wait`.
    ///
    /// # Errors
    /// The folder cannot be written.
    pub(super) fn tell_pause(&self, wait: Duration) -> io::Result<()> {
        let until = i64::try_from(wait.as_millis()).unwrap_or(i64::MAX).saturating_add(UnixMillis::now().0);
        {
            let mut own = self.paused_until.lock().unwrap_or_else(PoisonError::into_inner);
            *own = (*own).max(Some(until));
        }
        self.beat().map(drop)
    }

    fn others(&self, now: i64) -> io::Result<Vec<(String, Word)>> {
        let mut others = vec![];
        for entry in fs::read_dir(&self.folder)? {
            let path = entry?.path();
            let is_member = path.extension().is_some_and(|suffix| suffix == SUFFIX);
            let Some(name) = path.file_stem().and_then(|stem| stem.to_str()).filter(|_| is_member) else {
                continue;
            };
            // A file that is gone was given up between the listing and the reading.
            let Ok(text) = fs::read_to_string(&path) else { continue };
            let word: Word = serde_json::from_str(&text).unwrap_or_default();
            // The clock may have been set back since: what is ahead of it is alive.
            let age = now.saturating_sub(word.at);
            if name != self.name && age < DEAD_MS {
                others.push((name.to_owned(), word));
            } else if age > FORGOTTEN_MS {
                // Somebody else may have done so already.
                let _ = fs::remove_file(&path);
            }
        }
        Ok(others)
    }

    /// Under another name first, so that nobody reads half of it.
    fn write(&self, word: &Word) -> io::Result<()> {
        let _alone = self.draft.lock().unwrap_or_else(PoisonError::into_inner);
        let draft = self.folder.join(format!("{}.draft", self.name));
        fs::write(&draft, serde_json::to_vec(word)?)?;
        fs::rename(&draft, self.folder.join(format!("{}.{SUFFIX}", self.name)))
    }
}

impl Drop for Membership {
    fn drop(&mut self) {
        // Whoever cannot take its file away is dead to the others within seconds.
        let _ = fs::remove_file(self.folder.join(format!("{}.{SUFFIX}", self.name)));
    }
}

/// Makes a folder that only this user can read.
fn make_private(folder: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::*;

    #[test]
    fn whoever_joins_is_seen_at_the_others_next_beat_and_gone_when_dropped() {
        let folder = TempDir::new().unwrap();
        let (first, alone) = Membership::join(folder.path()).unwrap();
        assert_eq!(alone, Company { members: 1, is_seen: true, wait: None });
        let (second, company) = Membership::join(folder.path()).unwrap();
        assert_eq!(company, Company { members: 2, is_seen: false, wait: None });
        assert_eq!(first.beat().unwrap().members, 2);
        assert!(second.beat().unwrap().is_seen);
        drop(second);
        assert_eq!(first.beat().unwrap(), alone);
    }

    #[test]
    fn a_pause_is_told_to_the_others_at_once() {
        let folder = TempDir::new().unwrap();
        let (first, _) = Membership::join(folder.path()).unwrap();
        let (second, _) = Membership::join(folder.path()).unwrap();
        first.tell_pause(Duration::from_secs(60)).unwrap();
        let wait = second.beat().unwrap().wait.unwrap();
        assert!(wait > Duration::from_secs(55) && wait <= Duration::from_secs(60), "{wait:?}");
        assert_eq!(first.beat().unwrap().wait, None, "one's own pause is known already");
        assert!(Membership::join(folder.path()).unwrap().1.wait.is_some());
    }

    #[test]
    fn the_dead_are_forgotten_and_their_files_taken_away() {
        let folder = TempDir::new().unwrap();
        let write = |name: &str, age: i64| {
            let word = Word { at: UnixMillis::now().0 - age, ..Word::default() };
            fs::write(folder.path().join(name), serde_json::to_vec(&word).unwrap()).unwrap();
        };
        write("1-1-0.member", 4_000);
        write("2-2-0.member", 70_000);
        fs::write(folder.path().join("3-3-0.draft"), "{").unwrap();
        let (_first, company) = Membership::join(folder.path()).unwrap();
        assert_eq!(company.members, 1);
        assert!(folder.path().join("1-1-0.member").exists());
        assert!(!folder.path().join("2-2-0.member").exists());
    }
}
