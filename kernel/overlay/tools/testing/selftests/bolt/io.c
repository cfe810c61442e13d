// SPDX-License-Identifier: GPL-2.0-only
/*
 * A disk and a network card are at work while CPUs come and go in random order: every
 * I/O request completes, and the data are right. BOLT_PARKS=N sets how often CPUs go. The
 * disk BOLT_DISK is overwritten. If an I/O request is lost, the test waits for this I/O
 * request until a time limit ends the test.
 */
#define _GNU_SOURCE
#include <linux/aio_abi.h>
#include <sys/syscall.h>

#include "bolt.h"
#include "env.h"
#include "lib/place.h"
#include "wire.h"
#include "../kselftest_harness.h"

#define PARKS 200
#define CPUS 4			/* the first CPU stays */
#define WORKERS 3
#define DEPTH 8
#define BLOCK 4096
#define BLOCKS 512		/* how many blocks each worker has of its own */

struct worker {
	pthread_t thread;
	unsigned int number;
	int disk;		/* descriptor of the disk, shared by all disk workers */
	unsigned long done;	/* how many I/O requests or messages are done */
	char why[128];		/* why the worker has failed, or empty */
};

static atomic_bool stop;

static int fail(struct worker *worker, const char *what, long value)
{
	snprintf(worker->why, sizeof(worker->why), "worker %u: %s: %ld",
		 worker->number, what, value);
	return -1;
}

/*
 * Moves this task to @cpu if that CPU is online. If @cpu is -1, the task may run on all
 * CPUs of the test.
 */
static void move_to(int cpu)
{
	if (cpu >= 0)
		pin(0, cpu);
	else
		pin_range(0, 0, CPUS - 1);
}

static void fill(unsigned char *data, unsigned int block, unsigned int turn)
{
	unsigned int *words = (unsigned int *)data;

	for (size_t i = 0; i < BLOCK / sizeof(*words); i++)
		words[i] = (block * 40503 + turn) * 2654435761u + i;
}

/* Submits DEPTH I/O requests on a CPU that may go before these complete, and awaits them all. */
static int transfer(struct worker *worker, aio_context_t aio,
		    unsigned char *data, const unsigned int *blocks, int opcode)
{
	struct iocb requests[DEPTH] = {}, *list[DEPTH];
	struct io_event events[DEPTH];
	long n;

	for (int i = 0; i < DEPTH; i++) {
		requests[i].aio_lio_opcode = opcode;
		requests[i].aio_fildes = worker->disk;
		requests[i].aio_buf = (unsigned long)(data + i * BLOCK);
		requests[i].aio_nbytes = BLOCK;
		requests[i].aio_offset = (long long)blocks[i] * BLOCK;
		list[i] = &requests[i];
	}
	move_to(rand() % CPUS);
	n = syscall(SYS_io_submit, aio, DEPTH, list);
	if (n != DEPTH)
		return fail(worker, "requests submitted", n < 0 ? -errno : n);
	move_to(-1);
	do {
		n = syscall(SYS_io_getevents, aio, DEPTH, DEPTH, events, NULL);
	} while (n < 0 && errno == EINTR);
	if (n != DEPTH)
		return fail(worker, "requests completed", n < 0 ? -errno : n);
	for (int i = 0; i < DEPTH; i++) {
		if (events[i].res != BLOCK)
			return fail(worker, "bytes of a request", events[i].res);
	}
	worker->done += DEPTH;
	return 0;
}

static void *disk_worker(void *argument)
{
	unsigned char *data, wanted[BLOCK];
	struct worker *worker = argument;
	unsigned int blocks[DEPTH], turn;
	aio_context_t aio = 0;
	int err;

	err = syscall(SYS_io_setup, DEPTH, &aio) ? errno :
	      posix_memalign((void **)&data, BLOCK, DEPTH * BLOCK);
	if (err) {
		fail(worker, "start", err);
		return NULL;
	}
	for (turn = 1; !stop; turn++) {
		for (unsigned int i = 0; i < DEPTH; i++) {
			/* The I/O requests are for DEPTH different blocks. */
			blocks[i] = worker->number * BLOCKS +
				    rand() % (BLOCKS / DEPTH) * DEPTH + i;
			fill(data + i * BLOCK, blocks[i], turn);
		}
		if (transfer(worker, aio, data, blocks, IOCB_CMD_PWRITE))
			break;
		memset(data, 0, DEPTH * BLOCK);
		if (transfer(worker, aio, data, blocks, IOCB_CMD_PREAD))
			break;
		for (unsigned int i = 0; i < DEPTH; i++) {
			fill(wanted, blocks[i], turn);
			if (!memcmp(wanted, data + i * BLOCK, BLOCK))
				continue;
			fail(worker, "wrong data in block", blocks[i]);
			goto out;
		}
	}
out:
	syscall(SYS_io_destroy, aio);
	free(data);
	return NULL;
}

static void *net_worker(void *argument)
{
	struct worker *worker = argument;
	int fd = echo_open(), err;

	if (fd < 0) {
		fail(worker, "connect", fd);
		return NULL;
	}
	while (!stop) {
		move_to(rand() % CPUS);
		err = echo(fd, rand(), 1 + rand() % 4096);
		if (err) {
			fail(worker, "echo", err);
			break;
		}
		worker->done++;
	}
	close(fd);
	return NULL;
}

FIXTURE(io) {
	struct worker disk[WORKERS], net;
	struct busy busy;
	int fd;			/* the disk */
	int parks;
};

FIXTURE_VARIANT(io) {
	const char *keep;
};

FIXTURE_VARIANT_ADD(io, as_configured) {
	.keep = "\n",
};

FIXTURE_VARIANT_ADD(io, kept_on_the_first_cpu) {
	.keep = "0",
};

FIXTURE_SETUP(io)
{
	const char *why = cannot_run() ?: no_disk() ?: no_nic();

	if (why)
		SKIP(return, "%s", why);
	if (access(CPU_DIR "cpu3/online", F_OK))
		SKIP(return, "needs 4 CPUs");
	self->fd = disk_open(O_DIRECT);
	ASSERT_LE(0, self->fd)
		TH_LOG("%s: %s", disk_path(), strerror(-self->fd));
	self->parks = env_number("BOLT_PARKS", PARKS);
	ASSERT_EQ(0, start_over());
	ASSERT_EQ(0, enable(true));
	/* Some CPUs return while they are parked, some after they have been settled. */
	ASSERT_EQ(0, put(BOLT_DIR "settle_delay_ms", "20"));
	ASSERT_EQ(0, put(BOLT_DIR "irq_keep", variant->keep));
	ASSERT_EQ(0, nic_up());
}

FIXTURE_TEARDOWN(io)
{
	if (cannot_run() || no_disk() || no_nic())
		return;
	close(self->fd);
	put(BOLT_DIR "irq_keep", "\n");
	EXPECT_EQ(0, start_over());
	for (int cpu = 1; cpu < CPUS; cpu++)
		set_online(cpu, true);
}

/* Returns the interrupt of the disk's queue @queue. */
static int irq_of_queue(int queue)
{
	char what[32];

	snprintf(what, sizeof(what), "req.%d", queue);
	return irq_of(disk_device(), what);
}

TEST_F_TIMEOUT(io, completes, 36000)
{
	bool online[CPUS] = { true, true, true, true };
	unsigned long before[CPUS][MAX_CPUS];
	unsigned long requests = 0;
	int parks = 0, cpu, err;
	unsigned int seen = 0;

	for (int queue = 0; queue < CPUS; queue++)
		ASSERT_EQ(0, irq_counts(irq_of_queue(queue), before[queue]));
	stop = false;
	ASSERT_EQ(0, busy_start(&self->busy));
	for (int i = 0; i < WORKERS; i++) {
		self->disk[i].number = i;
		self->disk[i].disk = self->fd;
		pthread_create(&self->disk[i].thread, NULL, disk_worker,
			       &self->disk[i]);
	}
	self->net.number = WORKERS;
	pthread_create(&self->net.thread, NULL, net_worker, &self->net);

	while (parks < self->parks) {
		cpu = 1 + rand() % (CPUS - 1);
		err = set_online(cpu, !online[cpu]);
		ASSERT_EQ(0, err)
			TH_LOG("CPU %d, park %d", cpu, parks);
		parks += online[cpu];
		online[cpu] = !online[cpu];
		wait_ms(rand() % 4);
		if (rand() % 16 == 0)
			wait_ms(50);
	}
	for (cpu = 1; cpu < CPUS; cpu++)
		EXPECT_EQ(0, set_online(cpu, true));
	/* The workers go on for a while when all CPUs, and so all queues of the disk, are back. */
	wait_ms(200);
	stop = true;
	for (int i = 0; i < WORKERS; i++) {
		pthread_join(self->disk[i].thread, NULL);
		EXPECT_STREQ("", self->disk[i].why);
		requests += self->disk[i].done;
	}
	pthread_join(self->net.thread, NULL);
	busy_stop(&self->busy);
	EXPECT_STREQ("", self->net.why);
	TH_LOG("%d parks, %lu requests, %lu messages", parks, requests,
	       self->net.done);
	EXPECT_LE(parks, requests);
	EXPECT_LE(parks / 4, self->net.done);
	/* Every queue must have had some of the I/O requests of this test. */
	for (int queue = 0; queue < CPUS; queue++) {
		unsigned long counts[MAX_CPUS];
		int irq = irq_of_queue(queue);

		cpu = irq_cpu(irq);
		ASSERT_TRUE(cpu >= 0 && !(seen & 1U << cpu))
			TH_LOG("the interrupt of queue %d is for CPU %d", queue, cpu);
		seen |= 1U << cpu;
		EXPECT_TRUE(queue_is_for(queue, cpu));
		ASSERT_EQ(0, irq_counts(irq, counts));
		EXPECT_LT(before[queue][cpu], counts[cpu])
			TH_LOG("queue %d", queue);
	}
}

TEST_HARNESS_MAIN
