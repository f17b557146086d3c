# Finds and unpacks Debian's kernels for scripts/kernels. Sourced, after lib.sh.
# Nothing is installed and apt of this machine stays as it is: lists, packages and state are kept in $apt_folder.
keyring=/usr/share/keyrings/debian-archive-keyring.gpg
# From the oldest to the newest. One that the archive has no more, or not yet, is said to be skipped.
suites=(bullseye bullseye-security bookworm bookworm-security bookworm-backports trixie trixie-security trixie-backports
    forky sid experimental)

# apt_of SUITE ARCHITECTURE COMMAND...: apt-get or apt-cache of that suite alone.
apt_of() {
    local state=$apt_folder/$1-$2 architecture=$2 command=$3
    shift 3
    "$command" -o Dir::State="$state" -o Dir::State::lists="$state/lists" -o Dir::State::status="$state/status" \
        -o Dir::Cache="$state/cache" -o Dir::Etc::sourcelist="$state/sources.list" \
        -o Dir::Etc::sourceparts=/dev/null -o Dir::Etc::preferences=/dev/null -o Dir::Etc::preferencesparts=/dev/null \
        -o APT::Architecture="$architecture" -o APT::Architectures::="$architecture" -o APT::Architectures::="$host" \
        -o APT::Sandbox::User=root -o Acquire::Languages=none -o Acquire::Retries=2 "$@"
}

# Sets `packages`: of each package of kernels in a suite its name and what it depends on, one a line. From this day.
reach() {
    local suite=$1 architecture=$2 state=$apt_folder/$1-$2 archive=debian list
    packages=$state/packages
    [ -z "$(find "$packages" -mmin -600 2>/dev/null)" ] || return 0
    case $suite in *-security) archive=debian-security ;; esac
    mkdir -p "$state/lists/partial" "$state/cache/archives/partial"
    : >"$state/status"
    echo "deb [signed-by=$keyring] http://deb.debian.org/$archive $suite main" >"$state/sources.list"
    # Where one list of two is not there apt is content.
    apt_of "$suite" "$architecture" apt-get -qq update >/dev/null 2>&1 || return 1
    list=$(find "$state/lists" -name "*_binary-${architecture}_Packages*" -print -quit)
    [ -n "$list" ] || return 1
    # Quicker than apt-cache, which makes a cache of all packages first.
    /usr/lib/apt/apt-helper cat-file "$list" | awk '/^Package: / { name = $2; is = name ~ /^linux-/ }
        is && /^Version: / { print name, "" } is && /^Depends: / { print name, $0 }' >"$packages.new"
    mv "$packages.new" "$packages"
}

# The kernels of an architecture and flavour (cloud, rt, large) that have their debuginfo, from the oldest to the newest, one a
# line: release and suite.
kernels_of() {
    local architecture=$1 flavour=$2 suite name
    case $flavour-$architecture in
        # `586` is the other one, of older processors.
        large-i386) name="[0-9].*-686" ;;
        large-*) name="[0-9][^-]*\\(-[0-9][^-]*\\)\\?-$architecture" ;;
        *) name="[0-9].*-$flavour-$architecture" ;;
    esac
    for suite in "${suites[@]}"; do
        if ! reach "$suite" "$architecture"; then
            echo "skipped: suite $suite for $architecture cannot be reached" >&2
            continue
        fi
        sed -n "s/^linux-image-\\($name\\)-dbg \$/\\1 $suite/p" "$packages"
    done | sort -V -k 1,1 -u
}

# 5.10.0-46-cloud-amd64 -> 5.10
series_of() { sed 's/^\([0-9]*\.[0-9]*\).*/\1/' <<<"$1"; }

# depends_of PACKAGE: the names of packages, one a line. After `reach`.
depends_of() {
    awk -v name="$1" '$1 == name && $2 == "Depends:" { $1 = $2 = ""; print }' "$packages" | tr ',|' '\n' | sed 's/^ *//; s/[ :(].*//'
}

# The kernel that a release stands for which only names another: linux-image-6.12-cloud-amd64-dbg.
stands_for() {
    reach "$2" "$3"
    depends_of "linux-image-$1-dbg" | sed -n 's/^linux-image-\([0-9].*\)-dbg$/\1/p' | head -n 1
}

# unpack_kernel FOLDER RELEASE SUITE ARCHITECTURE: image, modules, debuginfo and headers, with the build tools that run here. A
# folder that holds the kernel already is left alone. Fails where the archive lists packages that it has no more.
unpack_kernel() {
    local folder=$1 release=$2 suite=$3 architecture=$4 package wanted
    [ ! -e "$folder/whole" ] || return 0
    reach "$suite" "$architecture"
    echo "getting $release ($suite)" >&2
    rm -rf "$folder" && mkdir -p "$folder/packages"
    folder=$(cd "$folder" && pwd)
    wanted=("linux-image-$release-dbg" "$(signed_or_not)")
    # Since 7.0 the image and the modules have packages of their own.
    for package in linux-modules linux-binary linux-base; do
        ! is_there "$package-$release" || wanted+=("$package-$release")
    done
    (cd "$folder/packages" && apt_of "$suite" "$architecture" apt-get -qq download "${wanted[@]}") >&2 ||
        { rm -rf "$folder" && return 1; }
    unpack_all
    compgen -G "$folder/usr/lib/debug/boot/vmlinux-*" >/dev/null || fail "no vmlinux below $folder/usr/lib/debug/boot"
    unpack_headers || echo "skipped: headers of $release: only kprobe_events can be asked there" >&2
    rm -rf "$folder/usr/share"
    touch "$folder/whole"
}

is_there() { grep -qxF "$1 " "$packages"; }
signed_or_not() {
    if is_there "linux-image-$release"; then echo "linux-image-$release"; else echo "linux-image-$release-unsigned"; fi
}
unpack_all() {
    for package in "$folder"/packages/*.deb; do dpkg -x "$package" "$folder" && rm "$package"; done
}

# linux-headers-R says which common headers and which kbuild belong to it. The tools are those of this machine.
unpack_headers() {
    local headers=linux-headers-$release parts
    parts=$(depends_of "$headers" | sed -n "s/^linux-headers-.*-common.*/&/p; s/^linux-kbuild-.*/&:$host/p" | sort -u)
    [ "$(wc -w <<<"$parts")" = 2 ] || return 1
    # shellcheck disable=SC2086
    (cd "$folder/packages" && apt_of "$suite" "$architecture" apt-get -qq download "$headers" $parts) >&2 || return 1
    unpack_all
    # The headers name each other by where they are installed.
    sed -E -i "s#(^include |^KBUILD_OUTPUT=)/usr/src/#\\1$folder/usr/src/#" "$folder/usr/src/$headers/Makefile"
    lend_library
}

# Tools that were built for a newer system run with its C library.
lend_library() {
    local tool loader tools=() from=${suite%-*}
    [ "$from" != experimental ] || from=sid
    while read -r tool; do
        if ldd "$tool" 2>&1 | grep -q "version .* not found"; then tools+=("$tool"); fi
    done < <(find "$folder"/usr/lib/linux-kbuild-* -type f -perm -1)
    [ ${#tools[@]} -gt 0 ] || return 0
    reach "$from" "$host" || return 1
    (cd "$folder/packages" && apt_of "$from" "$host" apt-get -qq download libc6) >&2 || return 1
    mkdir -p "$folder/libc"
    dpkg -x "$folder"/packages/libc6_*.deb "$folder/libc" && rm "$folder"/packages/*.deb
    loader=$(find "$folder/libc" -name 'ld-linux*.so.*' | head -n 1)
    for tool in "${tools[@]}"; do
        mv "$tool" "$tool.own"
        printf '#!/bin/sh\nexec "%s" --library-path "%s" "%s" "$@"\n' "$loader" \
            "$(dirname "$loader"):/lib/$(uname -m)-linux-gnu" "$tool.own" >"$tool"
        chmod +x "$tool"
    done
}
