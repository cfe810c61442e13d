// SPDX-License-Identifier: GPL-2.0-only
/*
 * Packets, completions, work items and RCU callbacks that are on their way through
 * a CPU that goes must arrive. For each kind, a child process counts what the child
 * has sent, checks what the child receives, and must make progress all the time.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <linux/aio_abi.h>
#include <linux/io_uring.h>
#include <linux/membarrier.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "cpus.h"
#include "env.h"
#include "tasks.h"
#include "../kselftest_harness.h"

#define ROUNDS 4
#define PATIENCE_MS 10000
#define MESSAGE 512
#define WINDOW 32
#define GROUP GROUP_DIR "bolt-traffic"
#define RPS "/sys/class/net/lo/queues/rx-0/rps_cpus"

/* Ends a child, and leaves in its slot the number of the source line that found a fault. */
#define WRONG(slot) do { (slot)->value = __LINE__; _exit(1); } while (0)

static int rounds(void)
{
	return env_number("BOLT_ROUNDS", ROUNDS);
}

/* Fills a message with its number, and text that follows from the number. */
static void fill(unsigned char *text, unsigned int nr)
{
	memcpy(text, &nr, sizeof(nr));
	for (size_t i = sizeof(nr); i < MESSAGE; i++)
		text[i] = nr * 31 + i;
}

static bool right(const unsigned char *text, unsigned int nr)
{
	unsigned char wanted[MESSAGE];

	fill(wanted, nr);
	return !memcmp(text, wanted, MESSAGE);
}

static bool read_all(int fd, void *to, size_t len)
{
	for (ssize_t n; len; len -= n, to += n) {
		n = read(fd, to, len);
		if (n <= 0)
			return false;
	}
	return true;
}

static bool write_all(int fd, const void *from, size_t len)
{
	for (ssize_t n; len; len -= n, from += n) {
		n = write(fd, from, len);
		if (n <= 0)
			return false;
	}
	return true;
}

/*
 * A child sends back all messages; up to WINDOW messages are under way at once.
 * Datagrams may overtake each other: while a CPU goes or comes, datagrams in its
 * backlog are overtaken by datagrams that are steered to another CPU.
 */
static void echo(struct slot *slot, int ours, int theirs, bool in_order)
{
	unsigned char text[MESSAGE];
	struct timeval tv = { .tv_sec = PATIENCE_MS / 1000 };
	/* Bit i of @back: whether message @first + i is back. */
	unsigned int first = 0, back = 0, sent = 0, nr;

	if (!fork_mortal()) {
		while (read_all(theirs, text, MESSAGE) &&
		       write_all(theirs, text, MESSAGE))
			;
		_exit(0);
	}
	setsockopt(ours, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv));
	for (;;) {
		for (; sent - first < WINDOW; sent++) {
			fill(text, sent);
			if (!write_all(ours, text, MESSAGE))
				WRONG(slot);
		}
		if (!read_all(ours, text, MESSAGE))
			WRONG(slot);
		memcpy(&nr, text, sizeof(nr));
		if (!right(text, nr) || nr - first >= WINDOW ||
		    (in_order && nr != first) || (back & 1u << (nr - first)))
			WRONG(slot);
		for (back |= 1u << (nr - first); back & 1; back >>= 1)
			first++;
		slot_beat(slot);
	}
}

static void loopback(struct sockaddr_in *addr)
{
	memset(addr, 0, sizeof(*addr));
	addr->sin_family = AF_INET;
	addr->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
}

static void udp(struct slot *slot)
{
	struct sockaddr_in addr[2];
	int fd[2], size = 1 << 20;

	for (int i = 0; i < 2; i++) {
		socklen_t len = sizeof(addr[i]);

		fd[i] = socket(AF_INET, SOCK_DGRAM, 0);
		loopback(&addr[i]);
		/*
		 * The buffers have room for all messages that can be under way, so
		 * that none is dropped.
		 */
		if (setsockopt(fd[i], SOL_SOCKET, SO_RCVBUFFORCE, &size,
			       sizeof(size)) ||
		    bind(fd[i], (struct sockaddr *)&addr[i], len) ||
		    getsockname(fd[i], (struct sockaddr *)&addr[i], &len))
			WRONG(slot);
	}
	for (int i = 0; i < 2; i++)
		if (connect(fd[i], (struct sockaddr *)&addr[!i], sizeof(addr[0])))
			WRONG(slot);
	echo(slot, fd[0], fd[1], false);
}

static void tcp(struct slot *slot)
{
	int listener = socket(AF_INET, SOCK_STREAM, 0), fd[2], one = 1;
	struct sockaddr_in addr;
	socklen_t len = sizeof(addr);

	loopback(&addr);
	fd[0] = socket(AF_INET, SOCK_STREAM, 0);
	if (bind(listener, (struct sockaddr *)&addr, len) ||
	    listen(listener, 1) ||
	    getsockname(listener, (struct sockaddr *)&addr, &len) ||
	    connect(fd[0], (struct sockaddr *)&addr, len))
		WRONG(slot);
	fd[1] = accept(listener, NULL, NULL);
	for (int i = 0; i < 2; i++)
		setsockopt(fd[i], IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	echo(slot, fd[0], fd[1], true);
}

static void unix_stream(struct slot *slot)
{
	int fd[2];

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, fd))
		WRONG(slot);
	echo(slot, fd[0], fd[1], true);
}

/* Writes to a terminal, whose flip buffers a work item flushes. */
static void pty(struct slot *slot)
{
	int fd[2], zero = 0;
	unsigned char c;

	fd[0] = open("/dev/ptmx", O_RDWR | O_NOCTTY);
	if (fd[0] < 0 || ioctl(fd[0], TIOCSPTLCK, &zero))
		WRONG(slot);
	fd[1] = ioctl(fd[0], TIOCGPTPEER, O_RDWR | O_NOCTTY);
	if (fd[1] < 0)
		WRONG(slot);
	for (c = 'a';; c = c == 'z' ? 'a' : c + 1) {
		/*
		 * Sends a whole line, because the other side is in canonical mode. The
		 * other side echoes the line.
		 */
		unsigned char line[2] = { c, '\n' }, back[3];

		if (!write_all(fd[0], line, 2) || !read_all(fd[1], back, 2) ||
		    back[0] != c || !read_all(fd[0], back, 3) || back[0] != c)
			WRONG(slot);
		slot_beat(slot);
	}
}

static void event(struct slot *slot)
{
	int fd = eventfd(0, EFD_SEMAPHORE), done = eventfd(0, EFD_SEMAPHORE);
	unsigned long long n = 1;

	if (!fork_mortal()) {
		while (read_all(fd, &n, sizeof(n)) &&
		       write_all(done, &n, sizeof(n)))
			;
		_exit(0);
	}
	for (;;) {
		if (!write_all(fd, &n, sizeof(n)) ||
		    !read_all(done, &n, sizeof(n)) || n != 1)
			WRONG(slot);
		slot_beat(slot);
	}
}

static int aio_file(struct slot *slot)
{
	unsigned char text[MESSAGE];
	int fd = open("/tmp", O_RDWR | O_TMPFILE, 0600);

	for (unsigned int i = 0; i < WINDOW; i++) {
		fill(text, i);
		if (!write_all(fd, text, MESSAGE))
			WRONG(slot);
	}
	return fd;
}

/* Polls an eventfd that is written to later, so that the wake-up completes the poll. */
static void aio(struct slot *slot)
{
	int events = eventfd(0, EFD_SEMAPHORE), fd = aio_file(slot);
	unsigned char text[MESSAGE];
	aio_context_t ctx = 0;

	if (syscall(SYS_io_setup, WINDOW, &ctx))
		WRONG(slot);
	for (unsigned int i = 0;; i = (i + 1) % WINDOW) {
		struct iocb cbs[2] = {
			{ .aio_data = 1, .aio_lio_opcode = IOCB_CMD_POLL,
			  .aio_fildes = events, .aio_buf = POLLIN },
			{ .aio_data = 2, .aio_lio_opcode = IOCB_CMD_PREAD,
			  .aio_fildes = fd, .aio_buf = (unsigned long)text,
			  .aio_nbytes = MESSAGE, .aio_offset = i * MESSAGE },
		};
		struct iocb *list[2] = { &cbs[0], &cbs[1] };
		unsigned long long n = 1;
		struct io_event done[2];
		int seen = 0;

		if (syscall(SYS_io_submit, ctx, 2, list) != 2 ||
		    !write_all(events, &n, sizeof(n)) ||
		    syscall(SYS_io_getevents, ctx, 2, 2, done, NULL) != 2)
			WRONG(slot);
		for (int k = 0; k < 2; k++)
			seen += done[k].data;
		if (seen != 3 || !right(text, i) ||
		    !read_all(events, &n, sizeof(n)))
			WRONG(slot);
		slot_beat(slot);
	}
}

struct ring {
	int fd;
	unsigned int *sq_tail, *sq_mask, *sq_array, *cq_head, *cq_tail, *cq_mask;
	struct io_uring_sqe *sqes;
	struct io_uring_cqe *cqes;
};

static bool ring_open(struct ring *ring, unsigned int entries)
{
	struct io_uring_params p = {};
	size_t size;
	void *map;

	ring->fd = syscall(SYS_io_uring_setup, entries, &p);
	if (ring->fd < 0 || !(p.features & IORING_FEAT_SINGLE_MMAP))
		return false;
	size = p.cq_off.cqes + p.cq_entries * sizeof(struct io_uring_cqe);
	if (size < p.sq_off.array + p.sq_entries * sizeof(int))
		size = p.sq_off.array + p.sq_entries * sizeof(int);
	map = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, ring->fd,
		   IORING_OFF_SQ_RING);
	ring->sqes = mmap(NULL, p.sq_entries * sizeof(*ring->sqes),
			  PROT_READ | PROT_WRITE, MAP_SHARED, ring->fd,
			  IORING_OFF_SQES);
	if (map == MAP_FAILED || ring->sqes == MAP_FAILED)
		return false;
	ring->sq_tail = map + p.sq_off.tail;
	ring->sq_mask = map + p.sq_off.ring_mask;
	ring->sq_array = map + p.sq_off.array;
	ring->cq_head = map + p.cq_off.head;
	ring->cq_tail = map + p.cq_off.tail;
	ring->cq_mask = map + p.cq_off.ring_mask;
	ring->cqes = map + p.cq_off.cqes;
	return true;
}

static struct io_uring_sqe *ring_next(struct ring *ring, int op, int data)
{
	unsigned int tail = *ring->sq_tail, at = tail & *ring->sq_mask;
	struct io_uring_sqe *sqe = &ring->sqes[at];

	memset(sqe, 0, sizeof(*sqe));
	sqe->opcode = op;
	sqe->user_data = data;
	sqe->fd = -1;
	ring->sq_array[at] = at;
	__atomic_store_n(ring->sq_tail, tail + 1, __ATOMIC_RELEASE);
	return sqe;
}

/*
 * Whether an io_uring request of uring() has the right result. Each of these requests has
 * a bit of its own in @data.
 */
static bool uring_right(unsigned long long data, int res)
{
	switch (data) {
	case 1:
		return res == -ETIME;
	case 2:
		return res == MESSAGE;
	case 4:
		return !res;
	}
	return false;
}

/*
 * Takes the io_uring requests that have completed. Returns false if one has completed
 * twice, or with a wrong result.
 */
static bool ring_reap(struct ring *ring, int *seen)
{
	unsigned int head = *ring->cq_head;

	while (head != __atomic_load_n(ring->cq_tail, __ATOMIC_ACQUIRE)) {
		struct io_uring_cqe *cqe = &ring->cqes[head & *ring->cq_mask];

		if ((*seen & cqe->user_data) ||
		    !uring_right(cqe->user_data, cqe->res))
			return false;
		*seen |= cqe->user_data;
		__atomic_store_n(ring->cq_head, ++head, __ATOMIC_RELEASE);
	}
	return true;
}

/*
 * Submits to io_uring a timeout, a read by a worker, and a request that completes at
 * once.
 */
static void uring(struct slot *slot)
{
	struct __kernel_timespec ts = { .tv_nsec = 500000 };
	int fd = aio_file(slot);
	unsigned char text[MESSAGE];
	struct ring ring;

	if (!ring_open(&ring, 8))
		WRONG(slot);
	for (unsigned int i = 0;; i = (i + 1) % WINDOW) {
		struct io_uring_sqe *sqe;
		int seen = 0, new = 3;

		sqe = ring_next(&ring, IORING_OP_TIMEOUT, 1);
		sqe->addr = (unsigned long)&ts;
		sqe->len = 1;
		/*
		 * The timeout ends when its time is over, however many other
		 * requests complete.
		 */
		sqe->off = 0;
		sqe = ring_next(&ring, IORING_OP_READ, 2);
		sqe->flags = IOSQE_ASYNC;
		sqe->fd = fd;
		sqe->addr = (unsigned long)text;
		sqe->len = MESSAGE;
		sqe->off = i * MESSAGE;
		ring_next(&ring, IORING_OP_NOP, 4);
		memset(text, 0, sizeof(text));
		/*
		 * A timeout that fires ends the wait, however few requests have
		 * completed. The read may be slower than the timeout, so the loop then
		 * waits for the read.
		 */
		for (; seen != 7; new = 0)
			if (syscall(SYS_io_uring_enter, ring.fd, new,
				    3 - __builtin_popcount(seen),
				    IORING_ENTER_GETEVENTS, NULL, 0) != new ||
			    !ring_reap(&ring, &seen))
				WRONG(slot);
		if (!right(text, i))
			WRONG(slot);
		slot_beat(slot);
	}
}

/* Waits for grace periods. In Linux 6.12 an RCU callback ends such a wait by default. */
static void barriers(struct slot *slot)
{
	for (;;) {
		if (syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0))
			WRONG(slot);
		slot_beat(slot);
	}
}

/* Queues a work item on every CPU that is online, and waits for all work items. */
static void work_items(struct slot *slot)
{
	for (;;) {
		if (put("/proc/sys/vm/stat_refresh", "1"))
			WRONG(slot);
		slot_beat(slot);
	}
}

/* Makes and removes control groups, tasks and files, which RCU and workqueues free. */
static void cgroups(struct slot *slot)
{
	char path[64];

	for (unsigned int i = 0;; i++) {
		snprintf(path, sizeof(path), GROUP "/%u", i % 64);
		if (mkdir(path, 0755) || rmdir(path))
			WRONG(slot);
		for (int k = 0; k < 16; k++)
			close(open("/proc/self/stat", O_RDONLY));
		if (!fork())
			_exit(0);
		wait(NULL);
		slot_beat(slot);
	}
}

/* Reads the disk BOLT_DISK, whose contents must not change. */
static void disk(struct slot *slot)
{
	int fd = disk_open(O_DIRECT);
	void *first = NULL, *again = NULL;

	if (posix_memalign(&first, 4096, 4096) ||
	    posix_memalign(&again, 4096, 4096) ||
	    pread(fd, first, 4096, 0) != 4096)
		WRONG(slot);
	for (;;) {
		if (pread(fd, again, 4096, 0) != 4096 ||
		    memcmp(first, again, 4096))
			WRONG(slot);
		slot_beat(slot);
	}
}

struct kind {
	const char *name;
	void (*run)(struct slot *slot);
	const char *needs;
	bool rps;		/* all packets are steered to VICTIM */
	bool disk;		/* needs BOLT_DISK */
};

static const struct kind packets[] = {
	{ "UDP", udp },
	{ "UDP, steered", udp, RPS, true },
	{ "TCP", tcp },
	{ "TCP, steered", tcp, RPS, true },
	{ "unix stream", unix_stream },
};

static const struct kind completions[] = {
	{ "pty", pty, "/dev/pts/ptmx" },
	{ "eventfd", event },
	{ "aio", aio },
	{ "io_uring", uring },
	{ "membarrier", barriers },
	{ "work items", work_items, "/proc/sys/vm/stat_refresh" },
	{ "cgroups", cgroups, GROUP },
	{ "disk", disk, .disk = true },
};

/* The data of a test. */
struct crew {
	struct slot *slot;
	struct task task;
};

FIXTURE(traffic) {
	struct crew crew;
};

static bool lo_up(void)
{
	struct ifreq ifr = { .ifr_name = "lo" };
	int fd = socket(AF_INET, SOCK_DGRAM, 0);
	bool up = !ioctl(fd, SIOCGIFFLAGS, &ifr);

	ifr.ifr_flags |= IFF_UP;
	up = up && !ioctl(fd, SIOCSIFFLAGS, &ifr);
	close(fd);
	return up;
}

FIXTURE_SETUP(traffic)
{
	const char *why = cannot_run();

	if (why)
		SKIP(return, "%s", why);
	ASSERT_EQ(0, start_over());
	ASSERT_EQ(0, put(BOLT_DIR "settle_delay_ms", "4000000000"));
	ASSERT_TRUE(lo_up());
	mkdir(GROUP, 0755);
	mkdir("/dev/pts", 0755);
	if (access("/dev/pts/ptmx", F_OK))
		mount("devpts", "/dev/pts", "devpts", 0, NULL);
	self->crew.slot = slots_map(1);
	ASSERT_NE(NULL, self->crew.slot);
}

FIXTURE_TEARDOWN(traffic)
{
	if (cannot_run())
		return;
	task_kill(&self->crew.task);
	put(RPS, "0");
	rmdir(GROUP);
	EXPECT_EQ(0, start_over());
}

/* Returns the number of dropped packets, the sum of column 2 of /proc/net/softnet_stat. */
static long dropped(void)
{
	FILE *file = fopen("/proc/net/softnet_stat", "r");
	unsigned int all, drops;
	char line[512];
	long sum = 0;

	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "%x %x", &all, &drops) == 2)
			sum += drops;
	if (file)
		fclose(file);
	return sum;
}

/* Returns how many control groups below GROUP were removed but still have references, or -1. */
static int dying(void)
{
	char text[512], *at;

	if (get(GROUP "/cgroup.stat", text, sizeof(text)))
		return -1;
	at = strstr(text, "nr_dying_descendants ");
	return at ? atoi(at + strlen("nr_dying_descendants ")) : -1;
}

static bool goes_on(struct crew *crew, unsigned long beats)
{
	return task_lives(&crew->task, beats, PATIENCE_MS) && !crew->slot->value;
}

static void run(struct __test_metadata *_metadata, struct crew *crew,
		const struct kind *kind)
{
	char mask[32];

	snprintf(mask, sizeof(mask), "%x", 1 << VICTIM);
	if (kind->rps)
		ASSERT_EQ(0, put(RPS, mask));
	memset(crew->slot, 0, sizeof(*crew->slot));
	/* The child inherits the affinity, and so starts on VICTIM. */
	ASSERT_EQ(0, pin(0, VICTIM));
	ASSERT_GT(task_start(&crew->task, crew->slot, kind->run), 0);
	ASSERT_EQ(0, unpin(0));
	for (int round = 0; round < rounds(); round++) {
		ASSERT_TRUE(goes_on(crew, 3))
			TH_LOG("%s: wrong at line %ld", kind->name, crew->slot->value);
		ASSERT_EQ(0, set_online(VICTIM, false));
		ASSERT_TRUE(goes_on(crew, 3))
			TH_LOG("%s: wrong at line %ld", kind->name, crew->slot->value);
		if (round % 2)
			ASSERT_EQ(0, settle_all());
		ASSERT_EQ(0, set_online(VICTIM, true));
		ASSERT_EQ(0, pin(crew->task.pid, VICTIM));
	}
	/*
	 * In echo(), only WINDOW messages can be under way, so a child that has lost one does
	 * not get through WINDOW + 1 rounds of its loop.
	 */
	ASSERT_TRUE(goes_on(crew, WINDOW + 1))
		TH_LOG("%s: wrong at line %ld", kind->name, crew->slot->value);
	/*
	 * The children also end while the CPU is offline, with work that the children
	 * have left on the CPU.
	 */
	ASSERT_EQ(0, set_online(VICTIM, false));
	task_kill(&crew->task);
	for (int ms = 0; dying() > 0 && ms < PATIENCE_MS; ms++)
		wait_ms(1);
	EXPECT_LE(dying(), 0);
	ASSERT_EQ(0, set_online(VICTIM, true));
	if (kind->rps)
		ASSERT_EQ(0, put(RPS, "0"));
}

static int run_all(struct __test_metadata *_metadata,
		   struct crew *crew, const struct kind *kinds,
		   size_t n)
{
	int ran = 0;

	for (size_t i = 0; i < n; i++) {
		if (kinds[i].needs && access(kinds[i].needs, F_OK)) {
			TH_LOG("%s: there is no %s", kinds[i].name,
			       kinds[i].needs);
			continue;
		}
		if (kinds[i].disk && no_disk()) {
			TH_LOG("%s: %s", kinds[i].name, no_disk());
			continue;
		}
		run(_metadata, crew, &kinds[i]);
		ran++;
	}
	return ran;
}

TEST_F_TIMEOUT(traffic, packets_arrive, 1200)
{
	long before = dropped();

	ASSERT_EQ(0, enable(true));
	EXPECT_GE(run_all(_metadata, &self->crew, packets, ARRAY_SIZE(packets)), 3);
	EXPECT_EQ(before, dropped());
}

TEST_F_TIMEOUT(traffic, work_is_done, 1200)
{
	ASSERT_EQ(0, enable(true));
	EXPECT_GE(run_all(_metadata, &self->crew, completions,
			  ARRAY_SIZE(completions)), 6);
}

TEST_HARNESS_MAIN
