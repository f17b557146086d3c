//! How long pages take, in a browser.
use super::Explored;
use super::support::{HOSTILE, Program};
use std::time::Instant;

/// Figures of this machine: `cargo test -p probeidx-web --profile quick --test kernel -- --ignored --nocapture`.
#[test]
#[ignore = "it measures: whoever reads the figures has to know what else the machine does"]
fn measured() {
    let folder = HOSTILE.path();
    let begun = Instant::now();
    let started = Program::start(folder);
    started.get("/");
    eprintln!("start to first answer: {:?}", begun.elapsed());
    let Some(explored) = Explored::new() else { return };
    let browser = &explored.browser;
    explored.open("/");
    std::thread::sleep(std::time::Duration::from_secs(3));
    let key = "(async () => { const q = document.getElementById('q'), list = document.getElementById('results'); q.focus(); const times = [];
        for (const text of ['v', 'vf', 'vfs', 'vfs_', 'vfs_r', 'vfs_re', 'tcp_v4', 'kmall', 'f_pos', 'struct file.f_', 'sched_sw', 'blk_acc']) {
            const shown = new Promise((done) => new MutationObserver((_, o) => { o.disconnect(); done(); }).observe(list, { childList: true }));
            const begun = performance.now(); q.value = text; q.dispatchEvent(new Event('input')); await shown; times.push(Math.round(performance.now() - begun)); }
        return times.join(' '); })()";
    eprintln!("a keystroke to results, ms: {}", browser.promised(key));
    eprintln!("the same again, ms: {}", browser.promised(key));
    for (name, path) in [
        ("vfs_read", "/function?kernel=KERNEL&spec=vfs_read"),
        ("kmalloc", "/function?kernel=KERNEL&spec=kmalloc"),
        ("code of vfs_read", "/code?kernel=KERNEL&at=vfs_read"),
        ("code of 12 KB", "/code?kernel=KERNEL&at=do_check_common"),
        ("struct file", "/type?kernel=KERNEL&name=struct+file"),
        ("history", "/history?name=vfs_read"),
    ] {
        let path = path.replace("KERNEL", &explored.kernel);
        let mut times = vec![];
        for _ in 0..5 {
            explored.open("/");
            let walk = format!(
                "(async () => {{ const begun = performance.now(); const link = document.createElement('a'); link.href = '{path}'; document.body.append(link); link.click(); link.remove();
                while (document.documentElement.dataset.state !== 'ready') await new Promise((r) => setTimeout(r, 1)); await new Promise((r) => requestAnimationFrame(() => setTimeout(r))); return Math.round(performance.now() - begun); }})()"
            );
            times.push(browser.promised(&walk));
        }
        eprintln!("{name}, ms: {times:?}");
    }
    explored.open("/code?kernel=KERNEL&at=do_check_common");
    let scroll = "(async () => { const l = document.querySelector('.listing'); const times = []; let last = performance.now();
        for (let i = 0; i < 120; i++) { l.scrollTop = i * 400; await new Promise(requestAnimationFrame); const now = performance.now(); times.push(now - last); last = now; }
        times.sort((a, b) => a - b); return [60, 114, 119].map((i) => Math.round(times[i])).join(' '); })()";
    eprintln!("a frame while it scrolls, ms, median, 95th, worst: {}", browser.promised(scroll));
    explored.open("/function?kernel=KERNEL&spec=vfs_read");
    let weight = "performance.getEntriesByType('resource').filter((r) => r.name.includes('/assets/')).map((r) => [r.transferSize, r.decodedBodySize]).reduce((a, b) => [a[0] + b[0], a[1] + b[1]], [0, 0]).join(' sent, whole ')";
    eprintln!("page weight in bytes: {}", browser.text(weight));
    let begun = Instant::now();
    let asked: Vec<_> = std::thread::scope(|scope| {
        let one =
            || explored.program.get(&format!("/api/resolve?kernel={}&spec=vfs_read", explored.kernel)).status;
        let threads: Vec<_> = (0..64).map(|_| scope.spawn(one)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert!(asked.iter().all(|status| *status == 200));
    eprintln!("64 function pages at once: {:?}", begun.elapsed());
}
