//! A small kernel and its modules, compiled by whatever compilers this machine has.
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use tempfile::TempDir;

/// The release that the fixture's banner and `vermagic` tell.
pub const RELEASE: &str = "6.1.0-test";

/// How the fixture is compiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Recipe {
    pub compiler: &'static str,
    /// Of the compiler, beside those that every kernel build has.
    pub flags: &'static [&'static str],
    /// Units are first combined by the compiler (`-flto`), which mixes their debug information.
    pub lto: bool,
    /// What is done to every finished object: arguments of objcopy.
    pub objcopy: &'static [&'static str],
}

impl Recipe {
    pub const fn new(compiler: &'static str, flags: &'static [&'static str]) -> Self {
        Self { compiler, flags, lto: false, objcopy: &[] }
    }

    /// What the names of the compiler's other tools begin with: something where it compiles for another machine.
    fn prefix(&self) -> &'static str {
        self.compiler.strip_suffix("gcc").unwrap_or_default()
    }

    /// A tool of the compiler.
    fn tool(&self, name: &str) -> Command {
        in_fixtures(&format!("{}{name}", self.prefix()))
    }
}

/// The fixture that most tests share: gcc, DWARF 5, -O2.
pub const USUAL: Recipe = Recipe::new("gcc", &["-O2", "-gdwarf-5"]);

/// What makes user-space compilers emit kernel-like code.
const KERNEL_FLAGS: &[&str] = &[
    "-g",
    "-ffreestanding",
    "-fno-pic",
    "-fno-pie",
    "-fno-stack-protector",
    "-fno-asynchronous-unwind-tables",
    "-ffile-prefix-map=.=.",
];
const X86_FLAGS: &[&str] = &["-mcmodel=kernel", "-fcf-protection=none"];

const CORE: [&str; 3] = ["core", "fs", "net"];
const MODULES: [(&str, &[&str]); 2] = [("alpha-mod", &["alpha_main", "alpha_help"]), ("beta", &["beta"])];

/// A directory with a vmlinux and two modules, laid out as a debug package does.
pub struct Tree {
    directory: TempDir,
}

/// Puts bytes in place of others, of which there are as many, wherever they are.
pub fn replace(bytes: &mut [u8], old: &[u8], new: &[u8]) {
    while let Some(at) = bytes.windows(old.len()).position(|bytes| bytes == old) {
        bytes[at..at + old.len()].copy_from_slice(new);
    }
}

impl Tree {
    /// Compiles and links. Panics with the tool's own words where one fails.
    pub fn compile(recipe: &Recipe) -> Self {
        let tree = Self::empty();
        let objects = tree.path().join("objects");
        let modules = tree.modules();
        std::fs::create_dir_all(&objects).unwrap();
        std::fs::create_dir_all(&modules).unwrap();
        let object = |name: &str| objects.join(format!("{name}.o"));
        let sources = CORE.iter().chain(MODULES.iter().flat_map(|m| m.1));
        let mut commands: Vec<Command> = sources
            .map(|name| {
                let mut c = compiler(recipe);
                c.args(["-c", &format!("{name}.c"), "-o"]).arg(object(name));
                c
            })
            .collect();
        for (name, flag) in [("entry", "-g"), ("bare", "-g0")] {
            let mut c = in_fixtures(recipe.compiler);
            c.args(["-c", flag, &format!("{name}.S"), "-o"]).arg(object(name));
            commands.push(c);
        }
        run_all(commands);

        let mut core: Vec<PathBuf> = CORE.iter().map(|n| object(n)).collect();
        if recipe.lto {
            core = vec![combine(recipe, &core, &objects.join("vmlinux.o"))];
        }
        core.extend([object("entry"), object("bare")]);
        let mut ld = recipe.tool("ld");
        ld.args(["-T", "vmlinux.lds", "--build-id=sha1", "--no-warn-rwx-segments", "-o"]);
        let mut commands = vec![];
        ld.arg(tree.vmlinux()).args(&core);
        commands.push(ld);
        for (name, units) in MODULES {
            let mut units: Vec<PathBuf> = units.iter().map(|n| object(n)).collect();
            if recipe.lto {
                units = vec![combine(recipe, &units, &objects.join(format!("{name}.lto.o")))];
            }
            let mut ld = recipe.tool("ld");
            ld.args(["-r", "--build-id=sha1", "-o"]).arg(modules.join(format!("{name}.ko"))).args(&units);
            commands.push(ld);
        }
        run_all(commands);
        if !recipe.objcopy.is_empty() {
            run_all(tree.objects().iter().map(|path| {
                let mut c = recipe.tool("objcopy");
                c.args(recipe.objcopy).arg(path);
                c
            }));
        }
        // Entries of split units stay where the compiler put them.
        if recipe.flags.iter().all(|flag| !flag.starts_with("-gsplit-dwarf")) {
            std::fs::remove_dir_all(&objects).unwrap();
        }
        tree
    }

    /// Adds the module `gamma_mod`, in which nothing is left to the compiler.
    #[cfg(feature = "cli")]
    pub fn add_gamma(&self, recipe: &Recipe) {
        self.add_module(recipe, "gamma-mod", &["gamma_one", "gamma_two"]);
    }

    /// Adds a module of these units.
    #[cfg(feature = "cli")]
    pub fn add_module(&self, recipe: &Recipe, module: &str, units: &[&str]) {
        let object = |name: &str| self.path().join(format!("{name}.o"));
        std::fs::create_dir_all(self.modules()).unwrap();
        run_all(units.iter().map(|name| {
            let mut c = compiler(recipe);
            c.args(["-c", &format!("{name}.c"), "-o"]).arg(object(name));
            c
        }));
        let mut ld = recipe.tool("ld");
        ld.args(["-r", "--build-id=sha1", "-o"]).arg(self.module(module));
        ld.args(units.iter().map(|name| object(name)));
        run_all([ld]);
        for name in units {
            std::fs::remove_file(object(name)).unwrap();
        }
    }

    /// A directory with nothing in it.
    pub fn empty() -> Self {
        Self { directory: tempfile::tempdir().unwrap() }
    }
    /// A copy of the whole tree, to be damaged.
    pub fn copy(&self) -> Self {
        let copy = Self::empty();
        run_all([{
            let mut c = Command::new("cp");
            c.arg("-a").arg(self.path().join(".")).arg(copy.path());
            c
        }]);
        copy
    }
    /// Its real path.
    pub fn path(&self) -> PathBuf {
        self.directory.path().canonicalize().unwrap()
    }
    pub fn vmlinux(&self) -> PathBuf {
        self.path().join(format!("vmlinux-{RELEASE}"))
    }
    pub fn modules(&self) -> PathBuf {
        self.path().join(format!("lib/modules/{RELEASE}/kernel"))
    }
    pub fn module(&self, name: &str) -> PathBuf {
        self.modules().join(format!("{name}.ko"))
    }
    /// vmlinux and the modules, in the order that the index has them.
    pub fn objects(&self) -> Vec<PathBuf> {
        let modules = MODULES.iter().map(|m| self.module(m.0));
        std::iter::once(self.vmlinux()).chain(modules).collect()
    }
    /// Writes a file and the directories above it.
    pub fn file(&self, path: &str, content: &[u8]) -> PathBuf {
        let path = self.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, content).unwrap();
        path
    }
}

/// Whether the machine can follow the recipe; says so on the terminal where it cannot, past the test harness.
pub fn possible(recipe: &Recipe) -> bool {
    let mut c = compiler(recipe);
    let folder = tempfile::tempdir().unwrap();
    c.args(["-x", "c", "-", "-c", "-o"]).arg(folder.path().join("empty.o")).stdin(Stdio::null());
    let why = match c.output() {
        Ok(_)
            if recipe.lto
                && recipe.compiler != "gcc"
                && Command::new("ld.lld").arg("-v").output().is_err() =>
        {
            "ld.lld cannot be started".to_owned()
        }
        Err(e) => format!("{} cannot be started: {e}", recipe.compiler),
        Ok(out) if !out.status.success() => {
            String::from_utf8_lossy(&out.stderr).lines().next().unwrap_or("").to_owned()
        }
        Ok(_) if recipe.objcopy.is_empty() => return true,
        Ok(_) => {
            let mut c = recipe.tool("objcopy");
            match c.args(recipe.objcopy).arg(folder.path().join("empty.o")).output() {
                Ok(out) if out.status.success() => return true,
                _ => return skipped(&format!("objcopy {}", recipe.objcopy.join(" "))),
            }
        }
    };
    assert_ne!(recipe.compiler, "gcc", "the suite needs a working gcc: {why}");
    skipped(&format!("{} {}: {why}", recipe.compiler, recipe.flags.join(" ")))
}

/// Prints a line that the test harness does not swallow. Gives false: it was not possible.
pub fn skipped(what: &str) -> bool {
    use std::io::Write;
    let _ = writeln!(std::io::stderr(), "skipped: {what}");
    false
}

fn compiler(recipe: &Recipe) -> Command {
    let mut c = in_fixtures(recipe.compiler);
    c.args(KERNEL_FLAGS);
    if cfg!(target_arch = "x86_64") && recipe.prefix().is_empty() {
        c.args(X86_FLAGS);
    }
    if recipe.lto {
        c.arg("-flto");
    }
    if recipe.lto && recipe.compiler == "gcc" {
        c.arg("-fno-fat-lto-objects");
    }
    c.args(recipe.flags);
    c
}

/// Links units compiled with `-flto` into one object with code.
fn combine(recipe: &Recipe, units: &[PathBuf], output: &Path) -> PathBuf {
    let mut c = compiler(recipe);
    c.args(match recipe.compiler {
        "gcc" => ["-flto=1", "-flinker-output=nolto-rel"],
        _ => ["-flto", "-fuse-ld=lld"],
    });
    c.args(["-nostdlib", "-r", "-o"]).arg(output).args(units);
    run_all([c]);
    output.to_owned()
}

fn in_fixtures(program: &str) -> Command {
    let mut c = Command::new(program);
    c.current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures"));
    c
}

/// Runs the commands side by side.
pub fn run_all(commands: impl IntoIterator<Item = Command>) {
    let start = |mut c: Command| {
        let child = c.stdin(Stdio::null()).stderr(Stdio::piped()).spawn();
        (child.unwrap_or_else(|e| panic!("{c:?}: {e}")), c)
    };
    let running: Vec<_> = commands.into_iter().map(start).collect();
    for (child, command) in running {
        let out = child.wait_with_output().unwrap();
        assert!(out.status.success(), "{command:?}:\n{}", String::from_utf8_lossy(&out.stderr));
    }
}
