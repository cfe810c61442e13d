// SPDX-License-Identifier: GPL-2.0-only
/* Tells irqbalance which interrupts to leave alone, see irqbalance.h */
#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "files.h"
#include "irqbalance.h"
#include "programs.h"

#define REQUEST		"settings ban irqs "
#define SOCKET		"%s/run/irqbalance/irqbalance%d.sock"
/* irqbalance reads at most so many bytes of the list. */
#define LONGEST_LIST	255

struct numbers {
	int *list;
	size_t count;
};

static int add(struct numbers *numbers, int number)
{
	int *more = reallocarray(numbers->list, numbers->count + 1, sizeof(*more));

	if (!more)
		return -ENOMEM;
	numbers->list = more;
	more[numbers->count++] = number;
	return 0;
}

/* Adds the numbers of "-i 5", "-i5", "--banirq=5" and "--banirq 5" among the words in @text. */
static int add_of_words(struct numbers *numbers, const char *text, size_t length)
{
	const char *word, *value, *end = text + length;
	bool next = false;
	int err = 0;

	for (word = text; word < end && !err; word += strlen(word) + 1) {
		value = next ? word : NULL;
		next = !strcmp(word, "-i") || !strcmp(word, "--banirq");
		if (!strncmp(word, "--banirq=", 9))
			value = word + 9;
		else if (!strncmp(word, "-i", 2) && word[2])
			value = word + 2;
		if (value && isdigit((unsigned char)*value))
			err = add(numbers, atoi(value));
	}
	return err;
}

static int add_of_command_line(struct numbers *numbers, const char *root, int pid)
{
	char path[64], *text;
	size_t length = 0;
	int err;

	snprintf(path, sizeof(path), "/proc/%d/cmdline", pid);
	text = file_read(root, path, &length);
	if (!text)
		return 0;
	err = add_of_words(numbers, text, length);
	free(text);
	return err;
}

/* Interrupt 0 comes last, because irqbalance takes the number 0 for the end of the list. */
static int compare(const void *a, const void *b)
{
	int one = *(const int *)a, other = *(const int *)b;

	return (one < other) - (one > other);
}

static char *make_request(struct numbers *numbers)
{
	size_t length, i;
	char *text = NULL;
	FILE *out = open_memstream(&text, &length);

	if (!out)
		return NULL;
	if (numbers->count)
		qsort(numbers->list, numbers->count, sizeof(*numbers->list), compare);
	fputs(REQUEST, out);
	for (i = 0; i < numbers->count; i++)
		if (!i || numbers->list[i] != numbers->list[i - 1])
			fprintf(out, i ? " %d" : "%d", numbers->list[i]);
	if (!numbers->count)
		fputs("NONE", out);
	fclose(out);
	return text;
}

/* irqbalance obeys only a message that carries the credentials of the sender. */
static int send_request(int fd, const char *text)
{
	struct ucred own = { getpid(), geteuid(), getegid() };
	_Alignas(struct cmsghdr) char about[CMSG_SPACE(sizeof(own))] = { 0 };
	struct iovec piece = { (void *)text, strlen(text) };
	struct msghdr message = {
		.msg_iov = &piece,
		.msg_iovlen = 1,
		.msg_control = about,
		.msg_controllen = sizeof(about),
	};
	struct cmsghdr *part = CMSG_FIRSTHDR(&message);

	part->cmsg_level = SOL_SOCKET;
	part->cmsg_type = SCM_CREDENTIALS;
	part->cmsg_len = CMSG_LEN(sizeof(own));
	memcpy(CMSG_DATA(part), &own, sizeof(own));
	return sendmsg(fd, &message, MSG_NOSIGNAL) < 0 ? -errno : 0;
}

static int tell(const char *root, int pid, const char *text)
{
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	int length = snprintf(to.sun_path, sizeof(to.sun_path), SOCKET, root, pid), fd, err;

	if (length < 0 || (size_t)length >= sizeof(to.sun_path))
		return -ENAMETOOLONG;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	err = connect(fd, (struct sockaddr *)&to, sizeof(to)) ? -errno : send_request(fd, text);
	close(fd);
	return err;
}

int irqbalance_find(const char *root)
{
	int pid = program_find(root, "irqbalance");

	return pid > 0 || pid == -ENOMEM ? pid : 0;
}

int irqbalance_ban(const char *root, int pid, const int *irqs, size_t count)
{
	struct numbers numbers = { 0 };
	int err = add_of_command_line(&numbers, root, pid);
	char *text = NULL;
	size_t i;

	for (i = 0; !err && i < count; i++)
		err = add(&numbers, irqs[i]);
	if (!err) {
		text = make_request(&numbers);
		err = text ? 0 : -ENOMEM;
	}
	if (!err && strlen(text) - strlen(REQUEST) > LONGEST_LIST)
		err = -E2BIG;
	if (!err)
		err = tell(root, pid, text);
	free(text);
	free(numbers.list);
	return err;
}
