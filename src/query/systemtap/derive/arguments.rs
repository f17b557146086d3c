//! What SystemTap refuses of a built-in point's arguments, whatever the kernel (tapsets.cxx, tapset-procfs.cxx, tapset-perfmon.cxx,
//! tapset-timers.cxx and tapset-netfilter.cxx of 4.8).
use crate::error::{Error, ErrorKind, Result};
use crate::tapset::ast::{Component, Literal};

/// The components of a point that has one of the [forms](super::forms).
#[derive(Clone, Copy)]
struct Components<'c>(&'c [Component]);

impl<'c> Components<'c> {
    fn literal(self, name: &str) -> Option<&'c Literal> {
        self.0.iter().find(|component| component.name == name)?.argument.as_ref()
    }
    fn number(self, name: &str) -> Option<i64> {
        match self.literal(name)? {
            Literal::Number(number) => Some(*number),
            Literal::String(_) => None,
        }
    }
    fn text(self, name: &str) -> Option<&'c str> {
        match self.literal(name)? {
            Literal::String(text) => Some(text),
            Literal::Number(_) => None,
        }
    }
}

/// Whether SystemTap takes the arguments of a point that has one of the [forms](super::forms).
///
/// # Errors
/// [`ErrorKind::Usage`] with what is wrong.
pub(super) fn check(components: &[Component], guru: bool) -> Result<()> {
    let own = Components(components);
    let head = components.first().map_or("", |component| &*component.name);
    let wrong = match head {
        "kernel" | "module" => maxactive(own),
        "timer" => timer(own),
        "perf" => perf(own),
        "procfs" => procfs(own),
        // What is in no list is copied into the C program, which guru mode allows.
        "netfilter" if !guru => netfilter(own),
        _ => None,
    };
    wrong.map_or(Ok(()), |wrong| Err(Error::new(ErrorKind::Usage, wrong)))
}

/// The instances of a return probe: 4.8 keeps them in a short; 5.6 in an unsigned one.
const MOST_ACTIVE: i64 = 32_767;

fn maxactive(own: Components<'_>) -> Option<String> {
    let most = own.number("maxactive")?;
    (!(0..=MOST_ACTIVE).contains(&most)).then(|| format!("maxactive {most} is not within 0 to {MOST_ACTIVE}"))
}

/// The shortest and the longest interval of a timer in nanoseconds: 100 microseconds, and a day.
const SHORTEST: i64 = 100_000;
const LONGEST: i64 = 86_400_000_000_000;
/// The longest one in jiffies.
const MOST_JIFFIES: i64 = 1_000_000;

fn timer(own: Components<'_>) -> Option<String> {
    let unit = own.0.get(1)?;
    let Some(Literal::Number(every)) = unit.argument else { return None };
    let random = own.number("randomize").unwrap_or(0);
    let scale: i64 = match &*unit.name {
        "jiffies" => {
            let fits = (1..=MOST_JIFFIES).contains(&every);
            return match fits {
                false => Some(format!("{every} jiffies are not within 1 to {MOST_JIFFIES}")),
                true => not_random(every, random),
            };
        }
        "hz" if every <= 0 => return Some("the frequency has to be greater than 0".to_owned()),
        "hz" => return out_of_range((1_000_000_000_i64).saturating_add(every - 1) / every),
        "s" | "sec" => 1_000_000_000,
        "ms" | "msec" => 1_000_000,
        "us" | "usec" => 1_000,
        _ => 1,
    };
    out_of_range(every.saturating_mul(scale)).or_else(|| not_random(every, random))
}

fn out_of_range(nanoseconds: i64) -> Option<String> {
    let fits = (SHORTEST..=LONGEST).contains(&nanoseconds);
    (!fits).then(|| "the interval is not within 100 microseconds to a day".to_owned())
}

fn not_random(every: i64, random: i64) -> Option<String> {
    (!(0..=every).contains(&random)).then(|| format!("randomize {random} is not within 0 to {every}"))
}

fn perf(own: Components<'_>) -> Option<String> {
    if let Some(period) = own.number("sample").filter(|period| *period < 1) {
        return Some(format!("{period} is no period of samples: it has to be greater than 0"));
    }
    match own.text("counter")? {
        "" => Some("the counter has no name".to_owned()),
        name if name.contains(['*', '?', '[']) => Some("the name of a counter takes no wildcards".to_owned()),
        _ => None,
    }
}

fn procfs(own: Components<'_>) -> Option<String> {
    if let Some(most) = own.number("maxsize").filter(|most| *most <= 0) {
        return Some(format!("maxsize {most} is not greater than 0"));
    }
    let path = own.text("procfs")?;
    let wrong = path.split('/').any(|part| matches!(part, "" | "." | ".."));
    wrong.then(|| "the path has to be one within the directory of the script: no leading or trailing `/`, no `.` and `..`".to_owned())
}

/// The hooks of a protocol family, and the names of its priorities after their prefix.
struct Family {
    name: &'static str,
    hooks: &'static [&'static str],
    priorities: &'static str,
}

const FAMILIES: [Family; 4] = [
    Family {
        name: "NFPROTO_IPV4",
        hooks: &[
            "NF_INET_PRE_ROUTING",
            "NF_INET_LOCAL_IN",
            "NF_INET_FORWARD",
            "NF_INET_LOCAL_OUT",
            "NF_INET_POST_ROUTING",
            "NF_IP_PRE_ROUTING",
            "NF_IP_LOCAL_IN",
            "NF_IP_FORWARD",
            "NF_IP_LOCAL_OUT",
            "NF_IP_POST_ROUTING",
        ],
        priorities: "NF_IP_PRI_",
    },
    Family {
        name: "NFPROTO_IPV6",
        hooks: &[
            "NF_IP6_PRE_ROUTING",
            "NF_IP6_LOCAL_IN",
            "NF_IP6_FORWARD",
            "NF_IP6_LOCAL_OUT",
            "NF_IP6_POST_ROUTING",
        ],
        priorities: "NF_IP6_PRI_",
    },
    Family { name: "NFPROTO_ARP", hooks: &["NF_ARP_IN", "NF_ARP_OUT", "NF_ARP_FORWARD"], priorities: "" },
    Family {
        name: "NFPROTO_BRIDGE",
        hooks: &[
            "NF_BR_PRE_ROUTING",
            "NF_BR_LOCAL_IN",
            "NF_BR_FORWARD",
            "NF_BR_LOCAL_OUT",
            "NF_BR_POST_ROUTING",
        ],
        priorities: "",
    },
];

/// The names of priorities after the prefix of their family. IPv6 has no `CONNTRACK_CONFIRM`.
const PRIORITIES: [&str; 13] = [
    "FIRST",
    "CONNTRACK_DEFRAG",
    "RAW",
    "SELINUX_FIRST",
    "CONNTRACK",
    "MANGLE",
    "NAT_DST",
    "FILTER",
    "SECURITY",
    "NAT_SRC",
    "SELINUX_LAST",
    "LAST",
    "CONNTRACK_CONFIRM",
];

fn netfilter(own: Components<'_>) -> Option<String> {
    let (pf, hook) = (own.text("pf")?, own.text("hook")?);
    let Some(family) = FAMILIES.iter().find(|family| family.name == pf) else {
        let known = FAMILIES.map(|family| family.name).join(", ");
        return Some(format!("{pf} is no protocol family that SystemTap knows without guru mode: {known}"));
    };
    if !family.hooks.contains(&hook) {
        let known = family.hooks.join(", ");
        return Some(format!("{hook} is no hook of {pf} that SystemTap knows without guru mode: {known}"));
    }
    let priority = own.text("priority")?;
    let is_name = |name: &str| {
        !family.priorities.is_empty()
            && PRIORITIES.contains(&name)
            && (name != "CONNTRACK_CONFIRM" || family.name == "NFPROTO_IPV4")
    };
    let is_known =
        priority.strip_prefix(family.priorities).is_some_and(is_name) || priority.parse::<i32>().is_ok();
    (!is_known).then(|| format!("{priority} is no priority of {pf} that SystemTap knows without guru mode"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tapset::Place;

    fn component(name: &str, argument: Option<Literal>) -> Component {
        Component { name: name.to_owned(), argument, place: Place::default() }
    }
    fn number(name: &str, of: i64) -> Component {
        component(name, Some(Literal::Number(of)))
    }
    fn text(name: &str, of: &str) -> Component {
        component(name, Some(Literal::String(of.to_owned())))
    }
    fn taken(components: &[Component], guru: bool) -> bool {
        check(components, guru).is_ok()
    }

    #[test]
    fn intervals_are_of_100_microseconds_to_a_day() {
        let timer = |unit: &str, every: i64| taken(&[component("timer", None), number(unit, every)], false);
        for (unit, every) in
            [("us", 100), ("s", 86_400), ("hz", 10_000), ("jiffies", 1_000_000), ("ns", 100_000)]
        {
            assert!(timer(unit, every), "{unit} {every}");
        }
        for (unit, every) in [
            ("us", 99),
            ("s", 86_401),
            ("hz", 10_001),
            ("hz", 0),
            ("jiffies", 0),
            ("jiffies", 1_000_001),
            ("s", i64::MAX),
        ] {
            assert!(!timer(unit, every), "{unit} {every}");
        }
        let random =
            |by| taken(&[component("timer", None), number("ms", 10), number("randomize", by)], false);
        assert!(random(10) && !random(11) && !random(-1));
    }

    #[test]
    fn files_of_procfs_are_within_their_directory() {
        let procfs = |path: &str| taken(&[text("procfs", path), component("read", None)], false);
        assert!(procfs("foo") && procfs("a/b.c/..d"));
        for path in ["/foo", "foo/", "a//b", "./a", "a/..", ""] {
            assert!(!procfs(path), "{path}");
        }
        let sized = |most| {
            taken(&[component("procfs", None), component("read", None), number("maxsize", most)], true)
        };
        assert!(sized(1) && !sized(0) && !sized(-1));
    }

    #[test]
    fn hooks_are_those_of_their_family_unless_in_guru_mode() {
        let hook = |pf: &str, hook: &str, guru| {
            taken(&[component("netfilter", None), text("pf", pf), text("hook", hook)], guru)
        };
        assert!(
            hook("NFPROTO_IPV4", "NF_IP_FORWARD", false) && hook("NFPROTO_BRIDGE", "NF_BR_LOCAL_IN", false)
        );
        assert!(!hook("NFPROTO_IPV6", "NF_IP_FORWARD", false) && hook("NFPROTO_IPV6", "NF_IP_FORWARD", true));
        assert!(!hook("INTERGALACTIC_IPV3000", "NF_IP_FORWARD", false));
        let priority = |pf: &str, hook: &str, of: &str| {
            taken(
                &[component("netfilter", None), text("pf", pf), text("hook", hook), text("priority", of)],
                false,
            )
        };
        assert!(priority("NFPROTO_IPV4", "NF_IP_FORWARD", "NF_IP_PRI_CONNTRACK_CONFIRM"));
        assert!(!priority("NFPROTO_IPV6", "NF_IP6_FORWARD", "NF_IP6_PRI_CONNTRACK_CONFIRM"));
        assert!(priority("NFPROTO_ARP", "NF_ARP_IN", "-5") && !priority("NFPROTO_ARP", "NF_ARP_IN", "FIRST"));
    }

    #[test]
    fn counters_have_plain_names_and_returns_a_bound() {
        let of = |counter: &str| {
            taken(
                &[component("perf", None), number("type", 0), number("config", 0), text("counter", counter)],
                false,
            )
        };
        assert!(of("a") && !of("") && !of("a*"));
        let returns = |most| {
            let function = [
                component("kernel", None),
                text("function", "f"),
                component("return", None),
                number("maxactive", most),
            ];
            taken(&function, true)
        };
        assert!(returns(0) && returns(32_767) && !returns(32_768) && !returns(-1));
    }
}
