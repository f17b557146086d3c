//! A real kernel.
