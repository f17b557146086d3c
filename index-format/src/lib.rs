//! # The index file, version 14
//!
//! Converts bytes to typed slices and back. This crate knows no DWARF, opens no files and has no command line; its
//! documentation is the specification of the format.
//!
//! One file holds one kernel release, vmlinux and its modules, or one user object: a program or shared library with
//! its separate debug file. All numbers are little-endian and all records have alignment 1, so that the file can be
//! read in place from a mapping on any machine. The same input gives the same bytes. Objects may be big-endian
//! ([`ByteOrder`]): their numbers in the file are little-endian all the same, only bytes of their memory are not.
//!
//! ## Layout
//!
//! ```text
//! 0     Header            magic, version, machine, length, release, checksums         36 bytes
//! 36    DirectoryEntry[n] offset, length, CRC-32, number and records of each section  28 bytes each
//! …     the sections, in the order of SectionName, without gaps
//! ```
//!
//! Opening reads these first bytes, and the records of objects and units, whose ranges must be consecutive: walks
//! over all of them are then bounded by the tables' lengths. The checksum of a section is compared by `verify`, and
//! once before its bytes are passed to code that cannot handle damaged input (`meta`). All other readers accept any
//! bytes: an invalid id gives an empty answer.
//!
//! ## References
//!
//! ```text
//! name ──▶ functions ──▶ variables (name, type) ──▶ types ──▶ members
//!   │          ├──◀ type_users, type_uses ◀── types
//!   │          ├──▶ called, calls ──▶ addresses of its direct calls
//!   │          └──▶ postings ──▶ places ──▶ details (ranges, call site, where each variable is)
//!   └────▶ symbols                 └──▶ the outer place, the unit (its files)
//! tracepoints ──▶ the function with the parameters, event_fields
//! address ──▶ ranges ──▶ out-of-line place, followed by its inline instances in preorder
//!         ├──▶ sequences ──▶ line rows
//!         ├──▶ frames ──▶ frame rows: where the canonical frame address is
//!         └──▶ section (boundaries), sites, refused, symbol (its flags): whether it can be probed
//! name of a tapset ──▶ tapset_names ──▶ tapset_definitions ──▶ tapset_trees
//! ```
//!
//! * A table whose records own ranges of another table has one record more than entries, so that every range ends
//!   where the next one starts: `objects`, `units`, `names`, `functions`, `types`, `type_users`, `called`.
//! * The unit of the index is the **placement**: one address with its own locations of variables. Several placements
//!   may share an address; all are kept. The inline instances of an out-of-line function follow it in preorder.
//! * A [`Pc`](id::Pc) is an address less the base of its object. For vmlinux and user objects, the base is the lowest
//!   code address less 4096, or 0 if that is negative. A module's allocated sections are laid out one after another
//!   from 4096 on, each aligned as required, so that one number identifies section and offset; `sections` translates.
//!   0 is not an address.
//! * A unit with the flag [`BTF`](record::UnitRecord::BTF) stands for the BTF of an object without DWARF: its
//!   functions have parameters and an entry, but no file, line, inline instance or location. An object without units
//!   has only symbols.
//! * Strings are numbers of `strings`, which is sorted: comparing ids compares strings.
//!
//! ## What each byte costs
//!
//! Debian's 6.1.192 cloud kernel with its 1,121 modules takes 52.1 MB:
//!
//! | sections | MB | each |
//! | --- | --- | --- |
//! | `place_details` | 15.2 | 18.9 bytes a placement, of 801,405 |
//! | `lines` | 9.9 | 7.9 bits a row of the debug information |
//! | `strings` | 3.1 | 7.5 bytes a string, of 413,944 of 20.6: 6.2 of codes ([`strings`]), 1.0 of trigrams |
//! | `places`, `ranges`, `postings` | 6.6 | a record of 6.0 bytes a placement; 4.9 an out-of-line range; a difference of 1.6 a placement |
//! | `functions`, `function_details`, `variables` | 3.8 | a function: 7.7 bytes a record, 13.9 of details; 3.1 a pair of name and type |
//! | `tapset`… | 1.5 | 0.6 of them the trees of 7,712 definitions, 0.6 their texts |
//! | `boundaries` | 2.8 | about 3 bits an instruction |
//! | `symbols`, `symbol_names` | 1.8 | 6.7 and 2.1 bytes a symbol, of 208,636 |
//! | `names`, `name_hash` | 1.2 | 1.4 and 3.4 bytes a name |
//! | `types`, `members`, `type_users`, `type_uses` | 1.8 | 5.6 bytes a type, 5.8 a member; one to three a use |
//! | `calls`, `called` | 1.3 | 2.5 bytes a direct call, of 475,086; 2.0 a function that is called |
//! | `btf_types` | 0.1 | 1.7 bytes a type of BTF, of 37,416 |
//! | `frames`, `frame_rows` | 1.4 | 5.3 bytes a frame, and 7.9 of rows |
//! | `sites` | 0.3 | 1.2 bytes a site, of 232,846 |
//! | `labels` | 0.3 | 8.1 bytes a label, of 42,731 |
//! | all others | 1.1 | |
//!
//! `benches/table` prints the length of an index, and `probeidx stats` those of its sections.
//!
//! ## A placement, worked by hand
//!
//! Debian's 6.1.192: `do_open` of `fs/namei.c:3633` is inlined into `path_openat` at line 3838, at `0xffffffff8136139d`.
//!
//! `names` has `do_open`, and its `first_function` is the [`FunctionRecord`](record::FunctionRecord): name, file,
//! line 3633, 10 variables, flags `0x11` (inlined, prototyped). At its `details` are bits, the highest of each byte first:
//! the code of each symbol by its context ([`variables`], [`codes`]), and the bits that follow it ([`bits`]).
//!
//! ```text
//! 010 01100111100         symbol 53, 10240 to 12287: plus 828, which is TypeId 11067 (int), plus one
//! 0                       no linkage name
//! 0                       a parameter
//! 01011 000001000         symbol 44, 2048 to 2559: plus 8, rank 2056 of `variables` (nd, struct nameidata *)
//! 0                       line 3633 + 0
//! 0 100100 011 10         a parameter; symbol 22, rank 48 + 3 (file, struct file *); 2 is zigzag, line 3633 + 1
//! …                       op, and seven locals
//! ```
//!
//! Its only posting is placement 145,139 with the [`PlaceRecord`](record::PlaceRecord) `{ function, entry: 0x36239d,
//! details }`: the link address less the base, which is that of `.text` less 4096. At its `details`:
//!
//! ```text
//! 11111011 1111           64 + 15: inlined into the placement 79 before it, path_openat
//! 111111110110 00         28: 14 ranges, the first starts at the entry
//! 11111100 10110          160 + 22 bytes
//! 11110111 000001110      3584 + 14 is zigzag: starts 1799 bytes after the end of the previous range
//! 111010 100              56 + 4 bytes
//! …                       12 more ranges
//! 0 110100                file 0 of the unit, column 12 (the code for calls in file 0)
//! 111010 011111110        line 3584 + 254: the call site
//! 0                       the first item is a location list …
//! 110                     … of the variable 2 after the expected one (op)
//! 111111010               14 less 2 ranges
//! 0 000                   starts at the entry, and ends where the placement's first range does
//! 0 0                     the whole second range of the placement
//! …                       10 more ranges
//! 110001 00 00 10010 …    an expression for each: %r12, the same, the same, the value of %rsi at the function's entry
//! …                       nd and file, a block with the locals, and the end
//! ```
//!
//! ## A verdict, worked by hand
//!
//! `trace_sched_switch` is inlined into `__schedule` at `0xffffffff81a10cac`, which is pc 0xa11cac. Can it be probed?
//!
//! 1. [`SectionRecord`](record::SectionRecord) `.text` contains it, starting at pc 0x1000: neither init nor exit
//!    code, and between `_stext` and `_etext`.
//! 2. [`SymbolRecord`](record::SymbolRecord) 43,233 `{ __schedule, pc: 0xa11af0, size: 2547, flags: 0x2e02 }`
//!    contains it by its size: a function, kept, described, an entry, with a return; without an ftrace site, so that
//!    kprobe_events refuse all of it.
//! 3. None of the 396 [`RefusedRecord`](record::RefusedRecord)s of vmlinux contains it.
//! 4. [`SiteRecord`](record::SiteRecord) 36,500 starts there: `ac 1c a1 00  05  01`, 5 bytes of a jump label.
//!    Refused.
//! 5. Otherwise `boundaries` would decide. The section's blocks start at 0, and the address is byte 172 of block
//!    10,307. Of its symbols, `… 6 5 5 7 …` are the ones around it: instructions start 11 and 5 bytes before the
//!    address, at it, and 5 and 12 bytes after it, as `objdump -d` shows.
//!
//! ## A frame rule, worked by hand
//!
//! `op` of `do_sys_openat2` is at `DW_OP_fbreg -60`. Where is that at `0xffffffff8134a400`, which is pc 0x34b400?
//!
//! The last entry of `frames` that starts at or before it is the [`FrameRecord`](record::FrameRecord) `{ start:
//! 0x34b350, end: 0x34b4b6, rows }`, which ends after it. At its `rows`, starting with `8(%rsp)`:
//!
//! ```text
//! 1d 11 19        7, 4 and 6 bytes on: 8 more each, after pushes; 32(%rsp)
//! 1f 20           7 bytes on, from pc 0x34b368: 4 times 8 more; 64(%rsp)
//! ff 13 1c        63 + 19 bytes on: 4 times 8 less; 32(%rsp). The fall starts here, from 64(%rsp)
//! 06 06 0a        1, 1 and 2 bytes on: 8 less each; 8(%rsp), the next instruction is the return
//! 14              5 bytes on, from pc 0x34b3c3: back to 64(%rsp)
//! fd 8f 01        63 + 143 bytes on, from pc 0x34b491: 8 more; a push
//! 40              16 bytes on: back to 64(%rsp) again
//! 00              the end
//! ```
//!
//! There the canonical frame address is `64(%rsp)`, and `op` is at `4(%rsp)`.
//!
//! ## Calls, worked by hand
//!
//! Who calls `vfs_read` of `fs/read_write.c:450`? The unit has a `DW_TAG_call_site` for each call of it, in the innermost
//! scope that contains it:
//!
//! ```text
//! DW_TAG_inlined_subroutine    ksys_pread64, in the code of __ia32_sys_pread64
//!   DW_TAG_call_site
//!     DW_AT_call_return_pc     0xffffffff8134dc22
//!     DW_AT_call_origin        the DW_TAG_subprogram of vfs_read
//!     …                        DW_TAG_call_site_parameter: where the arguments come from; skipped
//! ```
//!
//! The call is the instruction before that address; its last byte is pc 0x34ec21. The
//! [`CalledRecord`](record::CalledRecord) of `vfs_read` leads to these bytes of `calls`:
//!
//! ```text
//! d4 a0 a7 03     twice 0x34e82a: the first call in object 0, vmlinux; bit 0 is clear: no jump
//! 98 01           twice 0x4c: pc 0x34e876
//! b4 08           twice 0x21a: pc 0x34ea90
//! a6 03           twice 0xd3: pc 0x34eb63
//! fc 02           twice 0xbe: pc 0x34ec21
//! ```
//!
//! Instructions start at `0xffffffff8134d826` and four bytes before each of the others, as `boundaries` has it. The first
//! two are in copies of `ksys_read`, the others in copies of `ksys_pread64`: these are the callers. In `ext4.ko`, a call of
//! another function would follow behind `00` and the number of that object.
//!
//! A callee is found as the linker finds it. A unit that only declares the function names it; one that defines it may have
//! a weak definition that is not used. So what is external is looked for among the symbols of the object, then of vmlinux,
//! then among what modules export. Of 6.1, 191,651 of the 192,091 calls in the code of vmlinux that C has are there; GCC 12
//! forgot the others.
//!
//! ## A tracepoint, worked by hand
//!
//! `sched:sched_switch` of the same kernel has the symbol `__tracepoint_sched_switch` at `0xffffffff82c0a480`. In
//! `_ftrace_events` there is a pointer to `event_sched_switch`, whose `tp` points to the tracepoint and whose `class`
//! to `event_class_sched_switch` with the system `sched`. Its [`TracepointRecord`](record::TracepointRecord):
//!
//! ```text
//! name, system    sched_switch, sched
//! object, pc      0 (vmlinux), 0x1c0b480: the link address less the base
//! prototype       __traceiter_sched_switch, include/trace/events/sched.h:222, with 5 variables: void *__data, which is not a
//!                 parameter of the tracepoint, bool preempt, struct task_struct *prev, *next, unsigned int prev_state
//! fields, flags   7 of event_fields; 3: it has an event, and all of its fields are known
//! ```
//!
//! Each [`EventFieldRecord`](record::EventFieldRecord) is a `struct trace_event_fields` of the class, with the offset
//! assigned by `event_define_fields` (kernel/trace/trace_events.c): after the 8 bytes of `struct trace_entry`,
//! aligned.
//!
//! ```text
//! prev_comm   char[16]    8, 16 bytes, not signed
//! prev_pid    pid_t      24,  4 bytes, signed
//! prev_prio   int        28,  4 bytes, signed
//! prev_state  long       32,  8 bytes, signed
//! next_comm   char[16]   40, 16 bytes, not signed
//! next_pid    pid_t      56,  4 bytes, signed
//! next_prio   int        60,  4 bytes, signed
//! ```
//!
//! ## Versions
//!
//! An index is a cache: readers refuse older and newer versions with distinct errors, and the remedy is to build it
//! again.
//!
//! The version increases with any change that would make a reader of the previous version misread a file or miss a
//! part: a section added, removed or moved, a record's fields, an encoding, an order, the meaning of a number or
//! flag, the trees of tapsets. It stays the same if only the choice among valid encodings changes. The magic, the
//! version after it and the errors for other versions never change. `tests/compat` keeps a golden file of each
//! version; that of the current version is never regenerated, so that a change without a new number fails there.
//!
//! | version | change |
//! | --- | --- |
//! | 1 | the first |
//! | 2 | smaller: no symbols that only a module's loader needs, `name_hash` no longer than necessary, no reserved fields; ranges before expressions and not twice in `place_details`, more kinds of expressions, equal details once; followers of positions and lines by file in `lines`. `sites`, `refused`, `boundaries`, flags of objects and symbols |
//! | 3 | `type_users`, `type_uses`, `frames`, `frame_rows`; `DW_OP_fbreg` by the kind of frame base |
//! | 4 | user objects: `segments`, a flag of objects, their names in `meta`; locations of parameters at the entry, as an empty range |
//! | 5 | `tracepoints`, `event_fields`, `labels`; SystemTap's tapsets: `tapset`, `tapset_names`, `tapset_strings`, `tapset_definitions`, `tapset_trees`, `tapset_sources`; the kernel's `configuration`; units of BTF, objects with names only |
//! | 6 | which tables about its code an object lacks (`unread`), and sites that may be in one of them; instructions that raise exceptions |
//! | 7 | without `name_fst`, which nobody read; bits of the hash in `name_hash`; bounds of the code that can be probed in `objects` |
//! | 8 | three fifths of the size: tables packed ([`table`]); details, line rows, variables and boundaries as bits ([`bits`], [`codes`]) |
//! | 9 | trees of tapsets compressed in blocks; long line sequences in pieces |
//! | 10 | `called`, `calls`: direct calls; variadic functions; whether an object has BTF; the limits of BPF trampolines |
//! | 11 | `btf_types`: which types are in BTF; events of system calls; which functions are kfuncs, LSM hooks, or may be made to fail |
//! | 12 | nothing of the file: types of Rust that were taken for those of C |
//! | 13 | smaller: slopes of columns that ascend, 64 rows a block ([`table`]); three bytes a slot in `name_hash` ([`names`]) |
//! | 14 | smaller: [`strings`] share their starts with those before them, the rest is in symbols of up to eight bytes; ids of strings are ranks |
#![forbid(unsafe_code)]
#![warn(missing_docs, clippy::missing_errors_doc)]

pub mod bits;
pub mod boundaries;
pub mod calls;
pub mod codes;
pub mod config;
pub mod details;
mod error;
pub mod expr;
pub mod frames;
pub mod header;
pub mod id;
mod kept;
pub mod labels;
pub mod lines;
pub mod machine;
pub mod meta;
pub mod names;
pub mod order;
mod parts;
pub mod record;
pub mod records;
mod sites;
pub mod store;
pub mod strings;
pub mod table;
mod tables;
pub mod tapset;
pub mod types;
pub mod users;
pub mod variables;
pub mod varint;
pub mod view;
pub mod writer;

pub use error::{Error, Result};
pub use header::{SectionName, VERSION};
pub use order::ByteOrder;
pub use parts::Left;
pub use table::Table;
pub use view::View;
pub use zerocopy;
