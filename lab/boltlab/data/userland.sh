# SPDX-License-Identifier: GPL-2.0-only
# Functions in POSIX shell. The script of a guest that runs checks of userland.toml begins with this text, and
# so does the script of a guest of ./bolt vm-demo.
set -u
export cpu=/sys/devices/system/cpu mode
# Before udev has settled, the virtio ports have no names.
udevadm settle
exec 3>/dev/virtio-ports/bolt.results

# numbers CPULIST: prints the number of each CPU in the list.
numbers() {
	for range in $(echo "$1" | tr , ' '); do
		seq "${range%-*}" "${range#*-}"
	done
}

all_online() {
	for file in $cpu/cpu[0-9]*/online; do
		[ "$(cat "$file")" = 1 ] || echo 1 >"$file"
	done
}

mode() {
	mode=$1
	# With this settle delay, CPUs stay parked for as long as a check may take.
	[ "$mode" = native ] || echo 600000 >$cpu/bolt/settle_delay_ms
}

# check NAME CPULIST SECONDS COMMAND: takes the CPUs of the list offline and brings all others online, runs
# COMMAND for SECONDS at most, and writes the status, time and output of COMMAND to the results.
check() {
	all_online
	for number in $(numbers "$2"); do
		echo 0 >"$cpu/cpu$number/online"
	done
	udevadm settle
	parked=$(cat $cpu/bolt/parked)
	echo "checks: $mode: $1" >/dev/kmsg
	begin=$(date +%s%3N)
	timeout "$3" sh -c "$4" >/run/output 2>&1 </dev/null
	status=$?
	took=$(($(date +%s%3N) - begin))
	printf '{"check":"%s","mode":"%s","status":%d,"ms":%d,"parked":"%s","output":"%s"}\n' \
		"$1" "$mode" $status $took "$parked" "$(base64 -w0 /run/output)" >&3
}

finish() {
	all_online
	dmesg -r >/dev/virtio-ports/bolt.dmesg
	echo '{"end":"ok"}' >&3
	systemctl --no-block poweroff
}
