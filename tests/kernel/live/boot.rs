//! A machine that runs the kernel's own image and tries probes in it.
use super::initrd::Archive;
use super::{parts, symbols};
use crate::installed::{Architecture, Kernel};
use std::collections::BTreeMap;
use std::fmt::{self, Display, Formatter, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// A kernel that is ready to boot, any number of times. Emulated: it runs wherever qemu does.
#[derive(Clone)]
pub struct Machine {
    architecture: Architecture,
    image: PathBuf,
    /// Where `_stext` was linked: the kernel may not keep `_text`.
    text: u64,
    init: Vec<u8>,
    register: Result<Vec<u8>, String>,
    modules: Vec<(String, Vec<u8>)>,
    /// Further files, by path.
    files: Vec<(String, Vec<u8>)>,
    is_moved: bool,
    printed: Vec<String>,
}

/// What to try.
#[derive(Clone, Debug)]
pub enum Request {
    /// Write the line to `kprobe_events`; it is to land there. Lines that differ in the place alone are quickest under
    /// one event name, as the kernel then makes one event of them.
    Define { line: String, expect: Address },
    /// Write the lines, of events in the group `probeidx`; then do what act.c calls so, and see what is traced.
    Trace { lines: Vec<String>, action: &'static str },
    /// Write the line, of the event `probeidx/e`, to `uprobe_events`, and enable it: see [`Machine::running`].
    Uprobe { line: String },
    /// Attach a BPF program to the entry of the function that the kernel's BTF has by this name (fentry).
    Attach { function: String },
    /// Open a kprobe of perf by this name, as BPF's kprobes are.
    ByName { function: String },
    /// Load and attach each program of the BPF objects in a file of the machine, by objects.c.
    Objects { path: String },
    /// A line for the program of trace/guest.c, which starts `probeidx trace` so often.
    Session { line: String, times: u64 },
    /// Run a script of the machine, by tools.c.
    Run { script: String },
    /// Ask within the kernel, as SystemTap does.
    Register { what: What, address: Address },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// `register_kprobe`.
    Kprobe,
    /// `register_kretprobe`.
    Kretprobe,
    /// `ftrace_set_filter_ip`: whether ftrace has a site there.
    Ftrace,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Address {
    /// As it was linked.
    Kernel(u64),
    Module {
        module: String,
        section: String,
        offset: u64,
    },
}

impl Address {
    /// So many bytes further.
    pub fn plus(self, more: u64) -> Self {
        match self {
            Self::Kernel(address) => Self::Kernel(address + more),
            Self::Module { module, section, offset } => {
                Self::Module { module, section, offset: offset + more }
            }
        }
    }
}

/// What became of each request, and what was to be printed.
#[derive(Debug, Default)]
pub struct Answers {
    /// In the order of the requests.
    pub answers: Vec<Answer>,
    /// The modules in the order of loading; 0 or why not.
    pub modules: Vec<(String, i32)>,
    pub blacklist: Vec<String>,
    /// By path: see [`Machine::print`].
    pub printed: BTreeMap<String, String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    /// 0: accepted.
    pub errno: i32,
    /// None where it was refused, or waits for a module.
    pub landed: Option<Landed>,
    /// Of a [`Request::Trace`]: values of which only the action knows.
    pub known: BTreeMap<String, String>,
    /// Of a [`Request::Trace`]: each event, from its name on; of a [`Request::Session`], what the program printed.
    pub traced: Vec<String>,
    /// Of a [`Request::Objects`]: each program, in the order of libbpf.
    pub programs: Vec<Loaded>,
}

/// What became of a BPF program that was loaded and attached alone.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Loaded {
    /// Its name; `-` for all of an object that libbpf does not open.
    pub program: String,
    /// How far it came: `ok`, or where it failed, `open`, `load` or `attach`.
    pub stage: String,
    /// 0 if it is attached.
    pub errno: i32,
    /// The end of what libbpf and the verifier said.
    pub said: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Landed {
    /// In the running kernel.
    pub address: u64,
    /// How far behind the address that the request names.
    pub behind: i64,
    /// Symbol, offset, module and flags, as `kprobes/list` has them; not known of a [`Request::Register`].
    pub symbol: String,
}

impl Landed {
    /// It stands where the request wants it, or behind the `endbr64` there, to which the kernel moves a probe from
    /// the entry of a function. (`arch_adjust_kprobe_addr`, v5.18)
    pub fn is_as_wanted(&self) -> bool {
        self.behind == 0 || self.behind == 4
    }
}

const BLACKLIST: &str = "/sys/kernel/debug/kprobes/blacklist";
/// Requests from which on a second machine takes half of them: about as long as one takes to boot.
const MANY: usize = 2000;

/// In seconds: to attach a BPF program patches the kernel's code.
const ATTACH_TIME: u64 = 1;

/// In seconds: a file may have a hundred programs, and the verifier goes through each.
const OBJECTS_TIME: u64 = 20;

/// In seconds: the program reads the kernel's lists, and each probe is planted and removed in emulated code.
const SESSION_TIME: u64 = 20;
/// In seconds: tools attach many probes, and each is a patch of the kernel's code; the program, unoptimized, reads all of it.
const RUN_TIME: u64 = 400;

/// Among how many a processor may be shared.
const SHARED_BY: u32 = 10;

impl Machine {
    /// The kernel without modules.
    pub fn new(kernel: &Kernel) -> Result<Self, String> {
        let qemu = emulator(kernel.architecture);
        let version = Command::new(qemu).arg("--version").output();
        version.map_err(|e| format!("cannot run {qemu}: {e}"))?;
        if !kernel.image.exists() {
            return Err(format!("no kernel to boot: {}", kernel.image.display()));
        }
        let symbols = symbols::of(&kernel.vmlinux, None)?;
        let Some([Address::Kernel(text)]) = symbols.get("_stext").map(Vec::as_slice) else {
            return Err("vmlinux has no symbol _stext".to_owned());
        };
        Ok(Self {
            architecture: kernel.architecture,
            image: kernel.image.clone(),
            text: *text,
            init: parts::init(kernel.architecture)?,
            register: parts::register(kernel),
            modules: vec![],
            files: vec![],
            is_moved: false,
            printed: vec![BLACKLIST.to_owned()],
        })
    }

    /// With these modules, and those that they need, loaded.
    pub fn modules(mut self, kernel: &Kernel, wanted: &[&str]) -> Result<Self, String> {
        self.modules = parts::modules(kernel, wanted)?;
        Ok(self)
    }

    /// Which are loaded, in this order.
    pub fn module_names(&self) -> impl Iterator<Item = &str> {
        self.modules.iter().map(|(name, _)| name.as_str())
    }

    /// The file of a module.
    pub fn module(&self, name: &str) -> Option<&[u8]> {
        self.modules.iter().find(|(n, _)| n == name).map(|(_, bytes)| bytes.as_slice())
    }

    /// With another program in place of init.c.
    pub fn running(mut self, init: Vec<u8>) -> Self {
        self.init = init;
        self.printed.clear();
        self
    }

    /// With another file.
    pub fn file(mut self, path: &str, bytes: Vec<u8>) -> Self {
        self.files.push((path.to_owned(), bytes));
        self
    }

    /// With other files.
    pub fn files(mut self, files: Vec<(String, Vec<u8>)>) -> Self {
        self.files.extend(files);
        self
    }

    /// With the kernel at a random address instead of where it was linked.
    pub fn moved(mut self) -> Self {
        self.is_moved = true;
        self
    }

    /// A file of the machine that is to be printed at the end.
    pub fn print(mut self, path: &str) -> Self {
        self.printed.push(path.to_owned());
        self
    }

    /// Why [`Request::Register`] cannot be answered.
    pub fn cannot_register(&self) -> Option<&str> {
        self.register.as_ref().err().map(String::as_str)
    }

    /// Boots and works through the requests; many of them on as many machines as there are processors.
    pub fn boot(&self, requests: &[Request]) -> Result<Answers, String> {
        if let (Err(why), true) =
            (&self.register, requests.iter().any(|r| matches!(r, Request::Register { .. })))
        {
            return Err(why.clone());
        }
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        let machines = (requests.len() / MANY).clamp(1, processors);
        // Dealt like cards, because the time for one grows with the address: the kernel goes through its tables.
        let share = |first| requests.iter().skip(first).step_by(machines);
        let booted: Result<Vec<Answers>, String> = std::thread::scope(|threads| {
            let started: Vec<_> =
                (0..machines).map(|i| threads.spawn(move || self.boot_one(share(i)))).collect();
            started.into_iter().map(|t| t.join().map_err(|_| "a machine panicked")?).collect()
        });
        let mut booted = booted?;
        let mut answers = vec![Answer::default(); requests.len()];
        for (first, part) in booted.iter_mut().enumerate() {
            for (i, answer) in part.answers.drain(..).enumerate() {
                answers[first + i * machines] = answer;
            }
        }
        let first = booted.swap_remove(0);
        Ok(Answers { answers, ..first })
    }

    fn boot_one<'a>(&self, requests: impl Iterator<Item = &'a Request>) -> Result<Answers, String> {
        let folder = parts::folder("boot")?;
        let (initrd, told, console) = (folder.join("initrd"), folder.join("told"), folder.join("console"));
        let requests: Vec<_> = requests.collect();
        let attached = requests.iter().filter(|r| matches!(r, Request::Attach { .. })).count() as u64;
        let files = requests.iter().filter(|r| matches!(r, Request::Objects { .. })).count() as u64;
        let session = |r: &&Request| if let Request::Session { times, .. } = r { *times } else { 0 };
        let sessions: u64 = requests.iter().map(session).sum();
        let scripts = requests.iter().filter(|r| matches!(r, Request::Run { .. })).count() as u64;
        let (requests, count) = self.write(requests.into_iter());
        std::fs::write(&initrd, self.initrd(&requests)).map_err(|e| format!("{}: {e}", initrd.display()))?;
        // arm64 is emulated several times as slowly.
        let patience = match self.architecture {
            Architecture::X86_64 => 120 + count as u64 / 20,
            _ => 600 + count as u64 / 4,
        };
        let more =
            attached * ATTACH_TIME + files * OBJECTS_TIME + sessions * SESSION_TIME + scripts * RUN_TIME;
        self.run(&initrd, &told, &console, Duration::from_secs(patience + more))?;
        let answers = std::fs::read(&told)
            .map_err(|e| e.to_string())
            .and_then(|told| read(&told, count))
            .map_err(|e| format!("{e}; {}", last_words(&console)))?;
        let _ = std::fs::remove_dir_all(&folder);
        Ok(answers)
    }

    /// Until the machine ends by itself.
    fn run(&self, initrd: &Path, told: &Path, console: &Path, patience: Duration) -> Result<(), String> {
        // Expedited: each removal of a probe waits until all processors passed a quiet state.
        let place = if self.is_moved { "kaslr" } else { "nokaslr" };
        let (console_device, machine) = match self.architecture {
            // Not by hardware: that may be there and still fail. Without cmpxchg16b, which the kernel's allocator would use:
            // qemu 7.2 now and then returns wrong flags from it, and a third of the boots of 6.12 crash.
            Architecture::X86_64 | Architecture::I386 => {
                ("ttyS0", "-cpu max,-cx16 -device isa-debugcon,iobase=0xe9,chardev=told")
            }
            // Pointers are signed by a quick function instead of that which processors have. No device is as simple as the
            // port of x86: qemu takes requests from the program itself.
            Architecture::Arm64 => (
                "ttyAMA0",
                "-machine virt -cpu max,pauth-impdef=on -semihosting-config enable=on,userspace=on,target=native,chardev=told",
            ),
            // Without LPAE, as most of its kernels are: devices below 4 GiB.
            Architecture::Arm => (
                "ttyAMA0",
                "-machine virt,highmem=off -cpu cortex-a15 -semihosting-config enable=on,userspace=on,target=native,chardev=told",
            ),
            Architecture::Riscv64 => (
                "ttyS0",
                "-machine virt -semihosting-config enable=on,userspace=on,target=native,chardev=told",
            ),
            // No semihosting: a port that is no terminal, and a second terminal of the hypervisor.
            Architecture::S390x => (
                "ttysclp0",
                "-machine s390-ccw-virtio -cpu max -nic none -device virtio-serial-ccw -device virtserialport,chardev=told",
            ),
            Architecture::Powerpc64 => (
                "hvc0",
                "-machine pseries,cap-cfpc=broken,cap-sbbc=broken,cap-ibs=broken,cap-ccf-assist=off -device spapr-vty,chardev=told",
            ),
        };
        // Processors have not the same instructions patched in: `$PROBEIDX_CPU` is another one.
        let processor =
            std::env::var("PROBEIDX_CPU").map(|cpu| vec!["-cpu".to_owned(), cpu]).unwrap_or_default();
        // An optimized probe of ppc64le at a call, reached while another probe is handled, returns to address 4: the kernel sets
        // its own address only if none is (`optimized_callback`, arch/powerpc/kernel/optprobes.c, seen on 6.1 and 7.2).
        let optimizes = match self.architecture {
            Architecture::Powerpc64 => " sysctl.debug.kprobes-optimization=0",
            _ => "",
        };
        // Whether the timer of x86 ticks is not tried: in an emulator that gets little time it seems not to.
        let append = format!(
            "console={console_device} {place} quiet panic=-1 rcupdate.rcu_expedited=1 no_timer_check rdinit=/init{optimizes}"
        );
        let program = emulator(self.architecture);
        let mut qemu = Command::new(program);
        qemu.args("-accel tcg -m 2048 -smp 1 -display none -monitor none -no-reboot".split(' '));
        qemu.arg("-kernel").arg(&self.image).arg("-initrd").arg(initrd).args(["-append", &append]);
        qemu.arg("-serial").arg(format!("file:{}", console.display()));
        qemu.arg("-chardev").arg(format!("file,id=told,path={}", told.display()));
        qemu.args(machine.split(' ')).args(processor);
        qemu.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut running = qemu.spawn().map_err(|e| format!("cannot run {program}: {e}"))?;
        // Of the processor's time: a machine that shares it may take many times as long.
        let end = Instant::now() + patience * SHARED_BY;
        while running.try_wait().map_err(|e| e.to_string())?.is_none() {
            if Instant::now() > end || worked(running.id()) > patience {
                let _ = running.kill();
                let _ = running.wait();
                return Err(format!("no end after {} s; {}", patience.as_secs(), last_words(console)));
            }
            std::thread::sleep(Duration::from_millis(200));
        }
        let ended = running.wait_with_output().map_err(|e| e.to_string())?;
        if ended.status.success() {
            return Ok(());
        }
        Err(format!("{program} failed: {}", String::from_utf8_lossy(&ended.stderr).trim()))
    }

    fn initrd(&self, requests: &str) -> Vec<u8> {
        let mut archive = Archive::default();
        ["dev", "proc", "sys"].into_iter().for_each(|f| archive.folder(f));
        archive.file("init", &self.init);
        archive.file("requests", requests.as_bytes());
        let mut order = String::new();
        let ours = self.register.iter().map(|bytes| ("register", bytes));
        for (name, bytes) in self.modules.iter().map(|(n, b)| (n.as_str(), b)).chain(ours) {
            archive.file(&format!("m/{name}.ko"), bytes);
            order.push_str(name);
            order.push('\n');
        }
        archive.file("modules", order.as_bytes());
        for (path, bytes) in &self.files {
            archive.file(path, bytes);
        }
        archive.finish()
    }

    /// As init.c reads them, and how many there are.
    fn write<'a>(&self, requests: impl Iterator<Item = &'a Request>) -> (String, usize) {
        let mut text = format!("text {:x}\n", self.text);
        let mut count = 0;
        for request in requests {
            count += 1;
            let _ = match request {
                Request::Define { line, expect } => writeln!(text, "d {} {line}", place(expect)),
                Request::Trace { lines, action } => writeln!(text, "v {action} {}", lines.join("\t")),
                Request::Uprobe { line } => writeln!(text, "u {line}"),
                Request::Attach { function } => writeln!(text, "b {function}"),
                Request::ByName { function } => writeln!(text, "k {function}"),
                Request::Objects { path } => writeln!(text, "o {path}"),
                Request::Session { line, .. } => writeln!(text, "{line}"),
                Request::Run { script } => writeln!(text, "x {script}"),
                Request::Register { what: What::Kprobe, address } => writeln!(text, "p {}", place(address)),
                Request::Register { what: What::Kretprobe, address } => {
                    writeln!(text, "r {}", place(address))
                }
                Request::Register { what: What::Ftrace, address } => writeln!(text, "f {}", place(address)),
            };
        }
        for path in &self.printed {
            let _ = writeln!(text, "c {path}");
        }
        (text, count)
    }
}

/// For how long processors worked for a process; nothing where that is not told. (proc(5): utime and stime, which follow the name
/// in parentheses at some distance, in hundredths of a second.)
fn worked(process: u32) -> Duration {
    let text = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    let fields = text.rsplit_once(')').map_or("", |(_, fields)| fields).split_ascii_whitespace();
    let ticks: u64 = fields.skip(11).take(2).filter_map(|field| field.parse::<u64>().ok()).sum();
    Duration::from_millis(ticks * 10)
}

fn emulator(architecture: Architecture) -> &'static str {
    match architecture {
        Architecture::X86_64 => "qemu-system-x86_64",
        Architecture::I386 => "qemu-system-i386",
        Architecture::Arm => "qemu-system-arm",
        Architecture::Arm64 => "qemu-system-aarch64",
        Architecture::S390x => "qemu-system-s390x",
        Architecture::Powerpc64 => "qemu-system-ppc64",
        Architecture::Riscv64 => "qemu-system-riscv64",
    }
}

fn place(address: &Address) -> String {
    match address {
        Address::Kernel(address) => format!("{address:x}"),
        Address::Module { module, section, offset } => format!("{module},{section},{offset:x}"),
    }
}

impl Display for Address {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Kernel(address) => write!(f, "{address:#x}"),
            Self::Module { module, section, offset } => write!(f, "{module} {section}+{offset:#x}"),
        }
    }
}

impl Display for Request {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Define { line, expect } => write!(f, "\"{line}\" for {expect}"),
            Self::Trace { lines, action } => write!(f, "{} while {action}", lines.join("; ")),
            Self::Uprobe { line } => write!(f, "\"{line}\""),
            Self::Attach { function } => write!(f, "fentry of {function}"),
            Self::ByName { function } => write!(f, "kprobe of {function}"),
            Self::Objects { path } => write!(f, "the objects of {path}"),
            Self::Session { line, .. } => write!(f, "{}", line.replace('\t', " ")),
            Self::Run { script } => write!(f, "the script {script}"),
            Self::Register { what, address } => write!(f, "{what:?} at {address}"),
        }
    }
}

impl Display for Answer {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match (self.errno, &self.landed) {
            (0, Some(landed)) => write!(f, "lands at {:#x}, {}", landed.address, landed.symbol),
            (0, None) => f.write_str("accepted, lands nowhere"),
            (errno, _) => write!(f, "errno {errno}"),
        }
    }
}

/// What init.c told.
fn read(mut told: &[u8], count: usize) -> Result<Answers, String> {
    let mut result = Answers { answers: vec![Answer::default(); count], ..Answers::default() };
    let mut answered = 0;
    loop {
        let Some(length) = told.iter().position(|b| *b == b'\n') else {
            return Err(format!("it ended early, {answered} of {count} answered"));
        };
        let line = String::from_utf8_lossy(&told[..length]).into_owned();
        told = &told[length + 1..];
        let strange = || format!("a line that is not understood: {line}");
        let words: Vec<&str> = line.split(' ').collect();
        match words[..] {
            ["end"] if answered == count => return Ok(result),
            ["module", name, errno] => {
                result.modules.push((name.to_owned(), errno.parse().map_err(|_| strange())?));
            }
            ["a", number, errno, ref landed @ ..] => {
                let number: usize = number.parse().map_err(|_| strange())?;
                let answer = result.answers.get_mut(number).ok_or_else(strange)?;
                answer.errno = errno.parse().map_err(|_| strange())?;
                if let [behind, address, ref symbol @ ..] = *landed {
                    let address = u64::from_str_radix(address, 16).map_err(|_| strange())?;
                    let symbol = symbol.join(" ").trim().to_owned();
                    let behind = behind.parse().map_err(|_| strange())?;
                    answer.landed = Some(Landed { address, behind, symbol });
                }
                answered += 1;
            }
            ["n", number, name, value] => {
                let number: usize = number.parse().map_err(|_| strange())?;
                let answer = result.answers.get_mut(number).ok_or_else(strange)?;
                answer.known.insert(name.to_owned(), value.to_owned());
            }
            ["t", number, length] => {
                let number: usize = number.parse().map_err(|_| strange())?;
                let answer = result.answers.get_mut(number).ok_or_else(strange)?;
                let text = take(&mut told, length).ok_or_else(strange)?;
                answer.traced = text.lines().filter(|l| !l.starts_with('#')).map(str::to_owned).collect();
            }
            ["p", number, program, stage, errno, length] => {
                let number: usize = number.parse().map_err(|_| strange())?;
                let answer = result.answers.get_mut(number).ok_or_else(strange)?;
                let (program, stage) = (program.to_owned(), stage.to_owned());
                let errno = errno.parse().map_err(|_| strange())?;
                let said = take(&mut told, length).ok_or_else(strange)?;
                answer.programs.push(Loaded { program, stage, errno, said });
            }
            ["c", path, length] => {
                let text = take(&mut told, length).ok_or_else(strange)?;
                if path == BLACKLIST {
                    result.blacklist = text.lines().map(str::to_owned).collect();
                }
                result.printed.insert(path.to_owned(), text);
            }
            ["took", ..] => {}
            _ => return Err(strange()),
        }
    }
}

/// So many bytes of what was told.
fn take(told: &mut &[u8], length: &str) -> Option<String> {
    let (text, rest) = told.split_at_checked(length.parse().ok()?)?;
    *told = rest;
    Some(String::from_utf8_lossy(text).into_owned())
}

fn last_words(console: &Path) -> String {
    let text = std::fs::read(console).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let lines: Vec<&str> = text.lines().rev().take(15).collect();
    format!("its console ends:\n{}", lines.into_iter().rev().collect::<Vec<_>>().join("\n"))
}
