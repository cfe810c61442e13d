// SPDX-License-Identifier: GPL-2.0-only
/*
 * Stands for systemd: starts cpuboltd, and stops or kills the daemon. Meanwhile, as many
 * tasks as the guest has CPUs work now and then, except in idle.
 *
 * unit orderly		runs the daemon once, and checks which CPUs are online without load, with
 *			load, for a lease, after another program has brought one CPU back and taken
 *			another CPU, and after the daemon was stopped by SIGTERM
 * unit kills rounds=N	starts the daemon N times; ends the daemon at a random moment, by
 *			SIGKILL, or in about a fifth of the rounds by SIGTERM; and runs
 *			the command of the unit's ExecStopPost=: CPUs must be online as
 *			before, whatever the daemon was doing
 * unit idle seconds=N	measures the daemon's CPU time and memory at its default interval, without
 *			load: while its policy has taken CPUs, and while all CPUs have to stay
 * unit day hours=N	has the daemon follow the load of N hours of a day, from hour 0 or, with
 *			from=HOUR, from that hour on; see day.c
 */
#define _GNU_SOURCE
#include "daemon.h"
#include "day.h"
#include "lib/children.h"
#include "work.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PATIENCE_MS 20000
#define REST_S 60

static volatile int *level;		/* how many tasks work */
static uint64_t state = 88172645463325252ULL;

static unsigned int draw(unsigned int below)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state % below;
}

/* -- Load ---------------------------------------------------------------------- */

static void work(int number)
{
	for (;;) {
		if (number >= *level) {
			wait_ms(5);
			continue;
		}
		work_rounds(20000);
	}
}

static void start_load(void)
{
	level = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (level == MAP_FAILED)
		die("memory");
	for (int i = 0; i < count; i++) {
		pid_t pid = fork_mortal();

		if (pid < 0)
			die("fork: %s", strerror(errno));
		if (!pid)
			work(i);
	}
}

static void say(const char *word, const char *more, const char *most)
{
	char *args[] = { "/bin/cpubolt", "policy", (char *)word, (char *)more, (char *)most, NULL };

	fflush(stdout);
	if (ended(start(args)))
		give_up("cpubolt policy failed");
}

/* -- In order -------------------------------------------------------------------- */

static void wait_count(int least, int most, const char *what)
{
	for (int ms = 0; ms < PATIENCE_MS; ms += 10) {
		int now = online_count();

		if (now >= least && now <= most)
			return;
		wait_ms(10);
	}
	give_up(what);
}

static int64_t time_of(clockid_t clock)
{
	int64_t ns = clock_ns(clock);

	if (ns < 0)
		give_up("cannot read the CPU time of the daemon");
	return ns;
}

static void measure_daemon(pid_t pid, const char *what, long seconds)
{
	char path[64], text[4096], *here;
	int64_t begin, used;
	clockid_t clock;
	long kb = 0;

	if (clock_getcpuclockid(pid, &clock))
		give_up("the daemon's CPU time cannot be read");
	begin = now_ns();
	used = time_of(clock);
	wait_ms(seconds * 1000);
	used = time_of(clock) - used;
	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	if (read_text(path, text, sizeof(text)) > 0 && (here = strstr(text, "VmRSS:")))
		kb = atol(here + 6);
	printf("%s: %.4f %% of a CPU in %lld ms, %ld kB\n", what,
	       100.0 * used / (now_ns() - begin), (long long)(now_ns() - begin) / 1000000, kb);
}

static void orderly(void)
{
	pid_t daemon = start_daemon();
	char text[256];

	wait_count(1, 1, "CPUs stay online without load");
	say("show", NULL, NULL);
	say("explain", "3", NULL);
	say("explain", "0", NULL);
	*level = count;
	wait_count(count, count, "CPUs do not come with load");
	*level = 0;
	wait_count(1, 1, "CPUs do not go after the load");
	say("lease", "2-3", "2");
	wait_count(3, 3, "CPUs do not come for a lease");
	wait_count(1, 1, "CPUs do not go after the lease");
	/* Another program brings a CPU back: the daemon leaves that CPU online. */
	if (write_text(CPU_DIR "cpu2/online", "1"))
		give_up("CPU 2 does not come");
	wait_ms(1000);
	read_line(CPU_DIR "cpu2/online", text, sizeof(text));
	if (strcmp(text, "1"))
		give_up("the daemon took a CPU that another program has brought back");
	say("explain", "2", NULL);
	/* Then the other program takes another CPU: the daemon leaves that CPU offline. */
	*level = count;
	wait_count(count, count, "CPUs do not come with load");
	if (write_text(CPU_DIR "cpu3/online", "0"))
		give_up("CPU 3 does not go");
	wait_ms(500);
	if (online_count() != count - 1)
		give_up("the daemon brought back a CPU that another program has taken");
	say("explain", "3", NULL);
	*level = 0;
	/* Where CPU 0 can go offline, CPU 2 alone may stay online; elsewhere CPUs 0 and 2 stay. */
	wait_count(1, 2, "the daemon takes no CPU while another program has taken one");
	measure_daemon(daemon, "without load", 60);
	kill(daemon, SIGTERM);
	if (ended(daemon))
		give_up("the daemon did not end well");
	if (online_count() != count - 1)
		give_up("a CPU of another program was brought back");
	if (write_text(CPU_DIR "cpu3/online", "1"))
		give_up("CPU 3 does not come");
	check_restored();
	puts("in order");
}

/* -- Without anything to do ------------------------------------------------------- */

/*
 * Waits until no CPU has come or gone for REST_S, a minute: then changes_per_minute holds no change
 * back any more.
 */
static void wait_for_rest(void)
{
	int before = online_count(), quiet = 0;

	for (int s = 0; quiet < REST_S; s++) {
		int now = online_count();

		if (s == 20 * REST_S)
			give_up("CPUs come and go without load");
		quiet = now == before ? quiet + 1 : 0;
		before = now;
		wait_ms(1000);
	}
}

/*
 * Measures the CPU time and memory of the daemon with its defaults, changed by
 * @config, once CPUs no longer come or go.
 */
static void idle(const char *config, const char *what, long seconds)
{
	char text[64];
	pid_t daemon;

	daemon_configure(config);
	daemon = start_daemon();
	wait_ms(1000);
	wait_for_rest();
	snprintf(text, sizeof(text), "%s, %d of %d CPUs online", what, online_count(), count);
	measure_daemon(daemon, text, seconds);
	stop_daemon(daemon);
}

/* -- Killed ------------------------------------------------------------------------ */

#define DENIED	CPU_DIR "cpu1/online"	/* in "deny": never taken */
#define TAKEN	CPU_DIR "cpu3/online"	/* taken by another program at times */

/* Checks that the daemon has not changed the CPU of "deny" or the CPU of another program. */
static void check_left_alone(bool taken)
{
	char text[16];

	read_line(DENIED, text, sizeof(text));
	if (strcmp(text, "1"))
		give_up("a CPU of \"deny\" is offline");
	read_line(TAKEN, text, sizeof(text));
	if (taken && strcmp(text, "0"))
		give_up("a CPU that another program has taken is online");
}

static void change_load(long ms, bool taken, int *least)
{
	while (ms > 0) {
		long step = 10 + draw(150);
		int now;

		/*
		 * The load is low most of the time; otherwise all CPUs would be online
		 * most of the time.
		 */
		*level = draw(3) ? draw(2) : draw(count + 1);
		step = step < ms ? step : ms;
		wait_ms(step);
		check_left_alone(taken);
		now = online_count() + taken;
		*least = now < *least ? now : *least;
		ms -= step;
	}
}

static void kills(long rounds)
{
	int least = count, killed = 0, with_file = 0;

	for (long i = 0; i < rounds; i++) {
		bool kindly = !draw(5), taken = i % 2;
		pid_t daemon;
		int status;

		if (taken && write_text(TAKEN, "0"))
			give_up("CPU 3 does not go");
		daemon = start_daemon();
		change_load(draw(1000), taken, &least);
		kill(daemon, kindly ? SIGTERM : SIGKILL);
		status = ended(daemon);
		if (kindly ? status && WTERMSIG(status) != SIGTERM : !WIFSIGNALED(status))
			give_up("the daemon ended otherwise than by the signal");
		killed += !kindly;
		with_file += !kindly && !access(STATE, F_OK);
		restore();
		check_left_alone(taken);
		if (taken && write_text(TAKEN, "1"))
			give_up("CPU 3 does not come");
		check_restored();
		forget_log();
	}
	*level = 0;
	printf("%ld rounds, %d killed, %d of these while the daemon had CPUs offline, "
	       "%d online at least\n", rounds, killed, with_file, least);
	if (least == count || !with_file)
		give_up("the daemon has never taken a CPU");
}

#define CONFIG_TEXT	"[daemon]\ninterval_ms=50\nbackoff_s=3600\n" \
			"[limits]\nhold_ms=100\ndwell_ms=100\nchanges_per_minute=600\n"

int main(int argc, char **argv)
{
	static const char *const configs[] = { CONFIG_TEXT, CONFIG_TEXT "[daemon]\ndeny=1\n" };
	const char *word = argc > 1 ? argv[1] : "";
	bool killing = !strcmp(word, "kills");

	daemon_begin();
	state += arg_long(argv, "seed", 0);
	if (!strcmp(word, "day")) {
		day(arg_long(argv, "from", 0), arg_long(argv, "hours", 24));
		return 0;
	}
	daemon_configure(configs[killing]);
	if (!strcmp(word, "idle")) {
		long seconds = arg_long(argv, "seconds", 600);
		char all[64];

		snprintf(all, sizeof(all), "[limits]\nmin_cpus=%d\n", count);
		idle("", "idle", seconds);
		idle(all, "idle", seconds);
		return 0;
	}
	start_load();
	if (!strcmp(word, "orderly"))
		orderly();
	else if (killing)
		kills(arg_long(argv, "rounds", 100));
	else
		die("unit orderly | kills [rounds=N] [seed=N] | idle [seconds=N] | "
		    "day [from=HOUR] [hours=N]");
	return 0;
}
