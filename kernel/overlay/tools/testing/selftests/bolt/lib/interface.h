/* SPDX-License-Identifier: GPL-2.0-only */
/* Network interfaces. */
#ifndef SELFTESTS_BOLT_LIB_INTERFACE_H
#define SELFTESTS_BOLT_LIB_INTERFACE_H

#include <arpa/inet.h>
#include <errno.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

static inline int interface_set(int fd, unsigned long what, struct ifreq *request,
				const char *address)
{
	struct sockaddr_in *at = (void *)&request->ifr_addr;

	memset(at, 0, sizeof(*at));
	at->sin_family = AF_INET;
	at->sin_addr.s_addr = inet_addr(address);
	return ioctl(fd, what, request);
}

/*
 * Gives interface @name its address and netmask, and brings the interface up if it is
 * down. Returns 0 or -errno.
 */
static inline int interface_up(const char *name, const char *host, const char *mask)
{
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), err = 0;
	struct ifreq request = { 0 };

	if (fd < 0)
		return -errno;
	snprintf(request.ifr_name, sizeof(request.ifr_name), "%s", name);
	if (interface_set(fd, SIOCSIFADDR, &request, host) ||
	    interface_set(fd, SIOCSIFNETMASK, &request, mask))
		err = -errno;
	request.ifr_flags = IFF_UP | IFF_RUNNING;
	if (!err && ioctl(fd, SIOCSIFFLAGS, &request))
		err = -errno;
	close(fd);
	return err;
}

#endif /* SELFTESTS_BOLT_LIB_INTERFACE_H */
