//! The attributes that are wanted, by the tag of their entry.
use gimli::constants::*;

/// A wanted attribute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Slot {
    /// Not wanted: the value is skipped.
    Skip,
    Name,
    LinkageName,
    DeclFile,
    DeclLine,
    Type,
    LowPc,
    HighPc,
    EntryPc,
    Ranges,
    Inline,
    External,
    Declaration,
    Noreturn,
    Prototyped,
    Origin,
    Specification,
    CallFile,
    CallLine,
    CallColumn,
    Location,
    FrameBase,
    ConstValue,
    ByteSize,
    BitSize,
    BitOffset,
    DataBitOffset,
    MemberLocation,
    Encoding,
    Count,
    UpperBound,
    StmtList,
    CompDir,
    Producer,
    Language,
    StrOffsetsBase,
    AddrBase,
    LoclistsBase,
    RnglistsBase,
    DwoName,
    DwoId,
    Signature,
    Import,
    Sibling,
    TailCall,
}

/// Number of slots.
pub const SLOTS: usize = Slot::TailCall as usize + 1;

/// The slots of the attributes of the standard, by attribute.
const BY_ATTRIBUTE: [Slot; 0x100] = {
    let mut slots = [Slot::Skip; 0x100];
    slots[DW_AT_name.0 as usize] = Slot::Name;
    slots[DW_AT_decl_file.0 as usize] = Slot::DeclFile;
    slots[DW_AT_decl_line.0 as usize] = Slot::DeclLine;
    slots[DW_AT_type.0 as usize] = Slot::Type;
    slots[DW_AT_declaration.0 as usize] = Slot::Declaration;
    slots[DW_AT_abstract_origin.0 as usize] = Slot::Origin;
    slots[DW_AT_specification.0 as usize] = Slot::Specification;
    slots[DW_AT_low_pc.0 as usize] = Slot::LowPc;
    slots[DW_AT_high_pc.0 as usize] = Slot::HighPc;
    slots[DW_AT_ranges.0 as usize] = Slot::Ranges;
    slots[DW_AT_byte_size.0 as usize] = Slot::ByteSize;
    slots[DW_AT_linkage_name.0 as usize] = Slot::LinkageName;
    slots[DW_AT_entry_pc.0 as usize] = Slot::EntryPc;
    slots[DW_AT_inline.0 as usize] = Slot::Inline;
    slots[DW_AT_external.0 as usize] = Slot::External;
    slots[DW_AT_noreturn.0 as usize] = Slot::Noreturn;
    slots[DW_AT_prototyped.0 as usize] = Slot::Prototyped;
    slots[DW_AT_call_file.0 as usize] = Slot::CallFile;
    slots[DW_AT_call_line.0 as usize] = Slot::CallLine;
    slots[DW_AT_call_column.0 as usize] = Slot::CallColumn;
    slots[DW_AT_location.0 as usize] = Slot::Location;
    slots[DW_AT_frame_base.0 as usize] = Slot::FrameBase;
    slots[DW_AT_const_value.0 as usize] = Slot::ConstValue;
    slots[DW_AT_bit_size.0 as usize] = Slot::BitSize;
    slots[DW_AT_bit_offset.0 as usize] = Slot::BitOffset;
    slots[DW_AT_data_bit_offset.0 as usize] = Slot::DataBitOffset;
    slots[DW_AT_data_member_location.0 as usize] = Slot::MemberLocation;
    slots[DW_AT_encoding.0 as usize] = Slot::Encoding;
    slots[DW_AT_count.0 as usize] = Slot::Count;
    slots[DW_AT_upper_bound.0 as usize] = Slot::UpperBound;
    slots[DW_AT_stmt_list.0 as usize] = Slot::StmtList;
    slots[DW_AT_comp_dir.0 as usize] = Slot::CompDir;
    slots[DW_AT_producer.0 as usize] = Slot::Producer;
    slots[DW_AT_language.0 as usize] = Slot::Language;
    slots[DW_AT_str_offsets_base.0 as usize] = Slot::StrOffsetsBase;
    slots[DW_AT_addr_base.0 as usize] = Slot::AddrBase;
    slots[DW_AT_loclists_base.0 as usize] = Slot::LoclistsBase;
    slots[DW_AT_rnglists_base.0 as usize] = Slot::RnglistsBase;
    slots[DW_AT_dwo_name.0 as usize] = Slot::DwoName;
    slots[DW_AT_signature.0 as usize] = Slot::Signature;
    slots[DW_AT_import.0 as usize] = Slot::Import;
    slots[DW_AT_sibling.0 as usize] = Slot::Sibling;
    slots[DW_AT_call_origin.0 as usize] = Slot::Origin;
    slots[DW_AT_call_return_pc.0 as usize] = Slot::LowPc;
    slots[DW_AT_call_pc.0 as usize] = Slot::EntryPc;
    slots[DW_AT_call_tail_call.0 as usize] = Slot::TailCall;
    slots
};

/// The slot of this attribute in an entry of which these slots are wanted.
pub fn slot(wanted: u64, at: DwAt) -> Slot {
    let slot = match BY_ATTRIBUTE.get(usize::from(at.0)) {
        Some(slot) => *slot,
        None => match at {
            DW_AT_MIPS_linkage_name => Slot::LinkageName,
            DW_AT_GNU_addr_base => Slot::AddrBase,
            DW_AT_GNU_ranges_base => Slot::RnglistsBase,
            DW_AT_GNU_dwo_name => Slot::DwoName,
            DW_AT_GNU_dwo_id => Slot::DwoId,
            DW_AT_GNU_tail_call => Slot::TailCall,
            _ => Slot::Skip,
        },
    };
    if wanted >> slot as u8 & 1 != 0 { slot } else { Slot::Skip }
}

/// The slots that are wanted of an entry with this tag, a bit each.
pub fn wanted(tag: DwTag) -> u64 {
    use Slot::*;
    const fn of(slots: &[Slot]) -> u64 {
        let (mut bits, mut at) = (0, 0);
        while at < slots.len() {
            bits |= 1 << slots[at] as u8;
            at += 1;
        }
        bits
    }
    match tag {
        DW_TAG_subprogram => {
            const {
                of(&[
                    Name,
                    LinkageName,
                    DeclFile,
                    DeclLine,
                    Type,
                    LowPc,
                    HighPc,
                    EntryPc,
                    Ranges,
                    Inline,
                    External,
                    Declaration,
                    Noreturn,
                    Prototyped,
                    Origin,
                    Specification,
                    FrameBase,
                    Sibling,
                ])
            }
        }
        DW_TAG_inlined_subroutine => {
            const { of(&[Origin, LowPc, HighPc, EntryPc, Ranges, CallFile, CallLine, CallColumn]) }
        }
        DW_TAG_call_site | DW_TAG_GNU_call_site => const { of(&[Origin, LowPc, EntryPc, TailCall]) },
        DW_TAG_formal_parameter | DW_TAG_variable => {
            const { of(&[Name, DeclLine, Type, Location, ConstValue, Origin, Specification, Declaration]) }
        }
        DW_TAG_lexical_block | DW_TAG_try_block | DW_TAG_catch_block => {
            const { of(&[LowPc, HighPc, Ranges]) }
        }
        DW_TAG_label => const { of(&[Name, DeclLine, LowPc, Origin]) },
        DW_TAG_compile_unit | DW_TAG_partial_unit | DW_TAG_skeleton_unit | DW_TAG_type_unit => u64::MAX,
        DW_TAG_member | DW_TAG_inheritance => {
            const { of(&[Name, Type, MemberLocation, BitSize, BitOffset, DataBitOffset, ByteSize]) }
        }
        DW_TAG_enumerator => const { of(&[Name, ConstValue]) },
        DW_TAG_subrange_type => const { of(&[Count, UpperBound]) },
        DW_TAG_unspecified_parameters => 0,
        DW_TAG_imported_unit => const { of(&[Import]) },
        DW_TAG_namespace | DW_TAG_module => const { of(&[Name]) },
        // Types and their parts.
        DW_TAG_structure_type
        | DW_TAG_union_type
        | DW_TAG_class_type
        | DW_TAG_enumeration_type
        | DW_TAG_typedef
        | DW_TAG_base_type
        | DW_TAG_pointer_type
        | DW_TAG_array_type
        | DW_TAG_const_type
        | DW_TAG_volatile_type
        | DW_TAG_restrict_type
        | DW_TAG_atomic_type
        | DW_TAG_subroutine_type
        | DW_TAG_reference_type
        | DW_TAG_rvalue_reference_type
        | DW_TAG_unspecified_type => {
            const {
                of(&[
                    Name,
                    DeclFile,
                    DeclLine,
                    Type,
                    ByteSize,
                    Encoding,
                    Declaration,
                    Specification,
                    Signature,
                ])
            }
        }
        _ => 0,
    }
}
