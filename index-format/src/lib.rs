//! # The index file, version 1
//!
//! Bytes to typed slices and back. This crate knows no DWARF, opens no files and has no command line; its
//! documentation is the specification of the format.
//!
//! One file holds one kernel release: vmlinux and its modules. All numbers are little-endian, all records have
//! alignment 1, so that the file can be read in place from a mapping on any machine. The same input gives the same
//! bytes.
//!
//! ## Layout
//!
//! ```text
//! 0     Header            magic, version, number of sections, length, checksums       32 bytes
//! 32    DirectoryEntry[n] offset, length, CRC-32 and number of each section           24 bytes each
//! …     the sections, in the order of SectionName, without gaps
//! ```
//!
//! Opening reads these first bytes only. The checksum of a section is compared by `verify`, and once before its
//! bytes are handed to code that cannot bear damaged input (`meta`, `name_fst`). All other readers bear any bytes:
//! an id that points nowhere gives an empty answer.
//!
//! ## What points to what
//!
//! ```text
//! name ──▶ functions ──▶ variables (name, type) ──▶ types ──▶ members
//!   │          └──▶ postings ──▶ places ──▶ details (ranges, call site, where each variable is)
//!   └────▶ symbols                 └──▶ the outer place, the unit (its files)
//! address ──▶ ranges ──▶ out-of-line place, followed by its inline instances in preorder
//!         └──▶ sequences ──▶ line rows
//! ```
//!
//! * A table whose records own parts of another has one record more than it has entries, so that every part ends
//!   where the next one starts: `objects`, `units`, `names`, `functions`, `types`.
//! * The unit of the index is the **placement**: one address with one map of readable variables. Several placements
//!   can share one address; all are kept. The inline instances of an out-of-line function follow it in preorder.
//! * A [`Pc`](id::Pc) is an address less the base of its object. vmlinux: the base is its lowest address of code less
//!   4096. A module's allocated sections are laid one after another from 4096 on, each aligned as it asks, so that
//!   one number names section and offset; `sections` translates. 0 is no address.
//! * Strings are byte offsets into `strings`; as that is sorted, comparing ids compares strings.
//!
//! ## A placement, worked by hand
//!
//! `do_open` of `fs/namei.c:3633` is inlined into `path_openat` at line 3789. Its [`FunctionRecord`](record) says
//! `name = "do_open"`, `file = "fs/namei.c"`, `line = 3633`, flags `INLINE = 1`; its variables in
//! `function_details` are `nd: struct nameidata*` (parameter), `file: struct file*` and so on. One of its postings
//! is the [`PlaceRecord`](record::PlaceRecord) `{ function, entry: 0x36139d + 0x1000, outer: path_openat's place,
//! details }`. At `details`:
//!
//! ```text
//! 03              one range, a call site follows
//! 00 90 02        from the entry on, 0x110 bytes
//! 01 cd 1d 0a     file 1 of the unit, line 3789, column 10
//! 06 02           variable 0 (nd), location list of two entries
//! 00 40 05           from the entry, 64 bytes: DW_OP_reg5 (%di)
//! 00 d0 01 03        from there, 208 bytes: DW_OP_reg3 (%bx)
//! 0b 53           variable 1 + 1 (op): one is passed over; everywhere in DW_OP_lit19
//! 00              end
//! ```
//!
//! ## Versions
//!
//! An index is a cache: a reader refuses older and newer versions, each with its own error, and the remedy is to
//! build it again.
//!
//! | version | what changed |
//! | --- | --- |
//! | 1 | the first |
#![forbid(unsafe_code)]
#![warn(missing_docs)]

pub mod details;
mod error;
pub mod expr;
pub mod header;
pub mod id;
pub mod lines;
pub mod meta;
pub mod names;
pub mod record;
pub mod types;
pub mod variables;
pub mod varint;
pub mod view;
pub mod writer;

pub use error::{Error, Result};
pub use header::{SectionName, VERSION};
pub use view::View;
pub use zerocopy;
