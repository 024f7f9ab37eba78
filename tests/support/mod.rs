//! What the tests share: a project in a folder of its own, the program run in it, and local servers.

mod project;
mod signal;
mod stub;

pub use self::{
    project::Project,
    signal::{Signal, signal},
    stub::{Answer, Stub},
};
