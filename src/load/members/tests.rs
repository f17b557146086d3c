use super::*;
use crate::error::ErrorKind;
use std::sync::mpsc::channel;
use std::time::Duration;

/// A package of files that are expected, unpacked by `unpack`.
fn package(name: &str, files: &[&str], unpack: impl FnOnce(Feed) + Send + 'static) -> (Members, PathBuf) {
    let mut members = Members::default();
    let path = Path::new("/packages").join(name);
    members.add_package(&path);
    members.expect(files.iter().map(|file| path.join(file)), 7, Box::new(unpack));
    (members, path)
}

fn of(length: usize) -> Member {
    Member { bytes: Arc::new(vec![7; length]), mtime_ns: 5 }
}

const MIB: usize = 1 << 20;

#[test]
fn a_package_is_unpacked_as_its_files_are_asked_for() {
    let (said, heard) = channel();
    let (members, path) = package("ahead.deb", &["a", "b", "c", "d", "e"], {
        let path = Path::new("/packages/ahead.deb");
        move |feed| {
            for file in ["a", "b", "c", "d", "e"] {
                assert_eq!(feed.wants(&path.join(file)), Some(file != "c"), "{file}");
                if file != "c" {
                    feed.add(path.join(file), of(40 * MIB));
                    said.send(file).unwrap();
                }
            }
            assert_eq!(feed.wants(&path.join("f")), None);
        }
    });
    assert!(is_file(&path.join("e")) && !is_file(&path.join("f")));
    assert_eq!(members.bytes_of([path.join("e").as_path(), Path::new("/e")].into_iter()), 7);
    assert_eq!(members.bytes_of([Path::new("/e")].into_iter()), 0);
    // Nothing comes before anything is asked for; and of what nobody wants, nothing at all.
    assert!(heard.recv_timeout(Duration::from_millis(20)).is_err());
    forget(&path.join("c"));
    assert_eq!(find(&path.join("a")).unwrap().bytes.len(), 40 * MIB);
    // `a` counts no more; `b` is less than what may be ahead, `b` and `d` are more.
    assert_eq!((heard.recv().unwrap(), heard.recv().unwrap()), ("a", "b"));
    assert!(heard.recv_timeout(Duration::from_millis(100)).is_err(), "too far ahead");
    // What comes late is not waited for in vain.
    assert_eq!(find(&path.join("e")).unwrap().mtime_ns, 5);
    assert_eq!((heard.recv().unwrap(), heard.recv().unwrap()), ("d", "e"));
    forget(&path.join("a"));
    assert!(find(&path.join("a")).is_none() && find(&path.join("c")).is_none());
    assert!(find(&path.join("b")).is_some());
}

#[test]
fn who_waits_for_what_does_not_come_is_told() {
    let (members, path) = package("cut.deb", &["a", "b", "c"], |feed| {
        feed.add("/packages/cut.deb/a".into(), of(1));
        assert_eq!(feed.missing(), ["b", "c"].map(|file| Path::new("/packages/cut.deb").join(file)));
        feed.fault(Error::new(ErrorKind::Damaged, "the package is cut off"));
    });
    assert!(find(&path.join("b")).is_none());
    assert!(find(&path.join("a")).is_some());
    let said = members.end_of([path.join("a").as_path()].into_iter());
    assert_eq!(said.iter().map(Error::message).collect::<Vec<_>>(), ["the package is cut off"]);
    assert!(members.end().is_empty(), "it is said once");
    // A thread that fails ends nobody's wait.
    let (_members, path) = package("failed.deb", &["a"], drop);
    assert!(find(&path.join("a")).is_none());
}

#[test]
fn a_file_is_looked_for_in_its_own_package_first() {
    let (mut members, own) = package("own.deb", &["boot/config"], |feed| {
        feed.add("/packages/own.deb/boot/config".into(), of(2));
    });
    let other = Path::new("/packages/other.deb");
    members.add_package(other);
    members.add(other.join("boot/config"), of(3));
    members.add(other.join("boot/System.map"), of(4));
    let length = |path: &str| find(&own.join(path)).map(|member| member.bytes.len());
    assert_eq!(length("boot/config"), Some(2));
    assert_eq!(length("boot/../boot/System.map"), Some(4));
    assert_eq!(length("boot/vmlinuz"), None);
}

/// The rest of a package is passed over, and its end is waited for; what nobody waits for ends with the build.
#[test]
fn what_nobody_asks_for_is_not_kept() {
    let (said, heard) = channel();
    let unpack = move |name: &'static str| {
        let said = said.clone();
        move |feed: Feed| {
            let path = Path::new("/packages").join(name);
            let mut kept = 0;
            for number in 0..10 {
                let file = path.join(number.to_string());
                if feed.is_over() {
                    break;
                }
                if feed.wants(&file) == Some(true) {
                    feed.add(file, of(40 * MIB));
                    kept += 1;
                }
            }
            said.send((kept, feed.is_over(), feed.missing().len())).unwrap();
        }
    };
    let files = ["0", "1", "2", "3", "4", "5", "6", "7", "8", "9"];
    let (members, path) = package("rest.deb", &files, unpack("rest.deb"));
    assert!(find(&path.join("0")).is_some());
    assert!(members.end_of([path.join("3").as_path()].into_iter()).is_empty());
    let (kept, is_over, missing) = heard.recv().unwrap();
    assert!(kept <= 4 && !is_over && missing == 0, "{kept} {is_over} {missing}");
    let (members, path) = package("left.deb", &files, unpack("left.deb"));
    assert!(find(&path.join("0")).is_some());
    drop(members);
    let (kept, is_over, _) = heard.recv().unwrap();
    assert!(kept <= 4 && is_over, "{kept} {is_over}");
}
