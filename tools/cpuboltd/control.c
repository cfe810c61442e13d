// SPDX-License-Identifier: GPL-2.0-only
/* Answers "cpubolt policy", see control.h */
#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "control.h"
#include "daemon.h"
#include "say.h"

#define MOST_AT_ONCE	16	/* requests that are answered before other events are handled */

/* -- Requests --------------------------------------------------------------------- */

static char *error(const char *format, ...) __attribute__((format(printf, 1, 2)));

static char *error(const char *format, ...)
{
	va_list arguments;
	char *text, *answer;

	va_start(arguments, format);
	if (vasprintf(&text, format, arguments) < 0)
		text = NULL;
	va_end(arguments);
	answer = text ? field("error %s\n", text) : NULL;
	free(text);
	return answer;
}

static char *okay(char *text)
{
	char *answer = text ? field("ok %s", text) : NULL;

	free(text);
	return answer;
}

static bool take_number(const char *text, unsigned long most, unsigned long *number)
{
	char *end;

	errno = 0;
	*number = strtoul(text ?: "", &end, 10);
	return text && isdigit((unsigned char)*text) && !*end && !errno && *number <= most;
}

static char *do_explain(struct daemon *daemon, const char *text)
{
	unsigned long cpu;

	if (!take_number(text, daemon->machine->count - 1UL, &cpu))
		return error("this machine has no such CPU number");
	return okay(explain_cpu(daemon, (unsigned int)cpu));
}

static char *do_switch(struct daemon *daemon, const char *name)
{
	const struct policy *policy = policy_find(name ?: ""), *before = daemon->config->policy;
	char *wrong, *answer;

	if (!policy)
		return error("there is no such policy");
	daemon->config->policy = policy;
	if (config_check(daemon->machine, daemon->config, &wrong)) {
		daemon->config->policy = before;
		answer = error("%s", wrong ?: "no memory");
		free(wrong);
		return answer;
	}
	say(LOG_NOTICE, "the policy is now \"%s\", as asked for", policy->name);
	/* A new policy begins with the CPUs online, not with what the earlier policy wanted. */
	memcpy(daemon->before, daemon->online, daemon->machine->size);
	return okay(field("the policy is now \"%s\"\n", policy->name));
}

/*
 * Brings the CPUs at once, not after the interval, so that the answer can say which CPUs are still
 * offline.
 */
static char *carry_out_lease(struct daemon *daemon, int id, const cpu_set_t *cpus,
			     const char *list, unsigned long seconds)
{
	cpu_set_t *offline = machine_set(daemon->machine);
	char *missing, *answer = NULL;

	if (!offline)
		return NULL;
	if (daemon->timer) {
		/*
		 * An error is not handled here, but in the round that the timer now starts, if the
		 * error occurs again.
		 */
		daemon_round(daemon);
		sd_event_source_set_time(daemon->timer, 0);
	}
	CPU_AND_S(daemon->machine->size, offline, cpus, daemon->owner.online);
	CPU_XOR_S(daemon->machine->size, offline, offline, cpus);
	missing = machine_list(daemon->machine, offline);
	if (!CPU_COUNT_S(daemon->machine->size, offline))
		answer = field("lease %d: CPUs %s for %lu s\n", id, list, seconds);
	else if (missing)
		answer = field("lease %d: CPUs %s for %lu s, of which CPUs %s are still offline\n",
			       id, list, seconds, missing);
	free(missing);
	CPU_FREE(offline);
	return okay(answer);
}

static char *do_lease(struct daemon *daemon, const char *list, const char *time)
{
	cpu_set_t *cpus = machine_set(daemon->machine);
	unsigned long seconds;
	char *answer;
	int id;

	if (!cpus)
		return NULL;
	if (!list || cpubolt_parse_list(daemon->machine->handle, list, cpus, NULL) ||
	    !CPU_COUNT_S(daemon->machine->size, cpus)) {
		answer = error("the second word is no list of CPUs of this machine");
	} else if (!take_number(time, LONGEST_LEASE_S, &seconds) || !seconds) {
		answer = error("a lease is for 1 to %d seconds", LONGEST_LEASE_S);
	} else {
		id = lease_add(daemon, cpus, (unsigned int)seconds);
		if (id < 0) {
			answer = error("%s", id == -ENOSPC ? "there are too many leases" :
							     "no memory");
		} else {
			say(LOG_INFO, "lease %d: CPUs %s for %lu s", id, list, seconds);
			answer = carry_out_lease(daemon, id, cpus, list, seconds);
		}
	}
	CPU_FREE(cpus);
	return answer;
}

static char *do_release(struct daemon *daemon, const char *text)
{
	unsigned long id;

	if (!take_number(text, daemon->last_lease, &id) || !lease_end(daemon, (unsigned int)id))
		return error("there is no such lease");
	say(LOG_INFO, "lease %lu was given back", id);
	return okay(field("lease %lu has ended\n", id));
}

char *control_answer(struct daemon *daemon, const char *request, bool privileged)
{
	char *copy = strdup(request), *here = copy, *words[4] = { NULL }, *answer;
	unsigned int count = 0;

	if (!copy)
		return NULL;
	while (here && count < 4) {
		words[count] = strsep(&here, " \n");
		count += *words[count] != '\0';
	}
	if (count < 4 && words[count] && !*words[count])
		words[count] = NULL;
	if (count == 1 && !strcmp(words[0], "status"))
		answer = okay(explain_status(daemon));
	else if (count == 2 && !strcmp(words[0], "explain"))
		answer = do_explain(daemon, words[1]);
	else if (!count || (strcmp(words[0], "switch") && strcmp(words[0], "lease") &&
			    strcmp(words[0], "release")))
		answer = error("there is no such request");
	else if (!privileged)
		answer = error("only root may make this request");
	else if (count == 2 && !strcmp(words[0], "switch"))
		answer = do_switch(daemon, words[1]);
	else if (count == 3 && !strcmp(words[0], "lease"))
		answer = do_lease(daemon, words[1], words[2]);
	else if (count == 2 && !strcmp(words[0], "release"))
		answer = do_release(daemon, words[1]);
	else
		answer = error("the request has too few or too many words");
	free(copy);
	return answer;
}

/* -- The socket ------------------------------------------------------------------- */

static bool is_root(struct msghdr *message)
{
	struct cmsghdr *part;
	struct ucred from;

	for (part = CMSG_FIRSTHDR(message); part; part = CMSG_NXTHDR(message, part)) {
		if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_CREDENTIALS)
			continue;
		memcpy(&from, CMSG_DATA(part), sizeof(from));
		return !from.uid;
	}
	return false;
}

/* Answers one request; false if no request was waiting. */
static bool receive(struct daemon *daemon)
{
	char request[CONTROL_REQUEST_SIZE + 1], *answer;
	_Alignas(struct cmsghdr) char about[CMSG_SPACE(sizeof(struct ucred))];
	struct sockaddr_un from;
	struct iovec piece = { request, sizeof(request) - 1 };
	struct msghdr message = {
		.msg_name = &from,
		.msg_namelen = sizeof(from),
		.msg_iov = &piece,
		.msg_iovlen = 1,
		.msg_control = about,
		.msg_controllen = sizeof(about),
	};
	ssize_t length = recvmsg(daemon->control, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);

	if (length < 0)
		return false;
	request[length] = '\0';
	answer = message.msg_flags & MSG_TRUNC ? error("the request is too long") :
		 control_answer(daemon, request, is_root(&message));
	/* An answer that cannot be delivered is dropped: only the program that asked needs it. */
	if (answer && message.msg_namelen > sizeof(sa_family_t))
		sendto(daemon->control, answer, strlen(answer), MSG_DONTWAIT | MSG_NOSIGNAL,
		       (struct sockaddr *)&from, message.msg_namelen);
	free(answer);
	return true;
}

static int on_request(sd_event_source *source, int fd, uint32_t events, void *data)
{
	unsigned int i;

	for (i = 0; i < MOST_AT_ONCE && receive(data); i++)
		;
	return 0;
}

static int listen_at(struct daemon *daemon, const char *path)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int on = 1, fd, err = 0;

	if (strlen(path) >= sizeof(address.sun_path))
		return -ENAMETOOLONG;
	memcpy(address.sun_path, path, strlen(path) + 1);
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	unlink(path);
	/* Any user may ask; only root may change something. */
	if (bind(fd, (struct sockaddr *)&address, sizeof(address)) || chmod(path, 0666) ||
	    setsockopt(fd, SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)))
		err = -errno;
	if (!err)
		err = sd_event_add_io(daemon->loop, NULL, fd, EPOLLIN, on_request, daemon);
	if (err < 0) {
		close(fd);
		return err;
	}
	daemon->control = fd;
	return 0;
}

void control_open(struct daemon *daemon)
{
	char *path = field("%s" CONTROL_PATH, daemon->machine->root);
	int err = path ? listen_at(daemon, path) : -ENOMEM;

	if (err)
		say(LOG_WARNING, "\"cpubolt policy\" cannot reach this daemon: %s: %s",
		    path ?: "", strerror(-err));
	free(path);
}

void control_close(struct daemon *daemon)
{
	char *path;

	if (daemon->control < 0)
		return;
	path = field("%s" CONTROL_PATH, daemon->machine->root);
	if (path)
		unlink(path);
	free(path);
	close(daemon->control);
	daemon->control = -1;
}
