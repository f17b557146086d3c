//! Which kernel of a store a new one follows: the one with which it has most in common, as far as releases and compilers tell.
//!
//! | kernel | of the same machine in the store | bytes |
//! | --- | --- | --- |
//! | 7.2.12, cloud | an update of the line: 7.2.11 | 0.4 MB |
//! | 6.1.0-56, cloud | another flavour of the same build | 3.8 MB |
//! | 6.12.107, cloud | another flavour of an update: 6.12.118, large | 13.5 MB |
//! | 6.12.107, cloud | the real-time kernel of the same build | 19.5 MB |
//! | 7.3.4, cloud | the line before by the same compiler: 7.2.11 | 20.5 MB |
//! | 7.3.4, cloud | its line by another compiler: 7.3 | 59.2 MB |
//! | 7.3.4, cloud | none | 77 MB |
//! | 7.3.4, large | the line before: 7.2.12, large | 43.5 MB |
//! | 7.3.4, large | its line: 7.3.4, cloud | 124.7 MB |
//!
//! A line further away is of no use: 7.3 after 6.1 had 88 MB, and 91 alone.

/// What tells how much two kernels have in common.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Told {
    /// `6.1.0-56` of `6.1.0-56-cloud-amd64`.
    version: Vec<u64>,
    flavour: Vec<u8>,
    /// Whether it is built to be preempted nearly everywhere (PREEMPT_RT), which changes much of its code.
    is_realtime: bool,
    /// Whether it is clang, and its first number; `None` if unknown.
    compiler: Option<(bool, u64)>,
}

/// A kernel that may be followed.
#[derive(Clone, Debug)]
pub struct Other {
    pub told: Told,
    /// How many segments its chain has.
    pub chain: usize,
    /// How many objects it has: vmlinux and modules.
    pub objects: u32,
}

impl Told {
    /// Of a kernel, by its release and what it says of its compiler.
    pub fn of(release: &[u8], compiler: &[u8]) -> Self {
        let numbers = release.split(|b| !b.is_ascii_digit()).filter_map(number);
        let letters = release
            .split(|b| *b == b'-')
            .skip_while(|part| part.iter().any(u8::is_ascii_digit) && part[0].is_ascii_digit());
        Self {
            version: numbers.take(4).collect(),
            flavour: letters.collect::<Vec<_>>().join(&b'-'),
            is_realtime: release.split(|b| !b.is_ascii_alphanumeric()).any(is_realtime),
            compiler: of_compiler(compiler),
        }
    }
    /// The position of the one that a kernel with so many objects follows among those that it [may](Self::may_follow) follow;
    /// `None` if there is none, so that it starts a chain. Of another line, it is the one with the shortest chain: questions go
    /// through fewer segments then, and what updates of that line changed is little beside what is new in this one.
    pub fn nearest(&self, objects: u32, others: &[Other]) -> Option<usize> {
        let distance = |(_, other): &(usize, &Other)| self.distance(objects, other);
        others.iter().enumerate().min_by_key(distance).map(|(at, _)| at)
    }
    /// Whether it has enough in common with another one of its machine to follow it.
    pub fn may_follow(&self, other: &Self) -> bool {
        self.is_of_line(other) || self.is_next_to(other)
    }
    fn is_of_line(&self, other: &Self) -> bool {
        self.line() == other.line()
    }
    fn line(&self) -> &[u64] {
        &self.version[..self.version.len().min(2)]
    }
    /// Whether one line comes after the other, and one compiler made both. What follows 6.19 is 7.0.
    fn is_next_to(&self, other: &Self) -> bool {
        let ([a, b], [c, d]) = (self.line(), other.line()) else { return false };
        let [(first, last), (next, start)] =
            if (a, b) < (c, d) { [(a, b), (c, d)] } else { [(c, d), (a, b)] };
        let is_next = match next - first {
            0 => start - last == 1,
            1 => *start == 0 && *last >= LAST,
            _ => false,
        };
        is_next && self.compiler.is_some() && self.compiler == other.compiler
    }
    fn distance(&self, objects: u32, other: &Other) -> ([bool; 4], Option<usize>, bool, Vec<u64>) {
        let (told, chain) = (&other.told, other.chain);
        let apart = |at: usize| {
            let part = |version: &[u64]| version.get(at).copied().unwrap_or(0);
            part(&self.version).abs_diff(part(&told.version))
        };
        // The modules that a cloud kernel lacks are most of a large one.
        let lacks_many = u64::from(other.objects) * 4 < u64::from(objects) * 3;
        let is_of_line = self.is_of_line(told);
        let is_of_its_kind = self.is_realtime == told.is_realtime;
        (
            [self.compiler != told.compiler, lacks_many, !is_of_line, !is_of_its_kind],
            (!is_of_line).then_some(chain),
            self.flavour != told.flavour,
            (0..4).map(apart).collect(),
        )
    }
}

/// Whether two releases are of one line, such as 6.1.
pub fn are_of_one_line(releases: [&[u8]; 2]) -> bool {
    let [one, other] = releases.map(|release| Told::of(release, b""));
    one.is_of_line(&other)
}

/// The second number of the last line before the first one grows: 3.19, 4.20, 5.19 and 6.19 were that.
const LAST: u64 = 19;

/// Of a word of `6.1.0-57-rt-amd64`, `6.8.1-1015-realtime` or `6.6.30-rt30`.
fn is_realtime(word: &[u8]) -> bool {
    word == b"realtime" || word.strip_prefix(b"rt").is_some_and(|rest| rest.iter().all(u8::is_ascii_digit))
}

/// Of `gcc-12 (Debian 12.2.0-14+deb12u1) 12.2.0` or `Debian clang version 19.1.7 (3+b1)`.
fn of_compiler(text: &[u8]) -> Option<(bool, u64)> {
    let mut words = text.split(|b| b.is_ascii_whitespace() || *b == b'(');
    let version = words.find(|word| word.first().is_some_and(u8::is_ascii_digit))?;
    let first = number(version.split(|b| !b.is_ascii_digit()).next()?)?;
    Some((memchr::memmem::find(text, b"clang").is_some(), first))
}

fn number(digits: &[u8]) -> Option<u64> {
    std::str::from_utf8(digits).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const GCC_12: &str = "gcc-12 (Debian 12.2.0-14+deb12u1) 12.2.0";
    const GCC_14: &str = "x86_64-linux-gnu-gcc-14 (Debian 14.2.0-19) 14.2.0";
    const GCC_16: &str = "x86_64-linux-gnu-gcc-16 (Debian 16.2.0-4) 16.2.0";
    const NEWER_16: &str = "gcc (GCC) 16.3.1 20261001 (Red Hat 16.3.1-1)";
    const CLANG_16: &str = "Debian clang version 16.0.6 (27+b1)";

    /// Each of the others is one further in a chain. Cloud kernels have a thousand objects, all others four thousand.
    fn follows(release: &str, compiler: &str, others: &[(&'static str, &str)]) -> Option<&'static str> {
        let told = |(release, compiler): (&str, &str)| Told::of(release.as_bytes(), compiler.as_bytes());
        let objects = |release: &str| if release.contains("cloud") { 1000 } else { 4000 };
        let other =
            |(of, chain): (&(&str, &str), usize)| Other { told: told(*of), chain, objects: objects(of.0) };
        let own = told((release, compiler));
        let near: Vec<_> = others.iter().zip(1..).filter(|(of, _)| own.may_follow(&told(**of))).collect();
        let all: Vec<Other> = near.iter().copied().map(other).collect();
        own.nearest(objects(release), &all).map(|at| near[at].0.0)
    }

    #[test]
    fn updates_follow_the_nearest_of_their_flavour() {
        let line = [
            ("6.1.0-53-cloud-amd64", GCC_12),
            ("6.1.0-54-amd64", GCC_12),
            ("6.1.0-56-cloud-amd64", GCC_12),
            ("6.12.117+deb13-cloud-amd64", GCC_12),
        ];
        assert_eq!(follows("6.1.0-55-cloud-amd64", GCC_12, &line), Some("6.1.0-56-cloud-amd64"));
        assert_eq!(follows("6.1.0-54-cloud-amd64", GCC_12, &line), Some("6.1.0-53-cloud-amd64"));
        assert_eq!(follows("6.1.0-57-rt-amd64", GCC_12, &line), Some("6.1.0-54-amd64"));
        assert_eq!(follows("6.1.0-57-rt-amd64", GCC_12, &line[..1]), Some("6.1.0-53-cloud-amd64"));
        assert_eq!(follows("5.10.0-43-cloud-amd64", GCC_12, &line), None);
    }

    #[test]
    fn real_time_kernels_have_less_in_common_than_updates() {
        let line = [("6.12.107+deb13-rt-amd64", GCC_14), ("6.12.118+deb13-amd64", GCC_14)];
        assert_eq!(follows("6.12.107+deb13-cloud-amd64", GCC_14, &line), Some(line[1].0));
        assert_eq!(follows("6.12.118+deb13-rt-amd64", GCC_14, &line), Some(line[0].0));
        for (release, is) in [
            ("6.1.0-57-rt-amd64", true),
            ("6.8.1-1015-realtime", true),
            ("6.6.30-rt30", true),
            ("5.14.0-570.el9.x86_64+rt", true),
            ("6.1.0-57-amd64", false),
            ("6.1.0-virt1-part", false),
        ] {
            assert_eq!(Told::of(release.as_bytes(), b"").is_realtime, is, "{release}");
        }
        let before = [("7.2.12+deb13-rt-amd64", GCC_14), ("7.2.12+deb13-amd64", GCC_14)];
        assert_eq!(follows("7.3.4+deb13-amd64", GCC_14, &before), Some(before[1].0));
    }

    #[test]
    fn a_line_follows_the_next_one_by_its_compiler() {
        let all = [("7.2.12+deb13-cloud-amd64", GCC_14), ("7.2.13+deb14-cloud-amd64", GCC_16)];
        assert_eq!(follows("7.3.4+deb13-cloud-amd64", GCC_14, &all), Some(all[0].0));
        assert_eq!(follows("7.3-cloud-amd64", NEWER_16, &all), Some(all[1].0));
        assert_eq!(follows("7.1.9-cloud-amd64", GCC_16, &all), Some(all[1].0));
        for (release, compiler) in
            [("7.3-cloud-amd64", CLANG_16), ("7.3-cloud-amd64", ""), ("7.4", GCC_14), ("8.3", GCC_14)]
        {
            assert_eq!(follows(release, compiler, &all), None, "{release} {compiler}");
        }
        // The modules of a large kernel say more than the line.
        let large = [all[0], ("7.2.12+deb13-amd64", GCC_14), ("7.3.4+deb13-cloud-amd64", GCC_14)];
        assert_eq!(follows("7.3.4+deb13-amd64", GCC_14, &large), Some("7.2.12+deb13-amd64"));
        assert_eq!(
            follows("7.3.4+deb13-amd64", GCC_14, &[large[0], large[2]]),
            Some("7.3.4+deb13-cloud-amd64")
        );
        let line = [("7.2.6", GCC_14), ("7.2.12", GCC_14), ("7.2.9", GCC_14)];
        assert_eq!(follows("7.3.1", GCC_14, &line), Some("7.2.6"), "it has the shortest chain");
        // The compiler says more than the line, and the line more than the flavour.
        let two = [("7.3-cloud-amd64", GCC_16), all[0], ("7.3.2+deb13-amd64", GCC_14)];
        assert_eq!(follows("7.3.4+deb13-cloud-amd64", GCC_14, &two[..2]), Some(all[0].0));
        assert_eq!(follows("7.3.4+deb13-cloud-amd64", GCC_14, &two), Some("7.3.2+deb13-amd64"));
        assert_eq!(follows("7.3.4+deb13-cloud-amd64", GCC_14, &two[..1]), Some("7.3-cloud-amd64"));
    }

    #[test]
    fn what_follows_6_19_is_7_0() {
        assert_eq!(follows("7.0.1", GCC_14, &[("6.19.4", GCC_14)]), Some("6.19.4"));
        assert_eq!(follows("6.19.4", GCC_14, &[("7.0.1", GCC_14)]), Some("7.0.1"));
        assert_eq!(follows("7.0.1", GCC_14, &[("6.12.4", GCC_14)]), None);
        assert_eq!(follows("custom", GCC_14, &[("6.12.4", GCC_14)]), None);
        assert_eq!(follows("custom", GCC_14, &[("custom", GCC_14)]), Some("custom"));
    }
}
