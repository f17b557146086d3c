//! What a kernel numbers in its own way, and where new numbers come from.
use super::parts::Part;

macro_rules! spaces {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// What a kernel numbers in its own way.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(usize)]
        pub enum Space { $($(#[$doc])* $name,)* }

        impl Space {
            /// All of them.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];
        }
    };
}

spaces! {
    /// Rows of [`Part::Objects`].
    Objects,
    /// What an object is called from elsewhere: it stays the same when its row changes.
    ObjectIds,
    /// Rows of [`Part::Sections`].
    Sections,
    /// Rows of [`Part::Units`].
    Units,
    /// What a unit is called from elsewhere.
    UnitIds,
    /// Rows of [`Part::UnitFiles`].
    UnitFiles,
    /// Rows of [`Part::Names`].
    Names,
    /// Rows of [`Part::Functions`].
    Functions,
    /// What a function is called from elsewhere: it stays the same when its row changes.
    FunctionIds,
    /// Rows of [`Part::Counters`].
    Counters,
    /// Rows of [`Part::FirstPostings`].
    FirstPostings,
    /// Rows of [`Part::Postings`].
    Postings,
    /// Rows of [`Part::Places`].
    Places,
    /// What a placement is called from elsewhere.
    PlaceIds,
    /// Rows of [`Part::Ranges`].
    Ranges,
    /// Rows of [`Part::Symbols`].
    Symbols,
    /// Rows of [`Part::SymbolNames`].
    SymbolNames,
    /// Rows of [`Part::Types`].
    Types,
    /// What a type is called from elsewhere.
    TypeIds,
    /// Rows of [`Part::Members`].
    Members,
    /// Rows of [`Part::Sequences`].
    Sequences,
    /// Rows of [`Part::Sites`].
    Sites,
    /// Rows of [`Part::Code`].
    Code,
    /// Rows of [`Part::TypeUsers`].
    TypeUsers,
    /// Rows of [`Part::TypeUses`].
    TypeUses,
    /// Rows of [`Part::BtfTypes`].
    BtfTypes,
    /// Rows of [`Part::Called`].
    Called,
    /// Rows of [`Part::Calls`].
    Calls,
    /// Rows of [`Part::Frames`].
    Frames,
    /// Rows of [`Part::Tracepoints`].
    Tracepoints,
    /// Rows of [`Part::EventFields`].
    EventFields,
    /// Rows of [`Part::Labels`].
    Labels,
    /// Rows of [`Part::Options`].
    Options,
    /// Rows of [`Part::Variables`], which all kernels number alike.
    Variables,
    /// Addresses: only the way back, since objects have the same addresses of their own.
    Pcs,
}

/// Where shared numbers come from that are not rows of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum Free {
    /// Objects.
    Objects = 0,
    /// Units.
    Units = 1,
    /// Types.
    Types = 2,
    /// Addresses.
    Pcs = 3,
    /// Lines that do not fit between those that are known.
    Lines = 4,
    /// Functions.
    Functions = 5,
    /// Placements.
    Places = 6,
}

impl Free {
    /// How many there are.
    pub const COUNT: usize = 7;
}

/// Where the new numbers of a space come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// They are the rows of a part.
    Rows(Part),
    /// They are taken from what is free.
    Free(Free),
    /// They are taken from what is free, and lead back by distances: see [`shift`](crate::store::runs::shift).
    Shifted(Free),
    /// They are always given as they are.
    Themselves,
}

impl Space {
    /// Where its new numbers come from.
    pub const fn source(self) -> Source {
        use Source::Rows;
        match self {
            Self::ObjectIds => Source::Free(Free::Objects),
            Self::UnitIds => Source::Free(Free::Units),
            Self::FunctionIds => Source::Free(Free::Functions),
            Self::PlaceIds => Source::Free(Free::Places),
            Self::TypeIds => Source::Free(Free::Types),
            Self::Pcs => Source::Shifted(Free::Pcs),
            Self::Variables => Source::Themselves,
            Self::Objects => Rows(Part::Objects),
            Self::Sections => Rows(Part::Sections),
            Self::Units => Rows(Part::Units),
            Self::UnitFiles => Rows(Part::UnitFiles),
            Self::Names => Rows(Part::Names),
            Self::Functions => Rows(Part::Functions),
            Self::Counters => Rows(Part::Counters),
            Self::FirstPostings => Rows(Part::FirstPostings),
            Self::Postings => Rows(Part::Postings),
            Self::Places => Rows(Part::Places),
            Self::Ranges => Rows(Part::Ranges),
            Self::Symbols => Rows(Part::Symbols),
            Self::SymbolNames => Rows(Part::SymbolNames),
            Self::Types => Rows(Part::Types),
            Self::Members => Rows(Part::Members),
            Self::Sequences => Rows(Part::Sequences),
            Self::Sites => Rows(Part::Sites),
            Self::Code => Rows(Part::Code),
            Self::TypeUsers => Rows(Part::TypeUsers),
            Self::TypeUses => Rows(Part::TypeUses),
            Self::BtfTypes => Rows(Part::BtfTypes),
            Self::Called => Rows(Part::Called),
            Self::Calls => Rows(Part::Calls),
            Self::Frames => Rows(Part::Frames),
            Self::Tracepoints => Rows(Part::Tracepoints),
            Self::EventFields => Rows(Part::EventFields),
            Self::Labels => Rows(Part::Labels),
            Self::Options => Rows(Part::Options),
        }
    }
    /// Whether records lead to numbers of this space, so that a kernel has the way back.
    pub const fn is_referred_to(self) -> bool {
        use Space as S;
        !matches!(
            self,
            S::Objects
                | S::Units
                | S::Functions
                | S::Counters
                | S::FirstPostings
                | S::Places
                | S::Types
                | S::Code
                | S::TypeUsers
                | S::BtfTypes
                | S::Called
                | S::Tracepoints
                | S::Labels
                | S::Options
        )
    }
}
