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
    text::gates_text,
    written::{Form, written},
};
