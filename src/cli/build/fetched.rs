//! Fetches missing debug files from the servers of `$DEBUGINFOD_URLS` (debuginfod-client-config(7)).
use crate::build_id::hex;
use crate::cli::args::{Build, Fetch};
use crate::cli::config::Config;
use crate::cli::note;
use crate::cli::progress::Progress;
use crate::debuginfod::{self, Fetched, Http, fetch};
use crate::discover::{Discovery, Input, KernelInputs};
use crate::error::Result;
use crate::live::gather;
use indicatif::HumanBytes;
use rayon::prelude::*;
use rustc_hash::FxHashSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

/// The servers, and which debug files to fetch.
pub struct Servers {
    config: debuginfod::Config,
    http: Http,
    what: Fetch,
}

/// The number of concurrent downloads, kept low because servers are shared.
const AT_ONCE: usize = 4;

/// Larger than any vmlinux; larger debug information cannot be read anyway.
const MOST: u64 = 4 << 30;

/// The number of failures after which no more modules are requested.
const FAILURES: usize = 3;

impl Servers {
    /// The servers in the environment; `None` if there are none, or if nothing is to be fetched.
    pub fn of_environment(args: &Build, config: &Config) -> Option<Self> {
        let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        let urls = variable("DEBUGINFOD_URLS").filter(|_| args.debuginfod > Fetch::Nothing)?;
        let (servers, others): (Vec<&str>, Vec<&str>) = urls
            .split_whitespace()
            .partition(|url| url.starts_with("http://") || url.starts_with("https://"));
        for other in others {
            note(config, &format!("DEBUGINFOD_URLS: neither http nor https, and left out: {other}"));
        }
        let servers: Vec<String> = servers.into_iter().map(str::to_owned).collect();
        let cache = cache(|name| variable(name).map(PathBuf::from))?;
        let number = |name: &str| variable(name)?.trim().parse::<i64>().ok();
        let seconds = match number("DEBUGINFOD_TIMEOUT") {
            Some(seconds @ 1..) => seconds.unsigned_abs().min(NO_LIMIT),
            Some(_) => NO_LIMIT,
            None => 90,
        };
        let timeout = Duration::from_secs(seconds);
        let most =
            number("DEBUGINFOD_MAXSIZE").and_then(|most| u64::try_from(most).ok()).filter(|most| *most > 0);
        let retries = number("DEBUGINFOD_RETRY_LIMIT").and_then(|n| u32::try_from(n).ok()).unwrap_or(2);
        let config = debuginfod::Config { servers, cache, timeout, retries, most: most.unwrap_or(MOST) };
        let is_some = !config.servers.is_empty();
        is_some.then(|| Self { http: Http::new(timeout), config, what: args.debuginfod })
    }

    /// Fetches what is missing, and reports what came from where. What cannot be fetched stays as it is; the reason is
    /// reported.
    pub fn complete(
        &self,
        found: &mut Discovery,
        running: Option<&str>,
        config: &Config,
        progress: &Progress,
    ) {
        for kernel in &mut found.kernels {
            let Some(vmlinux) = &mut kernel.vmlinux else { continue };
            let name = format!("vmlinux of {}", kernel.release);
            let was_fetched = vmlinux.lacks.is_some();
            if was_fetched && !self.vmlinux(vmlinux, &name, config, progress) {
                continue;
            }
            let is_running = running == Some(&*kernel.release);
            self.modules(kernel, is_running, was_fetched, config, progress);
        }
    }

    /// Fetches the debug information of vmlinux if missing. Returns whether it has some now.
    fn vmlinux(&self, vmlinux: &mut Input, name: &str, config: &Config, progress: &Progress) -> bool {
        let Some(id) = vmlinux.lacks.clone() else { return true };
        let watch = |bytes, whole| progress.downloads(name, bytes, whole);
        let said = match self.put(vmlinux, &id, &watch) {
            Ok(Some(Fetched { server: Some(server), size, .. })) => {
                format!("fetched {name}, {}, from {server} (build id {})", HumanBytes(size), hex(&id))
            }
            Ok(Some(Fetched { path, .. })) => {
                format!("{name} is in the cache of debuginfod: {}", path.display())
            }
            Ok(None) => {
                let servers = self.config.servers.join(" ");
                note(config, &format!("debuginfod has no {name} (build id {}): {servers}", hex(&id)));
                return false;
            }
            Err(error) => {
                note(config, &format!("{name} was not fetched: {error}"));
                return false;
            }
        };
        note(config, &said);
        true
    }

    /// Fetches the debug file of a build id in place of the object.
    fn put(&self, input: &mut Input, id: &[u8], watch: debuginfod::Watch<'_>) -> Result<Option<Fetched>> {
        let fetched = fetch(&self.config, &self.http, id, watch)?;
        if let Some(fetched) = &fetched {
            input.read_instead(&fetched.path)?;
        }
        Ok(fetched)
    }

    fn modules(
        &self,
        kernel: &mut KernelInputs,
        is_running: bool,
        was_fetched: bool,
        config: &Config,
        progress: &Progress,
    ) {
        let loaded = if is_running && self.what == Fetch::Loaded { loaded() } else { FxHashSet::default() };
        let is_wanted = |module: &Input| match self.what {
            Fetch::All => true,
            Fetch::Loaded => module.name.as_ref().is_some_and(|name| loaded.contains(name)),
            Fetch::Kernel | Fetch::Nothing => false,
        };
        if was_fetched {
            let before = kernel.modules.len();
            kernel.modules.retain(|module| module.lacks.is_none() || is_wanted(module));
            let dropped = before - kernel.modules.len();
            if dropped > 0 {
                let why = if self.what == Fetch::Loaded { " as they are not loaded" } else { "" };
                let what = format!("{dropped} modules were not asked for{why}, and are not indexed");
                note(config, &format!("{what}: --debuginfod all fetches them too"));
            }
        }
        let mut lacking: Vec<(Vec<u8>, &mut Input)> = vec![];
        for module in kernel.modules.iter_mut().filter(|module| is_wanted(module)) {
            lacking.extend(module.lacks.clone().map(|id| (id, module)));
        }
        if lacking.is_empty() {
            return;
        }
        let all = lacking.len();
        let (done, bytes, fresh, absent) =
            (AtomicUsize::new(0), AtomicU64::new(0), AtomicUsize::new(0), AtomicUsize::new(0));
        let failures = std::sync::Mutex::new(vec![]);
        let fetch = |(id, module): (Vec<u8>, &mut Input)| {
            let failed = || failures.lock().map_or(0, |failures| failures.len());
            if failed() >= FAILURES {
                return;
            }
            match self.put(module, &id, &|_, _| {}) {
                Ok(Some(fetched)) if fetched.server.is_some() => {
                    fresh.fetch_add(1, Ordering::Relaxed);
                    bytes.fetch_add(fetched.size, Ordering::Relaxed);
                }
                Ok(Some(_)) => {}
                Ok(None) => drop(absent.fetch_add(1, Ordering::Relaxed)),
                Err(error) => failures.lock().map_or((), |mut failures| failures.push(error)),
            }
            let done = done.fetch_add(1, Ordering::Relaxed) + 1;
            progress.downloads(&format!("{done}/{all} modules"), bytes.load(Ordering::Relaxed), None);
        };
        match rayon::ThreadPoolBuilder::new().num_threads(AT_ONCE).build() {
            Ok(pool) => pool.install(|| lacking.into_par_iter().with_max_len(1).for_each(fetch)),
            Err(_) => lacking.into_iter().for_each(fetch),
        }
        let (fresh, absent) = (fresh.into_inner(), absent.into_inner());
        if fresh > 0 {
            let (size, servers) = (HumanBytes(bytes.into_inner()), self.config.servers.join(" "));
            note(config, &format!("fetched {fresh} of {all} modules, {size}, from {servers}"));
        }
        if absent > 0 {
            note(config, &format!("debuginfod has {absent} of {all} modules not"));
        }
        let failures = failures.into_inner().unwrap_or_default();
        for failure in &failures {
            note(config, &format!("a module was not fetched: {failure}"));
        }
        if failures.len() >= FAILURES {
            note(config, "no more modules were asked for");
        }
    }
}

/// Whether the environment requests progress output.
pub fn shows_progress() -> bool {
    std::env::var_os("DEBUGINFOD_PROGRESS").is_some()
}

/// A timeout of a year means no limit.
const NO_LIMIT: u64 = 365 * 24 * 60 * 60;

/// The folder of the cache, as elfutils chooses it.
fn cache(variable: impl Fn(&str) -> Option<PathBuf>) -> Option<PathBuf> {
    let old = || Some(variable("HOME")?.join(".debuginfod_client_cache")).filter(|old| old.is_dir());
    let of_desktop = || Some(variable("XDG_CACHE_HOME")?.join("debuginfod_client"));
    let usual = || Some(variable("HOME")?.join(".cache/debuginfod_client"));
    variable("DEBUGINFOD_CACHE_PATH").or_else(old).or_else(of_desktop).or_else(usual)
}

/// The names of the loaded modules.
fn loaded() -> FxHashSet<String> {
    let modules = gather::modules(Path::new("/")).unwrap_or_default();
    modules.into_iter().map(|module| module.name).collect()
}
