//! The cases of a run, as they were when it began.

use std::collections::BTreeMap;

use rusqlite::{OptionalExtension, params, types::Type};
use serde_json::Value;

use crate::domain::{Case, CaseId, CasePos, Fingerprint, PassIf, RunRow, SharedSegments, Split};
use crate::store::{
    case_content::CaseContent,
    columns::Columns,
    error::{StoreError, failed_to},
    open::Store,
};

/// A case as a run planned it.
#[derive(Clone, Debug, PartialEq)]
pub struct RunCase {
    /// Its position in the run's golden set, from 0.
    pub position: CasePos,
    /// Its id.
    pub id: CaseId,
    /// Hash over all that can change its result.
    pub fingerprint: Fingerprint,
    /// Which part of the golden set it belongs to.
    pub split: Option<Split>,
    /// The cluster it counts in: its own id where none is named.
    pub cluster: String,
    /// Its weight in the weighted mean.
    pub weight: f64,
    /// Named slices it belongs to.
    pub segment: BTreeMap<String, String>,
    /// How often it is asked.
    pub repeats: u32,
    /// From its repeats to its verdict.
    pub pass_if: PassIf,
}

const RUN_CASE: &str = "SELECT c.position, c.case_id, k.fingerprint, c.split, c.cluster, c.weight, c.segment,
    c.repeats, c.pass_if
    FROM run_case c JOIN case_content k ON k.id = c.content";

fn run_case(row: &rusqlite::Row<'_>) -> rusqlite::Result<RunCase> {
    let mut columns = Columns::of(row);
    Ok(RunCase {
        position: columns.take()?,
        id: columns.take::<String>()?.into(),
        fingerprint: columns.fingerprint()?,
        split: columns.optional_name()?,
        cluster: columns.take()?,
        weight: columns.take()?,
        segment: columns.json()?,
        repeats: columns.take()?,
        pass_if: columns.pass_if()?,
    })
}

/// A case put together again.
fn whole(planned: RunCase, content: CaseContent, segments: &mut SharedSegments) -> Case {
    Case {
        id: planned.id,
        split: planned.split,
        added: None,
        owner: None,
        source: None,
        segment: segments.share(planned.segment.into()),
        cluster: content.cluster,
        weight: content.weight,
        input: content.input,
        context: content.context,
        expected: content.expected,
        graders: content.graders,
        repeats: Some(planned.repeats),
        pass_if: content.pass_if,
        examples: content.examples,
        meta: Value::Null,
        fingerprint: planned.fingerprint,
    }
}

impl Store {
    /// Calls `each` with every case of a run, in golden-set order.
    ///
    /// # Errors
    /// When the store cannot be read, and the first error of `each`.
    pub fn for_each_case<E: From<StoreError>>(
        &self,
        run: RunRow,
        mut each: impl FnMut(RunCase) -> Result<(), E>,
    ) -> Result<(), E> {
        let failed = failed_to("read the run's cases");
        let query = format!("{RUN_CASE} WHERE c.run = ? ORDER BY c.position");
        let mut statement = self.connection.prepare_cached(&query).map_err(&failed)?;
        let mut rows = statement.query([run]).map_err(&failed)?;
        while let Some(row) = rows.next().map_err(&failed)? {
            each(run_case(row).map_err(&failed)?)?;
        }
        Ok(())
    }

    /// Calls `each` with every case of a run as it was planned, in golden-set order: what a resume
    /// asks. Notes that no answer depends on (owner, source, meta) are not kept.
    ///
    /// # Errors
    /// When the store cannot be read, and the first error of `each`.
    pub fn for_each_whole_case<E: From<StoreError>>(
        &self,
        run: RunRow,
        mut each: impl FnMut(Case) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut segments = SharedSegments::default();
        self.for_each_case(run, |planned| {
            let content = self.case_content(&planned.fingerprint)?.ok_or(StoreError::NoContent)?;
            if content.is_forgotten() {
                return Err(StoreError::Forgotten { case: planned.id }.into());
            }
            each(whole(planned, content, &mut segments))
        })
    }

    /// The case of that id as it was planned.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn whole_case(&self, run: RunRow, id: &CaseId) -> Result<Option<Case>, StoreError> {
        let found = self.find_case(run, id)?.filter(|(_, content)| !content.is_forgotten());
        Ok(found.map(|(planned, content)| whole(planned, content, &mut SharedSegments::default())))
    }

    /// The case of that id, with its content.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn find_case(&self, run: RunRow, id: &CaseId) -> Result<Option<(RunCase, CaseContent)>, StoreError> {
        let failed = failed_to("read the case");
        let query = format!("{RUN_CASE} WHERE c.run = ? AND c.case_id = ?");
        let found = self
            .connection
            .query_row(&query, params![run, id.as_str()], run_case)
            .optional()
            .map_err(&failed)?;
        let Some(case) = found else {
            return Ok(None);
        };
        let content = self.case_content(&case.fingerprint)?;
        Ok(content.map(|content| (case, content)))
    }

    /// The content behind a fingerprint.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn case_content(&self, fingerprint: &Fingerprint) -> Result<Option<CaseContent>, StoreError> {
        self.connection
            .prepare_cached("SELECT content, zstd FROM case_content WHERE fingerprint = ?")
            .and_then(|mut statement| {
                statement
                    .query_row([fingerprint.as_bytes()], |row| {
                        let text = Columns::of(row).packed_text()?;
                        match text.as_ref() {
                            "" => Ok(CaseContent::forgotten()),
                            text => serde_json::from_str(text).map_err(|error| {
                                rusqlite::Error::FromSqlConversionFailure(0, Type::Text, Box::new(error))
                            }),
                        }
                    })
                    .optional()
            })
            .map_err(failed_to("read a case's content"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::fixtures::{case, create};

    #[test]
    fn a_case_comes_back_with_all_that_can_change_its_result() {
        let mut store = Store::in_memory().unwrap();
        let mut second = case("b");
        second.cluster = Some("doc-7".to_owned());
        second.split = Some(Split::HeldOut);
        second.pass_if = PassIf::AtLeast(2);
        second.weight = 0.1;
        let run = create(&mut store, &[case("a"), second.clone()], 3).unwrap();
        let (row, content) = store.find_case(run.id, &"b".into()).unwrap().unwrap();
        assert_eq!(
            (row.position, row.repeats, row.split, row.cluster.as_str(), row.weight, row.pass_if),
            (CasePos(1), 3, second.split, "doc-7", 0.1, second.pass_if)
        );
        assert_eq!((row.fingerprint, row.segment), (second.fingerprint, (*second.segment).clone()));
        assert_eq!((content.input, content.expected), (second.input, second.expected));
        assert_eq!((content.graders, content.cluster), (second.graders, second.cluster));
        let mut clusters = vec![];
        store
            .for_each_case(run.id, |case| {
                clusters.push(case.cluster);
                Ok::<_, StoreError>(())
            })
            .unwrap();
        assert_eq!(clusters, ["a", "doc-7"]);
        assert_eq!(store.find_case(run.id, &"z".into()).unwrap(), None);
    }

    #[test]
    fn equal_content_is_kept_once_over_all_runs() {
        let mut store = Store::in_memory().unwrap();
        for _ in 0..3 {
            create(&mut store, &[case("a"), case("b")], 1).unwrap();
        }
        let count: i64 =
            store.connection.query_row("SELECT count(*) FROM case_content", [], |row| row.get(0)).unwrap();
        assert_eq!(count, 2);
    }
}
