# Unpacks Debian's cloud kernels for scripts/newer-kernel and scripts/arm64-kernels. Sourced, after lib.sh.
# Nothing is installed and apt of this machine stays as it is: lists, packages and state are kept in FOLDER/apt.
keyring=/usr/share/keyrings/debian-archive-keyring.gpg

# unpack_kernel FOLDER ARCHITECTURE SERIES SUITE...
# The newest cloud kernel of the series from the first suite that has one with its debuginfo: image, modules, debuginfo and
# headers, with the build tools that run here. A FOLDER that holds such a kernel already is left alone. Sets `folder`.
unpack_kernel() {
    folder=$1 architecture=$2 series=$3
    shift 3
    has apt-get && has dpkg || fail "no apt-get and dpkg here; unpack a kernel with its debuginfo into $folder yourself"
    [ -f "$keyring" ] || fail "no $keyring: install debian-archive-keyring"
    mkdir -p "$folder"
    folder=$(cd "$folder" && pwd)
    is_unpacked && return
    local suite release=
    for suite in "$@"; do
        if look_in "$suite"; then break; fi
    done
    [ -n "$release" ] || fail "none of $* has a cloud kernel $series for $architecture"
    get_kernel "$release"
    touch "$folder/whole"
    is_unpacked || fail "no vmlinux below $folder/usr/lib/debug/boot"
}

is_unpacked() { compgen -G "$folder/usr/lib/debug/boot/vmlinux-$series*" >/dev/null && [ -e "$folder/whole" ]; }

apt_private() {
    local command=$1
    shift
    "$command" -o Dir::State="$folder/apt/state" -o Dir::State::status="$folder/apt/status" \
        -o Dir::Cache="$folder/apt/cache" -o Dir::Etc::sourcelist="$folder/apt/sources.list" \
        -o Dir::Etc::sourceparts=/dev/null -o Dir::Etc::preferences=/dev/null -o Dir::Etc::preferencesparts=/dev/null \
        -o APT::Architecture="$architecture" -o APT::Architectures::="$architecture" -o APT::Architectures::=amd64 \
        -o APT::Sandbox::User=root -o Acquire::Languages=none -o Acquire::Retries=3 "$@"
}

# Sets `release` to the newest of the suite that has its debuginfo.
look_in() {
    mkdir -p "$folder"/apt/{state/lists/partial,cache/archives/partial}
    : >"$folder/apt/status"
    local archive=debian
    case $1 in *-security) archive=debian-security ;; esac
    echo "deb [signed-by=$keyring] http://deb.debian.org/$archive $1 main" >"$folder/apt/sources.list"
    retry apt_private apt-get -qq update || return 1
    release=$(apt_private apt-cache pkgnames "linux-image-$series" |
        sed -n "s/^linux-image-\(.*-cloud-$architecture\)-dbg\$/\1/p" | sort -V | tail -n 1)
    [ -n "$release" ]
}

get_kernel() {
    local headers=linux-headers-$1 parts package
    # linux-headers-R-cloud-… says which common headers and which kbuild belong to it. The tools are those of this machine.
    parts=$(apt_private apt-cache depends --important "$headers" |
        sed -n 's/^ *Depends: *\(linux-headers-.*-common\|linux-kbuild-[^:]*\).*$/\1/p' | sort -u |
        sed 's/^linux-kbuild-.*/&:amd64/')
    [ "$(wc -w <<<"$parts")" = 2 ] || fail "$headers does not name its common headers and kbuild: $parts"
    echo "getting $1"
    mkdir -p "$folder/apt/packages"
    # shellcheck disable=SC2086
    (cd "$folder/apt/packages" && rm -f ./*.deb &&
        retry apt_private apt-get -qq download "linux-image-$1" "linux-image-$1-dbg" "$headers" $parts)
    for package in "$folder"/apt/packages/*.deb; do dpkg -x "$package" "$folder"; done
    rm -rf "$folder/apt/packages"
    # The headers include each other by where they are installed.
    sed -i "s|^include /usr/src/|include $folder/usr/src/|" "$folder/usr/src/$headers/Makefile"
}
