//! Machine code to text, as binutils write it: x86-64 in AT&T's syntax, arm64 in Arm's.
use iced_x86::{
    Decoder, DecoderOptions, Formatter, GasFormatter, Instruction, OpKind, SymbolResolver, SymbolResult,
};
use probeidx_format::machine;
use yaxpeax_arch::{Decoder as _, U8Reader};
use yaxpeax_arm::armv8::a64::InstDecoder;

/// Reads the instructions of a machine.
pub enum Disassembler {
    /// x86-64.
    X86,
    /// arm64.
    Arm64(InstDecoder),
}

/// An instruction.
#[derive(Debug, PartialEq, Eq)]
pub struct Read {
    /// Its text, with symbols instead of addresses.
    pub text: String,
    /// Where it leads, if it is a jump or call to an address that it names.
    pub target: Option<u64>,
}

impl Disassembler {
    /// `None` for a machine whose instructions are not read here.
    pub fn new(machine: u16) -> Option<Self> {
        match machine {
            machine::X86_64 => Some(Self::X86),
            machine::AARCH64 => Some(Self::Arm64(InstDecoder::default())),
            _ => None,
        }
    }

    /// The instruction of exactly these bytes; `None` if they are none. `relocated` is what is put into them when a module
    /// is loaded; `named` names an address. Cost: about a microsecond.
    pub fn read(
        &self,
        bytes: &[u8],
        address: u64,
        relocated: Option<&str>,
        named: &dyn Fn(u64) -> Option<String>,
    ) -> Option<Read> {
        match self {
            Self::X86 => x86(bytes, address, relocated, named),
            Self::Arm64(decoder) => arm64(decoder, bytes, address, relocated, named),
        }
    }
}

/// The names of the addresses in one instruction.
struct Names {
    /// What stands there when the module is loaded, whatever the address is.
    relocated: Option<String>,
    by_address: Vec<(u64, String)>,
}

impl SymbolResolver for Names {
    fn symbol(
        &mut self,
        instruction: &Instruction,
        operand: u32,
        _: Option<u32>,
        address: u64,
        _: u32,
    ) -> Option<SymbolResult<'_>> {
        // Of numbers alone nobody knows whether they are addresses.
        let is_immediate = matches!(
            instruction.try_op_kind(operand),
            Ok(OpKind::Immediate8 | OpKind::Immediate8to64 | OpKind::Immediate8to32 | OpKind::Immediate8to16)
        );
        let relocated = self.relocated.as_deref().filter(|_| !is_immediate);
        let known =
            || self.by_address.iter().find(|(known, _)| *known == address).map(|(_, name)| name.as_str());
        Some(SymbolResult::with_str(address, relocated.or_else(known)?))
    }
}

fn x86(
    bytes: &[u8],
    address: u64,
    relocated: Option<&str>,
    named: &dyn Fn(u64) -> Option<String>,
) -> Option<Read> {
    let instruction = Decoder::with_ip(64, bytes, address, DecoderOptions::NONE).decode();
    if instruction.is_invalid() || instruction.len() != bytes.len() {
        return None;
    }
    let is_branch = matches!(instruction.op0_kind(), OpKind::NearBranch64);
    let target = (is_branch && relocated.is_none()).then(|| instruction.near_branch_target());
    let memory = instruction.is_ip_rel_memory_operand().then(|| instruction.ip_rel_memory_address());
    let addresses = target.into_iter().chain(memory);
    let by_address = addresses.filter_map(|address| Some((address, named(address)?))).collect();
    let names = Names { relocated: relocated.map(str::to_owned), by_address };
    let mut formatter = GasFormatter::with_options(Some(Box::new(names)), None);
    formatter.options_mut().set_rip_relative_addresses(true);
    formatter.options_mut().set_branch_leading_zeros(false);
    formatter.options_mut().set_uppercase_hex(false);
    let mut text = String::new();
    formatter.format(&instruction, &mut text);
    Some(Read { text, target })
}

fn arm64(
    decoder: &InstDecoder,
    bytes: &[u8],
    address: u64,
    relocated: Option<&str>,
    named: &dyn Fn(u64) -> Option<String>,
) -> Option<Read> {
    let instruction = decoder.decode(&mut U8Reader::new(bytes)).ok().filter(|_| bytes.len() == 4)?;
    let mut text = instruction.to_string();
    // The distance of a jump or of a page: `b.ne $+0x34`.
    let distance = text.rfind('$').and_then(|at| {
        let (sign, digits) = text[at + 1..].split_at_checked(1)?;
        let distance = i64::from_str_radix(digits.strip_prefix("0x")?, 16).ok()?;
        Some((at, if sign == "-" { -distance } else { distance }))
    });
    let Some((at, distance)) = distance else {
        // The low bits of an address, which another instruction begins.
        text.extend(relocated.map(|name| format!(" // {name}")));
        return Some(Read { text, target: None });
    };
    let is_page = text.starts_with("adrp");
    let from = if is_page { address & !0xfff } else { address };
    let target = from.wrapping_add_signed(distance);
    text.truncate(at);
    match relocated {
        Some(name) => text.push_str(name),
        None => text.push_str(&named(target).filter(|_| !is_page).unwrap_or_else(|| format!("{target:#x}"))),
    }
    let is_jump = relocated.is_none() && !text.starts_with("adr") && !text.starts_with("ldr");
    Some(Read { text, target: is_jump.then_some(target) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(machine: u16, bytes: &[u8], relocated: Option<&str>) -> Option<(String, Option<u64>)> {
        let named = |address| (address == 0x1010).then(|| "there".to_owned());
        let read = Disassembler::new(machine)?.read(bytes, 0x1000, relocated, &named)?;
        Some((read.text, read.target))
    }

    #[test]
    fn x86_is_written_as_binutils_do() {
        let read = |bytes: &[u8], relocated| read(machine::X86_64, bytes, relocated);
        let text = |bytes: &[u8], relocated| read(bytes, relocated).map(|(text, _)| text);
        assert_eq!(text(&[0x49, 0x8b, 0x45, 0x28], None).unwrap(), "mov 0x28(%r13),%rax");
        assert_eq!(read(&[0xe8, 0x0b, 0, 0, 0], None), Some(("call there".to_owned(), Some(0x1010))));
        assert_eq!(read(&[0xeb, 0x02], None), Some(("jmp 0x1004".to_owned(), Some(0x1004))));
        assert_eq!(text(&[0x48, 0x8b, 0x05, 0x09, 0, 0, 0], None).unwrap(), "mov there(%rip),%rax");
        assert_eq!(read(&[0xe8, 0, 0, 0, 0], Some("printk")), Some(("call printk".to_owned(), None)));
        assert_eq!(
            text(&[0x48, 0xc7, 0xc7, 0, 0, 0, 0], Some(".rodata+0x8")).unwrap(),
            "mov $.rodata+0x8,%rdi"
        );
        // An instruction of another length than the index knows is another instruction.
        assert_eq!(read(&[0x49, 0x8b, 0x45, 0x28, 0x90], None), None);
        assert_eq!(read(&[0xe8, 0x0b], None), None);
    }

    #[test]
    fn arm64_is_written_as_arm_does() {
        let read = |word: u32, relocated| read(machine::AARCH64, &word.to_le_bytes(), relocated);
        assert_eq!(read(0xf940_02e0, None), Some(("ldr x0, [x23]".to_owned(), None)));
        assert_eq!(read(0x9400_0004, None), Some(("bl there".to_owned(), Some(0x1010))));
        assert_eq!(read(0x17ff_ffff, None), Some(("b 0xffc".to_owned(), Some(0xffc))));
        assert_eq!(read(0x9000_0001, None), Some(("adrp x1, 0x1000".to_owned(), None)));
        assert_eq!(read(0x9400_0000, Some("printk")), Some(("bl printk".to_owned(), None)));
        assert_eq!(read(0x9100_0021, Some("table")), Some(("add x1, x1, #0x0 // table".to_owned(), None)));
    }

    #[test]
    fn any_bytes_are_read_or_not() {
        let mut state = 1_u32;
        for machine in [machine::X86_64, machine::AARCH64] {
            let reader = Disassembler::new(machine).unwrap();
            for _ in 0..20_000 {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                let bytes = [state.to_le_bytes(), state.rotate_left(11).to_le_bytes()].concat();
                let length = (state >> 16) as usize % 9;
                reader.read(&bytes[..length], u64::from(state) << 32, None, &|_| None);
            }
        }
        assert!(Disassembler::new(machine::S390).is_none());
    }
}
