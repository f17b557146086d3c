# What the measurements share. Sourced, not run.
. "$(dirname "${BASH_SOURCE[0]}")/../scripts/lib.sh"

export LC_ALL=C
mkdir -p "$target/measure"
rustc --edition 2024 -O -o "$target/measure/alternate" benches/tools/alternate.rs
alternate() { "$target/measure/alternate" "$@"; }

# Peak memory of a command in MiB.
peak() {
    local out
    has /usr/bin/time || { echo '-' && return; }
    out=$(mktemp)
    /usr/bin/time -o "$out" -f %M "$@" >/dev/null 2>&1 || true
    awk 'END { printf "%.0f\n", $1 / 1024 }' "$out"
    rm -f "$out"
}

# The address of a symbol, without 0x.
address_of() { nm "$vmlinux" | awk -v name="$1" '$3 == name && !found++ { print $1 }'; }

machine() {
    local cpu
    cpu=$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1)
    echo "$(nproc) x ${cpu:-unknown processor}, $(awk '/^MemTotal/ { printf "%.0f GiB", $2 / 1048576 }' /proc/meminfo), $(date -u +%F)"
}
