//! Shows the progress of a build on stderr: a bar on a terminal, else an occasional line.
use std::io::Write;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use indicatif::{HumanBytes, HumanDuration, ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::args::When;
use super::memory;
use crate::observer::Observer;
use crate::render::printable;

/// Shows what an [`Observer`] receives.
pub struct Progress {
    shown: Mutex<Shown>,
    with_stages: bool,
    is_quiet: bool,
}

struct Shown {
    form: Form,
    since: Instant,
    said: Instant,
    objects: usize,
    objects_done: usize,
    /// The remaining time is estimated by bytes: vmlinux is as much work as hundreds of modules.
    bytes: u64,
    bytes_done: u64,
}

enum Form {
    Silent,
    /// Redrawn in place.
    Bar(ProgressBar),
    /// One below the other, for `--progress always` into a file.
    Lines(Box<dyn Write + Send>),
}

/// The shortest time between two lines.
const PAUSE: Duration = Duration::from_secs(1);
const BAR: &str = "{msg} [{wide_bar}] {binary_bytes_per_sec}, {eta} left";

impl Progress {
    /// `terminal`: whether the output is a terminal. `quiet` suppresses it, except for `always`.
    pub fn new(when: When, terminal: bool, quiet: bool) -> Self {
        let wanted = match when {
            When::Always => true,
            When::Never => false,
            When::Auto => terminal && !quiet,
        };
        let target = ProgressDrawTarget::stderr_with_hz(10);
        let progress = Self::of(match (wanted, target.is_hidden()) {
            (false, _) => Form::Silent,
            (true, false) => Form::Bar(ProgressBar::with_draw_target(None, target).with_style(style())),
            (true, true) => Form::Lines(Box::new(std::io::stderr())),
        });
        Self { is_quiet: quiet, ..progress }
    }

    /// Reports when each stage of a kernel's build is done.
    pub fn with_stages(self, with_stages: bool) -> Self {
        Self { with_stages, ..self }
    }

    /// A file of this name is being downloaded: bytes so far, and in total.
    #[cfg(feature = "debuginfod")]
    pub fn downloads(&self, name: &str, bytes: u64, whole: Option<u64>) {
        let mut shown = self.shown();
        let of = whole.map_or(String::new(), |whole| format!(" of {}", HumanBytes(whole)));
        let is_due = shown.said.elapsed() >= PAUSE;
        match &mut shown.form {
            Form::Silent => {}
            Form::Bar(bar) => {
                bar.set_length(whole.unwrap_or(bytes));
                bar.set_position(bytes);
                bar.set_message(name.to_owned());
            }
            Form::Lines(target) if is_due => {
                let _ = writeln!(target, "{name}: {}{of}", HumanBytes(bytes));
                shown.said = Instant::now();
            }
            Form::Lines(_) => {}
        }
    }

    fn of(form: Form) -> Self {
        let now = Instant::now();
        let (objects, objects_done, bytes, bytes_done) = (0, 0, 0, 0);
        let shown = Shown { form, since: now, said: now, objects, objects_done, bytes, bytes_done };
        Self { shown: Mutex::new(shown), with_stages: false, is_quiet: false }
    }

    /// Sums are always consistent, so a panic in another thread does not matter.
    fn shown(&self) -> MutexGuard<'_, Shown> {
        self.shown.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Observer for Progress {
    fn started(&self, objects: usize, bytes: u64) {
        let mut shown = self.shown();
        shown.since = Instant::now();
        shown.said = shown.since;
        (shown.objects, shown.bytes) = (objects, bytes);
        if let Form::Bar(bar) = &shown.form {
            bar.set_length(bytes);
            bar.reset_elapsed();
        }
        shown.show();
    }

    fn object_done(&self, _path: &Path, bytes: u64) {
        let mut shown = self.shown();
        shown.objects_done += 1;
        shown.bytes_done += bytes;
        shown.show();
    }

    fn stage(&self, name: &'static str, seconds: f64) {
        if self.with_stages {
            let _ = writeln!(std::io::stderr().lock(), "probeidx: {seconds:7.3} s {name}");
        }
    }

    fn freed(&self) {
        memory::give_back();
    }

    fn waits(&self, folder: &Path, builder: Option<u32>) {
        if !self.is_quiet {
            let who = builder.map_or("another build".to_owned(), |process| format!("process {process}"));
            let line = format!("probeidx: {who} builds in {}: waiting for it", folder.display());
            let line = printable(&line);
            let _ = writeln!(std::io::stderr().lock(), "{line}");
        }
    }

    fn finished(&self) {
        let mut shown = self.shown();
        match &shown.form {
            Form::Bar(bar) => bar.finish_and_clear(),
            Form::Silent | Form::Lines(_) => {
                let elapsed = shown.since.elapsed();
                shown.line(elapsed);
            }
        }
    }
}

impl Shown {
    fn show(&mut self) {
        let objects = format!("{}/{} objects", self.objects_done, self.objects);
        match &self.form {
            Form::Silent => {}
            Form::Bar(bar) => {
                bar.set_message(objects);
                bar.set_position(self.bytes_done);
            }
            Form::Lines(_) if self.said.elapsed() >= PAUSE => self.line(self.since.elapsed()),
            Form::Lines(_) => {}
        }
    }

    /// A failure to write a line does not fail a build.
    fn line(&mut self, elapsed: Duration) {
        self.said = Instant::now();
        let rate = self.bytes_done as f64 / elapsed.as_secs_f64().max(1e-3);
        let left = self.bytes.saturating_sub(self.bytes_done) as f64 / rate.max(1.0);
        let Form::Lines(target) = &mut self.form else { return };
        let _ = writeln!(
            target,
            "{}/{} objects, {}/s, {} left",
            self.objects_done,
            self.objects,
            HumanBytes(rate as u64),
            HumanDuration(Duration::try_from_secs_f64(left).unwrap_or(Duration::MAX)),
        );
    }
}

fn style() -> ProgressStyle {
    ProgressStyle::with_template(BAR).expect("a test reads this template").progress_chars("=> ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    /// A file that a test can read while it is written.
    #[derive(Clone, Default)]
    struct Page(Arc<Mutex<Vec<u8>>>);

    impl Write for Page {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    impl Page {
        fn text(&self) -> String {
            String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
        }
    }

    #[test]
    fn lines_are_seldom_and_the_last_is_complete() {
        let page = Page::default();
        let progress = Progress::of(Form::Lines(Box::new(page.clone())));
        progress.started(4000, 4_000_000);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| (0..1000).for_each(|_| progress.object_done(Path::new("x.ko"), 1000)));
            }
        });
        progress.finished();
        let text = page.text();
        assert!(text.lines().count() < 100, "{text}");
        assert!(text.lines().last().unwrap().starts_with("4000/4000 objects, "), "{text}");
        assert!(text.ends_with("0 seconds left\n"), "{text}");
    }

    #[test]
    fn what_is_left_is_reckoned_by_bytes() {
        let page = Page::default();
        let progress = Progress::of(Form::Lines(Box::new(page.clone())));
        progress.started(2, 4 << 20);
        progress.object_done(Path::new("vmlinux"), 3 << 20);
        progress.shown().line(Duration::from_secs(3));
        assert_eq!(page.text(), "1/2 objects, 1.00 MiB/s, 1 second left\n");
    }

    #[test]
    fn nobody_watching_is_silent() {
        let silent =
            |when, terminal, quiet| matches!(Progress::new(when, terminal, quiet).shown().form, Form::Silent);
        assert!(silent(When::Auto, false, false));
        assert!(silent(When::Auto, true, true));
        assert!(silent(When::Never, true, false));
        assert!(!silent(When::Always, false, true));
    }

    #[test]
    fn the_bar_can_be_drawn() {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden()).with_style(style());
        let progress = Progress::of(Form::Bar(bar.clone()));
        progress.started(2, 100);
        progress.object_done(Path::new("x"), 40);
        assert_eq!((bar.position(), bar.length(), bar.message()), (40, Some(100), "1/2 objects".to_owned()));
        progress.finished();
        assert!(bar.is_finished());
    }
}
