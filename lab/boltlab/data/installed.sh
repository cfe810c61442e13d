# SPDX-License-Identifier: GPL-2.0-only
# Functions in POSIX shell. The script of each stage (installed.toml), which the guest runs, begins with
# this text.
set -u
export PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C DEBIAN_FRONTEND=noninteractive
udevadm settle
exec 3>/dev/virtio-ports/bolt.results
mkdir -p /srv/bolt
mount -o ro /dev/vdd /srv/bolt

# step NAME SECONDS COMMAND: runs COMMAND, for SECONDS at most, and writes the status and the output of
# COMMAND to the results.
step() {
	echo "installed: $1" >/dev/kmsg
	timeout "$2" sh -c "$3" >/run/output 2>&1 </dev/null
	printf '{"step":"%s","status":%d,"output":"%s"}\n' "$1" $? "$(base64 -w0 /run/output)" >&3
}

finish() {
	umount /srv/bolt
	sync
	dmesg -r >/dev/virtio-ports/bolt.dmesg
	echo '{"end":"ok"}' >&3
	systemctl --no-block poweroff
}
