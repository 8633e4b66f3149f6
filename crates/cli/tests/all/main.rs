//! The tests of the command, in one binary: what they share is compiled and linked once, and they share the cores.

mod common;

mod campaigns;
mod cargo;
mod check_native;
mod choices;
mod counts;
mod documentation;
mod field;
mod gallery;
mod gdb;
mod hunt;
mod litmus;
mod minimise;
mod misuse;
mod museum;
mod native;
mod oracle;
mod output;
mod page;
mod peers;
mod races;
mod registry;
mod restart;
mod resume;
mod rust_projects;
mod safe;
mod spec;
mod third_party;
mod tools;
mod unseen_stores;
mod verdicts;
