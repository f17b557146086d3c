//! What a segment consists of.

macro_rules! parts {
    ($($(#[$doc:meta])* $name:ident = $text:literal,)*) => {
        /// The parts of a segment, in order.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(usize)]
        pub enum Part { $($(#[$doc])* $name,)* }

        impl Part {
            /// All of them.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];
            /// As errors print it.
            pub const fn text(self) -> &'static str {
                match self { $(Self::$name => $text,)* }
            }
        }
    };
}

parts! {
    /// Strings, sorted within the segment: see [`strings`](crate::strings).
    Strings = "strings",
    /// Rows: `ObjectRecord` without build id.
    Objects = "objects",
    /// Rows: `SectionRecord`.
    Sections = "sections",
    /// Rows: `UnitRecord`.
    Units = "units",
    /// Rows: `StrId`.
    UnitFiles = "unit_files",
    /// Rows: `NameRecord`.
    Names = "names",
    /// A hash table of this segment's rows of names: see [`names`](crate::names).
    NameHash = "name_hash",
    /// Rows: `FunctionRecord` without postings.
    Functions = "functions",
    /// Rows: `CounterRecord`.
    Counters = "counters",
    /// Bytes: see [`variables`](crate::variables).
    FunctionDetails = "function_details",
    /// Rows: `VariableRecord`.
    Variables = "variables",
    /// Rows: the first posting of each function.
    FirstPostings = "first_postings",
    /// Rows: `PlaceId`.
    Postings = "postings",
    /// Rows: `PlaceRecord`.
    Places = "places",
    /// Bytes: see [`details`](crate::details).
    PlaceDetails = "place_details",
    /// Rows: `RangeRecord`.
    Ranges = "ranges",
    /// Rows: `SymbolRecord`.
    Symbols = "symbols",
    /// Rows: `SymbolId`.
    SymbolNames = "symbol_names",
    /// Rows: `TypeRecord`.
    Types = "types",
    /// Rows: `MemberRecord`.
    Members = "members",
    /// Rows: `SequenceRecord`, one for each symbol with lines.
    Sequences = "sequences",
    /// Bytes: see [`lines`](crate::lines).
    Lines = "lines",
    /// Rows: `SiteRecord`.
    Sites = "sites",
    /// The `RefusedRecord`s of this kernel, as in an index: a verdict looks at all of an object.
    Refused = "refused",
    /// `PostingRecord`s: for each object of this kernel, its first one of those; one more than objects.
    FirstRefused = "first_refused",
    /// Rows: `CodeRecord`, one for each symbol with code.
    Code = "code",
    /// Bytes: see [`boundaries`](crate::boundaries).
    Boundaries = "boundaries",
    /// Rows: `TypeUsersRecord`.
    TypeUsers = "type_users",
    /// Rows: `UseRecord`.
    TypeUses = "type_uses",
    /// Rows: `BtfTypeRecord`.
    BtfTypes = "btf_types",
    /// Rows: `CalledRecord`.
    Called = "called",
    /// Rows: `CallRecord`.
    Calls = "calls",
    /// Rows: `FrameRecord`.
    Frames = "frames",
    /// Bytes: see [`frames`](crate::frames).
    FrameRows = "frame_rows",
    /// Rows: `TracepointRecord`.
    Tracepoints = "tracepoints",
    /// Rows: `EventFieldRecord`.
    EventFields = "event_fields",
    /// Rows: `LabelRecord`.
    Labels = "labels",
    /// Rows: `OptionRecord`.
    Options = "options",
    /// The build ids of this kernel's objects, 20 bytes each.
    BuildIds = "build_ids",
    /// `PostingRecord`s: for each object of this kernel, its first record of code; one more than objects.
    CodeStarts = "code_starts",
    /// Bytes: sections of tapsets and metadata, as in an index.
    Blobs = "blobs",
    /// Where each of those is among the bytes: see [`Blob`](super::Blob).
    BlobPlaces = "blob_places",
    /// `PatchedRecord`s: which bytes of the parts above are patches: see [`patch`](crate::store::patch).
    Patched = "patched",
    /// `LineRun`s, sorted: see [`line_runs`](crate::store::line_runs).
    LineRuns = "line_runs",
    /// The runs of this kernel, space after space: see [`Runs`](crate::store::runs::Runs).
    Runs = "runs",
    /// A [`SpaceRecord`](crate::store::runs::levels::SpaceRecord) for each [`Space`](super::Space).
    RunPlaces = "run_places",
    /// The names of what differs from the kernel before, with 1 or 2 records if that is known: see
    /// [`changed`](crate::store::changed).
    Changed = "changed",
}

impl Part {
    /// Whether it is bytes, numbered one by one.
    pub fn is_bytes(self) -> bool {
        matches!(
            self,
            Self::FunctionDetails
                | Self::PlaceDetails
                | Self::Lines
                | Self::Boundaries
                | Self::FrameRows
                | Self::Blobs
                | Self::NameHash
                | Self::BuildIds
                | Self::Refused
                | Self::BlobPlaces
                | Self::Runs
                | Self::RunPlaces
        )
    }
}
