//! Types of raw BTF.
use crate::bytes::{ByteOrder, Bytes};
use crate::error::{Error, Result};
use crate::types::{Enumerator, Kind, Member, Parameter, Type, TypeId, Types, Variable};

/// BTF over its bytes: the offset of each type is kept, the rest is read when asked for.
///
/// Split BTF (of modules) continues the ids and strings of its base.
#[derive(Clone, Debug)]
pub struct Btf<'a> {
    /// The types, from the first record on.
    types: Bytes<'a>,
    /// The strings.
    strings: &'a [u8],
    /// Where each record starts in `types`.
    offsets: Vec<u32>,
    /// What ids and strings continue.
    base: Option<&'a Btf<'a>>,
    /// The first id of its own.
    first: u32,
    /// The first string offset of its own.
    first_string: u32,
    pointer_size: u32,
}

/// The bytes of a record before its members.
const RECORD: usize = 12;
/// The longest strings that libbpf 1.7 and the kernel take: `BTF_MAX_STR_OFFSET` 0xffffff.
const MAX_STRINGS: u32 = 0x100_0000;

impl<'a> Btf<'a> {
    /// Reads the header and finds the types. `place` names the section or file in errors. Costs one pass.
    ///
    /// # Errors
    /// As libbpf refuses it: truncated, of another version, of an unknown kind, references to types or strings that do
    /// not exist.
    pub fn parse(data: &'a [u8], base: Option<&'a Btf<'a>>, place: &str) -> Result<Self> {
        let damaged = |what: &str| Error::damaged(place, what);
        let order = match data.first_chunk() {
            Some([0x9f, 0xeb]) => ByteOrder::Little,
            Some([0xeb, 0x9f]) => ByteOrder::Big,
            _ => return Err(damaged("BTF does not start with 0xeb9f")),
        };
        let all = Bytes::new(data, order);
        let word = |at| all.u32(at).ok_or_else(|| Error::truncated(place, "BTF ends in its header"));
        let header_length = word(4)?;
        let (type_offset, type_length) = (u64::from(word(8)?), u64::from(word(12)?));
        let (string_offset, string_length) = (u64::from(word(16)?), word(20)?);
        let body = all.slice(header_length.into(), (data.len() as u64).saturating_sub(header_length.into()));
        let body = body.ok_or_else(|| Error::truncated(place, "BTF ends in its header"))?;
        if type_offset % 4 != 0 || type_offset + type_length > string_offset {
            return Err(damaged("BTF's types and strings overlap"));
        }
        let body = Bytes::new(body, order);
        let part = |offset, length| {
            body.slice(offset, length)
                .ok_or_else(|| Error::truncated(place, "BTF is shorter than its header says"))
        };
        let types = Bytes::new(part(type_offset, type_length)?, order);
        let strings = part(string_offset, string_length.into())?;
        let strings_end = strings.last().is_some_and(|&last| last == 0);
        let are_strings = strings_end && string_length <= MAX_STRINGS && (base.is_some() || strings[0] == 0);
        let has_none = base.is_some() && strings.is_empty();
        if !(are_strings || has_none) {
            return Err(damaged("BTF's strings do not start and end with a zero"));
        }
        let mut btf = Self {
            types,
            strings,
            offsets: Vec::new(),
            base,
            first: base.map_or(1, Btf::end),
            first_string: base.map_or(0, |base| base.first_string + base.strings.len() as u32),
            pointer_size: 8,
        };
        btf.find_records(place)?;
        btf.validate(place)?;
        btf.pointer_size = base.map_or_else(|| btf.find_pointer_size(), |base| base.pointer_size);
        Ok(btf)
    }

    /// The id after the last.
    pub fn end(&self) -> u32 {
        self.first + self.offsets.len() as u32
    }

    /// The first id that is not of the base: 1 if there is none.
    pub fn first(&self) -> u32 {
        self.first
    }

    /// How its numbers are stored.
    pub fn byte_order(&self) -> ByteOrder {
        self.types.order
    }

    /// All ids of its own, ascending.
    pub fn ids(&self) -> impl Iterator<Item = TypeId> + use<> {
        (self.first..self.end()).map(TypeId)
    }

    /// The string at an offset. `None` past the end.
    pub fn string(&self, offset: u32) -> Option<&'a [u8]> {
        if offset < self.first_string {
            return self.base?.string(offset);
        }
        Bytes::new(self.strings, self.types.order).string((offset - self.first_string) as usize)
    }

    /// A variable of a data section, by its position.
    pub fn variable(&self, id: TypeId, index: u32) -> Option<Variable> {
        let (btf, at) = self.part(id, Kind::DataSection, index, 12)?;
        let word = |n: usize| btf.types.u32(at + n);
        Some(Variable { type_id: TypeId(word(0)?), offset: word(4)?, size: word(8)? })
    }

    /// The first type of this kind and name, by a scan of all. For the BTF of programs, which is small.
    pub fn find(&self, kind: Kind, name: &[u8]) -> Option<TypeId> {
        self.ids().find(|&id| self.get(id).is_some_and(|found| found.kind == kind && found.name == name))
    }

    /// The name of a type, for as long as the bytes live. Empty if there is none.
    pub fn string_of(&self, id: TypeId) -> &'a [u8] {
        let name = self.record(id).and_then(|(btf, at)| btf.string(btf.types.u32(at)?));
        name.unwrap_or_default()
    }

    /// The name of a member, parameter or enumerator, for as long as the bytes live.
    pub fn part_name(&self, id: TypeId, index: u32) -> Option<&'a [u8]> {
        let (btf, record) = self.record(id)?;
        let kind = Kind::from_number(btf.types.u32(record + 4)? >> 24 & 31)?;
        let size = match kind {
            Kind::Struct | Kind::Union | Kind::Enum64 => 12,
            Kind::Enum | Kind::Prototype => 8,
            _ => return None,
        };
        let (btf, at) = self.part(id, kind, index, size)?;
        btf.string(btf.types.u32(at)?)
    }

    /// The record of an id: which BTF has it, and where.
    fn record(&self, id: TypeId) -> Option<(&Btf<'a>, usize)> {
        if id.0 < self.first {
            return self.base?.record(id);
        }
        Some((self, *self.offsets.get((id.0 - self.first) as usize)? as usize))
    }

    /// Where part `index` of a type of `kind` stands; parts are `size` bytes each.
    fn part(&self, id: TypeId, kind: Kind, index: u32, size: usize) -> Option<(&Btf<'a>, usize)> {
        let (btf, at) = self.record(id)?;
        let info = btf.types.u32(at + 4)?;
        let found = Kind::from_number(info >> 24 & 31)?;
        let is_kind = found == kind || found.is_composite() && kind.is_composite();
        (is_kind && index < info & 0xffff).then_some((btf, at + RECORD + index as usize * size))
    }

    fn find_records(&mut self, place: &str) -> Result<()> {
        let mut at = 0;
        while at < self.types.data.len() {
            let id = self.end();
            let truncated = || Error::truncated(place, format!("BTF type [{id}] reaches past the end"));
            let info = self.types.u32(at + 4).ok_or_else(truncated)?;
            let kind = Kind::from_number(info >> 24 & 31).filter(|&kind| kind != Kind::Void);
            let kind = kind.ok_or_else(|| {
                Error::unsupported(place, format!("BTF type [{id}] is of unknown kind {}", info >> 24 & 31))
            })?;
            let count = (info & 0xffff) as usize;
            let length = RECORD
                + match kind {
                    Kind::Int | Kind::Variable | Kind::DeclTag => 4,
                    Kind::Array => 12,
                    Kind::Enum | Kind::Prototype => 8 * count,
                    Kind::Enum64 | Kind::Struct | Kind::Union | Kind::DataSection => 12 * count,
                    _ => 0,
                };
            if at + length > self.types.data.len() {
                return Err(truncated());
            }
            self.offsets.push(at as u32);
            at += length;
        }
        Ok(())
    }

    /// What `btf_sanity_check` of libbpf 1.7 checks: each reference leads to a type or string.
    fn validate(&self, place: &str) -> Result<()> {
        let end = self.end();
        let own_end = self.first_string + self.strings.len() as u32;
        for id in self.ids() {
            let wrong = |what| {
                Err(Error::damaged(place, format!("BTF type [{}] names a {what} that is not there", id.0)))
            };
            let (_, at) = self.record(id).expect("an id of its own");
            let word = |n: usize| self.types.u32(at + n).unwrap_or(u32::MAX);
            let (info, target) = (word(4), word(8));
            let kind = Kind::from_number(info >> 24 & 31).expect("a kind that was read before");
            if word(0) >= own_end {
                return wrong("string");
            }
            let count = info & 0xffff;
            let (strings, types, step): (&[usize], &[usize], usize) = match kind {
                Kind::Struct | Kind::Union => (&[0], &[4], 12),
                Kind::Prototype => (&[0], &[4], 8),
                Kind::Enum => (&[0], &[], 8),
                Kind::Enum64 => (&[0], &[], 12),
                Kind::DataSection => (&[], &[0], 12),
                _ => (&[], &[], 0),
            };
            for part in 0..if step == 0 { 0 } else { count as usize } {
                let start = RECORD + part * step;
                if strings.iter().any(|n| word(start + n) >= own_end) {
                    return wrong("string");
                }
                if types.iter().any(|n| word(start + n) >= end) {
                    return wrong("type");
                }
            }
            let refers = kind.is_alias()
                || matches!(
                    kind,
                    Kind::Pointer | Kind::Variable | Kind::DeclTag | Kind::Function | Kind::Prototype
                );
            let is_array_wrong = kind == Kind::Array && (word(12) >= end || word(16) >= end);
            if refers && target >= end || is_array_wrong {
                return wrong("type");
            }
        }
        Ok(())
    }

    /// `determine_ptr_size` of libbpf 1.7: the size of `long`, else 8.
    fn find_pointer_size(&self) -> u32 {
        const LONG: [&[u8]; 11] = [
            b"long",
            b"long int",
            b"int long",
            b"unsigned long",
            b"long unsigned",
            b"unsigned long int",
            b"unsigned int long",
            b"long unsigned int",
            b"long int unsigned",
            b"int unsigned long",
            b"int long unsigned",
        ];
        let ints = self.ids().filter_map(|id| self.get(id)).filter(|found| found.kind == Kind::Int);
        let mut longs = ints.filter(|int| matches!(int.size, 4 | 8) && LONG.contains(&int.name));
        longs.next().map_or(8, |long| long.size)
    }
}

impl Types for Btf<'_> {
    fn get(&self, id: TypeId) -> Option<Type<'_>> {
        if id == TypeId::VOID {
            return Some(Type::VOID);
        }
        let (btf, at) = self.record(id)?;
        let word = |n: usize| btf.types.u32(at + n);
        let (info, last) = (word(4)?, word(8)?);
        let mut found = Type {
            kind: Kind::from_number(info >> 24 & 31)?,
            name: btf.string(word(0)?)?,
            flag: info >> 31 != 0,
            count: info & 0xffff,
            size: 0,
            target: TypeId::VOID,
            detail: 0,
        };
        match found.kind {
            Kind::Int => (found.size, found.detail, found.count) = (last, word(12)?, 0),
            Kind::Struct | Kind::Union | Kind::Enum | Kind::Enum64 | Kind::DataSection | Kind::Float => {
                found.size = last;
            }
            Kind::Array => (found.target, found.count) = (TypeId(word(12)?), word(20)?),
            Kind::Variable | Kind::DeclTag => (found.target, found.detail) = (TypeId(last), word(12)?),
            Kind::Function => (found.target, found.detail, found.count) = (TypeId(last), info & 0xffff, 0),
            _ => found.target = TypeId(last),
        }
        Some(found)
    }

    fn member(&self, id: TypeId, index: u32) -> Option<Member<'_>> {
        let (btf, at) = self.part(id, Kind::Struct, index, 12)?;
        let (_, record) = self.record(id)?;
        let word = |n: usize| btf.types.u32(at + n);
        let offset = word(8)?;
        // With kind_flag the upper 8 bits of the offset are the size of a bit-field.
        let (bit_offset, bit_size) = match btf.types.u32(record + 4)? >> 31 {
            0 => (offset, 0),
            _ => (offset & 0xff_ffff, offset >> 24),
        };
        Some(Member { name: btf.string(word(0)?)?, type_id: TypeId(word(4)?), bit_offset, bit_size })
    }

    fn enumerator(&self, id: TypeId, index: u32) -> Option<Enumerator<'_>> {
        if let Some((btf, at)) = self.part(id, Kind::Enum, index, 8) {
            let value = i64::from(btf.types.u32(at + 4)?.cast_signed()).cast_unsigned();
            return Some(Enumerator { name: btf.string(btf.types.u32(at)?)?, value });
        }
        let (btf, at) = self.part(id, Kind::Enum64, index, 12)?;
        let value = u64::from(btf.types.u32(at + 4)?) | u64::from(btf.types.u32(at + 8)?) << 32;
        Some(Enumerator { name: btf.string(btf.types.u32(at)?)?, value })
    }

    fn parameter(&self, id: TypeId, index: u32) -> Option<Parameter<'_>> {
        let (btf, at) = self.part(id, Kind::Prototype, index, 8)?;
        let name = btf.string(btf.types.u32(at)?)?;
        Some(Parameter { name, type_id: TypeId(btf.types.u32(at + 4)?) })
    }

    fn pointer_size(&self) -> u32 {
        self.pointer_size
    }
}
