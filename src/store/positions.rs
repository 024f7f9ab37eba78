//! Positions as the store writes them: bare integers.

use rusqlite::{
    ToSql,
    types::{FromSql, FromSqlResult, ToSqlOutput, ValueRef},
};

use crate::domain::{CasePos, GraderPos, PricePos, Repeat, RunRow, TargetPos};

macro_rules! column {
    ($($name:ident),*) => {
        $(impl ToSql for $name {
            fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
                self.0.to_sql()
            }
        }

        impl FromSql for $name {
            fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
                FromSql::column_result(value).map(Self)
            }
        })*
    };
}

column! { RunRow, TargetPos, CasePos, Repeat, GraderPos, PricePos }
