//! Which instructions may be in an unreadable table. At all others, the table does not matter.
use super::decode::{is_near_branch, is_undefined_code, length_of_label};
use super::sites::BEFORE_CFI_TRAP;
use crate::code::SiteFacts;
use iced_x86::{Code, Instruction};
use probeidx_format::record::{CodeTable, SiteRecord, TableSet};

/// The unreadable tables.
#[derive(Default)]
pub struct Candidates {
    tables: TableSet,
    /// The ftrace sites, ascending: they are in no other table.
    traced: Vec<u32>,
    /// Whether a WARN may refer to the instruction after a `lea`.
    warns_by_format: bool,
}

/// How many bytes from an indirect call a paravirt site may replace (`struct paravirt_patch_site` has the length in a
/// byte; 5.10 has sites of up to 16).
const PARAVIRT: u8 = 16;
/// `static_call_text_reserved`
const STATIC_CALL: u8 = 5;

impl Candidates {
    /// For these tables, except at the ascending ftrace sites. `warns_by_format`: `struct bug_entry` has a format
    /// (6.19), or its members are unknown.
    pub fn new(unread: TableSet, traced: Vec<u32>, warns_by_format: bool) -> Self {
        Self { tables: unread.filtered(|table| !table.may_hold_anything()), traced, warns_by_format }
    }
    /// Whether there is nothing to look for.
    pub fn is_empty(&self) -> bool {
        self.tables.is_empty()
    }

    /// Appends a site for each table that an instruction may be in.
    pub fn add(
        &self,
        instruction: &Instruction,
        bytes: &[u8],
        pc: u32,
        is_behind_lea: bool,
        sites: &mut Vec<SiteFacts>,
    ) {
        if self.traced.binary_search(&pc).is_ok() {
            return;
        }
        let length = bytes.len() as u8;
        let mut add = |table: CodeTable, start: u32, length: u8| {
            if self.tables.has(table) {
                sites.push(SiteFacts { start, length, kind: SiteRecord::MAY_BE + table as u8 });
            }
        };
        match instruction.code() {
            Code::Jmp_rel8_64 | Code::Jmp_rel32_64 | Code::Jmp_rel8_32 | Code::Jmp_rel32_32 => {
                add(CodeTable::JumpLabels, pc, length);
                add(CodeTable::StaticCalls, pc, STATIC_CALL);
                add(CodeTable::Retpolines, pc, length);
            }
            Code::Call_rel32_64 | Code::Call_rel32_32 => {
                add(CodeTable::StaticCalls, pc, STATIC_CALL);
                add(CodeTable::Retpolines, pc, length);
            }
            // Since 6.3, static calls may be conditional tail calls (`__is_Jcc`, arch/x86/kernel/static_call.c).
            _ if is_near_branch(instruction) && length > 2 => {
                add(CodeTable::StaticCalls, pc, STATIC_CALL);
            }
            Code::Call_rm64 | Code::Jmp_rm64 | Code::Call_rm32 | Code::Jmp_rm32 => {
                add(CodeTable::Paravirt, pc, PARAVIRT)
            }
            Code::Retnq | Code::Retnd => add(CodeTable::StaticCalls, pc, STATIC_CALL),
            code if is_undefined_code(code) => {
                add(CodeTable::Bugs, pc, 2);
                for before in BEFORE_CFI_TRAP {
                    add(CodeTable::CfiTraps, pc.saturating_sub(before), 1);
                }
            }
            code if is_no_op(code) || length_of_label(bytes).is_some() => {
                add(CodeTable::JumpLabels, pc, length);
                add(CodeTable::StaticCalls, pc, STATIC_CALL);
            }
            // `xor %eax, %eax` with three prefixes (arch/x86/kernel/static_call.c)
            _ if length == STATIC_CALL && bytes.ends_with(&[0x31, 0xc0]) => {
                add(CodeTable::StaticCalls, pc, STATIC_CALL);
            }
            _ => {}
        }
        if is_behind_lea && self.warns_by_format {
            add(CodeTable::Bugs, pc, 1);
        }
    }
}

fn is_no_op(code: Code) -> bool {
    matches!(code, Code::Nop_rm16 | Code::Nop_rm32 | Code::Nop_rm64)
        || matches!(code, Code::Nopw | Code::Nopd | Code::Nopq)
}
