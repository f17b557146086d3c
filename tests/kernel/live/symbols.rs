//! The symbols of a kernel's objects, as the linker left them.
use super::boot::Address;
use probeidx::load::{Image, elf::Elf, symbol_table::lines};
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
        for symbol in lines(&map) {
            let name = String::from_utf8_lossy(symbol.name).into_owned();
            found.entry(name).or_default().push(Address::Kernel(symbol.address));
        }
    }
    Ok(found)
}

/// The `System.map` of a boot image.
fn map_beside(image: &Path) -> Option<Vec<u8>> {
    let release = image.file_name()?.to_str()?.strip_prefix("vmlinuz-")?;
    std::fs::read(image.with_file_name(format!("System.map-{release}"))).ok()
}
