//! How much of a kernel its compiler inlined, transformed and duplicated, and how much changed from one kernel to the
//! next. What is counted, and when, is as DepSurf does (Zhong et al., Revealing the Unstable Foundations of eBPF-Based
//! Kernel Extensions, EuroSys '25): a function is a name. `docs/fleet-report.md` has its definitions and figures beside
//! ours.
mod changes;
mod shares;
mod steps;
mod surface;

pub use changes::{Changes, How, Way, changes};
pub use shares::{SUFFIXES, Shares, shares};
pub use steps::{Between, Step, steps};
pub use surface::{Kind, Part, Spellings, Surface};
