// SPDX-License-Identifier: GPL-2.0-only
/* Tests what cpuboltd tells irqbalance, and measurements of interrupts */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "interrupts.h"
#include "irq_state.h"
#include "irqbalance.h"
#include "place.h"

#define SECOND_US	1000000ULL

/* -- irqbalance ----------------------------------------------------------------------- */

static int listen_as_irqbalance(int pid)
{
	struct sockaddr_un own = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0), on = 1;

	put("/run/irqbalance/x", "");
	assert_true(snprintf(own.sun_path, sizeof(own.sun_path),
			     "%s/run/irqbalance/irqbalance%d.sock", folder, pid) <
		    (int)sizeof(own.sun_path));
	assert_int_equal(bind(fd, (struct sockaddr *)&own, sizeof(own)), 0);
	assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)), 0);
	assert_int_equal(listen(fd, 1), 0);
	return fd;
}

/* Receives one request, which has to be @text, with the credentials that irqbalance asks for. */
static void assert_told(int fd, const char *text)
{
	_Alignas(struct cmsghdr) char about[CMSG_SPACE(sizeof(struct ucred))];
	char got[512] = "";
	struct iovec piece = { got, sizeof(got) - 1 };
	struct msghdr message = {
		.msg_iov = &piece,
		.msg_iovlen = 1,
		.msg_control = about,
		.msg_controllen = sizeof(about),
	};
	struct cmsghdr *part;
	struct ucred from;
	int peer = accept(fd, NULL, NULL);

	assert_true(peer >= 0);
	assert_true(recvmsg(peer, &message, 0) > 0);
	assert_string_equal(got, text);
	part = CMSG_FIRSTHDR(&message);
	assert_non_null(part);
	assert_int_equal(part->cmsg_type, SCM_CREDENTIALS);
	memcpy(&from, CMSG_DATA(part), sizeof(from));
	assert_int_equal(from.pid, getpid());
	assert_int_equal(from.uid, geteuid());
	close(peer);
}

static void put_words(const char *path, const char *words, size_t size)
{
	char *full;
	FILE *out;

	put(path, "");
	assert_true(asprintf(&full, "%s%s", folder, path) > 0);
	out = fopen(full, "w");
	assert_non_null(out);
	assert_int_equal(fwrite(words, 1, size, out), size);
	assert_int_equal(fclose(out), 0);
	free(full);
}

static void test_irqbalance_is_told(void **state)
{
	static const char words[] = "irqbalance\0-i\0" "9\0--banirq=25\0-i7\0--foreground";
	const int two[] = { 0, 25 };
	int many[100], fd;
	char *status;
	size_t i;

	place_begin("small+bolt");
	assert_int_equal(irqbalance_find(folder), 0);
	put("/proc/77/comm", "irqbalance\n");
	assert_int_equal(irqbalance_find(folder), 77);
	/* A setuid program, which a user has started under the name "irqbalance". */
	assert_true(asprintf(&status, "Name:\tirqbalance\nUid:\t%u\t%u\t%u\t%u\n", getuid() + 1,
			     getuid(), getuid(), getuid()) > 0);
	put("/proc/77/status", status);
	free(status);
	assert_int_equal(irqbalance_find(folder), 0);
	assert_true(asprintf(&status, "Name:\tirqbalance\nUid:\t%u\t%u\t%u\t%u\n", getuid(),
			     getuid(), getuid(), getuid()) > 0);
	put("/proc/77/status", status);
	free(status);
	assert_int_equal(irqbalance_find(folder), 77);
	assert_int_equal(irqbalance_ban(folder, 77, two, 2), -ENOENT);
	fd = listen_as_irqbalance(77);
	/* irqbalance takes interrupt 0 for the end of the list, so 0 comes last. */
	assert_int_equal(irqbalance_ban(folder, 77, two, 2), 0);
	assert_told(fd, "settings ban irqs 25 0");
	assert_int_equal(irqbalance_ban(folder, 77, NULL, 0), 0);
	assert_told(fd, "settings ban irqs NONE");
	/* irqbalance forgets the bans of its command line that a request does not repeat. */
	put_words("/proc/77/cmdline", words, sizeof(words));
	assert_int_equal(irqbalance_ban(folder, 77, two, 2), 0);
	assert_told(fd, "settings ban irqs 25 9 7 0");
	assert_int_equal(irqbalance_ban(folder, 77, NULL, 0), 0);
	assert_told(fd, "settings ban irqs 25 9 7");
	/* The list is too long: irqbalance would read only a part of it. */
	for (i = 0; i < 100; i++)
		many[i] = 100 + (int)i;
	assert_int_equal(irqbalance_ban(folder, 77, many, 100), -E2BIG);
	assert_int_equal(irqbalance_ban(folder, 77, many, 60), 0);
	close(fd);
	assert_int_equal(irqbalance_ban(folder, 77, two, 2), -ECONNREFUSED);
	place_end();
}

/* -- The daemon's interrupts ------------------------------------------------------------ */

static struct config config;
static struct interrupts *all;
static struct irq_cpus cpus;

/* Writes how often two movable interrupts and a managed one have occurred, all on CPU 1. */
static void put_interrupts(unsigned int net, unsigned int disk, unsigned int managed)
{
	char text[256];

	snprintf(text, sizeof(text), "CPU0 CPU1\n25: 0 %u PCI-MSI 1-edge  net\n"
		 "26: 0 %u PCI-MSI 2-edge  disk\n27: 0 %u PCI-MSI 3-edge  nvme\n",
		 net, disk, managed);
	put("/proc/interrupts", text);
}

static void begin_interrupts(void)
{
	char *path;

	place_begin("small+bolt");
	put("/run/x", "");
	put("/proc/x", "");
	put("/proc/irq/25/smp_affinity_list", "0-1\n");
	put("/proc/irq/25/effective_affinity_list", "1\n");
	put("/proc/irq/26/smp_affinity_list", "1\n");
	put("/proc/irq/27/smp_affinity_list", "1\n");
	assert_true(asprintf(&path, "%s/proc/irq/27/smp_affinity_list", folder) > 0);
	assert_int_equal(chmod(path, 0444), 0);
	free(path);
	put_interrupts(0, 0, 0);
	assert_int_equal(config_init(&machine, &config), 0);
	config.interrupts.irqbalance = IRQBALANCE_BAN;
	cpus = (struct irq_cpus){
		.online = cpus_of("0-3"),
		.stay = cpus_of("0-1"),
		.going = machine_set(&machine),
		.floor = cpus_of("0"),
	};
	all = interrupts_new(&machine, &config, false);
	assert_non_null(all);
}

static void end_interrupts(void)
{
	interrupts_free(all);
	CPU_FREE((cpu_set_t *)cpus.online);
	CPU_FREE((cpu_set_t *)cpus.stay);
	CPU_FREE((cpu_set_t *)cpus.going);
	CPU_FREE((cpu_set_t *)cpus.floor);
	config_free(&config);
	place_end();
}

/*
 * The drivers of the idle interrupts free these interrupts and request them again, so their counts
 * begin anew. This must not look like a load on CPU 1: the daemon would then move the busy
 * interrupt to another CPU.
 */
static void test_counts_that_begin_anew(void **state)
{
	unsigned int i;

	begin_interrupts();
	for (i = 1; i < 10; i++) {
		put_interrupts(25000 * i, i < 6 ? 10 * i : i - 5, i < 7 ? 10 * i : i - 6);
		assert_int_equal(interrupts_update(all, &cpus, 5 * SECOND_US * i), 0);
		assert_text(folder, "/proc/irq/25/smp_affinity_list", "0-1\n");
	}
	end_interrupts();
}

/* Writes that there are @count interrupts, each of which has to be on CPU 1. */
static void put_many(unsigned int count)
{
	char text[8192] = "CPU0 CPU1\n", path[64];
	unsigned int irq;

	for (irq = 100; irq < 100 + count; irq++) {
		sprintf(text + strlen(text), "%u: 0 1 PCI-MSI 1-edge  x\n", irq);
		snprintf(path, sizeof(path), "/proc/irq/%u/smp_affinity_list", irq);
		put(path, "1\n");
	}
	put("/proc/interrupts", text);
}

static int told_in_the_file(void)
{
	struct irq_state saved;
	int told = irq_state_load(&machine, &saved) ? 0 : saved.irqbalance;

	irq_state_free(&saved);
	return told;
}

/* The daemon takes a list back from irqbalance only if irqbalance has got that list. */
static void test_a_list_that_is_too_long(void **state)
{
	unsigned int i;
	int fd;

	begin_interrupts();
	put("/proc/77/comm", "irqbalance\n");
	fd = listen_as_irqbalance(77);
	put_many(100);
	for (i = 1; i < 4; i++) {
		assert_int_equal(interrupts_update(all, &cpus, 5 * SECOND_US * i), 0);
		assert_int_equal(told_in_the_file(), 0);
	}
	assert_int_equal(fcntl(fd, F_SETFL, O_NONBLOCK), 0);
	assert_int_equal(accept(fd, NULL, NULL), -1);
	assert_int_equal(fcntl(fd, F_SETFL, 0), 0);
	put_many(2);
	assert_int_equal(interrupts_update(all, &cpus, 5 * SECOND_US * i++), 0);
	assert_told(fd, "settings ban irqs 101 100");
	assert_int_equal(told_in_the_file(), 77);
	put_many(100);
	assert_int_equal(interrupts_update(all, &cpus, 5 * SECOND_US * i++), 0);
	assert_told(fd, "settings ban irqs NONE");
	assert_int_equal(told_in_the_file(), 0);
	close(fd);
	end_interrupts();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_irqbalance_is_told),
		cmocka_unit_test(test_counts_that_begin_anew),
		cmocka_unit_test(test_a_list_that_is_too_long),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
