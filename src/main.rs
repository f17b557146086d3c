fn main() {
    let options = probeidx::pipeline::Options { db: "/tmp/db".into(), modules: true, force: true, jobs: 0 };
    let t = std::time::Instant::now();
    let r = probeidx::pipeline::build(&["/usr/lib/debug".into()], &options, &()).unwrap();
    println!("{:?}", t.elapsed());
    for b in &r.built { println!("{b:?}"); }
    println!("{}", r.skipped.len());
    for s in r.skipped.iter().take(20) { println!("{} x{}", s.error, s.count); }
}
