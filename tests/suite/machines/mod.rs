//! Architectures: which rules each has, and what is said of those without.
#[cfg(all(feature = "cli", target_arch = "x86_64"))]
pub mod architectures;
#[cfg(all(feature = "cli", target_arch = "x86_64"))]
pub mod arm;
#[cfg(all(feature = "cli", target_arch = "x86_64"))]
pub mod arm64;
#[cfg(all(feature = "cli", target_arch = "x86_64"))]
pub mod gcc_of_arm;
#[cfg(all(feature = "cli", target_arch = "x86_64"))]
pub mod narrow;
#[cfg(all(feature = "cli", target_arch = "x86_64"))]
pub mod ppc64le;
#[cfg(all(feature = "cli", target_arch = "x86_64"))]
pub mod riscv64;
#[cfg(feature = "cli")]
pub mod s390x;
