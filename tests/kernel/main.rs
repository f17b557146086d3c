//! Against real kernels. What is missing for it (a kernel's debuginfo, SystemTap, qemu) makes a test say `skipped: …`;
//! with `CI=true` it makes it fail. `scripts/test-packages` installs all of it.
mod agreement;
mod anchors;
mod frames;
mod installed;
mod live;
mod tapset;
mod types;
