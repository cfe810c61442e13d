# SPDX-License-Identifier: GPL-2.0-only
# Functions in POSIX shell. The script that a guest of ./bolt vm-demo runs begins with the text of
# userland.sh and this text.
bolt=/run/bolt
mkdir -p $bolt
mount -o ro /dev/vdd $bolt

# fail FILE COMMAND: prints FILE on the console, reports that COMMAND has failed, and ends the guest.
fail() {
	cat "$1" >/dev/console
	printf '{"end":"error","command":"%s","errno":5}\n' "$2" >&3
	systemctl --no-block poweroff
	exit 1
}

# served WORDS: runs the program of lab/guest/served.c with the arguments WORDS. bash starts the program,
# because a POSIX shell cannot open descriptor 10, to which the lab's programs write.
served() {
	bash -c "exec $bolt/bin/served $* 10>&3" 2>/run/said || fail /run/said served
}

# daemon POLICY: starts cpuboltd with this policy.
daemon() {
	units=/run/systemd/system
	mkdir -p $units/cpuboltd.service.d
	cp $bolt/cpuboltd.service $units
	printf '[Service]\nEnvironment=LD_LIBRARY_PATH=%s/lib\n' $bolt >$units/cpuboltd.service.d/lab.conf
	{
		cat $bolt/cpuboltd.conf
		printf '[policy]\nname = %s\n' "$1"
	} >/run/cpuboltd.conf
	systemctl daemon-reload
	systemctl start cpuboltd || daemon_failed
}

daemon_failed() {
	journalctl -u cpuboltd -o cat | sed 's/^/guest: /' >/run/said
	fail /run/said cpuboltd
}

# Ends the guest if cpuboltd does not run any more. Otherwise stops cpuboltd, and writes the messages of
# cpuboltd to the results.
daemon_said() {
	systemctl -q is-active cpuboltd || daemon_failed
	systemctl stop cpuboltd
	journalctl -u cpuboltd -o json >&3
}

# Starts irqbalance, which looks at interrupts every second.
irqbalance_runs() {
	systemd-run -q --unit=balance -p RuntimeDirectory=irqbalance \
		irqbalance --foreground --interval=1 || fail /dev/null irqbalance
}

irqbalance_still_runs() {
	systemctl -q is-active balance || fail /dev/null irqbalance
}

# bursts SECONDS N: in the background, for SECONDS there is no work, then for SECONDS there is work for N
# CPUs, and so on.
bursts() {
	while sleep "$1"; do
		stress-ng --quiet --cpu "$2" --timeout "$1"
	done >/dev/null 2>&1 &
}

# pretend_steal SECONDS N: in the background, for SECONDS /proc/stat says that a host takes most of the time of
# each CPU; then for SECONDS there is work for N CPUs, and /proc/stat says that the host takes nothing; and so on.
pretend_steal() {
	mkdir -p /run/real
	mount -t proc proc /run/real
	tee /run/stat </run/real/stat >/run/stat.now
	mount --bind /run/stat /proc/stat
	turn=0
	while sleep 0.5; do
		turn=$((turn + 1))
		add=40
		if [ $((turn / ($1 * 2) % 2)) = 1 ]; then
			add=0
			[ $((turn % ($1 * 2))) != 0 ] || stress-ng --quiet --cpu "$2" --timeout "$1" &
		fi
		# A CPU that was offline has no line in stat.now: its stolen time begins again
		# with the figure of the real /proc/stat, to which this turn adds nothing.
		awk -v add=$add '
			FNR == NR { stolen[$1] = $9; next }
			/^cpu[0-9]/ && $1 in stolen { $9 = stolen[$1] + add }
			1
		' /run/stat.now /run/real/stat >/run/stat.next
		mv /run/stat.next /run/stat.now
		# dd writes the file in one piece, and pads the file to the same length each time,
		# because the file has fewer lines while fewer CPUs are online.
		dd if=/run/stat.now of=/run/stat conv=notrunc,sync bs=32k 2>/dev/null
	done >/dev/null 2>&1 &
}
