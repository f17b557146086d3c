//! Expects the next type of a unit. Units include much the same headers in much the same order, so what followed a type
//! in one unit mostly follows it in the next one. A comparison confirms that, where otherwise a hash of the name and
//! look-ups in large tables would find the type.
use super::attrs::StrRef;
use super::facts::NO_TYPE;

/// Longer names are not kept, and so never expected: to compare them again and again would take long.
const LONGEST_NAME: usize = 256;

/// The order of the named types of a batch.
#[derive(Default)]
pub struct Followers {
    /// By number of the type. Types without a name have a blank one, or none.
    types: Vec<Follower>,
    /// The names of all types, one after another.
    names: Vec<u8>,
    /// The type that was met last.
    last: u32,
    /// How many objects came before this one.
    object: u32,
}

#[derive(Clone, Copy)]
struct Follower {
    /// The type that was met after it, the last time.
    next: u32,
    /// The position of its name in `names`, and its length; 0 for none.
    name: u32,
    length: u32,
    /// An object, and a reference to the name in its sections that proved to be the same name.
    object: u32,
    proved: u64,
}

impl Follower {
    const BLANK: Self = Self { next: NO_TYPE, name: 0, length: 0, object: u32::MAX, proved: 0 };
}

impl Followers {
    /// Empties it, between two objects; its memory is kept.
    pub fn clear(&mut self) {
        self.types.clear();
        self.names.clear();
    }
    /// Forgets what is valid for one object only.
    pub fn leave_object(&mut self) {
        self.object = self.object.wrapping_add(1);
        self.last = NO_TYPE;
    }
    /// Notes the name of a type.
    pub fn name(&mut self, number: u32, name: &[u8]) {
        if name.len() <= LONGEST_NAME {
            let start = self.names.len() as u32;
            let follower = self.follower(number);
            (follower.name, follower.length) = (start, name.len() as u32);
            self.names.extend_from_slice(name);
        }
    }
    /// Notes that a type was met.
    #[inline]
    pub fn met(&mut self, number: u32) {
        if self.last != NO_TYPE {
            self.follower(self.last).next = number;
        }
        self.last = number;
    }
    /// The type that should be met now.
    #[inline(always)]
    pub fn expected(&self) -> Option<u32> {
        self.types.get(self.last as usize).map(|last| last.next)
    }
    /// Whether the type has this name, as `is` says of a text. If so, it counts as met.
    #[inline(always)]
    pub fn confirm(&mut self, number: u32, name: StrRef, is: impl FnOnce(&[u8]) -> bool) -> bool {
        let Some(follower) = self.types.get_mut(number as usize).filter(|f| f.length != 0) else {
            return false;
        };
        if (follower.object, follower.proved) != (self.object, name.0) {
            let known = &self.names[follower.name as usize..][..follower.length as usize];
            if !is(known) {
                return false;
            }
            (follower.object, follower.proved) = (self.object, name.0);
        }
        self.last = number;
        true
    }
    fn follower(&mut self, number: u32) -> &mut Follower {
        let at = number as usize;
        if self.types.len() <= at {
            self.types.resize(at + 1, Follower::BLANK);
        }
        &mut self.types[at]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_followed_once_is_expected_again_and_confirmed_by_its_name() {
        let mut followers = Followers::default();
        followers.leave_object();
        followers.name(4, b"list_head");
        followers.name(7, b"page");
        assert_eq!(followers.expected(), None);
        followers.met(4);
        followers.met(7);
        followers.leave_object();
        followers.met(4);
        assert_eq!(followers.expected(), Some(7));
        assert!(!followers.confirm(7, StrRef::str(1), |name| name == b"pages"));
        assert!(followers.confirm(7, StrRef::str(7), |name| name == b"page"));
        assert_eq!(followers.expected(), Some(NO_TYPE));
    }

    #[test]
    fn a_reference_proves_nothing_of_another_object() {
        let mut followers = Followers::default();
        followers.name(1, b"page");
        assert!(followers.confirm(1, StrRef::str(0), |name| name == b"page"));
        assert!(followers.confirm(1, StrRef::str(0), |_| unreachable!("proved")));
        followers.leave_object();
        assert!(!followers.confirm(1, StrRef::str(0), |name| name == b"zone"));
    }
}
