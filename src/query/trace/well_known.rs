//! Constants that programs know by name and that no debug information has, because they are macros.
use super::errno;

/// `EM_AARCH64`: open flags differ there (arch/arm64/include/uapi/asm/fcntl.h).
const AARCH64: u16 = 183;

/// The value of a macro of the kernel's interface to programs: flags of open(2), bits of file modes, numbers of errors.
/// The others are those of include/uapi/asm-generic.
pub fn value(name: &str, machine: u16) -> Option<i64> {
    let open = OPEN.iter().find(|(known, ..)| *known == name).map(|(_, generic, arm64)| match machine {
        AARCH64 => *arm64,
        _ => *generic,
    });
    let error = || errno::number(name).map(i64::from);
    let plain = || PLAIN.iter().find(|(known, _)| *known == name).map(|(_, value)| *value);
    open.or_else(error).or_else(plain)
}

/// Flags of open(2): elsewhere, and on arm64.
const OPEN: [(&str, i64, i64); 22] = [
    ("O_RDONLY", 0, 0),
    ("O_WRONLY", 0o1, 0o1),
    ("O_RDWR", 0o2, 0o2),
    ("O_ACCMODE", 0o3, 0o3),
    ("O_CREAT", 0o100, 0o100),
    ("O_EXCL", 0o200, 0o200),
    ("O_NOCTTY", 0o400, 0o400),
    ("O_TRUNC", 0o1000, 0o1000),
    ("O_APPEND", 0o2000, 0o2000),
    ("O_NONBLOCK", 0o4000, 0o4000),
    ("O_NDELAY", 0o4000, 0o4000),
    ("O_DSYNC", 0o10000, 0o10000),
    ("FASYNC", 0o20000, 0o20000),
    ("O_DIRECT", 0o40000, 0o200000),
    ("O_LARGEFILE", 0o100000, 0o400000),
    ("O_DIRECTORY", 0o200000, 0o40000),
    ("O_NOFOLLOW", 0o400000, 0o100000),
    ("O_NOATIME", 0o1000000, 0o1000000),
    ("O_CLOEXEC", 0o2000000, 0o2000000),
    ("O_SYNC", 0o4010000, 0o4010000),
    ("O_PATH", 0o10000000, 0o10000000),
    ("O_TMPFILE", 0o20200000, 0o20040000),
];

const PLAIN: [(&str, i64); 18] = [
    ("NULL", 0),
    ("false", 0),
    ("true", 1),
    ("AT_FDCWD", -100),
    ("S_IFMT", 0o170000),
    ("S_IFSOCK", 0o140000),
    ("S_IFLNK", 0o120000),
    ("S_IFREG", 0o100000),
    ("S_IFBLK", 0o60000),
    ("S_IFDIR", 0o40000),
    ("S_IFCHR", 0o20000),
    ("S_IFIFO", 0o10000),
    ("S_ISUID", 0o4000),
    ("S_ISGID", 0o2000),
    ("S_ISVTX", 0o1000),
    ("S_IRWXU", 0o700),
    ("S_IRWXG", 0o70),
    ("S_IRWXO", 0o7),
];

#[cfg(test)]
mod tests {
    use super::value;

    #[test]
    fn open_flags_are_those_of_the_machine() {
        assert_eq!(value("O_DIRECT", 62), Some(0x4000));
        assert_eq!(value("O_DIRECT", 183), Some(0x10000));
        assert_eq!(
            (value("ENOENT", 62), value("NULL", 62), value("O_DIRECTIONS", 62)),
            (Some(2), Some(0), None)
        );
    }
}
