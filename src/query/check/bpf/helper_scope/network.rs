//! Which programs that do not trace may call which helpers: those of sockets, packets, cgroups, system calls and struct_ops.
//!
//! Measured as the rest was, one program of each type and way of attaching; those that are not here differ in nothing from one
//! that is; on 6.12.118 and 7.2.12 too. The numbers are of 7.3; what came later than the helper itself is told apart.
use super::Numbers;
use probeidx_bpf::section::{AttachType as A, ProgramType as P};

/// What programs of a kind may call.
pub(super) struct Family {
    /// Besides [`COMMON`].
    pub(super) own: &'static Numbers,
    /// Refused on 5.10, which has the helper, and allowed on 6.1.
    pub(super) since_middle: &'static [&'static Numbers],
    /// Refused on 6.1, which has the helper, and allowed on 6.12.
    pub(super) since_later: &'static Numbers,
    /// Those that are not among the former: refused on 6.12, which has the helper, and allowed on 7.2.
    pub(super) since_newest: &'static [&'static Numbers],
}

/// Of all these programs, on 7.3.
#[rustfmt::skip]
pub(super) const COMMON: &Numbers = &[
    (1, 3), (5, 8), (12, 12), (14, 17), (22, 22), (35, 35), (37, 37), (42, 42), (55, 55), (80, 80), (87, 89), (93, 94),
    (105, 106), (109, 109), (112, 115), (117, 118), (120, 120), (123, 123), (125, 125), (130, 134), (141, 141), (148, 149),
    (153, 154), (156, 158), (164, 165), (169, 172), (175, 177), (180, 182), (191, 191), (194, 195), (197, 203), (208, 211),
];
/// Numbers from text.
const PARSING: &Numbers = &[(105, 106)];
/// What tracing programs had before.
#[rustfmt::skip]
const TRACING: &Numbers = &[
    (22, 22), (37, 37), (55, 55), (109, 109), (117, 117), (120, 120), (141, 141), (148, 148), (156, 157), (176, 176), (180, 180),
    (191, 191),
];
/// Who runs: process, user, name.
const CURRENT: &Numbers = &[(14, 16)];
/// Cgroups of who runs.
const CGROUPS: &Numbers = &[(80, 80), (123, 123)];
const CLASS: &Numbers = &[(17, 17)];
const NETNS_COOKIE: &Numbers = &[(122, 122)];
/// setsockopt and getsockopt.
const OPTIONS: &Numbers = &[(49, 49), (57, 57)];
/// What programs of cgroups have of who runs.
const CURRENT_OF_CGROUP: &Numbers = &[(14, 14), (16, 17), (123, 123)];

/// The family of a kind of program. `None` for those that trace, and those of which nothing was measured.
#[rustfmt::skip]
pub(super) fn family(program: P, attach: Option<A>) -> Option<Family> {
    let (own, since_middle, since_newest): (&Numbers, &[&Numbers], &[&Numbers]) = match (program, attach) {
        (P::SocketFilter, _) => (
            &[(25, 26), (46, 47), (68, 68), (122, 122), (136, 140), (160, 160), (178, 178), (196, 196)],
            &[PARSING],
            &[TRACING, CURRENT, CGROUPS, CLASS, NETNS_COOKIE],
        ),
        (P::SchedCls | P::SchedAct, _) => (
            &[
                (9, 11), (13, 13), (18, 21), (23, 26), (28, 34), (38, 41), (43, 43), (46, 48), (50, 50), (66, 66), (68, 69),
                (79, 79), (83, 86), (95, 100), (107, 108), (110, 110), (122, 122), (124, 124), (135, 140), (151, 152),
                (155, 155), (160, 160), (163, 163), (178, 178), (192, 192), (196, 196), (204, 207),
            ],
            &[PARSING],
            &[TRACING, CURRENT, CGROUPS, NETNS_COOKIE],
        ),
        (P::Xdp, _) => (
            &[
                (23, 23), (25, 25), (28, 28), (44, 44), (51, 51), (54, 54), (65, 65), (69, 69), (84, 86), (99, 100), (110, 110),
                (136, 140), (160, 160), (163, 163), (178, 178), (188, 190), (196, 196), (204, 207),
            ],
            &[PARSING],
            &[TRACING, CURRENT, CGROUPS, CLASS],
        ),
        (P::CgroupSkb, _) => (
            &[
                (25, 26), (46, 47), (68, 68), (79, 79), (81, 81), (83, 86), (95, 99), (107, 108), (122, 122), (128, 129),
                (136, 140), (160, 160), (178, 178), (196, 196),
            ],
            &[PARSING],
            &[TRACING, CURRENT, CGROUPS, CLASS, NETNS_COOKIE],
        ),
        // Without a type, it is sock_create.
        (P::CgroupSock, None | Some(A::CgroupInetSockCreate)) => (
            &[
                (25, 25), (46, 46), (49, 49), (57, 57), (81, 81), (107, 107), (122, 122), (160, 160), (186, 187),
            ],
            &[PARSING],
            &[TRACING, OPTIONS],
        ),
        (P::CgroupSock, _) => (
            &[(25, 25), (46, 46), (81, 81), (107, 107), (122, 122), (160, 160), (186, 187)],
            &[PARSING],
            &[TRACING],
        ),
        (P::CgroupSockAddr, attach) => {
            const OWN: &Numbers = &[
                (25, 25), (46, 46), (49, 49), (57, 57), (81, 81), (84, 86), (99, 99), (107, 108), (122, 122), (136, 140),
                (160, 160), (178, 178), (196, 196),
            ];
            const UNIX: &Numbers = &[
                (25, 25), (46, 46), (81, 81), (84, 86), (99, 99), (107, 108), (122, 122), (136, 140), (160, 160), (178, 178),
                (196, 196),
            ];
            const RETURNING: &Numbers = &[
                (25, 25), (46, 46), (49, 49), (57, 57), (81, 81), (84, 86), (99, 99), (107, 108), (122, 122), (136, 140),
                (160, 160), (178, 178), (186, 187), (196, 196),
            ];
            const CONNECTING: &Numbers = &[
                (25, 25), (46, 46), (49, 49), (57, 57), (64, 64), (81, 81), (84, 86), (99, 99), (107, 108), (122, 122),
                (136, 140), (160, 160), (178, 178), (186, 187), (196, 196),
            ];
            match attach {
                Some(A::CgroupInet4Connect | A::CgroupInet6Connect) => (CONNECTING, &[PARSING], &[TRACING]),
                Some(
                    A::CgroupInet4Bind | A::CgroupInet6Bind | A::CgroupUdp4Sendmsg | A::CgroupUdp6Sendmsg | A::CgroupUnixConnect
                    | A::CgroupUnixSendmsg,
                ) => (RETURNING, &[PARSING, OPTIONS], &[TRACING]),
                // Of unix sockets without options.
                Some(A::CgroupUnixGetpeername | A::CgroupUnixGetsockname) => (UNIX, &[], &[TRACING]),
                _ => (OWN, &[PARSING, OPTIONS], &[TRACING]),
            }
        }
        (P::SockOps, _) => (
            &[
                (25, 25), (46, 46), (49, 49), (53, 53), (57, 57), (59, 59), (70, 70), (81, 81), (96, 96), (107, 108), (122, 122),
                (136, 140), (142, 144), (160, 160), (178, 178), (196, 196),
            ],
            &[PARSING, NETNS_COOKIE],
            &[TRACING, CURRENT, CGROUPS, CLASS],
        ),
        (P::SkSkb, _) => (
            &[
                (9, 9), (25, 26), (38, 39), (43, 43), (46, 47), (50, 50), (52, 52), (72, 72), (84, 86), (99, 99), (136, 140),
                (160, 160), (178, 178), (196, 196),
            ],
            &[PARSING],
            &[TRACING, CURRENT, CGROUPS, CLASS],
        ),
        (P::SkMsg, _) => (
            &[
                (25, 25), (60, 63), (71, 71), (90, 91), (107, 108), (122, 122), (136, 140), (160, 160), (178, 178), (196, 196),
            ],
            &[PARSING, NETNS_COOKIE],
            &[TRACING, &[(16, 16)]],
        ),
        (P::SkLookup, _) => (
            &[(25, 25), (86, 86), (124, 124), (136, 140), (160, 160), (178, 178), (196, 196)],
            &[PARSING],
            &[TRACING, CURRENT, CGROUPS, CLASS],
        ),
        (P::SkReuseport, _) => (
            &[(26, 26), (46, 46), (68, 68), (82, 82), (160, 160)],
            &[PARSING, &[(46, 46)]],
            &[TRACING, CURRENT, CGROUPS, CLASS],
        ),
        (P::FlowDissector, _) => (
            &[(26, 26), (136, 140), (160, 160), (178, 178), (196, 196)],
            &[PARSING],
            &[TRACING, CURRENT, CGROUPS, CLASS],
        ),
        (P::CgroupDevice, _) => (
            &[(25, 25), (81, 81), (186, 187)],
            &[PARSING, CURRENT_OF_CGROUP],
            &[TRACING],
        ),
        (P::CgroupSysctl, _) => (
            &[(25, 25), (81, 81), (101, 104), (160, 160), (186, 187)],
            &[CURRENT_OF_CGROUP],
            &[TRACING],
        ),
        (P::CgroupSockopt, Some(A::CgroupSetsockopt)) => (
            &[(25, 25), (49, 49), (57, 57), (81, 81), (96, 96), (107, 108), (122, 122), (186, 187)],
            &[PARSING, CURRENT_OF_CGROUP, OPTIONS, NETNS_COOKIE],
            &[TRACING],
        ),
        (P::CgroupSockopt, _) => (
            &[(25, 25), (81, 81), (96, 96), (107, 108), (122, 122), (186, 187)],
            &[PARSING, CURRENT_OF_CGROUP, NETNS_COOKIE],
            &[TRACING],
        ),
        (P::LwtIn, _) => (
            &[(24, 26), (28, 28), (33, 34), (39, 39), (73, 73), (136, 140), (160, 160), (178, 178), (196, 196)],
            &[PARSING],
            &[TRACING, CURRENT, CGROUPS],
        ),
        (P::LwtOut, _) => (
            &[(24, 26), (28, 28), (33, 34), (39, 39), (136, 140), (160, 160), (178, 178), (196, 196)],
            &[PARSING],
            &[TRACING, CURRENT, CGROUPS],
        ),
        (P::LwtXmit, _) => (
            &[
                (9, 11), (13, 13), (20, 21), (23, 26), (28, 30), (33, 34), (38, 41), (43, 43), (73, 73), (135, 140), (160, 160),
                (178, 178), (196, 196),
            ],
            &[PARSING],
            &[TRACING, CURRENT, CGROUPS],
        ),
        (P::LwtSeg6local, _) => (
            &[(24, 26), (28, 28), (33, 34), (74, 76), (136, 140), (160, 160), (178, 178), (196, 196)],
            &[PARSING],
            &[TRACING, CURRENT, CGROUPS],
        ),
        // Came after 6.1.
        (P::Netfilter, _) => (&[], &[], &[TRACING, CURRENT, CGROUPS, CLASS]),
        // Came after 5.10.
        (P::Syscall, _) => (
            &[
                (4, 4), (25, 25), (27, 27), (36, 36), (45, 46), (67, 67), (111, 111), (121, 121), (136, 140), (162, 162),
                (166, 168), (173, 173), (178, 179), (188, 188), (196, 196),
            ],
            &[],
            &[CLASS],
        ),
        // Those of `tcp_congestion_ops`; what a table has besides is its own.
        (P::StructOps, _) => (&[], &[], &[TRACING, CURRENT, CGROUPS, CLASS]),
        _ => return None,
    };
    let since_later: &Numbers = match program {
        P::Syscall => &[],
        P::SkMsg => &[(120, 120)],
        P::CgroupSock | P::CgroupSockAddr | P::CgroupDevice | P::CgroupSysctl | P::CgroupSockopt => &[(37, 37), (120, 120)],
        _ => &[(14, 14), (80, 80), (120, 120), (123, 123)],
    };
    Some(Family { own, since_middle, since_later, since_newest })
}
