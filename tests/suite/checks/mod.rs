//! What `check` says of files on several kernels, in each of its forms.
#[cfg(all(feature = "cli", target_arch = "x86_64"))]
mod bcc;
#[cfg(all(feature = "cli", target_arch = "x86_64"))]
mod bpftrace;
mod bpftrace_versions;
#[cfg(all(feature = "cli", target_arch = "x86_64"))]
mod forms;
#[cfg(all(feature = "cli", target_arch = "x86_64"))]
mod objects;
#[cfg(all(feature = "cli", target_arch = "x86_64"))]
mod policies;
#[cfg(all(feature = "cli", target_arch = "x86_64"))]
mod scripts;
#[cfg(all(feature = "cli", target_arch = "x86_64"))]
mod updates;
