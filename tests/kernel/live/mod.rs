//! The kernel itself as the judge: its image boots in an emulator, and takes or refuses each probe.
pub mod boot;
mod captured;
mod cases;
mod entries;
mod fetches;
mod initrd;
mod limits;
mod listed;
mod parts;
mod row;
mod sample;
mod symbols;
mod traced;
mod tracer;
mod trial;
mod uprobes;
mod values;
mod verdicts;
