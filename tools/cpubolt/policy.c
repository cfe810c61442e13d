// SPDX-License-Identifier: GPL-2.0-only
/* cpubolt policy: what cpuboltd does, and what it is to do */
#include <errno.h>
#include <getopt.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "../cpuboltd/control.h"
#include "command.h"

#define WAIT_MS		5000
#define LEASE_WAIT_MS	60000	/* the daemon answers only after its request for the CPUs */
#define ANSWER_SIZE	(256 * 1024)

static const struct help help = {
	.usage = "[show]\n"
		 "explain CPU\n"
		 "switch POLICY\n"
		 "lease CPULIST SECONDS\n"
		 "release NUMBER",
	.about = "Show what cpuboltd does, say why a CPU is online or offline, use another policy,\n"
		 "or have CPUs online for some time.",
	.options = HELP_OPTION_HELP,
	.examples = " cpubolt policy                   what the daemon does\n"
		    " cpubolt policy explain 5         why is CPU 5 offline?\n"
		    " cpubolt policy switch package    another policy, until the daemon ends\n"
		    " cpubolt policy lease 4-7 600     CPUs 4 to 7 are online for ten minutes\n",
};

/* Words of the user, the words of control.h for these, and how many words follow. */
static const struct {
	const char *word, *request;
	int more;
} forms[] = {
	{ "show", "status", 0 },
	{ "explain", "explain", 1 },
	{ "switch", "switch", 1 },
	{ "lease", "lease", 2 },
	{ "release", "release", 1 },
};

static char *make_request(struct invocation *call)
{
	const char *word = call->argc > optind ? call->argv[optind] : "show";
	const char *const *more = (const char *const *)call->argv + optind + 1;
	int count = call->argc > optind ? call->argc - optind - 1 : 0;
	char *request;
	size_t i;
	int got;

	for (i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		if (strcmp(forms[i].word, word))
			continue;
		if (count != forms[i].more) {
			complain("%s: expects %d word(s) more, not %d", word, forms[i].more,
				 count);
			return NULL;
		}
		got = asprintf(&request, "%s%s%s%s%s", forms[i].request, count ? " " : "",
			       count ? more[0] : "", count > 1 ? " " : "",
			       count > 1 ? more[1] : "");
		if (got >= 0 && got <= CONTROL_REQUEST_SIZE)
			return request;
		if (got >= 0)
			free(request);
		complain("the request is too long");
		return NULL;
	}
	complain("\"%s\" is none of show, explain, switch, lease and release", word);
	return NULL;
}

/* Opens a socket to the daemon. The kernel gives the socket a name, to which the answer comes. */
static int reach(const struct invocation *call)
{
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	struct sockaddr_un own = { .sun_family = AF_UNIX };
	int length = snprintf(to.sun_path, sizeof(to.sun_path), "%s" CONTROL_PATH, call->root);
	/* The socket of a daemon that hangs fills up, and then send() would wait for ever. */
	struct timeval most = { .tv_sec = WAIT_MS / 1000 };
	int fd, err;

	if (length < 0 || (size_t)length >= sizeof(to.sun_path))
		return -ENAMETOOLONG;
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	if (!setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &most, sizeof(most)) &&
	    !bind(fd, (struct sockaddr *)&own, sizeof(sa_family_t)) &&
	    !connect(fd, (struct sockaddr *)&to, sizeof(to)))
		return fd;
	err = -errno;
	close(fd);
	return err;
}

static int print_answer(int fd, bool lease)
{
	struct pollfd ready = { .fd = fd, .events = POLLIN };
	char *answer = malloc(ANSWER_SIZE);
	int code = EXIT_FAILED;
	ssize_t length;

	if (!answer)
		return fail(EXIT_FAILED, "no memory");
	length = poll(&ready, 1, lease ? LEASE_WAIT_MS : WAIT_MS) > 0 ?
		 recv(fd, answer, ANSWER_SIZE - 1, 0) : 0;
	if (length > 0)
		answer[length] = '\0';
	if (length <= 0) {
		complain("cpuboltd does not answer%s",
			 lease ? "; \"cpubolt policy\" shows whether the lease was given" : "");
	} else if (!strncmp(answer, "ok ", 3)) {
		fputs(answer + 3, stdout);
		code = EXIT_DONE;
	} else {
		answer[strcspn(answer, "\n")] = '\0';
		complain("%s", strchr(answer, ' ') ? strchr(answer, ' ') + 1 : answer);
		if (strstr(answer, "only root"))
			code = EXIT_NOT_PERMITTED;
	}
	free(answer);
	return code;
}

static int ask(const struct invocation *call, const char *request)
{
	int fd = reach(call), code;

	if (fd == -ENOENT || fd == -ECONNREFUSED)
		return fail(EXIT_FAILED, "cpuboltd does not run");
	if (fd < 0)
		return fail(EXIT_FAILED, "cannot reach cpuboltd: %s", strerror(-fd));
	if (send(fd, request, strlen(request), MSG_NOSIGNAL) < 0)
		code = fail(EXIT_FAILED, "cannot reach cpuboltd: %s", strerror(errno));
	else
		code = print_answer(fd, !strncmp(request, "lease ", 6));
	close(fd);
	return code;
}

int run_policy(struct invocation *call)
{
	static const struct option options[] = {
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 }
	};
	char *request;
	int option, code;

	while ((option = getopt_long(call->argc, call->argv, "+h", options, NULL)) != -1) {
		if (option != 'h')
			return fail_usage(call);
		return print_help(call, &help);
	}
	request = make_request(call);
	if (!request)
		return fail_usage(call);
	code = ask(call, request);
	free(request);
	return code;
}
