//! Lowers plans to fetch arguments of kprobe_events (Documentation/trace/kprobetrace.rst; kernel/trace/trace_probe.c,
//! 6.1 and 6.12) and, in programs and shared libraries, of uprobe_events (Documentation/trace/uprobetracer.rst).
use super::plan::{Bits, Missing, Op, Piece, Plan};
use super::tracefs_features::Ability;
use crate::query::index::registers;
use crate::query::index::symbols;
use crate::query::spec::argument::{self, Argument, Cast, Source};
use crate::query::spec::member_path::{self, Step};
use crate::query::types::lookup;
use probeidx_format::View;
use probeidx_format::id::{ObjectId, TypeId};
use probeidx_format::record::TypeRecord;
use probeidx_format::types::TypeKind;
use std::borrow::Cow;

/// The kernel's limits.
const LONGEST_BODY: usize = 63;
const DEEPEST: usize = 13;
/// The limit on an event record without its header (`MAX_PROBE_EVENT_SIZE`, trace_probe.h, 6.1.176 and 6.12.107;
/// earlier kernels do not check).
const LARGEST_RECORD: u32 = 3072;
/// Before and behind an address in a reason.
const ADDRESS: &str = "the address 0x";
const MOVES: &str = ", which moves with the kernel";

/// `DW_ATE_signed`, `DW_ATE_signed_char`
const SIGNED: [u8; 2] = [5, 6];

/// The probe that a plan is lowered for.
#[derive(Clone, Copy)]
pub struct Target<'a> {
    /// The index of the kernel.
    pub view: &'a View<'a>,
    /// The object that holds the probe.
    pub object: ObjectId,
    /// The address of the probe.
    pub pc: u32,
}

impl Target<'_> {
    /// What follows the `=` of an argument: `+0(+96(%di)):string`.
    ///
    /// # Errors
    /// Why the kernel cannot read the value.
    pub fn body(&self, plan: &Plan, argument: Option<&Argument>) -> Result<String, String> {
        self.body_behind([""; 2], plan, argument, &self.place(plan))
    }

    /// Like [`Target::body`] with this text before it, given the result of [`Target::place`] for the plan.
    pub(super) fn body_behind(
        &self,
        [name, sign]: [&str; 2],
        plan: &Plan,
        argument: Option<&Argument>,
        place: &Result<String, String>,
    ) -> Result<String, String> {
        let cast = argument.and_then(|a| a.cast.as_ref());
        let (typed, type_text) = self.typed(plan, cast)?;
        let is_there = typed.ops == plan.ops
            && (typed.in_memory, typed.user_from) == (plan.in_memory, plan.user_from)
            && typed.pieces == plan.pieces;
        let place = match is_there {
            true => Cow::Borrowed(place.as_ref().map_err(String::clone)?),
            false => Cow::Owned(self.place(&typed)?),
        };
        let before = name.len() + sign.len();
        let mut whole = String::with_capacity(before + place.len() + 1 + type_text.len());
        [name, sign, &place, ":", &type_text].into_iter().for_each(|part| whole.push_str(part));
        let body = &whole[before..];
        check_length(body, body.len())?;
        Ok(whole)
    }

    /// Like [`Target::body`], for what the kernel reads by itself.
    pub fn raw(view: &View<'_>, text: &str, argument: &Argument) -> Result<String, String> {
        Ok(match &argument.cast {
            Some(Cast::Text(cast) | Cast::As(cast) | Cast::DentryName(cast)) => {
                check_type(view, cast)?;
                format!("{text}:{cast}")
            }
            Some(Cast::Radix(radix)) => format!("{text}:{radix}{}", u32::from(view.address_size()) * 8),
            None => text.to_owned(),
        })
    }

    /// Lowers the steps to nested dereferences.
    pub fn place(&self, plan: &Plan) -> Result<String, String> {
        if !plan.pieces.is_empty() {
            return Err(self.pieces(plan));
        }
        let (first, rest) = plan.ops.split_first().ok_or("it is nowhere")?;
        // A value in memory needs a final read.
        let word = self.view.address_size();
        let steps = || rest.iter().copied().chain(plan.in_memory.then_some(Op::Read(word)));
        let (mut distance, mut depth, mut taken) = (0i64, 0usize, 0usize);
        let mut text = match first {
            Op::Register(number) => {
                let machine = self.view.machine();
                let unnamed = || match registers::are_named(machine) {
                    true => format!("the kernel has no name for DWARF register {number}"),
                    false => "registers of this architecture are not named yet".to_owned(),
                };
                registers::kernel_register(*number, machine).ok_or_else(unnamed)?.to_owned()
            }
            Op::Constant(value) => format!("\\{value}"),
            Op::Returned => "$retval".to_owned(),
            Op::Argument(number) => format!("$arg{number}"),
            Op::Address(address) if self.view.is_user(self.object) => {
                distance = self.away(*address);
                let name = registers::instruction_pointer(self.view.machine());
                name.ok_or("the kernel's name of the instruction pointer is not known")?.to_owned()
            }
            Op::Address(address) => {
                let name;
                (name, taken) = self.symbol(*address, steps())?;
                name
            }
            Op::Add(_) | Op::Read(_) => return Err("it starts nowhere".to_owned()),
        };
        // The read implied by `@SYMBOL` is not among these steps.
        let first_read = usize::from(matches!(first, Op::Address(_)));
        let steps = || steps().skip(taken);
        let reads = first_read + steps().filter(|s| matches!(s, Op::Read(_))).count();
        let last = steps().count().saturating_sub(1);
        for (at, step) in steps().enumerate() {
            match step {
                Op::Add(more) => distance = distance.wrapping_add(more),
                // The last read has the size of the type.
                Op::Read(size) if size == word || at == last => {
                    let number = first_read + depth;
                    let is_user = plan.user_from.is_some_and(|from| number >= from.min(reads - 1));
                    depth += 1;
                    let user = if is_user { "u" } else { "" };
                    let sign = if distance < 0 { "-" } else { "+" };
                    text = [sign, user, &distance.unsigned_abs().to_string(), "(", &text, ")"].concat();
                    distance = 0;
                }
                Op::Read(size) => {
                    return Err(format!("an intermediate read of {size} bytes: the kernel reads {word}"));
                }
                _ => return Err("it starts twice".to_owned()),
            }
        }
        if distance != 0 {
            return Err(format!(
                "{text} plus {distance} is a number and not a place in memory: the kernel cannot add"
            ));
        }
        if depth > DEEPEST {
            return Err(format!("{depth} reads one in another, and the kernel takes {DEEPEST}"));
        }
        Ok(text)
    }

    /// Describes where the pieces of a value are.
    fn pieces(&self, plan: &Plan) -> String {
        let one = |piece: &Piece| {
            let size = match piece.bits % 8 {
                0 => format!("{} bytes", piece.bits / 8),
                _ => format!("{} bits", piece.bits),
            };
            match &piece.plan {
                Ok(plan) => match self.place(plan) {
                    Ok(place) if plan.constant().is_some() => format!("{size} are {}", &place[1..]),
                    Ok(place) => format!("{size} in {place}"),
                    Err(why) => format!("{size}: {why}"),
                },
                Err(Missing::Unsupported(why)) => format!("{size}: {why}"),
                Err(_) => format!("{size} optimized out"),
            }
        };
        let all: Vec<String> = plan.pieces.iter().map(one).collect();
        format!("in pieces: {}", all.join(", "))
    }

    /// `@SYMBOL+offset`, which implies a read; and the number of steps that it covers.
    fn symbol(&self, address: u64, mut steps: impl Iterator<Item = Op>) -> Result<(String, usize), String> {
        let moved = || format!("{ADDRESS}{address:x}{MOVES}");
        let (distance, read, taken) = match steps.next() {
            Some(Op::Add(distance)) => (distance, steps.next(), 2),
            read => (0, read, 1),
        };
        if read != Some(Op::Read(self.view.address_size())) {
            return Err(moved());
        }
        let base = self.view.objects.get(self.object.index()).map_or(0, |o| o.base.get());
        let pc = u32::try_from(address.wrapping_sub(base)).map_err(|_| moved())?;
        let symbol = symbols::holding(self.view, self.object, pc).ok_or_else(moved)?;
        let name = String::from_utf8_lossy(self.view.string(symbol.record.name)).into_owned();
        if !symbols::uniqueness(self.view, self.object, symbol.record.name).unique {
            return Err(format!("in {name}, of which there are several: the kernel takes the first"));
        }
        let text = match i64::from(symbol.offset).wrapping_add(distance) {
            0 => format!("@{name}"),
            offset => format!("@{name}{offset:+}"),
        };
        Ok((text, taken))
    }

    /// The distance from the probe to an address of a program or library: data moves with code. Uprobes have `@+OFFSET`
    /// for that, but 6.12.95 was seen to add the offset twice.
    fn away(&self, address: u64) -> i64 {
        address.wrapping_sub(symbols::address(self.view, self.object, self.pc)) as i64
    }

    /// The plan, with the fetch type to read it as.
    fn typed<'p>(
        &self,
        plan: &'p Plan,
        cast: Option<&'p Cast>,
    ) -> Result<(Cow<'p, Plan>, Cow<'p, str>), String> {
        match cast {
            Some(Cast::Text(text)) => Ok((self.text(plan)?, text.into())),
            Some(Cast::As(text)) => {
                check_type(self.view, text)?;
                if text.ends_with(']') && !plan.in_memory {
                    return Err(format!("{text}: an array is read from memory"));
                }
                // A part of a number needs a type that reads no more than the part. Bits in memory may also be given as
                // a bit-field of the number that holds them.
                if let Some(bits) = plan.bits.filter(|_| !(text.starts_with('b') && plan.in_memory))
                    && (bits.lowest > 0 || reach(text).is_none_or(|reach| reach > bits.width))
                {
                    return Err(format!("{text} reads more than {}", words(bits)));
                }
                Ok((Cow::Borrowed(plan), text.into()))
            }
            Some(Cast::DentryName(text)) => {
                self.dentry_name(plan, text)?;
                Ok((Cow::Borrowed(plan), text.into()))
            }
            Some(Cast::Radix(radix)) => {
                let (plan, natural) = self.natural(plan)?;
                match natural.strip_prefix(['x', 'u', 's']) {
                    Some(bits) if bits.bytes().all(|b| b.is_ascii_digit()) => {
                        Ok((plan, format!("{radix}{bits}").into()))
                    }
                    _ => Err(format!("{natural} is not a number, so its radix cannot be chosen")),
                }
            }
            None => self.natural(plan),
        }
    }

    /// Lowers to a string: what a pointer points to, or an array.
    fn text<'p>(&self, plan: &'p Plan) -> Result<Cow<'p, Plan>, String> {
        if let Some(pointee) = plan.clone().pointee(self.view) {
            return Ok(Cow::Owned(pointee));
        }
        let is_array = self.kind(plan.type_id) == Some(TypeKind::Array);
        match is_array && plan.in_memory {
            true => Ok(Cow::Borrowed(plan)),
            false => Err("no pointer and no array: a string is read from memory".to_owned()),
        }
    }

    /// Whether the kernel accepts `%pd` or `%pD` for a value. It wraps a string dereference around the argument, and
    /// that counts against the same limits (`traceprobe_expand_dentry_args`, trace_probe.c).
    fn dentry_name(&self, plan: &Plan, text: &str) -> Result<(), String> {
        let (target, steps) = match text {
            "%pd" => ("dentry", "d_name.name"),
            _ => ("file", "f_path.dentry->d_name.name"),
        };
        let pointee = plan.clone().pointee(self.view).and_then(|p| p.type_id);
        let pointee = pointee.and_then(|t| self.view.types.get(lookup::strip(self.view, t)?.index()));
        if pointee.is_none_or(|t| self.view.string(t.name) != target.as_bytes()) {
            return Err(format!("no struct {target}*, which {text} is for"));
        }
        check_type(self.view, text).map_err(|why| format!("{why}; write ->{steps}:string"))?;
        let steps = member_path::parse(&format!("x->{steps}")).map_err(|e| e.to_string())?.steps;
        let whole = plan.clone().part(self.view, &steps).map_err(|e| e.to_string())?;
        let whole = whole.pointee(self.view).ok_or("its name is no pointer")?;
        // As the kernel expands it: `+0x0(+0x28(%di)):string`.
        let body = self.place(&whole)?;
        let reads = steps.iter().filter(|s| matches!(s, Step::Arrow(_))).count() + 1;
        check_length(&body, body.len() + 2 * reads + ":string".len())
    }

    /// The type of the variable: width and sign of a number; hexadecimal for a pointer.
    fn natural<'p>(&self, plan: &'p Plan) -> Result<(Cow<'p, Plan>, Cow<'static, str>), String> {
        let view = self.view;
        let as_it_is = |text| Ok((Cow::Borrowed(plan), text));
        if plan.is_pointer && plan.bits.is_none() {
            return as_it_is(Cow::Borrowed(self.pointer()));
        }
        let of = plan.type_id.and_then(|t| lookup::stripped(view, t)).ok_or("its type is void")?;
        let (stripped, record) = of;
        let size = lookup::size_of_stripped(view, of).unwrap_or(0);
        match TypeKind::from_u8(record.kind) {
            TypeKind::Array => {
                let element = record.target.some().ok_or("an array of nothing")?;
                let size_of_one = lookup::size_of(view, element)
                    .filter(|s| *s > 0)
                    .ok_or("an array of unknown elements")?;
                if !plan.in_memory {
                    return Err("an array that is not in memory".to_owned());
                }
                let is_character = size_of_one == 1 && self.is_character(element);
                if is_character {
                    return as_it_is(Cow::Borrowed("string"));
                }
                let one = self.scalar(element)?;
                match size / size_of_one {
                    count @ 1..=64 => as_it_is(format!("{one}[{count}]").into()),
                    count => {
                        Err(format!("an array of {count} elements, and the kernel takes 1 to 64: name one"))
                    }
                }
            }
            // `pgprot_t`, `kuid_t`: a number wrapped in a struct.
            TypeKind::Struct | TypeKind::Class
                if matches!(size, 1 | 2 | 4 | 8) && view.members(stripped).len() == 1 =>
            {
                let only = view.members(stripped).at(0).target.some();
                let plan = Plan { type_id: only, ..plan.clone() };
                let (plan, text) = self.natural(&plan)?;
                Ok((Cow::Owned(plan.into_owned()), text))
            }
            TypeKind::Struct | TypeKind::Union | TypeKind::Class => Err(format!(
                "a {} of {size} bytes: name a member",
                if record.kind == TypeKind::Union as u8 { "union" } else { "struct" }
            )),
            _ => match plan.bits {
                Some(bits) => {
                    let is_signed = SIGNED.contains(&record.encoding);
                    if is_signed && bits.is_signed && bits.lowest == 0 && matches!(bits.width, 8 | 16 | 32) {
                        return as_it_is(format!("s{}", bits.width).into());
                    }
                    let is_whole = is_signed && u64::from(bits.width) == size.saturating_mul(8);
                    as_it_is(bit_field(bits, is_whole, plan.in_memory.then_some(size))?.into())
                }
                None => as_it_is(self.number(record, size)?.into()),
            },
        }
    }

    fn scalar(&self, type_id: TypeId) -> Result<&'static str, String> {
        let of = lookup::stripped(self.view, type_id).ok_or("its type is void")?;
        self.number(of.1, lookup::size_of_stripped(self.view, of).unwrap_or(0))
    }

    /// The fetch type of a number or pointer of this size.
    fn number(&self, record: TypeRecord, size: u64) -> Result<&'static str, String> {
        match (TypeKind::from_u8(record.kind), size) {
            (TypeKind::Pointer | TypeKind::Reference | TypeKind::RvalueReference, _) => Ok(self.pointer()),
            (TypeKind::Base | TypeKind::Enum, 1 | 2 | 4 | 8) => {
                let width = size.trailing_zeros() as usize;
                let is_signed = SIGNED.contains(&record.encoding);
                Ok(if is_signed { ["s8", "s16", "s32", "s64"] } else { ["x8", "x16", "x32", "x64"] }[width])
            }
            (_, size) => Err(format!("a value of {size} bytes: the kernel reads 1, 2, 4 or 8")),
        }
    }

    /// The type of an address.
    fn pointer(&self) -> &'static str {
        if self.view.address_size() == 4 { "x32" } else { "x64" }
    }

    fn is_character(&self, type_id: TypeId) -> bool {
        let record = lookup::strip(self.view, type_id).and_then(|t| self.view.types.get(t.index()));
        // DW_ATE_signed_char, DW_ATE_unsigned_char; `u8` also has the latter, under another name.
        record.is_some_and(|r| r.encoding == 6 && self.view.string(r.name) == b"char")
    }

    fn kind(&self, type_id: Option<TypeId>) -> Option<TypeKind> {
        let record = self.view.types.get(lookup::strip(self.view, type_id?)?.index())?;
        Some(TypeKind::from_u8(record.kind))
    }
}

/// The fetch type for some bits of a number, in memory or not. `is_signed`: the bits are a whole signed number.
fn bit_field(bits: Bits, is_signed: bool, in_memory: Option<u64>) -> Result<String, String> {
    if bits.is_signed || (is_signed && in_memory.is_none()) {
        return Err(format!("{}, with a sign: the kernel's bit-fields have none", words(bits)));
    }
    let least = in_memory.map_or(8, |size| size.saturating_mul(8));
    let end = u64::from(bits.lowest) + u64::from(bits.width);
    let container = [8, 16, 32, 64].into_iter().find(|c| *c >= least && *c >= end);
    let container = container.ok_or_else(|| format!("{} of more than 64", words(bits)))?;
    Ok(format!("b{}@{}/{container}", bits.width, bits.lowest))
}

/// How many of the lowest bits a fetch type reads, if it reads a number.
fn reach(text: &str) -> Option<u32> {
    match text.strip_prefix('b') {
        Some(field) => {
            let (width, rest) = field.split_once('@')?;
            width.parse::<u32>().ok()?.checked_add(rest.split_once('/')?.0.parse().ok()?)
        }
        None => text.strip_prefix(['u', 's', 'x'])?.parse().ok(),
    }
}

fn words(bits: Bits) -> String {
    format!("bits {} to {}", bits.lowest, bits.lowest.saturating_add(bits.width.max(1) - 1))
}

fn check_length(body: &str, length: usize) -> Result<(), String> {
    match length {
        0..=LONGEST_BODY => Ok(()),
        _ => Err(format!("{body} has {length} characters, and the kernel takes {LONGEST_BODY}")),
    }
}

/// Whether the kernel has a fetch type.
fn check_type(view: &View<'_>, text: &str) -> Result<(), String> {
    Ability::of_type(text)
        .map_or(Ok(()), |ability| ability.check(view).map_err(|why| format!("{text}: {why}")))
}

/// The size of an argument in the event record. A string is stored after the record, with a reference in it
/// (`__data_loc`).
pub fn record_size(fetch: &str) -> u32 {
    let body = fetch.split_once('=').map_or(fetch, |(_, body)| body);
    let Some((_, kind)) = body.rsplit_once(':').filter(|_| !body.ends_with('"')) else {
        let is_string = body.starts_with("\\\"") || body.eq_ignore_ascii_case("$comm");
        return if is_string { 4 } else { 8 };
    };
    let (one, count) = match kind.strip_suffix(']').and_then(|k| k.split_once('[')) {
        Some((one, count)) => (one, count.parse().unwrap_or(1)),
        None => (kind, 1),
    };
    let bits = |text: &str| text.parse::<u32>().map_or(8, |bits| bits / 8);
    let size = match one {
        "string" | "ustring" | "symstr" | "%pd" | "%pD" => 4,
        "char" => 1,
        "symbol" => 8,
        _ if one.starts_with('b') => one.rsplit_once('/').map_or(8, |(_, container)| bits(container)),
        _ => bits(&one[1.min(one.len())..]),
    };
    size.saturating_mul(count)
}

/// Whether the kernel accepts one more argument. `before` is the size of the previous ones, and is increased.
pub fn check_record(before: &mut u32, fetch: &str) -> Result<(), String> {
    let size = before.saturating_add(record_size(fetch));
    if size > LARGEST_RECORD {
        return Err(format!("with it the record has {size} bytes, and the kernel takes {LARGEST_RECORD}"));
    }
    *before = size;
    Ok(())
}

/// A reason without the addresses in it, which each build has otherwise.
pub fn without_addresses(why: &str) -> Cow<'_, str> {
    let Some((before, rest)) = why.split_once(ADDRESS) else { return why.into() };
    let rest = rest.trim_start_matches(|c: char| c.is_ascii_hexdigit());
    format!("{before}an address{}", without_addresses(rest)).into()
}

/// The default name of an argument: that of the last member, else of the variable.
pub fn name(argument: &Argument) -> Cow<'_, str> {
    if let Some(name) = &argument.name {
        return name.into();
    }
    match &argument.source {
        Source::Variable(way) | Source::Returned(way) => {
            let name = way.name();
            match name.len() {
                ..=32 => name.into(),
                _ => name.char_indices().nth(32).map_or(name, |(end, _)| &name[..end]).into(),
            }
        }
        // `%di` becomes `di`, `$stack2` becomes `stack2`.
        Source::Raw(text) => {
            let plain = text.strip_prefix(['%', '$']).unwrap_or_default();
            if argument::is_name(plain) { plain.into() } else { "arg".into() }
        }
    }
}
