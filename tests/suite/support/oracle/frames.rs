//! The frame rules of an object, as gimli follows the instructions.
use super::object::Loaded;
use gimli::{
    BaseAddresses, CfaRule, CieOrFde, DebugFrame, EhFrame, EndianSlice, RunTimeEndian, UnwindContext,
    UnwindSection,
};
use std::path::Path;

type Slice<'d> = EndianSlice<'d, RunTimeEndian>;

/// From the first pc to before the second one, the register and the offset, if it is not computed.
pub type Row = (u64, u64, Option<(u8, i64)>);

/// The rows of each entry of `.debug_frame`, or of `.eh_frame` where there is none.
pub fn entries(object: &Path) -> Vec<Vec<Row>> {
    let loaded = Loaded::read(object);
    match loaded.section(".debug_frame") {
        [] => {
            let mut section = EhFrame::new(loaded.section(".eh_frame"), loaded.order);
            section.set_address_size(8);
            rows(&section, &loaded)
        }
        data => {
            let mut section = DebugFrame::new(data, loaded.order);
            section.set_address_size(8);
            rows(&section, &loaded)
        }
    }
}

fn rows<'d, S: UnwindSection<Slice<'d>>>(section: &S, loaded: &Loaded) -> Vec<Vec<Row>>
where
    S::Offset: gimli::UnwindOffset<usize>,
{
    let bases = BaseAddresses::default().set_eh_frame(loaded.eh_frame_address);
    let mut entries = section.entries(&bases);
    let mut context = UnwindContext::new();
    let mut all = vec![];
    while let Some(entry) = entries.next().unwrap() {
        let CieOrFde::Fde(partial) = entry else { continue };
        let entry = partial.parse(S::cie_from_offset).unwrap();
        let mut table = entry.rows(section, &bases, &mut context).unwrap();
        let mut rows = vec![];
        while let Some(row) = table.next_row().unwrap() {
            let rule = match *row.cfa() {
                CfaRule::RegisterAndOffset { register, offset } => Some((register.0 as u8, offset)),
                CfaRule::Expression(_) => None,
            };
            rows.push((row.start_address(), row.end_address(), rule));
        }
        // What the linker dropped has address 0.
        if entry.initial_address() > loaded.base {
            all.push(rows.iter().map(|r| (r.0 - loaded.base, r.1 - loaded.base, r.2)).collect());
        }
    }
    all
}
