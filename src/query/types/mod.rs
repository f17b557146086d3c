//! The layout of types, paths to their members, and the functions that use them.
pub mod c_declaration;
pub mod layout;
pub mod lookup;
pub mod member;
#[cfg(test)]
mod member_tests;
mod member_walk;
pub mod stap_spelling;
pub mod users;
