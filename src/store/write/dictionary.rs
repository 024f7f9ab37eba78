//! What answers of one kind have in common, taken from the first of them: the same passages quoted,
//! the same turns of phrase. A long answer is compressed as if that stood before it.

use std::{
    collections::BTreeMap,
    io::Read,
    sync::{Arc, PoisonError, RwLock},
};

use rusqlite::{Connection, params};
use zstd::dict::{DecoderDictionary, EncoderDictionary};

use super::zstd::{LEVEL, is_frame};
use crate::domain::TrialKey;

/// What stands first in a text compressed with a dictionary: half of the half of its hash.
pub(super) type Name = [u8; 8];

/// How much of the first answers becomes a dictionary. Twice as much gains little more.
const SIZE: usize = 512 * 1_024;

/// A run takes a dictionary of its own where the one at hand leaves more than this of its answers.
const GOOD: f64 = 0.25;

/// A dictionary, made ready.
pub(in crate::store) struct Dictionary {
    pub(in crate::store) name: Name,
    pub(super) encoder: EncoderDictionary<'static>,
    decoder: DecoderDictionary<'static>,
}

/// Every dictionary of every store that this process has opened. A name is a hash, so that it means
/// the same in all of them.
static KNOWN: RwLock<BTreeMap<Name, Arc<Dictionary>>> = RwLock::new(BTreeMap::new());

fn learn(bytes: &[u8]) -> Arc<Dictionary> {
    let hash = blake3::hash(bytes);
    let name: Name = hash.as_bytes()[..8].try_into().expect("a hash has 32 bytes");
    let mut known = KNOWN.write().unwrap_or_else(PoisonError::into_inner);
    let make = || {
        let (encoder, decoder) = (EncoderDictionary::copy(bytes, LEVEL), DecoderDictionary::copy(bytes));
        Arc::new(Dictionary { name, encoder, decoder })
    };
    Arc::clone(known.entry(name).or_insert_with(make))
}

/// Reads what `frame` was with the dictionary of that name; `None` when it is not known.
pub(super) fn decode(name: &[u8], frame: &[u8]) -> Option<std::io::Result<Vec<u8>>> {
    let known = KNOWN.read().unwrap_or_else(PoisonError::into_inner);
    let dictionary = Arc::clone(known.get(name)?);
    drop(known);
    let mut text = vec![];
    let decoder = zstd::stream::read::Decoder::with_prepared_dictionary(frame, &dictionary.decoder);
    Some(decoder.and_then(|mut decoder| decoder.read_to_end(&mut text)).map(|_| text))
}

/// Makes all dictionaries of the store known; the latest comes back.
pub(in crate::store) fn load(connection: &Connection) -> rusqlite::Result<Option<Arc<Dictionary>>> {
    let mut statement = connection.prepare("SELECT zstd FROM dictionary ORDER BY id")?;
    let mut rows = statement.query([])?;
    let mut latest = None;
    while let Some(row) = rows.next()? {
        // One that is damaged leaves its texts unreadable, which is told when one is read.
        if let Ok(bytes) = zstd::stream::decode_all(row.get_ref(0)?.as_blob()?) {
            latest = Some(learn(&bytes));
        }
    }
    Ok(latest)
}

/// The dictionary that a run's answers are compressed with, and the making of one.
#[derive(Default)]
pub(super) struct Dictionaries {
    pub(super) current: Option<Arc<Dictionary>>,
    samples: Vec<u8>,
    sampled: Vec<TrialKey>,
    /// What the samples came to, packed.
    packed: usize,
    is_settled: bool,
    unsaved: Option<Vec<u8>>,
}

impl Dictionaries {
    /// Those of a store; `is_settled`: no new one is to be made.
    pub(in crate::store) fn of(connection: &Connection, is_settled: bool) -> rusqlite::Result<Self> {
        Ok(Self { current: load(connection)?, is_settled, ..Self::default() })
    }

    /// Takes note of a long answer and of what it came to; perhaps a dictionary follows.
    pub(in crate::store) fn note(&mut self, key: TrialKey, text: &str, packed: usize) {
        if self.is_settled {
            return;
        }
        self.samples.extend_from_slice(text.as_bytes());
        self.sampled.push(key);
        self.packed += packed;
        if self.samples.len() < SIZE {
            return;
        }
        self.is_settled = true;
        #[expect(clippy::cast_precision_loss, reason = "a ratio of two sizes below 2^52")]
        let left = self.packed as f64 / self.samples.len() as f64;
        let mut bytes = std::mem::take(&mut self.samples);
        bytes.truncate(SIZE);
        let makes = left > GOOD && !is_frame(blake3::hash(&bytes).as_bytes());
        if makes {
            self.current = Some(learn(&bytes));
            self.unsaved = Some(bytes);
        }
    }

    /// Writes a new dictionary, before the first text that needs it, and which cases it quotes.
    pub(super) fn save(&mut self, connection: &Connection) -> rusqlite::Result<()> {
        let Some((bytes, dictionary)) = self.unsaved.take().zip(self.current.as_ref()) else {
            return Ok(());
        };
        let zstd = zstd::bulk::compress(&bytes, LEVEL).unwrap_or_default();
        connection.execute(
            "INSERT INTO dictionary (name, zstd) VALUES (?, ?) ON CONFLICT DO NOTHING",
            params![dictionary.name, zstd],
        )?;
        for key in self.sampled.drain(..) {
            connection.execute(
                "INSERT INTO dictionary_case (dictionary, case_id)
                 SELECT d.id, c.case_id FROM dictionary d, run_case c
                 WHERE d.name = ? AND c.run = ? AND c.position = ? ON CONFLICT DO NOTHING",
                params![dictionary.name, key.run, key.case],
            )?;
        }
        Ok(())
    }
}

/// Takes over the dictionaries of another store.
pub(in crate::store) fn copy(from: &Connection, to: &Connection) -> rusqlite::Result<()> {
    let mut theirs = from.prepare("SELECT id, name, zstd FROM dictionary ORDER BY id")?;
    let mut rows = theirs.query([])?;
    while let Some(row) = rows.next()? {
        let (id, name, zstd): (i64, Name, Vec<u8>) = (row.get(0)?, row.get(1)?, row.get(2)?);
        to.execute(
            "INSERT INTO dictionary (name, zstd) VALUES (?, ?) ON CONFLICT DO NOTHING",
            params![name, zstd],
        )?;
        let mut cases = from.prepare_cached("SELECT case_id FROM dictionary_case WHERE dictionary = ?")?;
        let mut rows = cases.query([id])?;
        while let Some(row) = rows.next()? {
            to.execute(
                "INSERT INTO dictionary_case (dictionary, case_id) SELECT id, ? FROM dictionary
                 WHERE name = ? ON CONFLICT DO NOTHING",
                params![row.get::<_, String>(0)?, name],
            )?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::iter;

    use crate::store::{
        Forget, Store, StoreWriter,
        fixtures::{answered, case, create, key, trial},
    };

    /// An answer of 15 of 100 passages, each 1 kB that resembles nothing else.
    fn answer(number: u32) -> String {
        let passage = |passage: u32| {
            let hashes = (0..16).map(|part| blake3::hash(&[passage.to_le_bytes(), [part; 4]].concat()));
            hashes.map(|hash| hash.to_hex().to_string()).collect::<String>()
        };
        let passages =
            iter::successors(Some(number), |last| Some((last * 31 + 7) % 10_007)).map(|one| one % 100);
        passages.take(15).map(passage).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn answers_with_passages_in_common_share_them_and_come_back_after_one_is_forgotten() {
        let folder = tempfile::TempDir::new().unwrap();
        let path = folder.path().join("caseload.db");
        let mut store = Store::open(&path).unwrap();
        let cases: Vec<_> = (0..200).map(|number| case(&format!("c{number}"))).collect();
        let run = create(&mut store, &cases, 1).unwrap();
        let id = run.id;
        let writer = StoreWriter::start(store, run.claim, None).unwrap();
        for case in 0..200 {
            writer.blocking_send(trial(answered(key(id, 0, case, 1), &answer(case)))).unwrap();
        }
        writer.finish().unwrap();

        let mut store = Store::open(&path).unwrap();
        let number = |store: &Store, sql: &str| -> i64 {
            store.connection.query_row(sql, [], |row| row.get(0)).unwrap()
        };
        assert_eq!(number(&store, "SELECT count(*) FROM dictionary"), 1);
        let stored = number(&store, "SELECT sum(length(zstd)) FROM answer");
        assert!(stored < 200 * 15_000 / 3, "{stored}");
        for case in 0..200 {
            assert_eq!(store.trial(key(id, 0, case, 1)).unwrap().unwrap().record.answer, answer(case));
        }
        store.forget(Forget::Case("c0")).unwrap();
        assert_eq!(number(&store, "SELECT count(*) FROM dictionary"), 0);
        for case in 1..200 {
            assert_eq!(store.trial(key(id, 0, case, 1)).unwrap().unwrap().record.answer, answer(case));
        }
        assert_eq!(store.check().unwrap(), Vec::<String>::new());
    }
}
