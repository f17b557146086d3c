//! The kernel as a program meets it: what the verifier takes for pointers, and what is known of options and externs.
use super::super::attach::Attacher;
use super::context::{self, SLOT};
use super::externs::Externs;
use super::types::KernelTypes;
use probeidx_bpf::reach::{AfterRead, Environment, Pointer};
use probeidx_bpf::section::{AttachType, Point, ProgramType, Section};
use probeidx_bpf::{Kind, TypeId, Types};

/// A program's surroundings.
pub struct Surroundings<'e, 'v, 'a> {
    externs: &'e Externs<'a>,
    types: &'e KernelTypes<'v>,
    context: Context,
    after_read: AfterRead,
    /// What a member is that points to no struct.
    untyped: Pointer,
    /// Whether the loader sets no `const volatile` variable.
    pub is_initial: bool,
    /// Which of the stable kernels of its line it is, where the release does not say.
    pub stable: Option<u32>,
}

/// What a program reads of its context.
#[derive(Clone, Debug)]
enum Context {
    /// Numbers alone: registers, fields of an event, arguments of a raw tracepoint.
    Numbers,
    /// Arguments by slot.
    Arguments(Vec<Pointer>),
    /// Not known here: packets and the like.
    Unknown,
}

impl<'e, 'v, 'a> Surroundings<'e, 'v, 'a> {
    pub fn new(
        attacher: &Attacher<'v>,
        types: &'e KernelTypes<'v>,
        externs: &'e Externs<'a>,
        section: Option<&Section<'_>>,
    ) -> Self {
        let context = section.map_or(Context::Unknown, |section| Context::of(attacher, types, section));
        let (after_read, untyped) = (after_read(attacher.line()), untyped(attacher.line()));
        Self { externs, types, context, after_read, untyped, is_initial: false, stable: None }
    }
}

impl Context {
    fn of(attacher: &Attacher<'_>, types: &KernelTypes<'_>, section: &Section<'_>) -> Self {
        match section.definition.program {
            // `kprobe_prog_is_valid_access` and the like set no type (kernel/trace/bpf_trace.c).
            ProgramType::Kprobe
            | ProgramType::Tracepoint
            | ProgramType::RawTracepoint
            | ProgramType::PerfEvent => return Self::Numbers,
            ProgramType::Tracing | ProgramType::Lsm => {}
            _ => return Self::Unknown,
        }
        // Iterators read a struct of their own, whose pointers may be null or buffers.
        if section.definition.attach == Some(AttachType::TraceIter) {
            return Self::Unknown;
        }
        match section.point {
            Ok(Point::Btf { name, prefix: "btf_trace_", .. }) => {
                let found = attacher.raw_tracepoint(name, "ESRCH").ok();
                let found = found.filter(|(tracepoint, _)| tracepoint.prototype().is_some());
                found.map_or(Self::Unknown, |(tracepoint, _)| {
                    let parameters = tracepoint.parameters();
                    Self::Arguments(parameters.map(|one| types.argument(one.type_id)).collect())
                })
            }
            Ok(Point::Btf { name, prefix: prefix @ ("" | "bpf_lsm_"), .. }) => {
                let name = [prefix.as_bytes(), name].concat();
                let parameters = context::parameters_of(attacher.view(), &name);
                parameters.map_or(Self::Unknown, |all| {
                    Self::Arguments(all.into_iter().map(|one| types.argument(one)).collect())
                })
            }
            _ => Self::Unknown,
        }
    }
}

/// What a member of a struct is that points to `void` or a number: readable on 7.2 and 7.3 (`WALK_PTR_UNTRUSTED`, kernel/bpf/btf.c,
/// mainline 6.17), a number up to 6.12.
fn untyped(line: Option<(u32, u32)>) -> Pointer {
    match line {
        Some(line) if line <= (6, 12) => Pointer::Number,
        Some(line) if line >= (7, 2) => Pointer::Unknown,
        _ => Pointer::Doubtful,
    }
}

/// What a helper leaves of what it reads on the stack. 5.10.262 has the second (`PTR_TO_BTF_ID` is passed over), 6.1.192 and
/// 6.12.118 the third ("helper can write anything into the stack"), 7.2.12 and 7.3.4 the first. The versions between are those of mainline: "bpf: Clobber
/// stack slot when writing over spilled PTR_TO_BTF_ID" (5.19), "bpf: Track access type of helpers" (6.14).
fn after_read(line: Option<(u32, u32)>) -> AfterRead {
    match line {
        Some(line) if line <= (5, 10) => AfterRead::PointersKept,
        Some(line) if ((5, 19)..=(6, 12)).contains(&line) => AfterRead::Lost,
        Some(line) if line >= (6, 14) => AfterRead::Kept,
        _ => AfterRead::Doubtful,
    }
}

impl Environment for Surroundings<'_, '_, '_> {
    fn option(&self, external: u32) -> Option<u64> {
        let known = self.externs.option(external);
        known.or_else(|| {
            self.externs.version(external).zip(self.stable).map(|(first, patch)| first + u64::from(patch))
        })
    }
    fn exists(&self, external: u32) -> Option<bool> {
        self.externs.exists(external)
    }
    fn takes_initial_values(&self) -> bool {
        self.is_initial
    }
    fn checks_called_only(&self) -> bool {
        self.externs.checks_called_only()
    }
    fn read_of_context(&self, offset: i32, size: u32) -> Pointer {
        match &self.context {
            Context::Numbers => Pointer::Number,
            Context::Arguments(all) if size == 8 && offset >= 0 && offset % SLOT == 0 => {
                all.get((offset / SLOT) as usize).copied().unwrap_or_default()
            }
            Context::Arguments(_) | Context::Unknown => Pointer::Unknown,
        }
    }
    fn read_of_type(&self, id: TypeId, offset: i32) -> Pointer {
        u32::try_from(offset).map_or(Pointer::Unknown, |offset| at(self.types, self.untyped, id, offset, 0))
    }
    fn current_task(&self) -> Pointer {
        self.types.structure(b"task_struct").map_or(Pointer::Unknown, |id| Pointer::To(id, 0))
    }
    fn after_read(&self) -> AfterRead {
        self.after_read
    }
}

/// Members within members.
const DEPTH: u32 = 16;

/// What 8 bytes of a type are for the verifier, from so many bytes on (`btf_struct_walk`, kernel/bpf/btf.c): a pointer to a struct
/// or union is one, all else is a number. Of members that share their place, all must agree.
fn at(types: &impl Types, untyped: Pointer, id: TypeId, offset: u32, depth: u32) -> Pointer {
    let Some((id, found)) = types.resolve(id).filter(|_| depth < DEPTH) else { return Pointer::Unknown };
    match found.kind {
        Kind::Pointer => match pointer_to(types, found.target) {
            Pointer::Number => untyped,
            pointer => pointer,
        },
        Kind::Int | Kind::Enum | Kind::Enum64 | Kind::Float => Pointer::Number,
        Kind::Array => {
            let size = types.size_of(found.target).filter(|size| *size > 0);
            size.map_or(Pointer::Unknown, |size| at(types, untyped, found.target, offset % size, depth + 1))
        }
        Kind::Struct | Kind::Union => {
            let members = (0..found.count).filter_map(|index| types.member(id, index));
            let within = members.filter_map(|member| {
                let start = member.bit_offset / 8;
                if member.bit_size != 0 {
                    return (start == offset).then_some(Pointer::Number);
                }
                let size = types.size_of(member.type_id)?;
                let inside = (start..start.saturating_add(size)).contains(&offset);
                inside.then(|| at(types, untyped, member.type_id, offset - start, depth + 1))
            });
            let mut all: Vec<Pointer> = within.collect();
            all.dedup();
            if let [one] = all[..] { one } else { Pointer::Unknown }
        }
        _ => Pointer::Unknown,
    }
}

/// What a pointer to a type is for the verifier.
pub(super) fn pointer_to(types: &impl Types, target: TypeId) -> Pointer {
    match types.resolve(target) {
        Some((id, found)) if matches!(found.kind, Kind::Struct | Kind::Union) => Pointer::To(id, 0),
        Some((_, found)) if matches!(found.kind, Kind::Forward) => Pointer::Unknown,
        Some(_) => Pointer::Number,
        None => Pointer::Unknown,
    }
}
