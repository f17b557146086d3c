//! Handles say what whole answers say.
use crate::support::fixture::RELEASE;
use crate::support::program::KERNEL;
use probeidx::lookup::{Lookup, Placement};
use probeidx::pattern::Pattern;
use probeidx::query::resolve::placement as described;
use probeidx::query::resolve::placement::Wanted;
use probeidx::query::symbolize::frames::Cursor;
use probeidx::query::value::Role;
use probeidx::query::{Index, resolve, spec};

fn with_kernel(test: impl FnOnce(Lookup<'_>)) {
    let index = Index::open(&KERNEL.db.path().join(format!("{RELEASE}.pidx"))).unwrap();
    test(index.lookup().unwrap());
}

/// What both know of a placement, as text.
fn own(p: &Placement<'_>) -> String {
    let calls: Vec<_> = p.calls().map(|(outer, call)| (outer.function(), call.line, call.column)).collect();
    let mut values: Vec<_> = p
        .variables()
        .map(|v| {
            let mut fetch = String::new();
            let is_written = v.write_fetch(&mut fetch).is_ok();
            (v.name().to_vec(), v.is_parameter(), v.type_of().map(|t| t.id()), is_written.then_some(fetch))
        })
        .collect();
    values.sort();
    let symbol = p.symbol().map(|s| (s.name(), s.offset(), s.is_unique()));
    let place =
        (p.at().object, p.at().pc, p.address(), p.section(), p.instance(), p.function(), p.file(), p.line());
    format!(
        "{place:?} {symbol:?} {calls:?} {:?} {:?} {:?} {} {values:?}",
        p.anchor(),
        p.verdicts(),
        p.coverage(),
        p.is_nested()
    )
}

fn whole(p: &described::Placement<'_>) -> String {
    let calls: Vec<_> = p.inlined_into.iter().map(|c| (c.function, c.line, c.column)).collect();
    let mut values: Vec<_> = p
        .values
        .iter()
        .map(|v| (v.name.clone().into_bytes(), v.role == Role::Parameter, v.type_id, v.fetch.clone()))
        .collect();
    values.sort();
    let symbol = p.symbol.map(|s| (s.0, s.1, p.uniqueness.unique));
    let place = (p.object, p.pc, p.address, p.section, p.instance, p.function, p.file, p.line);
    format!(
        "{place:?} {symbol:?} {calls:?} {:?} {:?} {:?} {} {values:?}",
        p.anchor, p.verdicts, *p.coverage, p.is_nested
    )
}

#[test]
fn placements_are_those_of_resolve() {
    with_kernel(|kernel| {
        let mut compared = 0;
        for function in kernel.matching(&Pattern::new("*").unwrap()) {
            let name = std::str::from_utf8(function.name()).unwrap();
            let mut expected = vec![];
            for spec in spec::parse(name).unwrap() {
                let wanted = Wanted { locals: true, ..Wanted::default() };
                resolve::resolve(kernel.view(), &spec, wanted, |p, _| {
                    // What only the symbol table knows is no function here.
                    if (p.file, p.line) == (function.file(), function.line()) {
                        expected.push(whole(&p));
                    }
                    Ok(())
                })
                .unwrap();
            }
            let mut found: Vec<String> = function.placements().map(|p| own(&p)).collect();
            compared += found.len();
            found.sort();
            expected.sort();
            assert_eq!(found, expected, "{name}");
        }
        assert!(compared > 50, "{compared}");
    });
}

#[test]
fn frames_are_those_of_addr() {
    with_kernel(|kernel| {
        let mut cursor = Cursor::new(kernel.view());
        let mut inlined = 0;
        for object in kernel.objects() {
            for range in kernel.view().ranges_of(object) {
                for pc in range.start.get()..range.end.get() {
                    let expected: Vec<_> = cursor.at(object, pc).chain.iter().map(|l| l.function).collect();
                    let address = probeidx::lookup::Address { object, pc };
                    let found: Vec<_> = kernel.frames(address).map(|f| f.function()).collect();
                    assert_eq!(found, expected, "{address:?}");
                    inlined += usize::from(found.len() > 1);
                    let line = cursor.at(object, pc).chain.first().map_or((&[][..], 0), |l| (l.file, l.line));
                    let own = kernel
                        .line_at(address)
                        .filter(|l| l.line > 0)
                        .map_or((&[][..], 0), |l| (l.file, l.line));
                    assert_eq!(own, line, "{address:?}");
                }
            }
        }
        assert!(inlined > 100, "{inlined}");
    });
}

#[test]
fn an_address_is_found_as_it_is_written() {
    with_kernel(|kernel| {
        let submit = kernel.functions(b"submit").next().unwrap().placements().next().unwrap();
        let text = format!("{:#x}", submit.address());
        assert_eq!(kernel.locate(text.as_bytes()), Ok(vec![submit.at()]));
        assert_eq!(kernel.locate(b"vmlinux:submit+0x0"), Ok(vec![submit.at()]));
        assert!(kernel.locate(b"no_such_symbol").is_err() && kernel.locate(b"\xff").is_err());
        assert_eq!(kernel.linked(1), None);
        assert_eq!(kernel.functions(b"\xff\xfe").count() + kernel.symbols(b"\xff").count(), 0);
        let behind = probeidx::lookup::Address { pc: submit.at().pc + 1, ..submit.at() };
        assert_eq!(submit.moved_to(behind).map(|p| p.at()), Some(behind));
        let far = probeidx::lookup::Address { pc: submit.at().pc + 100_000, ..submit.at() };
        assert!(submit.moved_to(far).is_none());
    });
}
