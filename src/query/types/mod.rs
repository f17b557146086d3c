//! How a type is laid out, where its members are, who uses it.
pub mod c_declaration;
pub mod layout;
pub mod lookup;
pub mod member;
#[cfg(test)]
mod member_tests;
mod member_walk;
pub mod stap_spelling;
pub mod users;
