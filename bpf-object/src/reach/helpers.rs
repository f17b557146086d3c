//! What helpers do to what is known (`include/uapi/linux/bpf.h`, `enum bpf_func_id`).
use crate::object::Map;
use crate::reach::pointer::{AfterRead, Pointer};
use crate::reach::state::State;
use crate::reach::value::Value;
use crate::reach::{Environment, Place};

/// Forgets what a call may have written to stacks. `helper` is `None` for kfuncs.
pub(super) fn forget_written(helper: Option<u32>, state: &mut State) {
    let writes = writes(helper);
    let arguments = match writes {
        Writes::Nothing => 1..1,
        Writes::First => 1..2,
        Writes::Forward | Writes::Anywhere => 1..6,
    };
    for number in arguments {
        // A pointer to the stack that was lost cannot be passed: the verifier would have lost it too.
        let Value::Stack(frame, offset) = state.register(number) else { continue };
        match (writes, offset, state.register(2).number()) {
            (Writes::Anywhere, _, _) => state.forget_all(),
            (Writes::First, Some(offset), Some(size)) => {
                state.forget(frame, offset, i64::try_from(size).unwrap_or(i64::MAX));
            }
            (_, Some(offset), _) => state.forget(frame, offset, i64::MAX),
            (_, None, _) => state.forget(frame, i32::MIN, i64::MAX),
        }
    }
}

/// Whether a helper reads memory of the kernel from its third argument: probe_read, probe_read_str, and both as
/// `…_kernel`.
pub(super) fn is_kernel_read(helper: Option<u32>) -> bool {
    matches!(helper, Some(4 | 45 | 113 | 115))
}

/// What a helper gives. A current task is memory of the kernel: as a number (get_current_task), or typed
/// (get_current_task_btf).
pub(super) fn result(helper: Option<u32>, place: Place, environment: &impl Environment) -> Value {
    let Some(helper) = helper else { return Value::Other };
    match helper {
        35 => Value::Kernel(0, false, Pointer::Number),
        158 => Value::Kernel(0, false, environment.current_task()),
        // map_lookup_elem, ringbuf_reserve.
        1 | 131 => Value::Memory(Some((place.function.0, place.instruction))),
        // get_local_storage; of sockets lookup, fullsock, tcp_sock, storage and casts; per_cpu_ptr; of inodes, tasks and cgroups
        // storage; sock_from_file, task_pt_regs, kptr_xchg, map_lookup_percpu_elem, dynptr_data.
        81
        | 84
        | 85
        | 95
        | 96
        | 98
        | 99
        | 107
        | 136..=140
        | 145
        | 153
        | 154
        | 156
        | 162
        | 175
        | 178
        | 194
        | 195
        | 196
        | 203
        | 210 => Value::Other,
        // The last of 7.3.
        ..=211 => Value::Number(None),
        _ => Value::Other,
    }
}

/// What becomes of what a helper reads on stacks.
pub(super) fn forget_read(helper: Option<u32>, maps: &[Map<'_>], after: AfterRead, state: &mut State) {
    if after == AfterRead::Kept {
        return;
    }
    let map = match state.register(1) {
        Value::Map(number) => maps.get(number as usize),
        _ => None,
    };
    let of_map = |size: fn(&Map<'_>) -> u32| map.map(size).filter(|size| *size > 0).map(i64::from);
    let told = |number| state.register(number).number().and_then(|size| i64::try_from(size).ok());
    let (key, value) = (of_map(|map| map.key_size), of_map(|map| map.value_size));
    let reads = match helper {
        // map_lookup_elem and map_delete_elem: a key; map_update_elem: a value too; map_push_elem.
        Some(1 | 3) => [Some((2, key)), None],
        Some(2) => [Some((2, key)), Some((3, value))],
        Some(87) => [Some((2, value)), None],
        // trace_printk, perf_event_output, ringbuf_output.
        Some(6) => [Some((1, told(2))), None],
        Some(25) => [Some((4, told(5))), None],
        Some(130) => [Some((2, told(3))), None],
        _ => [None, None],
    };
    for (number, size) in reads.into_iter().flatten() {
        if let Value::Stack(frame, offset) = state.register(number) {
            // Of a size that is not told, which pointers it reaches is not known.
            let after = if size.is_none() && after == AfterRead::Lost { AfterRead::Doubtful } else { after };
            state.read_by_helper(frame, offset.unwrap_or(i32::MIN), size.unwrap_or(i64::MAX), after);
        }
    }
}

/// What a call writes to the stacks it is given pointers to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Writes {
    Nothing,
    /// From where the first argument points to, as many bytes as the second says.
    First,
    /// From where a pointer points to.
    Forward,
    /// Also before it, and through pointers that stand there: what is called back may do so.
    Anywhere,
}

/// What a helper writes (`include/uapi/linux/bpf.h`, `enum bpf_func_id`). Registers that are no arguments may hold
/// anything, so those without arguments are named too.
fn writes(helper: Option<u32>) -> Writes {
    let Some(helper) = helper else { return Writes::Anywhere };
    match helper {
        // map_lookup_elem, map_update_elem, map_delete_elem, trace_printk, perf_event_output, map_push_elem,
        // ringbuf_output read keys, values and texts.
        1 | 2 | 3 | 6 | 25 | 87 | 130 => Writes::Nothing,
        // ktime_get_ns, get_prandom_u32, get_smp_processor_id, get_current_pid_tgid, get_current_uid_gid,
        // get_current_task, get_numa_node_id, get_current_cgroup_id, jiffies64, ktime_get_boot_ns,
        // get_current_task_btf, ktime_get_coarse_ns, ktime_get_tai_ns have no arguments.
        5 | 7 | 8 | 14 | 15 | 35 | 42 | 80 | 118 | 125 | 158 | 160 | 208 => Writes::Nothing,
        // probe_read and its kin, get_current_comm.
        4 | 16 | 45 | 112..=115 => Writes::First,
        // for_each_map_elem, find_vma, loop, user_ringbuf_drain.
        164 | 180 | 181 | 209 => Writes::Anywhere,
        _ => Writes::Forward,
    }
}
