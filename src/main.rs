fn main() {
    let a: Vec<String> = std::env::args().collect();
    if a[1] == "build" {
    let options = probeidx::pipeline::Options { db: "/tmp/db".into(), modules: true, force: true, jobs: 0 };
    let t = std::time::Instant::now();
    let r = probeidx::pipeline::build(&["/usr/lib/debug".into()], &options, &()).unwrap();
    println!("{:?}", t.elapsed());
    for b in &r.built { println!("{b:?}"); }
    println!("{}", r.skipped.len());
    for s in r.skipped.iter().take(20) { println!("{} x{}", s.error, s.count); }
    } else {
        let index = probeidx::query::Index::open("/tmp/db/6.1.0-56-cloud-amd64.pidx".as_ref()).unwrap();
        let mut lines = probeidx::query::listing::Lines::default();
        let mut l = probeidx::query::listing::Lister::new(index.view().unwrap(), true);
        for s in probeidx::query::spec::parse(&a[2]).unwrap() {
            if let probeidx::query::spec::Point::Function(f) = &s.point { l.list(f, &mut lines).unwrap(); }
        }
        lines.sort();
        use std::io::Write;
        let mut o = std::io::BufWriter::with_capacity(1<<20, std::io::stdout().lock());
        for l in lines.iter() { o.write_all(l).unwrap(); o.write_all(b"\n").unwrap(); }
    }
}
