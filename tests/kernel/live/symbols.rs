//! The symbols of a kernel's objects, as the linker left them.
use super::boot::Address;
use probeidx::load::{Image, elf::Elf};
use std::collections::HashMap;
use std::path::Path;

/// The addresses of each name in vmlinux, or in a module of this name.
pub fn of(path: &Path, module: Option<&str>) -> Result<HashMap<String, Vec<Address>>, String> {
    let image = Image::open(path).map_err(|e| e.to_string())?;
    let object = Elf::parse(image.bytes()).map_err(|e| format!("{}: {e}", path.display()))?;
    let mut found = HashMap::<String, Vec<Address>>::new();
    for symbol in object.symbols {
        let (name, value) = (object.symbol_name(symbol), symbol.st_value.get(object.order));
        let section = object.sections.get(usize::from(symbol.st_shndx.get(object.order).0));
        let address = match (module, section) {
            (None, _) => Address::Kernel(value),
            (Some(module), Some(section)) => {
                Address::Module { module: module.to_owned(), section: section.name.to_owned(), offset: value }
            }
            (Some(_), None) => continue,
        };
        found.entry(String::from_utf8_lossy(name).into_owned()).or_default().push(address);
    }
    // A boot image has no table of symbols.
    if let (true, Some(map)) = (found.is_empty(), map_beside(path)) {
        for line in map.lines() {
            let mut words = line.split(' ');
            let address = words.next().and_then(|word| u64::from_str_radix(word, 16).ok());
            let (Some(address), Some(name)) = (address, words.nth(1)) else { continue };
            found.entry(name.to_owned()).or_default().push(Address::Kernel(address));
        }
    }
    Ok(found)
}

/// The `System.map` of a boot image.
fn map_beside(image: &Path) -> Option<String> {
    let release = image.file_name()?.to_str()?.strip_prefix("vmlinuz-")?;
    std::fs::read_to_string(image.with_file_name(format!("System.map-{release}"))).ok()
}
