//! `probeidx fleet add`: kernels from indexes, stores, folders, releases, packages and addresses. One is in memory while it is
//! added; nothing of it is written but its segment.
use super::AddLine;
use super::given::{Given, Group};
use super::size;
use crate::cli::args::{self, Build, Command, Request};
use crate::cli::build;
use crate::cli::config::Config;
use crate::cli::exit::Outcome;
use crate::cli::note;
use crate::cli::output::failed;
use crate::error::{Error, ErrorKind, Result};
use crate::fleet::{self, Added};
use crate::query::Index;
use crate::render::{SCHEMA, json_of, printable};
use crate::store;
use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Sender, channel};

/// Adds all that is given. What cannot be read does not keep the rest from being added.
pub fn run(paths: &[PathBuf], lists: &[PathBuf], config: &Config, out: &mut dyn Write) -> Result<Outcome> {
    if config.db.is_dir() && !store::is_store(&config.db) && !crate::kernels::releases(&config.db)?.is_empty()
    {
        let what = "this folder has indexes, and a store is a folder of its own";
        return Err(Error::new(ErrorKind::Usage, what).at(&config.db).hint("name another with --db DIR"));
    }
    let given = Given::read(paths, lists)?;
    let mut run = Run { config, out, added: 0, left_out: vec![], is_part: false };
    given.indexes.iter().try_for_each(|path| run.indexes(path))?;
    given.groups()?.try_for_each(|group| run.build(group?))?;
    run.outcome()
}

struct Run<'r> {
    config: &'r Config,
    out: &'r mut dyn Write,
    added: usize,
    /// What could not be added.
    left_out: Vec<Error>,
    /// Whether a kernel was added without some of its objects.
    is_part: bool,
}

impl Run<'_> {
    /// Adds an index, or the kernels of another store.
    fn indexes(&mut self, path: &Path) -> Result<()> {
        let each = match store::is_store(path) {
            true => store::names(path)?.iter().map(|name| store::path_of(path, name.as_bytes())).collect(),
            false => vec![path.to_owned()],
        };
        for path in each {
            match one(&path, self.config) {
                Ok(added) => self.tell(&added)?,
                Err(error) => self.leave_out(error)?,
            }
        }
        Ok(())
    }

    /// Indexes what belongs together, and adds each kernel while the next is read.
    fn build(&mut self, group: Group) -> Result<()> {
        let args = options(&group.paths)?;
        let config = self.config;
        let (send, added) = channel();
        let report = std::thread::scope(|scope| {
            let building =
                scope.spawn(|| build::in_memory(&args, &group.called, config, &each(config, send)));
            added.iter().try_for_each(|one: Result<Added>| match one {
                Ok(one) => self.tell(&one),
                Err(error) => self.leave_out(error),
            })?;
            building.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        });
        match report {
            Ok(skipped) => self.is_part |= skipped.iter().any(|skipped| skipped.whole_object),
            Err(error) => self.leave_out(error)?,
        }
        Ok(())
    }

    /// Notes what could not be added. Without a place to write to, nothing else can be.
    fn leave_out(&mut self, error: Error) -> Result<()> {
        if error.kind() == ErrorKind::Exhausted
            || error.path().is_some_and(|at| at.starts_with(&self.config.db))
        {
            return Err(error);
        }
        self.left_out.push(error);
        Ok(())
    }

    fn tell(&mut self, added: &Added) -> Result<()> {
        self.added += 1;
        let release = printable(&added.release).to_string();
        let written = match (self.config.json, added.bytes, &added.after) {
            (true, bytes, after) => {
                let after = after.as_deref();
                let line = AddLine { kernel: &release, bytes, after, schema: SCHEMA };
                writeln!(self.out, "{}", json_of(&line))
            }
            (_, 0, _) => writeln!(self.out, "{release}  is there already"),
            (_, bytes, None) => writeln!(self.out, "{release}  {}", size(bytes)),
            (_, bytes, Some(after)) => {
                writeln!(self.out, "{release}  {} after {}", size(bytes), printable(after))
            }
        };
        written.and_then(|()| self.out.flush()).map_err(failed)
    }

    /// The only error is that of the command; of several, each has a line.
    fn outcome(mut self) -> Result<Outcome> {
        if self.added == 0 && self.left_out.len() == 1 {
            return Err(self.left_out.remove(0));
        }
        self.left_out.iter().for_each(|error| note(self.config, &format!("left out: {error}")));
        Ok(if self.is_part || !self.left_out.is_empty() { Outcome::LeftOut } else { Outcome::Done })
    }
}

/// Adds a kernel once it is built, and sends what became of it.
fn each(
    config: &Config,
    send: Sender<Result<Added>>,
) -> impl Fn(&crate::pipeline::Built) -> Result<()> + Sync + use<'_> {
    let send = std::sync::Mutex::new(send);
    move |built| {
        let added = one(&built.index, config);
        // Nobody listens any more if an earlier one could not be written.
        let stops = || Error::new(ErrorKind::Io, "nothing more is added");
        let send = send.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        send.send(added).map_err(|_| stops())
    }
}

fn one(index: &Path, config: &Config) -> Result<Added> {
    fleet::add(&config.db, &Index::open(index)?, &())
}

/// The options of `build` for these paths.
fn options(paths: &[PathBuf]) -> Result<Build> {
    let argv = ["probeidx", "build", "--"].map(OsString::from).into_iter();
    match args::parse(argv.chain(paths.iter().map(|path| path.as_os_str().to_owned())))? {
        Request::Run(request) => match request.command {
            Command::Build(args) => Ok(args),
            _ => Err(Error::new(ErrorKind::Usage, "nothing to build")),
        },
        Request::Show(_) => Err(Error::new(ErrorKind::Usage, "nothing to build")),
    }
}
