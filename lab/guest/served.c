// SPDX-License-Identifier: GPL-2.0-only
/*
 * Measures the latency of a service while the host adds CPUs and takes them out again.
 *
 * served cpus=LIST cycles=N rate=N work_us=N servers=N dwell_ms=N ways=N slots=0|1
 *
 * One thread sends @rate UDP requests a second to a socket of the loopback device, whether or
 * not earlier UDP requests were answered; @servers threads receive the requests, compute for
 * @work_us for each request, and answer. A latency is counted from when the UDP request was due.
 * In each cycle the program first has the host add each CPU of the list, has the CPU brought
 * online, and gives the CPU a task. Then the program has each CPU taken offline, and has the
 * host take the CPU out; in the way BY_HOST the host takes the CPU out while the CPU is online,
 * and the guest's kernel takes the CPU offline. At least @dwell_ms pass between two changes,
 * online or offline. The first @ways of enum way are used in turn. If the host cannot add CPUs
 * (slots=0), the CPUs are there all the time, and only come online and go offline.
 */
#define _GNU_SOURCE
#include "guest.h"
#include "lib/interface.h"
#include "served.h"
#include "thread.h"

#include <arpa/inet.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define SECOND 1000000000LL
#define DRAIN_NS (10 * SECOND)		/* how long to wait for the last answers */
#define MAX_REQUESTS (1 << 20)
#define MAX_SERVERS 64

struct request {
	uint32_t number;
	uint32_t pad;
};

static int server_fd, client_fd;
static struct sockaddr_in service = { .sin_family = AF_INET };
static long rate, work_us;
static int64_t start_ns;
static atomic_uint sent, answered;
static atomic_bool stopping;
static int64_t latency[MAX_REQUESTS];	/* of each UDP request, in ns; 0: no answer */

static int64_t due_ns(uint32_t number)
{
	return start_ns + number * (SECOND / rate);
}

static int udp(void)
{
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), room = 1 << 20;

	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof(room)))
		die("socket: %s", strerror(errno));
	return fd;
}

static void *serve(void *unused)
{
	for (;;) {
		struct sockaddr_in from;
		socklen_t size = sizeof(from);
		struct request request;

		if (recvfrom(server_fd, &request, sizeof(request), 0, (void *)&from, &size) !=
		    sizeof(request))
			die("receive: %s", strerror(errno));
		burn_ns(CLOCK_THREAD_CPUTIME_ID, work_us * 1000);
		if (sendto(server_fd, &request, sizeof(request), 0, (void *)&from, size) < 0)
			die("answer: %s", strerror(errno));
	}
	return unused;
}

static void *ask(void *unused)
{
	for (uint32_t number = 0; !stopping && number < MAX_REQUESTS; number++) {
		struct request request = { .number = number };

		wait_until(CLOCK_MONOTONIC, due_ns(number));
		atomic_store(&sent, number + 1);
		if (sendto(client_fd, &request, sizeof(request), 0, (void *)&service,
			   sizeof(service)) < 0)
			die("send: %s", strerror(errno));
	}
	return unused;
}

static void *listen_for(void *unused)
{
	for (;;) {
		struct request request;

		if (recv(client_fd, &request, sizeof(request), 0) != sizeof(request))
			die("receive: %s", strerror(errno));
		if (request.number >= MAX_REQUESTS || latency[request.number])
			die("an answer to %u came twice, or %u was not sent", request.number,
			    request.number);
		latency[request.number] = now_ns() - due_ns(request.number);
		atomic_fetch_add(&answered, 1);
	}
	return unused;
}

static void come(int cpu, enum way way)
{
	struct change change = bring(cpu, way);
	int64_t ran_ns = thread_first_run(cpu);

	emit("{\"change\":\"online\",\"by\":\"%s\",\"cpu\":%d,\"begin\":%lld,\"end\":%lld,\"task\":%lld}",
	     way_names[way == BY_HOST ? BY_FILE : way], cpu, (long long)(change.begin - start_ns),
	     (long long)(change.end - start_ns), (long long)(ran_ns - start_ns));
}

static void go(int cpu, enum way way)
{
	struct change change = take(cpu, way);

	emit("{\"change\":\"offline\",\"by\":\"%s\",\"cpu\":%d,\"begin\":%lld,\"end\":%lld}",
	     way_names[way], cpu, (long long)(change.begin - start_ns),
	     (long long)(change.end - start_ns));
}

/* Reports the latencies in the order of the UDP requests, in us; -1: no answer. */
static void report(void)
{
	unsigned int count = sent;

	for (unsigned int first = 0; first < count; first += 1000) {
		char text[1 << 14];
		size_t used = 0;

		for (unsigned int i = first; i < count && i < first + 1000; i++)
			used += snprintf(text + used, sizeof(text) - used, "%s%lld",
					 i > first ? "," : "",
					 latency[i] ? (long long)latency[i] / 1000 : -1LL);
		emit("{\"served\":%u,\"start\":%lld,\"rate\":%ld,\"us\":[%s]}", first,
		     (long long)start_ns, rate, text);
	}
}

static void start(long servers)
{
	socklen_t size = sizeof(service);
	int err;

	err = interface_up("lo", "127.0.0.1", "255.0.0.0");
	if (err)
		die("no loopback device: %s", strerror(-err));
	server_fd = udp();
	client_fd = udp();
	service.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (bind(server_fd, (void *)&service, size) ||
	    getsockname(server_fd, (void *)&service, &size))
		die("bind: %s", strerror(errno));
	for (long i = 0; i < servers; i++)
		thread_start(serve);
	thread_start(listen_for);
	start_ns = now_ns() + SECOND / 10;
}

struct plan {
	int cpus[MAX_CPUS], count;
	long cycles, dwell_ms, ways;
	bool slots;
};

static void resize(const struct plan *plan)
{
	for (long cycle = 0; cycle < plan->cycles; cycle++) {
		for (int i = 0; i < plan->count; i++) {
			if (plan->slots)
				slot_add(plan->cpus[i]);
			wait_ms(plan->dwell_ms);
			come(plan->cpus[i], (cycle + i) % plan->ways);
		}
		wait_ms(plan->dwell_ms);
		for (int i = plan->count - 1; i >= 0; i--) {
			enum way way = (cycle + i) % plan->ways;

			go(plan->cpus[i], way);
			wait_ms(plan->dwell_ms);
			if (plan->slots && way != BY_HOST)
				slot_eject(plan->cpus[i]);
		}
	}
	wait_ms(plan->dwell_ms);
}

int main(int argc, char **argv)
{
	struct plan plan = {
		.cycles = arg_long(argv, "cycles", 1),
		.dwell_ms = arg_long(argv, "dwell_ms", 1000),
		.ways = arg_long(argv, "ways", 1),
		.slots = arg_long(argv, "slots", 1),
	};
	long servers = arg_long(argv, "servers", 4);
	pthread_t sender;
	int64_t limit;

	plan.count = parse_cpus(arg_text(argv, "cpus", ""), plan.cpus, MAX_CPUS);
	rate = arg_long(argv, "rate", 200);
	work_us = arg_long(argv, "work_us", 500);
	if (argc < 2 || plan.count <= 0 || rate <= 0 || servers <= 0 || servers > MAX_SERVERS ||
	    plan.ways < 1 || plan.ways > (plan.slots ? WAYS : BY_HOST))
		die("served cpus=LIST [cycles= rate= work_us= servers= dwell_ms= ways= slots=]");
	start(servers);
	sender = thread_start(ask);
	resize(&plan);
	stopping = true;
	pthread_join(sender, NULL);
	for (limit = now_ns() + DRAIN_NS; answered < sent && now_ns() < limit;)
		wait_ms(10);
	report();
	return 0;
}
