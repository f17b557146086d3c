//! Compares a kernel of a store with its index, record by record.
use probeidx_format::View;
use probeidx_format::calls::Call;
use probeidx_format::details::{Item, Location};
use probeidx_format::expr::{Expr, forget_reference};
use probeidx_format::id::{FunctionId, NameId, PlaceId, StrId, TypeId, UnitId};
use probeidx_format::record::*;

/// The first record that differs between two views of one kernel; `None` if all are the same. Ids are, strings are by
/// text. Cost: decodes everything.
pub fn difference(own: &View<'_>, other: &View<'_>) -> Option<String> {
    Pair { own, other }.difference()
}

struct Pair<'v> {
    own: &'v View<'v>,
    other: &'v View<'v>,
}

macro_rules! same {
    ($what:expr, $at:expr, $own:expr, $other:expr) => {
        if $own != $other {
            return Some(told(
                &format!("{} {}", $what, $at),
                &format!("{:?}", $own),
                &format!("{:?}", $other),
            ));
        }
    };
}

/// The first place where two texts differ.
fn told(what: &str, own: &str, other: &str) -> String {
    let at = own.bytes().zip(other.bytes()).take_while(|(a, b)| a == b).count();
    let around = |text: &str| {
        let text = text.as_bytes();
        String::from_utf8_lossy(&text[at.saturating_sub(200)..text.len().min(at + 100)]).into_owned()
    };
    format!("{what}:\n{}\nis\n{}", around(own), around(other))
}

fn text<'a>(view: &View<'a>, id: StrId) -> String {
    String::from_utf8_lossy(view.string(id)).into_owned()
}

impl Pair<'_> {
    fn difference(&self) -> Option<String> {
        let Self { own, other } = self;
        same!("release", "", text(own, own.release_id()), text(other, other.release_id()));
        same!("objects", "", own.objects.len(), other.objects.len());
        for (at, (a, b)) in own.objects.iter().zip(other.objects).enumerate() {
            let fields = |view: &View<'_>, o: &ObjectRecord| {
                let firsts = [
                    o.first_section,
                    o.first_symbol,
                    o.first_unit,
                    o.first_place,
                    o.first_range,
                    o.first_site,
                    o.first_refused,
                    o.first_frame,
                ];
                (
                    text(view, o.name),
                    o.base.get(),
                    o.build_id,
                    firsts.map(|f| f.get()),
                    o.flags.get(),
                    o.unread.get(),
                    o.core_start,
                    o.core_end,
                )
            };
            same!("object", at, fields(own, a), fields(other, b));
        }
        self.tables()
            .or_else(|| self.functions())
            .or_else(|| self.types())
            .or_else(|| self.places())
            .or_else(|| self.code())
    }
    fn tables(&self) -> Option<String> {
        macro_rules! table {
            ($what:literal, $table:ident, $fields:expr) => {{
                same!($what, "length", self.own.$table.len(), self.other.$table.len());
                let (mut a, mut b) = (self.own.$table.iter(), self.other.$table.iter());
                for at in 0..self.own.$table.len() {
                    let fields = $fields;
                    same!(
                        $what,
                        at,
                        a.next().map(|r| fields(self.own, r)),
                        b.next().map(|r| fields(self.other, r))
                    );
                }
            }};
        }
        table!("section", sections, |v: &View<'_>, r: SectionRecord| (
            text(v, r.name),
            r.flags.get(),
            r.address.get(),
            r.size.get(),
            r.pc
        ));
        same!("name", "length", self.own.names.len(), self.other.names.len());
        for at in 0..self.own.names.owners().len() {
            let name = NameId::new(at as u32);
            let named = |v: &View<'_>| {
                let functions = v.functions_named(name).collect::<Vec<_>>();
                let symbols = v.symbols_named(name).iter().collect::<Vec<_>>();
                (text(v, v.names.at(at).name), functions, symbols)
            };
            same!("name", at, named(self.own), named(self.other));
        }
        table!("range", ranges, |_: &View<'_>, r: RangeRecord| (r.start, r.end, r.place));
        table!("symbol", symbols, |v: &View<'_>, r: SymbolRecord| (
            text(v, r.name),
            r.pc,
            r.size.get(),
            r.section.get(),
            r.flags.get()
        ));
        for at in 0..self.own.objects.len() - 1 {
            let object = probeidx_format::id::ObjectId::new(at as u32);
            let sites = |v: &View<'_>| {
                v.sites_of(object).iter().map(|s| (s.start, s.length, s.kind)).collect::<Vec<_>>()
            };
            same!("sites of object", at, sites(self.own), sites(self.other));
            let refused = |v: &View<'_>| {
                v.refused_of(object).iter().map(|s| (s.start, s.end, s.source.get())).collect::<Vec<_>>()
            };
            same!("refused of object", at, refused(self.own), refused(self.other));
            let frames = |v: &View<'_>| {
                v.frames_of(object)
                    .iter()
                    .map(|f| (f.start, f.end, v.frame_rows(f).collect::<Vec<_>>()))
                    .collect::<Vec<_>>()
            };
            same!("frames of object", at, frames(self.own), frames(self.other));
        }
        let labels = |v: &View<'_>| {
            v.labels().map(|l| (l.place, text(v, l.name), l.line, l.distance, l.block)).collect::<Vec<_>>()
        };
        same!("labels", "", labels(self.own), labels(self.other));
        let points = |v: &View<'_>| {
            let fields = |t: &TracepointRecord| {
                v.event_fields(t)
                    .iter()
                    .map(|f| {
                        (text(v, f.name), text(v, f.type_name), f.offset.get(), f.size.get(), f.flags.get())
                    })
                    .collect::<Vec<_>>()
            };
            v.tracepoints()
                .iter()
                .map(|t| {
                    (
                        text(v, t.name),
                        text(v, t.system),
                        t.object,
                        t.pc,
                        t.prototype,
                        fields(t),
                        t.flags.get(),
                    )
                })
                .collect::<Vec<_>>()
        };
        same!("tracepoints", "", points(self.own), points(self.other));
        for (name, value) in self.own.options() {
            same!("option", String::from_utf8_lossy(name), Some(value), self.other.option(name));
        }
        None
    }
    fn functions(&self) -> Option<String> {
        same!("functions", "", self.own.functions.len(), self.other.functions.len());
        for at in 0..self.own.functions.owners().len() {
            let fields = |v: &View<'_>| {
                let f = v.functions.at(at);
                let own = v.variables(f);
                let returned = own.return_type;
                let variables: Vec<_> =
                    own.map(|x| (text(v, x.name), x.type_id, x.line, x.parameter, x.nested)).collect();
                let places: Vec<PlaceId> = v.places_of_function(FunctionId::new(at as u32)).collect();
                let calls: Vec<Call> = v.calls(FunctionId::new(at as u32)).collect();
                let flags = f.flags.get();
                (text(v, f.name), text(v, f.file), f.line.get(), flags, returned, variables, places, calls)
            };
            same!("function", at, fields(self.own), fields(self.other));
        }
        None
    }
    fn types(&self) -> Option<String> {
        same!("types", "", self.own.types.len(), self.other.types.len());
        for at in 0..self.own.types.owners().len() {
            let id = TypeId::new(at as u32);
            let fields = |v: &View<'_>| {
                let t = v.types.at(at);
                let members: Vec<_> =
                    v.members(id).iter().map(|m| (text(v, m.name), m.target, m.value.get())).collect();
                let users: Vec<_> = v.users(id).collect();
                (
                    text(v, t.name),
                    text(v, t.file),
                    t.line.get(),
                    t.size.get(),
                    t.target,
                    t.kind,
                    t.encoding,
                    t.flags.get(),
                    members,
                    users,
                )
            };
            same!("type", at, fields(self.own), fields(self.other));
        }
        None
    }
    fn places(&self) -> Option<String> {
        same!("places", "", self.own.places.len(), self.other.places.len());
        for unit in 0..self.own.units.len() - 1 {
            let unit = UnitId::new(unit as u32);
            let name = |v: &View<'_>| {
                let u = v.units[unit.index()];
                (text(v, u.name), text(v, u.producer), u.flags.get(), u.version.get())
            };
            same!("unit", unit.get(), name(self.own), name(self.other));
            same!(
                "places of unit",
                unit.get(),
                self.own.places_of_unit(unit),
                self.other.places_of_unit(unit)
            );
            for at in self.own.places_of_unit(unit) {
                let fields = |v: &View<'_>| {
                    let (id, place) = (PlaceId::new(at as u32), v.places.at(at));
                    let details = v.details(id, place);
                    let call = details.call.map(|c| {
                        let file = v.unit_file(unit, c.file);
                        (text(v, file), v.line(file, c.line), c.column)
                    });
                    let items: Vec<String> = details.items.map(item).collect();
                    (
                        place.function,
                        place.entry,
                        details.outer,
                        v.outer(id, place),
                        details.ranges.collect::<Vec<_>>(),
                        call,
                        items,
                    )
                };
                same!("place", at, fields(self.own), fields(self.other));
            }
        }
        None
    }
    fn code(&self) -> Option<String> {
        for object in self.own.object_ids() {
            let rows = |v: &View<'_>| {
                let of = |s: SequenceRecord| {
                    let mut end = s.end.get();
                    let rows: Vec<_> = v
                        .rows(s)
                        .map(|r| {
                            end = end.max(r.pc);
                            let file = v.unit_file(s.unit, r.position.file);
                            (
                                r.pc,
                                text(v, file),
                                v.line(file, r.position.line),
                                r.position.column,
                                r.is_stmt,
                                s.unit,
                            )
                        })
                        .collect();
                    rows
                };
                v.sequences_of(object).iter().flat_map(of).collect::<Vec<_>>()
            };
            let (a, b) = (rows(self.own), rows(self.other));
            same!("rows of object", object.get(), a.len(), b.len());
            for (at, (a, b)) in a.iter().zip(&b).enumerate() {
                same!("row", at, a, b);
            }
            for section in self.own.sections_of(object) {
                let step = (section.size.get() as usize / 97).max(1);
                for offset in (0..section.size.get() as u32).step_by(step) {
                    let is = |v: &View<'_>| v.is_boundary(object, section, offset);
                    same!("boundary", offset, is(self.own), is(self.other));
                }
            }
        }
        None
    }
}

/// An item of details as text.
pub fn item(item: Item<'_>) -> String {
    let expr = |e: Expr<'_>| {
        let mut operations = e.operations();
        forget_reference(&mut operations);
        operations
    };
    match item {
        Item::Block(ranges) => format!("block {:?}", ranges.collect::<Vec<_>>()),
        Item::End => "end".into(),
        Item::Variable(index, Location::List(list)) => {
            format!("{index} {:?}", list.map(|(range, e)| (range, expr(e))).collect::<Vec<_>>())
        }
        Item::Variable(index, Location::Within(range, e)) => format!("{index} {range:?} {:?}", expr(e)),
        Item::Variable(index, Location::Everywhere(e)) => format!("{index} everywhere {:?}", expr(e)),
        Item::Variable(index, Location::Bytes(bytes)) => format!("{index} bytes {bytes:?}"),
        Item::Variable(index, Location::Constant(value)) => format!("{index} constant {value}"),
        Item::Variable(index, Location::None) => format!("{index} nowhere"),
    }
}
