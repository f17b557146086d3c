//! Against real kernels. What is missing for it (a kernel's debuginfo, SystemTap) makes a test say `skipped: …`; with
//! `CI=true` it makes it fail. `scripts/test-packages` installs all of it.
mod agreement;
mod installed;
