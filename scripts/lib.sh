# What the scripts share. Sourced, not run.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
target=$(cargo metadata --format-version 1 --no-deps --offline 2>/dev/null | sed -n 's/.*"target_directory":"\([^"]*\)".*/\1/p') || true
target=${target:-$PWD/target}

# What CI boots beside the installed kernel, as scripts/kernels is told.
tested_kernels=(oldest newest --arch amd64 --arch arm64)

say() { printf '\n== %s (%d:%02d)\n' "$*" $((SECONDS / 60)) $((SECONDS % 60)); }
fail() {
    printf 'error: %s\n' "$*" >&2
    exit 1
}
has() { command -v "$1" >/dev/null 2>&1; }

as_root() {
    if [ "$(id -u)" = 0 ]; then "$@"; elif has sudo; then sudo "$@"; else fail "this needs root or sudo: $*"; fi
}

# Up to three times, because a mirror may be out for a moment.
retry() {
    local pause
    for pause in 5 20 0; do
        "$@" && return 0
        [ "$pause" = 0 ] || sleep "$pause"
    done
    return 1
}

has_package() { dpkg-query -W -f '${Status}' "$1" 2>/dev/null | grep -q '^install ok installed'; }

# Installs those of the Debian packages that are missing. Silent unless it fails.
need_packages() {
    local missing=() package log
    for package in "$@"; do has_package "$package" || missing+=("$package"); done
    [ ${#missing[@]} -gt 0 ] || return 0
    echo "installing ${missing[*]}"
    log=$(mktemp)
    if ! { retry as_root apt-get -qq -o Acquire::Retries=3 update &&
        retry as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq -y -o Acquire::Retries=3 \
            -o Dpkg::Use-Pty=0 install --no-install-recommends "${missing[@]}"; } </dev/null >"$log" 2>&1; then
        tail -n 20 "$log" >&2
        fail "could not install ${missing[*]} (all of it: $log)"
    fi
    rm -f "$log"
}

# Compilers for a target of Rust other than the host's. Each says why it fails, and does not end the script.
need_target() { rustup --quiet target add "$1" || { echo "no $1: rustup cannot get it" && false; }; }
# Debian's compiler and C library for it, and further packages: need_cross TARGET [PACKAGE...]
need_cross() {
    local system libc
    system=$(system_of "$1") libc=${1%%-*}
    case $1 in
        i686-*) libc=i386 ;;
        aarch64-*) libc=arm64 ;;
    esac
    shift
    (need_packages "gcc-${system/_/-}" "libc6-dev-$libc-cross" "$@") || { echo "no compiler for $system" && false; }
}
system_of() { echo "${1%%-*}-linux-gnu"; }
# The start of the names of Cargo's variables for a target.
cargo_variable() { echo "CARGO_TARGET_$(tr a-z- A-Z_ <<<"$1")"; }

# The programs that users have, as their crates and packages are called; the folder of a further one is what follows `probeidx-`.
shipped=(probeidx probeidx-export probeidx-web probeidx-mcp probeidx-lsp)

# The version that all crates have.
version_of_workspace() { sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1; }

# Compiles a tool of cargo below the target folder, in this version, so that it is the same for everyone, and sets `tools` to where it
# is: need_cargo_tool NAME VERSION
need_cargo_tool() {
    local root=$target/tmp/tools
    tools=$root/bin
    [ "$("$tools/$1" "${1#cargo-}" --version 2>/dev/null | grep -o '[0-9][0-9.]*' | head -n 1)" != "$2" ] || return 0
    echo "compiling $1 $2"
    # They compress: without any optimization that takes a minute a package.
    retry env CARGO_PROFILE_DEV_OPT_LEVEL=1 cargo install --locked --quiet --debug --root "$root" "$1@$2" || fail "no $1 $2: it needs the network"
}

need_cargo_deb() { need_cargo_tool cargo-deb 3.8.0; }

# What benches/instructions counts with, of the version that its harness wants: $runner is the folder it is in.
need_runner() {
    local version
    version=$(sed -n '/^name = "gungraun-runner"$/{n;s/^version = "\(.*\)"$/\1/p}' Cargo.lock)
    runner=$target/gungraun-runner-$version/bin
    [ -x "$runner/gungraun-runner" ] ||
        retry cargo install --locked --quiet --debug --version "$version" --root "${runner%/bin}" gungraun-runner
}

# Flags of rustc with which neither this tree's place nor that of the crates is in what is compiled.
remapped_paths() { echo "--remap-path-prefix=$PWD=/src --remap-path-prefix=${CARGO_HOME:-$HOME/.cargo}=/cargo"; }

# The debug vmlinux files that are installed, one a line: the running kernel's first.
vmlinux_files() {
    local file running
    running=$(uname -r)
    for file in /usr/lib/debug/boot/vmlinux-"$running" /usr/lib/debug/lib/modules/"$running"/vmlinux \
        /usr/lib/debug/boot/vmlinux-* /usr/lib/debug/lib/modules/*/vmlinux; do
        if [ -f "$file" ]; then echo "$file"; fi
    done | awk '!seen[$0]++'
}

# The kernels with debuginfo, one a line: release, vmlinux and the folder of its modules' debug files, tabs between them. Those
# below the folders of $PROBEIDX_KERNELS, as tests/kernel reads it; else those installed and those that scripts/kernels unpacked.
debug_kernels() {
    local folders=() root file release modules
    if [ -n "${PROBEIDX_KERNELS:-}" ]; then IFS=: read -ra folders <<<"$PROBEIDX_KERNELS"; else folders=(/ "$target"/tmp/kernels/*); fi
    for root in "${folders[@]%/}"; do
        for file in "$root"/usr/lib/debug/boot/vmlinux-* "$root"/usr/lib/debug/lib/modules/*/vmlinux; do
            [ -f "$file" ] || continue
            release=$(release_of "$file")
            modules=$root/usr/lib/debug/lib/modules/$release
            [ -d "$modules" ] || modules=$root/usr/lib/debug/usr/lib/modules/$release
            printf '%s\t%s\t%s\n' "$release" "$file" "$modules"
        done
    done | awk -F '\t' '!seen[$1]++'
}

release_of() {
    case $1 in
        */vmlinux) basename "$(dirname "$1")" ;;
        *) basename "$1" | sed 's/^vmlinux-//' ;;
    esac
}

# What a Debian meta package stands for today: linux-image-cloud-amd64-dbg -> linux-image-6.1.0-50-cloud-amd64-dbg
meaning_of() { apt-cache depends --important "$1" 2>/dev/null | sed -n 's/^ *Depends: *//p' | head -n 1 || true; }

# The package of a kernel's image and modules. The signed one comes hours or days after the other packages of an update.
image_of() {
    local image=linux-image-$1
    if ! has_candidate "$image" && has_candidate "$image-unsigned"; then image+=-unsigned; fi
    echo "$image"
}
has_candidate() { apt-cache policy "$1" 2>/dev/null | grep '^  Candidate: [0-9]' >/dev/null; }

# Sets `vmlinux` and `release`; gets Debian's debuginfo if there is none.
need_debuginfo() {
    vmlinux=$(vmlinux_files | head -n 1)
    if [ -z "$vmlinux" ]; then
        has apt-get || no_debuginfo
        local package
        package=linux-image-$(uname -r)-dbg
        if ! apt-cache show "$package" >/dev/null 2>&1; then
            retry as_root apt-get -qq update >/dev/null 2>&1 || true
            apt-cache show "$package" >/dev/null 2>&1 ||
                package=$(meaning_of "linux-image-cloud-$(dpkg --print-architecture)-dbg")
            [ -n "$package" ] || no_debuginfo
        fi
        need_packages "$package"
        vmlinux=$(vmlinux_files | head -n 1)
        [ -n "$vmlinux" ] || fail "$package is installed, but no vmlinux stands below /usr/lib/debug"
    fi
    release=$(release_of "$vmlinux")
}

no_debuginfo() {
    local package='your distribution'\''s debuginfo of kernel '$(uname -r) id=''
    id=$(. /etc/os-release 2>/dev/null && echo "${ID:-} ${ID_LIKE:-}") || true
    case " $id " in
        *" ubuntu "*) package="linux-image-$(uname -r)-dbgsym, from ddebs.ubuntu.com" ;;
        *" debian "*) package="linux-image-$(uname -r)-dbg" ;;
        *" fedora "* | *" rhel "*) package="kernel-debuginfo: dnf debuginfo-install kernel-$(uname -r)" ;;
        *" suse "* | *" opensuse "*) package="kernel-default-debuginfo, from the debug repository" ;;
    esac
    fail "no kernel debuginfo below /usr/lib/debug. Install $package, then run this again"
}

# The release binary.
build_release() {
    has cargo || fail "no cargo: get a Rust toolchain from https://rustup.rs"
    has cc || { has apt-get && need_packages gcc libc6-dev; } || fail "no C linker: install gcc"
    cargo build --locked --quiet --release --bin probeidx
    probeidx=$target/release/probeidx
}
