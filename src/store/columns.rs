//! Between domain values and columns. NULL is *unknown* or *not so*, never zero.

use std::time::Duration;

use rusqlite::{
    Row, Statement, ToSql,
    types::{FromSql, FromSqlError, Type, ValueRef},
};
use serde::{
    Deserialize, Serialize,
    de::{IntoDeserializer, value::Error as NameError},
};

use super::error::StoreError;
use crate::domain::{
    Cost, ErrorClass, Failure, FailureKind, Fingerprint, Metered, PassIf, PricePos, Tariff, TrialKey,
    UnixMillis, Usage,
};

/// Reads a row's columns one after the other, in the order in which the query lists them.
pub(super) struct Columns<'row, 'statement> {
    row: &'row Row<'statement>,
    next: usize,
}

impl<'row, 'statement> Columns<'row, 'statement> {
    pub(super) fn of(row: &'row Row<'statement>) -> Self {
        Self { row, next: 0 }
    }

    pub(super) fn take<T: FromSql>(&mut self) -> rusqlite::Result<T> {
        self.next += 1;
        self.row.get(self.next - 1)
    }

    /// A text that lives as long as the row; NULL is empty.
    pub(super) fn text(&mut self) -> rusqlite::Result<&'row str> {
        self.next += 1;
        match self.row.get_ref(self.next - 1)? {
            ValueRef::Null => Ok(""),
            value => value.as_str().map_err(|error| self.unfit(error)),
        }
    }

    /// A value of a closed set, by its name.
    pub(super) fn name<T: for<'de> Deserialize<'de>>(&mut self) -> rusqlite::Result<T> {
        self.optional_name()?.ok_or_else(|| self.unfit(FromSqlError::InvalidType))
    }

    /// A value of a closed set, by its name, or NULL.
    pub(super) fn optional_name<T: for<'de> Deserialize<'de>>(&mut self) -> rusqlite::Result<Option<T>> {
        self.next += 1;
        let text = match self.row.get_ref(self.next - 1)? {
            ValueRef::Null => return Ok(None),
            value => value.as_str().map_err(|error| self.unfit(error))?,
        };
        let deserializer: serde::de::value::StrDeserializer<'_, NameError> = text.into_deserializer();
        T::deserialize(deserializer).map(Some).map_err(|error| self.unfit(error))
    }

    /// A value kept as JSON.
    pub(super) fn json<T: for<'de> Deserialize<'de>>(&mut self) -> rusqlite::Result<T> {
        let text = self.text()?;
        serde_json::from_str(text).map_err(|error| self.unfit(error))
    }

    /// A value kept as JSON, or NULL.
    pub(super) fn optional_json<T: for<'de> Deserialize<'de>>(&mut self) -> rusqlite::Result<Option<T>> {
        match self.row.get_ref(self.next)? {
            ValueRef::Null => {
                self.next += 1;
                Ok(None)
            }
            _ => self.json().map(Some),
        }
    }

    /// A number kept as text, since SQLite's integers cannot hold it.
    pub(super) fn parsed(&mut self) -> rusqlite::Result<u64> {
        self.text()?.parse().map_err(|error: std::num::ParseIntError| self.unfit(error))
    }

    pub(super) fn key(&mut self) -> rusqlite::Result<TrialKey> {
        Ok(TrialKey { run: self.take()?, target: self.take()?, case: self.take()?, repeat: self.take()? })
    }

    pub(super) fn instant(&mut self) -> rusqlite::Result<UnixMillis> {
        self.take().map(UnixMillis)
    }

    pub(super) fn cost(&mut self) -> rusqlite::Result<Option<Cost>> {
        Ok(self.take::<Option<i64>>()?.map(Cost::from_picodollars))
    }

    /// A tariff; NULL is the standard one.
    pub(super) fn tariff(&mut self) -> rusqlite::Result<Tariff> {
        self.optional_name().map(Option::unwrap_or_default)
    }

    /// A count of rows.
    pub(super) fn count(&mut self) -> rusqlite::Result<u64> {
        self.take::<i64>().map(i64::unsigned_abs)
    }

    pub(super) fn fingerprint(&mut self) -> rusqlite::Result<Fingerprint> {
        self.take::<[u8; 32]>().map(Fingerprint::from)
    }

    pub(super) fn pass_if(&mut self) -> rusqlite::Result<PassIf> {
        let text = self.text()?;
        match text {
            "every" => Ok(PassIf::Every),
            "any" => Ok(PassIf::Any),
            "majority" => Ok(PassIf::Majority),
            _ => text
                .strip_prefix("at least ")
                .and_then(|wanted| wanted.parse().ok())
                .map(PassIf::AtLeast)
                .ok_or_else(|| {
                    self.unfit(FromSqlError::Other(format!("no `pass_if` reads `{text}`").into()))
                }),
        }
    }

    /// The seven counts of a usage, in the order of its fields; all NULL where the provider gave none.
    pub(super) fn usage(&mut self) -> rusqlite::Result<Option<Usage>> {
        let mut count = || Ok::<_, rusqlite::Error>(self.take::<Option<i64>>()?.map(i64::unsigned_abs));
        let [input_uncached, cache_read, cache_write_5m, cache_write_30m, cache_write_1h, output, reasoning] =
            [count()?, count()?, count()?, count()?, count()?, count()?, count()?];
        Ok(input_uncached.map(|input_uncached| Usage {
            input_uncached,
            cache_read: cache_read.unwrap_or(0),
            cache_write_5m: cache_write_5m.unwrap_or(0),
            cache_write_30m: cache_write_30m.unwrap_or(0),
            cache_write_1h: cache_write_1h.unwrap_or(0),
            output: output.unwrap_or(0),
            reasoning,
        }))
    }

    fn unfit(&self, error: impl std::error::Error + Send + Sync + 'static) -> rusqlite::Error {
        rusqlite::Error::FromSqlConversionFailure(self.next - 1, Type::Text, Box::new(error))
    }
}

/// Binds a statement's parameters one after the other.
pub(super) struct Binder<'statement, 'connection> {
    statement: &'statement mut Statement<'connection>,
    next: usize,
}

impl<'statement, 'connection> Binder<'statement, 'connection> {
    pub(super) fn of(statement: &'statement mut Statement<'connection>) -> Self {
        Self { statement, next: 0 }
    }

    pub(super) fn put(&mut self, value: impl ToSql) -> rusqlite::Result<()> {
        self.next += 1;
        self.statement.raw_bind_parameter(self.next, value)
    }

    pub(super) fn key(&mut self, key: TrialKey) -> rusqlite::Result<()> {
        self.put(key.run)?;
        self.put(key.target)?;
        self.put(key.case)?;
        self.put(key.repeat)
    }

    pub(super) fn usage(&mut self, metered: &Metered) -> rusqlite::Result<()> {
        let usage = metered.usage.as_ref();
        self.put(usage.map(|usage| tokens(usage.input_uncached)))?;
        self.put(usage.map(|usage| tokens(usage.cache_read)))?;
        self.put(usage.map(|usage| tokens(usage.cache_write_5m)))?;
        self.put(usage.map(|usage| tokens(usage.cache_write_30m)))?;
        self.put(usage.map(|usage| tokens(usage.cache_write_1h)))?;
        self.put(usage.map(|usage| tokens(usage.output)))?;
        self.put(usage.and_then(|usage| usage.reasoning).map(tokens))
    }

    /// The row that priced something, and at what tariff; the standard one is NULL.
    pub(super) fn tariff(&mut self, price: Option<PricePos>, tariff: Tariff) -> rusqlite::Result<()> {
        self.put(price)?;
        self.put((!tariff.is_standard()).then(|| tariff.as_str()))
    }

    /// Runs the statement; gives the number of rows it changed.
    pub(super) fn execute(self) -> rusqlite::Result<usize> {
        self.statement.raw_execute()
    }
}

/// A count as SQLite keeps it. No request has 2⁶³ tokens: what claims so is capped.
fn tokens(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// A wait in whole milliseconds.
pub(super) fn millis(wait: Duration) -> i64 {
    i64::try_from(wait.as_millis()).unwrap_or(i64::MAX)
}

/// A value as a JSON column keeps it.
pub(super) fn json(what: &'static str, value: &(impl Serialize + ?Sized)) -> Result<String, StoreError> {
    serde_json::to_string(value).map_err(|source| StoreError::Json { what, source })
}

/// The parts of a failure as the columns give them; `None` where there was none.
pub(super) fn failure(
    class: Option<ErrorClass>,
    kind: Option<FailureKind>,
    status: Option<u16>,
    retry_after_ms: Option<i64>,
    may_be_billed: Option<bool>,
    message: Option<String>,
) -> Option<Failure> {
    Some(Failure {
        class: class?,
        kind: kind?,
        message: message.unwrap_or_default(),
        status,
        retry_after: retry_after_ms.map(|wait| Duration::from_millis(wait.unsigned_abs())),
        may_be_billed: may_be_billed.unwrap_or(false),
    })
}
