//! A unified kernel image: an EFI program of systemd's, or of Ubuntu's for arm64 (stubble, 26.04), that has the kernel's own boot
//! image in its section `.linux` (UAPI.5, "Unified Kernel Image"; PE Format, "Section Table").

/// Whether a file with this head is an EFI program.
pub fn is_program(head: &[u8]) -> bool {
    header(head).is_some()
}

/// The boot image in a program; `None` if it has none, or not all of it.
pub fn kernel(data: &[u8]) -> Option<&[u8]> {
    let header = header(data)?;
    let sections = number::<2>(data, header + 6)?;
    let table = header + 24 + number::<2>(data, header + 20)?;
    let mut entries = data.get(table..)?.chunks_exact(40).take(sections);
    let section = entries.find(|entry| entry.starts_with(b".linux\0\0"))?;
    // What lies behind the size in memory fills the last block.
    let [size, stored, start] = [8, 16, 20].map(|at| number::<4>(section, at));
    data.get(start?..start?.checked_add(size?.min(stored?))?)
}

/// Where its header starts.
fn header(data: &[u8]) -> Option<usize> {
    let start = data.starts_with(b"MZ").then(|| number::<4>(data, 0x3c))??;
    data.get(start..)?.starts_with(b"PE\0\0").then_some(start)
}

/// A little-endian number of so many bytes.
fn number<const N: usize>(data: &[u8], at: usize) -> Option<usize> {
    let bytes: &[u8; N] = data.get(at..)?.first_chunk()?;
    Some(bytes.iter().rev().fold(0, |number, byte| number << 8 | usize::from(*byte)))
}

/// A program with a boot image.
#[cfg(test)]
pub fn program(image: &[u8]) -> Vec<u8> {
    let mut program = vec![0; 1024];
    program[..2].copy_from_slice(b"MZ");
    program[0x3c] = 0x40;
    program[0x40..0x46].copy_from_slice(b"PE\0\0\x64\x86");
    program[0x46] = 2;
    program[0x54] = 0xf0;
    let table = 0x40 + 24 + 0xf0;
    program[table..table + 5].copy_from_slice(b".text");
    let entry = &mut program[table + 40..table + 80];
    entry[..6].copy_from_slice(b".linux");
    entry[8..12].copy_from_slice(&(image.len() as u32).to_le_bytes());
    entry[16..20].copy_from_slice(&(image.len().next_multiple_of(512) as u32).to_le_bytes());
    entry[20..24].copy_from_slice(&1024_u32.to_le_bytes());
    program.extend(image);
    program.resize(program.len().next_multiple_of(512), 0);
    program
}
