//! # A store: many kernels in little more than what differs between them
//!
//! An update of a kernel changes a hundredth of its functions, and yet no byte of its index stays where it was: ids,
//! addresses and lines of all that follows are others. In a store they are not. Its tables have **rows** that many
//! kernels share, and rows have **shared numbers**: of strings, types, functions, placements, addresses, lines. A kernel
//! is a list of which rows it has, and a translation of shared numbers to its own.
//!
//! ```text
//! record 145,139 of `places` of a kernel
//!    │ runs of Space::Places: from the kernel's records to those of the kernel before it, and on to rows
//!    ▼
//! row 945,002, in the segment that has rows 801,405 to 978,730, as `Table<PlaceRecord>` packs it:
//!    function 41,877 ── back of Space::FunctionIds ──▶ FunctionId 42,016 of this kernel
//!    entry 3,547,037 ── back of Space::Pcs ─────────▶ pc 3,547,101
//!    details         ── where they are in all segments' `place_details`
//! ```
//!
//! * A [`Segment`] is what one kernel adds to the **chain** of segments before it: new rows and bytes, numbered on from
//!   theirs, and how this kernel numbers all of it ([`runs`]). Nothing before it changes, so that a store is only
//!   appended to. Parts are listed and explained in [`Part`].
//! * **Lines** of kernels. A chain has the updates of one, such as 6.1. The first kernel of the next line may follow one of it:
//!   7.3 has a quarter of its rows only then.
//! * **Rows and ids.** A row is found by its content. What others refer to (objects, units, types, functions, placements)
//!   also has an id, which it keeps when its row changes: a struct with one more member is a new row of `types`, and the
//!   same type to all variables.
//! * **Addresses.** An object is cut where its symbols and sections start. A piece keeps its shared addresses as long as
//!   it does not grow, wherever the linker puts it; a kernel has how far each is from where it was before
//!   ([`shift`](runs::shift)). Ranges translate by their start; their length stays.
//! * **Paths** of objects are shared without the release, and without what they begin with: see [`paths`].
//! * **Lines of source.** A file is cut where functions and types are declared; what is between two declarations keeps its shared
//!   lines while it fits. Only lines that differ are in [`line_runs`], so that most files need none.
//! * **Names with numbers** of the preprocessor are shared without them: see [`numbered`].
//! * **Lines and instruction starts** are cut at the functions of the symbol table: `sequences` and `code` have a row for
//!   each, which starts with a state of its own.
//! * **Names** without functions, or without symbols, keep the rows that they have: see `kernel::named`.
//! * **The blacklist** and the build ids of a kernel are in its own segment as they are.
//! * Files of a unit keep their positions: new ones come last, and one that is gone leaves the empty string.
//! * The [`manifest`] names kernels and segments. It is written anew with each change; see there.
//!
//! ## An update, worked by hand
//!
//! Debian's 6.1.0-56 after 6.1.0-55, cloud: two functions changed, and the segment has 0.13 MB. Of 801,405 placements, 862
//! have other details, most because a string constant to which they point has moved: 862 new rows of `places`, with the
//! same ids, so that `postings`, `ranges` and `labels` are as before. The text of vmlinux is 64 bytes shorter from one
//! function on: one more run in [`Space::Pcs`]. `struct` layouts, functions and nearly all line rows are there already. What
//! is new for certain are the build ids of 1,122 objects, 22 kB that cannot be compressed.
//!
//! ## Reading
//!
//! [`View::of_store`](crate::View::of_store) gives a kernel of a store as if it had an index: the same tables with the
//! same records, but that a [`Table`](crate::Table) fetches each from its row ([`Kernel`]), and that objects, units and
//! tracepoints are put together when they are first asked for ([`Records`](crate::records::Records)). Strings have no order there.
//! A question for one thing searches in the runs of each level, and keeps there what it found, for the kernels that are open
//! above it (`runs::found`, `kernel::open`), and where its searches ended, for those that are asked the same
//! (`kernel::recent`). A walk over many makes them one table (`runs::flat`), in which a search costs a tenth, of what is made
//! already for the kernel before. Of tables of which much is asked for, all records are put side by side
//! (`kernel::side_by_side`), and strings that are names are listed (`kernel::named`).
//!
//! What two kernels of a chain have in common, and what only one of them has, is told by runs alone: see [`common`]. Which
//! names differ from the kernel before was found when a kernel was added: see [`changed`], and [`differing`] for what a history
//! tells beyond a comparison.
pub mod changed;
pub mod common;
mod constants;
pub mod differing;
pub mod kernel;
pub mod line_runs;
pub mod manifest;
pub mod moved;
pub mod numbered;
pub mod patch;
pub mod paths;
pub mod record;
pub mod runs;
pub mod segment;
pub mod translate;

pub use kernel::{BLOBS, Kernel, Open};
pub use segment::{Part, Segment, SegmentId, Space};
