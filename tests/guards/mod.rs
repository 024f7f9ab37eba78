//! What users and stored data see, held to the byte: stores of version 0.1, screens, wire bytes,
//! hashes and seeds. README.md beside this file says what each guard holds, and which differences
//! since version 0.1 are intended.
//!
//! All goes through the program's command line, so that nothing here follows from how it is built.

mod identity;
mod making;
mod readings;
mod script;
mod server;
mod shop;
mod stores;
mod transcript;
mod wire;
mod writing;
