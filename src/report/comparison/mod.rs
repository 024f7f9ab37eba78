//! A comparison in every form in which it is read.

mod case;
mod confirmation;
mod csv;
#[cfg(test)]
mod fixture;
mod github;
mod junit;
mod markdown;
mod text;
mod written;

pub use self::{
    case::compared_case_text,
    confirmation::confirmation_text,
    csv::comparison_csv,
    github::comparison_github,
    junit::comparison_junit,
    markdown::comparison_markdown,
    text::{comparison_text, gates_text, matrix_text},
    written::{Form, written},
};
