// SPDX-License-Identifier: GPL-2.0-only
/*
 * Workers that send data and check what arrives: by a Unix socket, by TCP and UDP over loopback,
 * and by TCP over a network card.
 */
#define _GNU_SOURCE
#include "lib/interface.h"
#include "load.h"

#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define MESSAGE 4096
#define PATIENCE_S 60

static void all_of(int fd, void *data, size_t size, bool sends)
{
	for (size_t done = 0; done < size;) {
		ssize_t n = sends ? send(fd, data + done, size - done, MSG_NOSIGNAL)
				  : recv(fd, data + done, size - done, 0);

		if (n <= 0)
			wrong("%s: %s", sends ? "send" : "receive", n ? strerror(errno) : "closed");
		done += n;
	}
}

static void impatient(int fd)
{
	struct timeval limit = { PATIENCE_S, 0 };

	if (setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)) ||
	    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit)))
		wrong("timeout: %s", strerror(errno));
}

/* Sends bytes, and waits until the same bytes have come back. */
static void talk(int fd)
{
	static char out[MESSAGE], in[MESSAGE];

	impatient(fd);
	while (!stopping()) {
		uint64_t seed = draw(1 << 30);
		size_t size = 8 * (1 + draw(MESSAGE / 8));

		fill(out, size, seed);
		all_of(fd, out, size, true);
		all_of(fd, in, size, false);
		if (!filled(in, size, seed))
			wrong("%zu bytes came back changed", size);
		once_round();
		wait_ms(draw(3));
	}
	close(fd);
}

/* The other end of the connection, in a process of its own, sends all bytes back. */
static pid_t echo(int fd, int close_first)
{
	static char data[MESSAGE];
	pid_t pid = child();

	if (pid) {
		close(fd);
		return pid;
	}
	close(close_first);
	for (;;) {
		ssize_t n = recv(fd, data, sizeof(data), 0);

		if (n <= 0)
			_exit(0);
		all_of(fd, data, n, true);
	}
}

static void unix_socket(int which)
{
	int fds[2];
	pid_t pid;

	(void)which;
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, fds))
		wrong("socket: %s", strerror(errno));
	pid = echo(fds[1], fds[0]);
	talk(fds[0]);
	waitpid(pid, NULL, 0);
}

static struct sockaddr_in address(const char *host, int port)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(port) };

	inet_aton(host, &to.sin_addr);
	return to;
}

static int connected(const char *host, int port)
{
	struct sockaddr_in to = address(host, port);
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	if (fd < 0)
		wrong("socket: %s", strerror(errno));
	impatient(fd);
	if (connect(fd, (void *)&to, sizeof(to)))
		wrong("cannot connect to %s, port %d: %s", host, port, strerror(errno));
	return fd;
}

/* This worker connects to itself by loopback; echo() has the other end of the connection. */
static void tcp(int which)
{
	int port = 7000 + which, listener = socket(AF_INET, SOCK_STREAM, 0), ours, theirs;
	struct sockaddr_in at = address("127.0.0.1", port);
	pid_t pid;

	if (listener < 0 || bind(listener, (void *)&at, sizeof(at)) || listen(listener, 1))
		wrong("cannot listen at port %d: %s", port, strerror(errno));
	ours = connected("127.0.0.1", port);
	theirs = accept(listener, NULL, NULL);
	if (theirs < 0)
		wrong("accept: %s", strerror(errno));
	pid = echo(theirs, ours);
	talk(ours);
	waitpid(pid, NULL, 0);
}

/* Loopback drops no message as long as only one message is under way. */
static void udp(int which)
{
	static char out[MESSAGE], in[MESSAGE];
	struct sockaddr_in at = address("127.0.0.1", 8000 + which);
	int receiver = socket(AF_INET, SOCK_DGRAM, 0), sender = socket(AF_INET, SOCK_DGRAM, 0);

	if (receiver < 0 || sender < 0 || bind(receiver, (void *)&at, sizeof(at)))
		wrong("socket: %s", strerror(errno));
	impatient(receiver);
	while (!stopping()) {
		size_t size = 8 * (1 + draw(MESSAGE / 8));
		uint64_t seed = draw(1 << 30);

		fill(out, size, seed);
		if (sendto(sender, out, size, 0, (void *)&at, sizeof(at)) != (ssize_t)size)
			wrong("send: %s", strerror(errno));
		if (recv(receiver, in, MESSAGE, 0) != (ssize_t)size)
			wrong("receive: %s", strerror(errno));
		if (!filled(in, size, seed))
			wrong("%zu bytes arrived changed", size);
		once_round();
		wait_ms(draw(3));
	}
}

static bool has_loopback(void)
{
	return !interface_up("lo", "127.0.0.1", "255.0.0.0");
}

/* QEMU sends back all bytes that this port gets: see ECHO in boltlab/guest/qemu.py. */
static void card(int which)
{
	(void)which;
	talk(connected("10.0.2.100", 7));
}

static bool has_card(void)
{
	return !interface_up("eth0", "10.0.2.15", "255.255.255.0");
}

const struct worker net_workers[] = {
	{ "unix", 1, unix_socket, NULL },
	{ "tcp", 2, tcp, has_loopback },
	{ "udp", 1, udp, has_loopback },
	{ "card", 1, card, has_card },
	{ NULL, 0, NULL, NULL },
};
