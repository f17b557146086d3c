//! A BPF object as libbpf 1.7 opens it.
mod code;
mod data;
mod externs;
mod maps;
mod references;
mod relocations;

pub use code::{Function, FunctionId};
pub use data::{Image, ImageKind, ImageVariable};
pub use externs::{Extern, ExternKind, KconfigType};
pub use maps::{Map, MapOrigin, StructOps};
pub use references::Reference;
pub use relocations::CoreRelocation;

use crate::btf::{Btf, Ext, LineRecord};
use crate::bytes::ByteOrder;
use crate::elf::{self, Elf};
use crate::error::{Error, Result, shown};
use crate::types::{Kind, Types};
use references::Targets;

/// An opened object. It borrows the file.
#[derive(Clone, Debug)]
pub struct Object<'a> {
    order: ByteOrder,
    /// What `char LICENSE[] SEC("license")` says, without the zero at its end.
    pub license: &'a [u8],
    /// The types. Objects compiled without `-g` have none.
    pub btf: Option<Btf<'a>>,
    ext: Ext<'a>,
    /// All functions, by section and offset.
    pub functions: Vec<Function<'a>>,
    /// The maps, in the order of the file.
    pub maps: Vec<Map<'a>>,
    /// Maps of type struct_ops: tables of functions for the kernel.
    pub struct_ops: Vec<StructOps<'a>>,
    /// What it wants of the kernel or its configuration.
    pub externs: Vec<Extern<'a>>,
    /// The global variables.
    pub images: Vec<Image<'a>>,
    /// The CO-RE relocations, by section and in the order of the file.
    pub relocations: Vec<CoreRelocation<'a>>,
    /// Why libbpf 1.7 does not open or load the object or one of its programs, whatever the kernel. Empty in most.
    pub refused: Vec<Error>,
}

impl<'a> Object<'a> {
    /// Opens an object: the bytes from its ELF header on. Costs one pass over code, symbols and types.
    ///
    /// # Errors
    /// [`NotBpf`](crate::ErrorKind::NotBpf), or what is truncated or damaged. What libbpf refuses although it is
    /// well-formed is no error here: see [`Object::refused`].
    pub fn open(file: &'a [u8]) -> Result<Self> {
        let elf = Elf::parse(file)?;
        let find = |name: &[u8]| elf.section(name).map(|index| elf.sections[index].data);
        let mut refused = Vec::new();
        let btf = find(b".BTF").map(|data| Btf::parse(data, None, ".BTF")).transpose()?;
        // libbpf goes on without a .BTF.ext that it cannot read: programs then load unrelocated.
        let mut ext = Ext::default();
        if let (Some(btf), Some(data)) = (&btf, find(b".BTF.ext")) {
            match Ext::parse(data, btf) {
                Ok(read) => ext = read,
                Err(error) => refused.push(error),
            }
        }
        let license = find(b"license").unwrap_or_default();
        let license = license.split(|&byte| byte == 0).next().unwrap_or_default();
        let mut functions = code::functions(&elf, &mut refused)?;
        let maps = maps::maps(&elf, btf.as_ref(), &mut refused)?;
        let externs = externs::externs(&elf, btf.as_ref(), &mut refused);
        let images = data::images(&elf, btf.as_ref());
        let targets = Targets::new(&elf, &maps, &externs, &images);
        targets.refer(&mut functions, &mut refused)?;
        let struct_ops = maps::struct_ops(&elf, btf.as_ref(), &functions);
        let mut relocations = Vec::new();
        if let Some(btf) = &btf {
            relocations = relocations::collect(&elf, btf, &ext, &functions, &mut refused);
            code::set_types(&elf, &ext, &mut functions);
        }
        let order = elf.order;
        Ok(Self {
            order,
            license,
            btf,
            ext,
            functions,
            maps,
            struct_ops,
            externs,
            images,
            relocations,
            refused,
        })
    }

    /// How its numbers are stored.
    pub fn byte_order(&self) -> ByteOrder {
        self.order
    }

    /// The programs: functions outside of `.text`, which libbpf loads one by one. Those of `.text` are subprograms.
    pub fn programs(&self) -> impl Iterator<Item = (FunctionId, &Function<'a>)> {
        self.all_functions().filter(|(_, function)| !function.is_subprogram)
    }

    /// All functions with their ids.
    pub fn all_functions(&self) -> impl Iterator<Item = (FunctionId, &Function<'a>)> {
        self.functions.iter().enumerate().map(|(index, function)| (FunctionId(index as u32), function))
    }

    /// The function of an id.
    ///
    /// # Panics
    /// If the id is of another object.
    pub fn function(&self, id: FunctionId) -> &Function<'a> {
        &self.functions[id.0 as usize]
    }

    /// A program and the subprograms that libbpf loads with it: all that it calls or takes the address of, reached or
    /// not, in the order in which libbpf appends them.
    pub fn linked(&self, program: FunctionId) -> Vec<FunctionId> {
        let mut linked = vec![program];
        let mut is_linked = vec![false; self.functions.len()];
        is_linked[program.0 as usize] = true;
        // As bpf_object__reloc_code: appended when first seen, and gone through at once.
        let mut stack = vec![(program, 0)];
        while let Some((function, next)) = stack.pop() {
            let references = &self.function(function).references;
            let rest = references.iter().enumerate().skip(next);
            let mut callees = rest.filter_map(|(index, (_, reference))| match *reference {
                Reference::Call(callee) | Reference::FunctionAddress(callee) => Some((index, callee)),
                _ => None,
            });
            if let Some((index, callee)) = callees.find(|(_, callee)| !is_linked[callee.0 as usize]) {
                is_linked[callee.0 as usize] = true;
                stack.push((function, index + 1));
                linked.push(callee);
                stack.push((callee, 0));
            }
        }
        linked
    }

    /// Whether the first parameter of a function is the context of its program: a pointer to a struct of these names
    /// (`btf_is_prog_ctx_type` of `kernel/bpf/btf.c`, 6.1), whatever it is called.
    pub(crate) fn is_context_first(&self, function: FunctionId) -> bool {
        let is_named = || {
            let btf = self.btf.as_ref()?;
            let prototype = btf.get(self.function(function).type_id?)?.target;
            let (_, pointer) = btf.resolve(btf.parameter(prototype, 0)?.type_id)?;
            let (_, target) = btf.resolve(pointer.target).filter(|_| pointer.kind == Kind::Pointer)?;
            Some(CONTEXTS.contains(&target.name) && target.kind == Kind::Struct)
        };
        is_named().unwrap_or(false)
    }

    /// The source line of an instruction of a function: the last one recorded at or before it.
    pub fn line(&self, function: FunctionId, instruction: u32) -> Option<LineRecord<'a>> {
        let function = self.functions.get(function.0 as usize)?;
        let start = u64::from(function.start) * 8;
        let at = start + u64::from(instruction) * 8;
        let lines = self.ext.lines(function.full_section, self.btf.as_ref()?);
        lines.filter(|line| (start..=at).contains(&line.offset.into())).max_by_key(|line| line.offset)
    }
}

/// The structs that programs are given.
const CONTEXTS: [&[u8]; 16] = [
    b"pt_regs",
    b"user_pt_regs",
    b"__sk_buff",
    b"xdp_md",
    b"bpf_perf_event_data",
    b"bpf_raw_tracepoint_args",
    b"bpf_sock",
    b"bpf_sock_addr",
    b"bpf_sock_ops",
    b"bpf_sockopt",
    b"bpf_sysctl",
    b"bpf_cgroup_dev_ctx",
    b"sk_msg_md",
    b"sk_reuseport_md",
    b"bpf_sk_lookup",
    b"bpf_nf_ctx",
];

/// How errors name a section.
fn in_section(section: &elf::Section<'_>) -> String {
    format!("section {}", shown(section.name))
}
