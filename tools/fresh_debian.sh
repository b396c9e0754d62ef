#!/bin/sh
# fresh_debian.sh - the proof that a fresh Debian 12 with nothing but git is enough: makes one with debootstrap,
# clones the repository inside it and runs ./dev demo and then ./dev test there, as the README has them, timed: the
# packages of the first stay for the second, and to begin with there are no lists of packages, as in Docker's images.
# Run as root; needs debootstrap, git and the network.
#
#   tools/fresh_debian.sh [--worktree | --files FILES] [FOLDER [COMMAND ...]]
#
# FOLDER       where it is made, default /tmp/tilewright-fresh; FOLDER/base is kept for the next run, FOLDER/root made anew
# COMMAND      run in the clone in place of "./dev demo" and "./dev test", each a word: 'test --only io'
# --worktree   clone the files as they lie here, not what is committed
# --files      clone nothing: the folder FILES is there as /srv/files, and COMMAND runs in it, not in ./dev
#
# MIRROR in the environment chooses the Debian mirror. How this machine reaches PyPI and the mirror is passed on: proxies, pip's index and
# certificate, what apt checks. No cache is. Nothing but /proc, /dev and /sys (to read) is shared with the machine outside, in a mount
# namespace of its own that ends with the script.
set -eu

if [ "${1:-}" = --inside ]; then # in the new namespaces, as root of FOLDER's machine
    root=$2 && shift 2
    mount -t proc proc "$root/proc"
    mount --rbind /dev "$root/dev"
    mount -t tmpfs tmpfs "$root/dev/shm"
    mount -t sysfs -o ro sysfs "$root/sys" # PoCL ends the process where it cannot read the machine's memory there
    exec env -i HOME=/root TERM=dumb PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
        ${http_proxy:+http_proxy="$http_proxy"} ${https_proxy:+https_proxy="$https_proxy"} chroot "$root" /bin/sh -c '
        if [ -e /srv/files ]; then cd /srv/files && exec "$@"; fi
        cd /root && git clone --quiet /srv/tilewright.git tilewright && cd tilewright || exit 1
        failed=0
        for words in "$@"; do
            echo "=== ./dev $words"
            start=$(date +%s)
            ./dev $words </dev/null && status=0 || { status=$? && failed=1; }
            echo "=== ./dev $words: exit $status after $(($(date +%s) - start)) s"
        done
        exit $failed' sh "$@"
fi

here=$(cd "$(dirname "$0")/.." && pwd)
worktree='' && [ "${1:-}" = --worktree ] && worktree=1 && shift
files='' && [ "${1:-}" = --files ] && files=$2 && shift 2
folder=${1:-/tmp/tilewright-fresh}
[ $# -gt 0 ] && shift
[ $# -gt 0 ] || set -- demo test

mkdir -p "$folder"
if ! [ -e "$folder/base/.made" ]; then
    rm -rf "$folder/base"
    debootstrap --variant=minbase --include=git bookworm "$folder/base" "${MIRROR:-http://deb.debian.org/debian}"
    chroot "$folder/base" apt-get clean
    rm -rf "$folder/base/var/lib/apt/lists"/*
    touch "$folder/base/.made"
fi
rm -rf --one-file-system "$folder/root"
cp -a "$folder/base" "$folder/root"

echo force-unsafe-io >"$folder/root/etc/dpkg/dpkg.cfg.d/unsafe-io" # it is thrown away: nothing need reach the disk

# As every installed Debian has it: without, MPICH asks the network for this machine's name, five seconds at each start.
printf '127.0.0.1 localhost\n127.0.1.1 %s\n' "$(hostname)" >"$folder/root/etc/hosts"

# How this machine reaches its mirrors, where that is out of the ordinary.
apt-config dump | grep -E '^Acquire::(https?::Proxy|Check-)' >"$folder/root/etc/apt/apt.conf.d/99outside" || true
pip_says() { # KEY - from the environment or a file, the environment first
    python3 -m pip config list 2>/dev/null | sed -n "s/^[^.]*\.$1='\(.*\)'\$/\1/p" | head -n 1
}
echo '[global]' >"$folder/root/etc/pip.conf"
for key in index-url extra-index-url trusted-host proxy; do
    value=$(pip_says $key) && [ -z "$value" ] || printf '%s = %s\n' $key "$value" | sed 's/\\n/\n    /g' >>"$folder/root/etc/pip.conf"
done
if certificate=$(pip_says cert) && [ -e "$certificate" ]; then
    cp "$certificate" "$folder/root/etc/outside.pem"
    echo 'cert = /etc/outside.pem' >>"$folder/root/etc/pip.conf"
fi
if [ -n "$files" ]; then
    cp -R "$files" "$folder/root/srv/files"
    exec unshare --mount --pid --fork --kill-child "$0" --inside "$folder/root" "$@"
elif [ -n "$worktree" ]; then
    copy=$folder/worktree && rm -rf "$copy" && mkdir "$copy"
    (cd "$here" && git ls-files -z -co --exclude-standard | xargs -0 ls -d 2>/dev/null | tar -cf - -T -) | tar -xf - -C "$copy"
    git -C "$copy" init --quiet -b main
    git -C "$copy" add -A
    git -C "$copy" -c user.name=tilewright -c user.email=tilewright@localhost commit --quiet -m 'the files as they lie'
else
    copy=$here
fi
git clone --quiet --bare "$copy" "$folder/root/srv/tilewright.git"
exec unshare --mount --pid --fork --kill-child "$0" --inside "$folder/root" "$@"
