//! An estimate, and what more cases or repeats would buy, as text and as a picture.

mod frontier_svg;
mod frontier_text;
mod plans;
mod text;

pub use self::{
    frontier_svg::frontier_svg,
    plans::{account_text, planned_text},
};
