//! The tables: one step a version, each frozen once it is released.

pub(super) mod migrations;
mod version_1;
mod version_2;
mod version_3;
mod version_4;
mod version_5;
mod version_6;
mod version_7;
mod version_8;
