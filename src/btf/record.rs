//! Reads BTF as records: a cursor over untrusted bytes (include/uapi/linux/btf.h; Documentation/bpf/btf.rst).
use crate::dwarf::Fault;
use crate::load::live::order_of_btf;
use object::{Endian, Endianness};
use std::borrow::Cow;

/// The name of the section.
pub const SECTION: &str = ".BTF";

/// The kind of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Int,
    Pointer,
    Array,
    Struct,
    Union,
    Enum,
    Forward,
    Typedef,
    Volatile,
    Const,
    Restrict,
    Function,
    Prototype,
    Variable,
    Section,
    Float,
    DeclarationTag,
    TypeTag,
    Enum64,
}

impl Kind {
    const ALL: [Self; 19] = [
        Self::Int,
        Self::Pointer,
        Self::Array,
        Self::Struct,
        Self::Union,
        Self::Enum,
        Self::Forward,
        Self::Typedef,
        Self::Volatile,
        Self::Const,
        Self::Restrict,
        Self::Function,
        Self::Prototype,
        Self::Variable,
        Self::Section,
        Self::Float,
        Self::DeclarationTag,
        Self::TypeTag,
        Self::Enum64,
    ];

    /// `BTF_KIND_*` start at 1.
    fn of(number: u32) -> Option<Self> {
        Self::ALL.get((number as usize).checked_sub(1)?).copied()
    }

    /// Number of bytes after the three words of a record with this many parts.
    fn extra(self, parts: usize) -> usize {
        match self {
            Self::Int | Self::Variable | Self::DeclarationTag => 4,
            Self::Array => 12,
            Self::Struct | Self::Union | Self::Section | Self::Enum64 => 12 * parts,
            Self::Enum | Self::Prototype => 8 * parts,
            _ => 0,
        }
    }
}

/// The number of a record; 0 is void.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Id(pub u32);

impl Id {
    pub const VOID: Self = Self(0);
}

/// A record, with unresolved numbers.
#[derive(Clone, Copy, Debug)]
pub struct Record<'d> {
    pub kind: Kind,
    /// Bit-field members, signed enumerators, or a forward declaration of a union.
    pub flag: bool,
    pub name: &'d [u8],
    /// Number of parts; for a function, its linkage.
    pub parts: u16,
    /// Its size, or the number of its target.
    pub word: u32,
    extra: &'d [u8],
    order: Endianness,
}

impl<'d> Record<'d> {
    /// The type it refers to.
    pub fn target(&self) -> Id {
        Id(self.word)
    }
    /// Whether it is only declared.
    pub fn is_forward(&self) -> bool {
        self.kind == Kind::Forward
    }
    /// The words after the record.
    fn words(&self) -> impl Iterator<Item = u32> + use<'d> {
        let order = self.order;
        self.extra.chunks_exact(4).map(move |w| order.read_u32(w.try_into().expect("four bytes")))
    }
    /// Its only word: the encoding of an integer.
    pub fn encoding(&self) -> u32 {
        self.words().next().unwrap_or(0)
    }
    /// The element type of an array, and the number of elements.
    pub fn array(&self) -> (Id, u32) {
        let mut words = self.words();
        let element = Id(words.next().unwrap_or(0));
        (element, words.nth(1).unwrap_or(0))
    }
    /// The value of an enumerator.
    pub fn value(&self, [_, low, high]: [u32; 3]) -> i64 {
        match (self.kind, self.flag) {
            (Kind::Enum64, _) => (u64::from(low) | u64::from(high) << 32) as i64,
            (_, true) => (low as i32).into(),
            (_, false) => low.into(),
        }
    }
    /// The parts: three words for members and 64-bit enumerators; two for enumerators and parameters, with 0 as the
    /// third.
    pub fn rows(&self) -> impl Iterator<Item = [u32; 3]> + use<'d> {
        let width = if matches!(self.kind, Kind::Enum | Kind::Prototype) { 8 } else { 12 };
        let order = self.order;
        self.extra.chunks_exact(width).map(move |row| {
            let word = |at: usize| {
                row.get(at..at + 4).map_or(0, |w| order.read_u32(w.try_into().expect("four bytes")))
            };
            [word(0), word(4), word(8)]
        })
    }
}

/// The records and strings of an object; those of a module continue the kernel's.
pub struct Btf<'d> {
    base: Option<&'d Btf<'d>>,
    types: &'d [u8],
    strings: &'d [u8],
    order: Endianness,
    /// Offsets of its own records.
    offsets: Cow<'d, [u32]>,
    /// The number of the first own record, and the offset of the first own string.
    first: u32,
    first_string: u32,
}

/// No kernel has more. Bounds the memory that a header can claim.
const MOST_RECORDS: usize = 1 << 24;

impl<'d> Btf<'d> {
    /// Reads the header and finds the records. An error further on ends the records, and is returned too.
    ///
    /// # Errors
    /// An error in the header.
    pub fn parse(data: &'d [u8], base: Option<&'d Btf<'d>>) -> Result<(Self, Option<Fault>), Fault> {
        let (mut btf, types_at) = Self::open(data, base)?;
        let (offsets, wrong) = btf.walk(types_at);
        btf.offsets = Cow::Owned(offsets);
        Ok((btf, wrong))
    }

    /// Like [`Self::parse`], with known offsets of the records.
    ///
    /// # Errors
    /// An error in the header.
    pub fn known(data: &'d [u8], offsets: &'d [u32]) -> Result<Self, Fault> {
        let (btf, _) = Self::open(data, None)?;
        Ok(Self { offsets: Cow::Borrowed(offsets), ..btf })
    }

    /// The offsets of the records: see [`known`](Self::known).
    pub fn into_offsets(self) -> Vec<u32> {
        self.offsets.into_owned()
    }

    /// Reads the header; also returns the offset of the records.
    fn open(data: &'d [u8], base: Option<&'d Btf<'d>>) -> Result<(Self, usize), Fault> {
        let fault = |at, what| Fault::new(SECTION, at, what);
        let order = order_of_btf(data).ok_or_else(|| fault(0, "no BTF: the magic number is missing"))?;
        if data.get(2) != Some(&1) {
            return Err(fault(2, "BTF of a version that is not known"));
        }
        if base.is_some_and(|base| base.order != order) {
            return Err(fault(0, "BTF in another byte order than that of the kernel"));
        }
        let word = |at: usize| data.get(at..)?.first_chunk().map(|w| order.read_u32(*w) as usize);
        let part = |offset: usize, length: usize| {
            let start = word(4)?.checked_add(word(offset)?)?;
            data.get(start..start.checked_add(word(length)?)?).map(|bytes| (start, bytes))
        };
        let cut_off = || fault(8, "BTF is cut off: its types or strings reach behind the end");
        let (types_at, types) = part(8, 12).ok_or_else(cut_off)?;
        let (_, strings) = part(16, 20).ok_or_else(cut_off)?;
        let (first, first_string) = base.map_or((1, 0), |base| (base.end(), base.strings.len() as u32));
        Ok((Self { base, types, strings, order, offsets: Cow::Borrowed(&[]), first, first_string }, types_at))
    }

    fn walk(&self, types_at: usize) -> (Vec<u32>, Option<Fault>) {
        let mut offsets = vec![];
        let mut at = 0;
        while at < self.types.len() {
            let what = match self.length_at(at) {
                None => "a record of BTF makes no sense: it and what follows is left out",
                Some(_) if offsets.len() >= MOST_RECORDS => {
                    "more than 16777216 records of BTF: the rest is left out"
                }
                Some(length) => {
                    offsets.push(at as u32);
                    at += length;
                    continue;
                }
            };
            return (offsets, Some(Fault::new(SECTION, types_at + at, what)));
        }
        (offsets, None)
    }

    fn length_at(&self, at: usize) -> Option<usize> {
        let info = self.order.read_u32(*self.types.get(at + 4..)?.first_chunk()?);
        let length = 12 + Kind::of(info >> 24 & 0x1f)?.extra((info & 0xffff) as usize);
        (at + length <= self.types.len()).then_some(length)
    }

    /// The numbers of its own records.
    pub fn own(&self) -> impl Iterator<Item = Id> + use<> {
        (self.first..self.end()).map(Id)
    }
    /// The index of a record among its own; `None` for others.
    pub fn own_number(&self, id: Id) -> Option<usize> {
        let number = id.0.checked_sub(self.first)? as usize;
        (number < self.offsets.len()).then_some(number)
    }
    /// The number of its own records.
    pub fn count(&self) -> usize {
        self.offsets.len()
    }
    fn end(&self) -> u32 {
        self.first + self.offsets.len() as u32
    }

    /// The record of a number; `None` for void and unknown numbers.
    pub fn record(&self, id: Id) -> Option<Record<'d>> {
        if id.0 < self.first {
            return self.base?.record(id);
        }
        let at = *self.offsets.get((id.0 - self.first) as usize)? as usize;
        let bytes = &self.types[at..at + self.length_at(at)?];
        let word = |at: usize| self.order.read_u32(bytes[at..at + 4].try_into().expect("four bytes"));
        let info = word(4);
        Some(Record {
            kind: Kind::of(info >> 24 & 0x1f)?,
            flag: info >> 31 != 0,
            name: self.string(word(0)),
            parts: info as u16,
            word: word(8),
            extra: &bytes[12..],
            order: self.order,
        })
    }

    /// A type without typedefs and qualifiers; `None` for void, and for what is not there. Chains of more than 32 are cut: only damaged
    /// BTF has them.
    pub fn stripped(&self, mut id: Id) -> Option<Record<'d>> {
        for _ in 0..32 {
            let record = self.record(id)?;
            match record.kind {
                Kind::Typedef | Kind::Const | Kind::Volatile | Kind::Restrict | Kind::TypeTag => {
                    id = record.target();
                }
                _ => return Some(record),
            }
        }
        None
    }

    /// The place of a member, as a [`MemberRecord`](probeidx_format::record::MemberRecord) has it.
    pub fn place(&self, record: &Record<'d>, [_, id, word]: [u32; 3]) -> i64 {
        let (mut offset, mut width) = (word, 0);
        if record.flag {
            (offset, width) = (word & 0xff_ffff, word >> 24);
        } else if let Some((skip, bits)) = self.old_bit_field(Id(id)) {
            // Before bit-fields had a flag, an integer of odd size represented them.
            (offset, width) = (word.saturating_add(skip), bits);
        }
        (u64::from(offset) | u64::from(width) << 48) as i64
    }
    /// Offset and width in bits of an integer narrower than its bytes.
    fn old_bit_field(&self, id: Id) -> Option<(u32, u32)> {
        let record = self.record(id).filter(|r| r.kind == Kind::Int)?;
        let word = record.encoding();
        let (offset, bits) = (word >> 16 & 0xff, word & 0xff);
        (bits > 0 && bits != record.word.saturating_mul(8)).then_some((offset, bits))
    }

    /// The string at an offset; empty if there is none.
    pub fn string(&self, at: u32) -> &'d [u8] {
        if at < self.first_string {
            return self.base.map_or(&[], |base| base.string(at));
        }
        let rest = self.strings.get((at - self.first_string) as usize..).unwrap_or_default();
        &rest[..memchr::memchr(0, rest).unwrap_or(0)]
    }
}
