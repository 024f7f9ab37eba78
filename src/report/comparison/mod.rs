//! A comparison in every form in which it is read.

mod confirmation;
mod csv;
#[cfg(test)]
mod fixture;
mod github;
mod junit;
mod markdown;
mod text;

pub use self::{
    confirmation::confirmation_text,
    csv::comparison_csv,
    github::comparison_github,
    junit::comparison_junit,
    markdown::comparison_markdown,
    text::{comparison_text, gates_text, matrix_text},
};
