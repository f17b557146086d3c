//! Hermetic tests: kernels and modules that are made here, indexed and compared with what independent readers say.
#![allow(non_upper_case_globals, reason = "the constants bear the names that the DWARF standard gives them")]
mod facts;
#[cfg(feature = "cli")]
mod faults;
mod fixture;
mod index;
mod oracle;
#[cfg(feature = "cli")]
mod privilege;
#[cfg(feature = "cli")]
mod program;

#[cfg(all(feature = "cli", target_arch = "x86_64"))]
mod addr;
mod agree;
#[cfg(feature = "cli")]
mod aliases;
#[cfg(all(feature = "cli", target_arch = "x86_64"))]
mod architectures;
mod arguments;
#[cfg(all(feature = "cli", target_arch = "x86_64"))]
mod arm64;
mod bad_input;
#[cfg(all(feature = "cli", target_arch = "x86_64"))]
mod btf;
#[cfg(all(feature = "cli", target_arch = "x86_64"))]
mod built;
mod byte_order;
#[cfg(all(feature = "cli", target_arch = "x86_64"))]
mod captured;
#[cfg(all(feature = "cli", target_arch = "x86_64"))]
mod check;
#[cfg(feature = "cli")]
mod command_line;
mod compared;
#[cfg(feature = "cli")]
mod completion;
mod covered;
#[cfg(all(feature = "cli", target_arch = "x86_64"))]
mod damaged_tables;
#[cfg(all(feature = "cli", feature = "debuginfod", target_arch = "x86_64"))]
mod debuginfod;
#[cfg(all(feature = "cli", target_arch = "x86_64"))]
mod decode;
#[cfg(all(feature = "cli", target_arch = "x86_64"))]
mod definitions;
#[cfg(all(feature = "cli", target_arch = "x86_64"))]
mod diff;
#[cfg(all(feature = "cli", target_arch = "x86_64"))]
mod distributions;
mod elf;
#[cfg(feature = "cli")]
mod forged;
mod frames;
mod handler;
mod hostile;
mod hostile_elf;
mod hostile_sharing;
#[cfg(all(feature = "cli", target_arch = "x86_64"))]
mod image;
mod inflated;
#[cfg(feature = "cli")]
mod kernel_structs;
mod layers;
mod lines;
#[cfg(feature = "cli")]
mod listing;
#[cfg(feature = "cli")]
mod lookup;
#[cfg(feature = "cli")]
mod manual;
#[cfg(all(feature = "cli", target_arch = "x86_64"))]
mod narrow;
mod nesting;
#[cfg(feature = "cli")]
mod owners;
mod packaging;
#[cfg(feature = "cli")]
mod parts;
#[cfg(feature = "cli")]
mod placements;
mod raw;
#[cfg(all(feature = "cli", target_arch = "x86_64"))]
mod riscv64;
#[cfg(feature = "cli")]
mod s390x;
#[cfg(all(feature = "cli", target_arch = "x86_64"))]
mod seeds;
#[cfg(feature = "cli")]
mod serve;
mod snapshot;
mod split;
#[cfg(feature = "cli")]
mod statements;
mod supplement;
#[cfg(all(feature = "cli", target_arch = "x86_64"))]
mod tables;
mod tapset;
#[cfg(feature = "cli")]
mod tapset_index;
#[cfg(all(feature = "cli", target_arch = "x86_64"))]
mod traced;
#[cfg(all(feature = "cli", target_arch = "x86_64"))]
mod tracepoints;
#[cfg(feature = "cli")]
mod types;
#[cfg(feature = "cli")]
mod user;
#[cfg(all(feature = "cli", target_arch = "x86_64"))]
mod values;
#[cfg(all(feature = "cli", target_arch = "x86_64"))]
mod verdicts;
