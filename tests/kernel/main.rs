//! Against real kernels. What is missing for it (a kernel's debuginfo, SystemTap, perf, qemu) makes a test say `skipped: …`;
//! with `CI=true` it makes it fail. `scripts/test-packages` installs all of it.
mod addresses;
mod agreement;
mod anchors;
mod btf;
mod calls;
mod check;
mod core_types;
mod damage;
#[cfg(feature = "debuginfod")]
mod debuginfod;
mod fleet;
mod frames;
mod history;
mod installed;
#[path = "../capi/library.rs"]
mod library;
mod live;
mod offers;
mod perf;
mod sample;
mod tapset;
mod tracepoints;
mod types;
mod user;
