//! What there is on this machine to test against.
use crate::sample::{Random, seed};
use probeidx::load::{Image, elf::Elf};
use std::collections::BTreeSet;
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, Once, PoisonError};

/// A kernel with its debuginfo and its modules. All but the first three may be missing.
pub struct Kernel {
    pub release: String,
    /// Without debuginfo, the image.
    pub vmlinux: PathBuf,
    pub debug_modules: PathBuf,
    /// The image that boots.
    pub image: PathBuf,
    /// The modules as they are loaded, in `kernel/`.
    pub modules: PathBuf,
    /// What modules are compiled against.
    pub headers: PathBuf,
    pub architecture: Architecture,
}

/// On which machine a kernel boots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Architecture {
    X86_64,
    I386,
    Arm,
    Arm64,
    S390x,
    Powerpc64,
    Riscv64,
}

impl Architecture {
    /// Of an ELF file or a boot image, by its header.
    fn of(file: &Path) -> Self {
        use std::io::Read;
        let mut header = [0; 64];
        let _ = std::fs::File::open(file).and_then(|mut file| file.read_exact(&mut header));
        // Documentation/arch/arm64/booting.rst
        if header[0x38..0x3c] == *b"ARM\x64" {
            return Self::Arm64;
        }
        // `e_machine`, in the order of the file's bytes.
        match [header[18], header[19]] {
            [3, 0] => Self::I386,
            [40, 0] => Self::Arm,
            [183, 0] => Self::Arm64,
            [0, 22] => Self::S390x,
            [21, 0] => Self::Powerpc64,
            [243, 0] => Self::Riscv64,
            _ => Self::X86_64,
        }
    }
    /// The C compiler for it, on x86-64.
    pub fn compiler(self) -> &'static str {
        match self {
            Self::X86_64 => "gcc",
            Self::I386 => "i686-linux-gnu-gcc",
            Self::Arm => "arm-linux-gnueabihf-gcc",
            Self::Arm64 => "aarch64-linux-gnu-gcc",
            Self::S390x => "s390x-linux-gnu-gcc",
            Self::Powerpc64 => "powerpc64le-linux-gnu-gcc",
            Self::Riscv64 => "riscv64-linux-gnu-gcc",
        }
    }
}

impl Kernel {
    /// Whether it is one of those by which the cases of values and limits were made: 6.1 to 6.12, and riscv64 of any version:
    /// Debian's first is 7.2. Says so if it is not.
    pub fn is_of_cases(&self) -> bool {
        let is_known =
            self.architecture == Architecture::Riscv64 || (6..7).contains(&numbers(&self.release)[0]);
        if !is_known {
            say(&format!("skipped: {}: the cases are of 6.1 to 6.12", self.release));
        }
        is_known && self.has_debug_information()
    }

    /// Whether there is debug information. Says so if not.
    pub fn has_debug_information(&self) -> bool {
        let has = self.vmlinux != self.image;
        if !has {
            say(&format!("skipped: {}: no debug information", self.release));
        }
        has
    }

    /// The first two numbers of its release.
    pub fn version(&self) -> (u64, u64) {
        let numbers = numbers(&self.release);
        (numbers[0], numbers.get(1).copied().unwrap_or_default())
    }

    /// Whether `scripts/built-kernels` built it, without modules and with no more than it needs: its
    /// headers are the tree in which it was linked.
    pub fn is_own_build(&self) -> bool {
        self.headers.join("vmlinux.o").exists()
    }

    /// Whether it has the symbols of data for itself (CONFIG_KALLSYMS_ALL): see `System.map`.
    pub fn carries_data(&self) -> bool {
        let beside = self.image.with_file_name(format!("config-{}", self.release));
        let config = if beside.exists() { beside } else { self.modules.join("config") };
        let config = std::fs::read_to_string(&config).unwrap_or_else(|e| panic!("{}: {e}", config.display()));
        config.contains("\nCONFIG_KALLSYMS_ALL=y")
    }

    /// As distributions lay a kernel out below a root; without links from `/lib` to `/usr/lib` too.
    fn below(root: &Path, release: String) -> Self {
        let first = |places: [String; 2]| {
            let [usual, other] = places.map(|place| root.join(place));
            if usual.exists() { usual } else { other }
        };
        let modules = first([format!("lib/modules/{release}"), format!("usr/lib/modules/{release}")]);
        // Debian's riscv64 has a flat image under the other name.
        let in_boot = first(["vmlinuz", "vmlinux"].map(|name| format!("boot/{name}-{release}")));
        let image = if in_boot.exists() { in_boot } else { modules.join("vmlinuz") };
        let vmlinux = first([
            format!("usr/lib/debug/boot/vmlinux-{release}"),
            format!("usr/lib/debug/lib/modules/{release}/vmlinux"),
        ]);
        let debug_modules = first([
            format!("usr/lib/debug/lib/modules/{release}"),
            format!("usr/lib/debug/usr/lib/modules/{release}"),
        ]);
        let [vmlinux, debug_modules] =
            if vmlinux.exists() { [vmlinux, debug_modules] } else { [image.clone(), modules.clone()] };
        Self {
            architecture: Architecture::of(&vmlinux),
            vmlinux,
            debug_modules,
            image,
            headers: root.join(format!("usr/src/linux-headers-{release}")),
            modules,
            release,
        }
    }
}

/// The kernel to test with: `$PROBEIDX_TEST_RELEASE`, else the newest that is whole.
pub fn kernel() -> Result<Kernel, String> {
    let mut releases = releases_below(Path::new("/"));
    if let Ok(asked) = std::env::var("PROBEIDX_TEST_RELEASE") {
        releases.retain(|r| *r == asked);
    }
    releases.retain(|r| Path::new("/lib/modules").join(r).join("modules.dep").is_file());
    let release = releases.into_iter().max_by_key(|r| numbers(r));
    let release = release.ok_or("no kernel here with modules and a vmlinux below /usr/lib/debug/boot")?;
    Ok(Kernel::below(Path::new("/"), release))
}

/// The kernels that are booted, from the oldest to the newest: those below the folders of `$PROBEIDX_KERNELS`, colons between
/// them, where `/` is what is installed; else that, and what `scripts/kernels` unpacked into target/tmp/kernels.
pub fn kernels() -> Result<Vec<Kernel>, String> {
    let folders: Vec<PathBuf> = match std::env::var_os("PROBEIDX_KERNELS") {
        Some(folders) => std::env::split_paths(&folders).collect(),
        None => {
            let all = std::fs::read_dir(scratch("kernels")).into_iter().flatten().flatten();
            std::iter::once("/".into()).chain(all.map(|folder| folder.path())).collect()
        }
    };
    let below = |root: &PathBuf| match root.as_os_str() == "/" {
        true => kernel().into_iter().collect::<Vec<_>>(),
        false => releases_below(root).into_iter().map(|release| Kernel::below(root, release)).collect(),
    };
    let mut found: Vec<Kernel> = folders.iter().flat_map(below).collect();
    found.sort_by_key(|kernel| (numbers(&kernel.release), kernel.release.clone()));
    found.dedup_by(|a, b| a.release == b.release);
    match found.is_empty() {
        true => Err("no kernel to boot here: run scripts/kernels".to_owned()),
        false => Ok(found),
    }
}

/// Runs a test on [`kernels`]: on each of those that `$PROBEIDX_KERNELS` asks for, else on two, other ones for another test and by
/// another seed, one of them for x86-64. A failure on one is told, and the next has its turn.
pub fn on_each(test: fn(&Kernel)) {
    on_some(two_of, test);
}

/// The same of a test that takes minutes: if none is asked for, on one, which is for x86-64 two times in three.
pub fn on_one(test: fn(&Kernel)) {
    on_some(one_of, test);
}

fn on_some(choose: fn(Vec<Kernel>, &mut Random) -> Vec<Kernel>, test: fn(&Kernel)) {
    let Some(mut kernels) = needed(kernels()) else { return };
    if std::env::var_os("PROBEIDX_KERNELS").is_none() {
        let name = std::thread::current().name().unwrap_or_default().to_owned();
        let of_name = BuildHasherDefault::<DefaultHasher>::default().hash_one(name);
        kernels = choose(kernels, &mut Random(seed() ^ of_name));
    }
    let fails = |kernel: &&Kernel| {
        let start = std::time::Instant::now();
        let failed = std::panic::catch_unwind(|| test(kernel)).is_err();
        let name = std::thread::current().name().unwrap_or_default().to_owned();
        say(&format!("{}: {name} took {} s", kernel.release, start.elapsed().as_secs()));
        failed
    };
    let failed: Vec<&str> = kernels.iter().filter(fails).map(|kernel| kernel.release.as_str()).collect();
    assert!(failed.is_empty(), "it fails on {failed:?}");
}

/// One of these, which is for x86-64 two times in three if one is.
fn one_of(kernels: Vec<Kernel>, random: &mut Random) -> Vec<Kernel> {
    let mut two = two_of(kernels, random);
    if two.len() > 1 {
        two.remove(usize::from(random.below(3) > 0));
    }
    two
}

/// Two of these, one of them for x86-64 if one is.
fn two_of(mut kernels: Vec<Kernel>, random: &mut Random) -> Vec<Kernel> {
    kernels = random.choose(kernels, usize::MAX);
    kernels.sort_by_key(|kernel| kernel.architecture != Architecture::X86_64);
    let rest = kernels.split_off(kernels.len().min(1));
    kernels.extend(random.choose(rest, 1));
    kernels
}

/// The newest of [`kernels`] for x86-64, if it is newer than the installed one and the tools of this machine, to which answers
/// are compared, are as new as its compiler: older ones read its debug information otherwise, or not.
pub fn newer() -> Result<Kernel, String> {
    let installed = kernel().map(|kernel| numbers(&kernel.release)).unwrap_or_default();
    let here = Command::new("gcc").arg("-dumpversion").output().map_err(|e| format!("gcc: {e}"))?;
    let here = numbers(&String::from_utf8_lossy(&here.stdout));
    let is_known = |k: &Kernel| numbers(&compiler(k)).first() <= here.first();
    let mut found = kernels()?;
    found
        .retain(|k| k.architecture == Architecture::X86_64 && numbers(&k.release) > installed && is_known(k));
    found.pop().ok_or_else(|| "no newer kernel that the tools here know: run scripts/kernels".to_owned())
}

/// As compilers leave their names in `.comment`.
pub fn compiler(kernel: &Kernel) -> String {
    let told = Image::open(&kernel.vmlinux).ok().and_then(|image| {
        let object = Elf::parse(image.bytes()).ok()?;
        let comment = object.section(".comment")?.data().ok()?;
        let names: Vec<String> = comment
            .split(|b| *b == 0)
            .map(|name| String::from_utf8_lossy(name).trim().to_owned())
            .filter(|name| !name.is_empty())
            .collect();
        Some(names)
    });
    let mut names = told.unwrap_or_default();
    names.dedup();
    // `GCC: (Debian 10.2.1-6) 10.2.1 20210110`, `rustc version 1.92.0 (…)`
    let short = |name: &String| {
        let outside = |text: &str| text.split(['(', ')']).step_by(2).collect::<String>();
        outside(name).replace("GCC:", "GCC").split_whitespace().take(4).collect::<Vec<_>>().join(" ")
    };
    if names.is_empty() {
        "not told".to_owned()
    } else {
        names.iter().map(short).collect::<Vec<_>>().join(", ")
    }
}

/// Those of [`kernels`] that are for arm64.
pub fn arm64() -> Result<Vec<Kernel>, String> {
    let mut found = kernels()?;
    found.retain(|kernel| kernel.architecture == Architecture::Arm64);
    match found.is_empty() {
        true => Err("no arm64 kernel here: run scripts/kernels --arch arm64".to_owned()),
        false => Ok(found),
    }
}

fn releases_below(root: &Path) -> Vec<String> {
    let names = |folder: &str| {
        let names = std::fs::read_dir(root.join(folder)).into_iter().flatten().flatten();
        names.filter_map(|e| e.file_name().into_string().ok()).collect::<Vec<_>>()
    };
    let in_boot = names("usr/lib/debug/boot");
    let in_boot = in_boot.iter().filter_map(|n| n.strip_prefix("vmlinux-").map(str::to_owned));
    let modules = "usr/lib/debug/lib/modules";
    let is_whole = |release: &String| root.join(modules).join(release).join("vmlinux").exists();
    let mut found: BTreeSet<String> = in_boot.chain(names(modules).into_iter().filter(is_whole)).collect();
    // What a folder has without debuginfo, as Ubuntu's packages are.
    if found.is_empty() && root != Path::new("/") {
        found.extend(names("boot").iter().filter_map(|n| n.strip_prefix("vmlinuz-").map(str::to_owned)));
    }
    found.into_iter().collect()
}

pub fn numbers(release: &str) -> Vec<u64> {
    release.split(|c: char| !c.is_ascii_digit()).filter_map(|n| n.parse().ok()).collect()
}

/// The program that is tested.
pub fn program() -> PathBuf {
    env!("CARGO_BIN_EXE_probeidx").into()
}

/// What `stap -L` prints for a pattern. It takes a minute or two, and is kept in `$PROBEIDX_ORACLE` or below target/,
/// for this kernel and this SystemTap.
pub fn stap_listing(kernel: &Kernel, pattern: &str) -> Result<String, String> {
    stap(kernel, &scope(pattern), &["-L", pattern])
}

/// What `stap -L` prints for source lines, quicker but of more patterns; with `-v` one line for each address.
pub fn stap_statements(kernel: &Kernel, pattern: &str, each: bool) -> Result<String, String> {
    let arguments = ["-v", "-L", pattern];
    stap(kernel, &scope((pattern, each)), if each { &arguments } else { &arguments[1..] })
}

/// What is asked, for the name of a file.
fn scope(asked: impl std::hash::Hash) -> String {
    format!("{:016x}", BuildHasherDefault::<DefaultHasher>::default().hash_one(asked))
}

fn stap(kernel: &Kernel, scope: &str, arguments: &[&str]) -> Result<String, String> {
    let version =
        Command::new("stap").arg("--version").output().map_err(|e| format!("cannot run stap: {e}"))?;
    let version = String::from_utf8_lossy(&[version.stdout, version.stderr].concat()).into_owned();
    let version = version.split(['(', ')']).nth(1).unwrap_or("unknown").replace([' ', '/', ','], "-");
    let size =
        std::fs::metadata(&kernel.vmlinux).map_err(|e| format!("{}: {e}", kernel.vmlinux.display()))?.len();
    let folder = std::env::var_os("PROBEIDX_ORACLE").map_or_else(|| scratch("oracle"), PathBuf::from);
    let kept = folder.join(format!("{}-{size}-stap-{version}-{scope}.txt", kernel.release));
    if let Ok(text) = std::fs::read_to_string(&kept) {
        return Ok(without_build_folder(&text));
    }
    let shown: String = arguments.join(" ").chars().take(80).collect();
    say(&format!("stap -r {} {shown}: once, up to a minute or two", kernel.release));
    let ran = Command::new("stap").args(["-r", &kernel.release]).args(arguments).output();
    let ran = ran.map_err(|e| format!("cannot run stap: {e}"))?;
    if !ran.status.success() || ran.stdout.is_empty() {
        return Err(format!("stap -L failed: {}", String::from_utf8_lossy(&ran.stderr).trim()));
    }
    let text = String::from_utf8(ran.stdout).map_err(|e| e.to_string())?;
    let unfinished = kept.with_extension(format!("{}.tmp", std::process::id()));
    std::fs::create_dir_all(&folder)
        .and_then(|()| std::fs::write(&unfinished, &text))
        .and_then(|()| std::fs::rename(&unfinished, &kept))
        .map_err(|e| format!("{}: {e}", kept.display()))?;
    Ok(without_build_folder(&text))
}

/// SystemTap tells files of assembly by where they were built (`/build/reproducible-path/linux-6.1.192/arch/…`), `probeidx` by
/// where they are in the kernel's sources.
fn without_build_folder(text: &str) -> String {
    let text = text.replace("@./", "@");
    let mut parts = text.split("@/");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |whole, part| {
        let path = part.split(['"', ':']).next().unwrap_or_default();
        let below = path.find("linux-").and_then(|at| Some(at + path[at..].find('/')? + 1));
        match below {
            Some(below) => {
                let (path, rest) = (&path[below..], &part[path.len()..]);
                let mut components: Vec<&str> = vec![];
                for component in path.split('/') {
                    match component {
                        ".." => drop(components.pop()),
                        component => components.push(component),
                    }
                }
                whole + "@" + &components.join("/") + rest
            }
            None => whole + "@/" + part,
        }
    })
}

/// The index of a kernel with its modules, built once.
pub fn index(kernel: &Kernel) -> PathBuf {
    static BUILT: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());
    let folder = scratch("index");
    let index = folder.join(format!("{}.pidx", kernel.release));
    let mut built = BUILT.lock().unwrap_or_else(PoisonError::into_inner);
    if built.insert(index.clone()) {
        let ran = Command::new(program())
            .args(["build", "--force", "--progress", "never", "--db"])
            .args([&folder, &kernel.vmlinux, &kernel.debug_modules])
            .output()
            .expect("probeidx can be run");
        // 4: something was left out, and named.
        let is_there = ran.status.success() || ran.status.code() == Some(4);
        assert!(is_there, "{}", String::from_utf8_lossy(&ran.stderr));
    }
    index
}

/// A folder below target/ that stays.
pub fn scratch(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(name)
}

/// What a test needs, or the end of it: said aloud, and a failure where everything is to be there.
pub fn needed<T>(found: Result<T, String>) -> Option<T> {
    static TOLD: Once = Once::new();
    TOLD.call_once(tell_failures);
    match found {
        Err(why) if std::env::var("CI").is_ok_and(|ci| ci == "true") => panic!("{why}"),
        found => wanted(found),
    }
}

/// From now on a failure is said when it happens: a run takes minutes, and may be cut off before the end that lists them.
fn tell_failures() {
    let listed = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        say(&format!("{}: {panic}", std::thread::current().name().unwrap_or_default()));
        listed(panic);
    }));
}

/// What a test would like to have, or the end of it, said aloud: not every distribution has it.
pub fn wanted<T>(found: Result<T, String>) -> Option<T> {
    found.map_err(|why| say(&format!("skipped: {why}"))).ok()
}

/// To be seen although the test passes: only print! and eprintln! are held back.
pub fn say(text: &str) {
    use std::io::Write;
    let _ = writeln!(std::io::stderr(), "{text}");
}
