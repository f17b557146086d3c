//! Hermetic tests: C compiled by clang, BTF made by hand, damaged files.
mod btf;
mod hostile;
mod object;
mod pointers;
mod reach;
mod relocate;
mod section;
mod support;
