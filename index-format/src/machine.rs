//! What follows from `e_machine` alone.

/// `EM_386`
pub const I386: u16 = 3;
/// `EM_ARM`: 32-bit ARM.
pub const ARM: u16 = 40;

/// The bytes of an address and of a pointer: objects of i386 and ARM have 4, and all others that are indexed 8.
pub fn address_size(machine: u16) -> u8 {
    if matches!(machine, I386 | ARM) { 4 } else { 8 }
}
