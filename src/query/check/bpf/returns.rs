//! What programs may return (`check_return_code`, kernel/bpf/verifier.c, 5.10 and 6.1; `return_retval_range`, 7.3): "At program
//! exit the register R0 has …".
use super::super::outcome::{Finding, State};
use super::Checking;
use probeidx_bpf::reach::Reached;
use probeidx_bpf::section::{AttachType as A, Definition, ProgramType as P};
use std::ops::RangeInclusive;

/// The first number that is returned and that the kernel does not take.
pub fn findings(
    checking: &Checking<'_, '_, '_>,
    definition: &Definition,
    reached: &Reached,
) -> Option<Finding> {
    let range = range(definition, checking.line())?;
    let (place, number) = reached.returns.iter().find(|(_, number)| !range.contains(number))?;
    let (least, most) = range.into_inner();
    let takes = if least == most { least.to_string() } else { format!("{least} to {most}") };
    // Programs return an int, whatever stands above it.
    let number = (*number as u32).cast_signed();
    let why = format!("it returns {number}, and programs of this kind have to return {takes}");
    let text = checking.text(*place, "the program");
    Some(checking.at(Finding::new(State::Loader, text, why).errno("EINVAL"), *place))
}

/// `None` for kinds that may return anything, or of which it depends on what they are attached to.
fn range(definition: &Definition, line: Option<(u32, u32)>) -> Option<RangeInclusive<u64>> {
    Some(match (definition.program, definition.attach?) {
        (P::Tracing, A::TraceFentry | A::TraceFexit) => 0..=0,
        (P::Tracing, A::TraceIter) => 0..=1,
        (
            P::CgroupSockAddr,
            A::CgroupUdp4Recvmsg
            | A::CgroupUdp6Recvmsg
            | A::CgroupUnixRecvmsg
            | A::CgroupInet4Getpeername
            | A::CgroupInet6Getpeername
            | A::CgroupUnixGetpeername
            | A::CgroupInet4Getsockname
            | A::CgroupInet6Getsockname
            | A::CgroupUnixGetsockname,
        ) => 1..=1,
        (P::CgroupSockAddr, A::CgroupInet4Bind | A::CgroupInet6Bind) => match line? {
            line if line <= (5, 10) => 0..=1,
            line if line >= (6, 1) => 0..=3,
            _ => return None,
        },
        (P::CgroupSkb, A::CgroupInetEgress) => 0..=3,
        (
            P::CgroupSockAddr
            | P::CgroupSkb
            | P::CgroupSock
            | P::SockOps
            | P::CgroupDevice
            | P::CgroupSysctl
            | P::CgroupSockopt,
            _,
        ) => 0..=1,
        (P::SkLookup | P::Netfilter, _) => 0..=1,
        (P::Kprobe, A::TraceKprobeSession | A::TraceUprobeSession) => 0..=1,
        _ => return None,
    })
}
