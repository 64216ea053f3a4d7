# SPDX-License-Identifier: Apache-2.0
# Roots of Debian for the checks on other systems (tests/compilers, distros, kernels, machines). Source it.

# debian_mirror [MIRROR]: prints the given mirror or, if it is empty, the one that apt uses here.
debian_mirror() {
	local mirror=${1:-}
	[ -n "$mirror" ] || mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 2>/dev/null |
		grep -v security | head -1)
	echo "${mirror:-http://deb.debian.org/debian}"
}

# debian_root SUITE DIR PACKAGE,.. MIRROR: makes a root with apt in it. It is at DIR only once it is complete.
debian_root() {
	local new=$2.new
	[ ! -e "$2" ] || return 0
	command -v debootstrap >/dev/null || { echo 'debootstrap is not installed' >&2; return 1; }
	rm -rf "$new"
	debootstrap --variant=minbase --include="$3" "$1" "$new" "$(debian_mirror "$4")" >"$2.log" 2>&1 ||
		{ echo "debootstrap of $1 failed, see $2.log" >&2; return 1; }
	apt-config dump | grep -E '^Acquire::(https?::|Check-Valid-Until)' >"$new/etc/apt/apt.conf.d/90host" || true
	echo force-unsafe-io >"$new/etc/dpkg/dpkg.cfg.d/root"
	mv "$new" "$2"
}

# in_debian ROOT COMMAND..: with the host's processes and devices, in mounts that end with the command.
in_debian() {
	local root=$1
	shift
	cp -L /etc/resolv.conf "$root/etc/"
	env -u MAKEFLAGS -u MAKELEVEL -u O unshare -m sh -c '
		root=$1 && shift
		for place in proc sys dev; do mount --rbind "/$place" "$root/$place" || exit; done
		exec chroot "$root" /usr/bin/env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
			HOME=/root DEBIAN_FRONTEND=noninteractive "$@"' sh "$root" "$@"
}
