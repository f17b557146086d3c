//! Names of run-time addresses: of pointers that a record has, and of the frames of a stack.
use crate::query::runtime::address_map::Loaded;
use crate::query::symbolize::frames::{Cursor, Ground, Where};
use probeidx_format::View;
use rustc_hash::FxHashMap;

/// Gives names to addresses of the kernel that runs.
pub trait Namer {
    /// A symbol with its distance: `vfs_read+0x7c`, `[module]` behind it. `None` if none holds the address.
    fn symbol(&mut self, address: u64) -> Option<&str>;
    /// A frame of a stack, by its return address.
    fn frame(&mut self, address: u64) -> &Frame;
    /// The frame of an address that is run, to which nothing returns.
    fn place(&mut self, address: u64) -> &Frame;
}

/// A frame of a stack.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// The symbol that holds the return address, with the distance; the address in hexadecimal if none does.
    pub symbol: String,
    /// The functions that the call belongs to, innermost first: each is inlined into the next. Empty if unknown.
    pub levels: Vec<Level>,
}

/// A function of a frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Level {
    /// Its name.
    pub function: String,
    /// File and line of the call within it; `None` if unknown.
    pub line: Option<(String, u32)>,
}

/// Names from an index. An address that was asked for once is answered from memory.
pub struct IndexNames<'a> {
    view: &'a View<'a>,
    loaded: &'a Loaded,
    cursor: Cursor<'a>,
    symbols: FxHashMap<u64, Option<String>>,
    /// By the address, and how far behind the code of the frame it is.
    frames: FxHashMap<(u64, u32), Frame>,
}

/// Names nothing: for programs, whose addresses are not the kernel's.
#[derive(Debug, Default)]
pub struct NoNames {
    frame: Option<Frame>,
}

impl Namer for NoNames {
    fn symbol(&mut self, _address: u64) -> Option<&str> {
        None
    }

    fn frame(&mut self, address: u64) -> &Frame {
        self.frame.insert(Frame { symbol: format!("{address:#x}"), levels: vec![] })
    }

    fn place(&mut self, address: u64) -> &Frame {
        self.frame(address)
    }
}

/// Addresses that are remembered; with more, all are forgotten.
const MOST: usize = 1 << 16;

impl<'a> IndexNames<'a> {
    /// The names of an index, for a kernel whose parts are loaded there.
    pub fn new(view: &'a View<'a>, loaded: &'a Loaded) -> Self {
        let cursor = Cursor::new(view);
        Self { view, loaded, cursor, symbols: FxHashMap::default(), frames: FxHashMap::default() }
    }

    fn find_symbol(&mut self, address: u64) -> Option<String> {
        let (object, pc) = self.loaded.find(address)?;
        symbol(self.view, self.cursor.at(object, pc), 0)
    }

    fn find_frame(&mut self, address: u64, behind: u32) -> Frame {
        let found = self.loaded.find(address.wrapping_sub(behind.into()));
        let at = found.map(|(object, pc)| self.cursor.at(object, pc));
        let name = at.and_then(|at| symbol(self.view, at, behind));
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let chain = at.filter(|at| at.ground == Ground::Code).map_or(&[][..], |at| &at.chain);
        let level = |level: &crate::query::symbolize::frames::Level<'_>| Level {
            function: text(level.function),
            line: (level.line > 0).then(|| (text(level.file), level.line)),
        };
        Frame {
            levels: chain.iter().map(level).collect(),
            symbol: name.unwrap_or_else(|| format!("{address:#x}")),
        }
    }
}

impl IndexNames<'_> {
    fn known_frame(&mut self, address: u64, behind: u32) -> &Frame {
        let key = (address, behind);
        if !self.frames.contains_key(&key) {
            if self.frames.len() >= MOST {
                self.frames.clear();
            }
            let found = self.find_frame(address, behind);
            self.frames.insert(key, found);
        }
        &self.frames[&key]
    }
}

impl Namer for IndexNames<'_> {
    fn symbol(&mut self, address: u64) -> Option<&str> {
        if !self.symbols.contains_key(&address) {
            if self.symbols.len() >= MOST {
                self.symbols.clear();
            }
            let found = self.find_symbol(address);
            self.symbols.insert(address, found);
        }
        self.symbols[&address].as_deref()
    }

    fn frame(&mut self, address: u64) -> &Frame {
        // A call may be the last instruction of a function: its return address is that of the next one.
        self.known_frame(address, 1)
    }

    fn place(&mut self, address: u64) -> &Frame {
        self.known_frame(address, 0)
    }
}

/// The symbol of what was found, so many bytes further.
fn symbol(view: &View<'_>, at: &Where<'_>, further: u32) -> Option<String> {
    let (held, _) = at.symbol.as_ref()?;
    let name = String::from_utf8_lossy(view.string(held.record.name));
    let module = view.objects.get(at.object.index()).map_or(&b""[..], |o| view.string(o.name));
    let module = match module {
        b"" => String::new(),
        module => format!(" [{}]", String::from_utf8_lossy(module)),
    };
    Some(format!("{name}+{:#x}{module}", held.offset + further))
}
