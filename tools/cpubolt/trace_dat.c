// SPDX-License-Identifier: GPL-2.0-only
/* Writes and reads files of trace-cmd. */
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <event-parse.h>
#include <trace-cmd.h>
#include <trace-seq.h>

#include "trace_dat.h"

/* Where the pages of a CPU's buffer begin in the file, and their total length. */
struct cpu_data {
	uint64_t offset, size;
	char *pages;
};

/* -- Writing -------------------------------------------------------------- */

static void put(FILE *out, const void *data, size_t size)
{
	fwrite(data, 1, size, out);	/* errors are looked for at the end */
}

static void put_u32(FILE *out, uint32_t value)
{
	put(out, &value, sizeof(value));
}

static void put_u64(FILE *out, uint64_t value)
{
	put(out, &value, sizeof(value));
}

static void put_start(FILE *out)
{
	static const unsigned char magic[] = { 0x17, 0x08, 0x44 };
	unsigned char order = BYTE_ORDER == BIG_ENDIAN, size = sizeof(long);

	put(out, magic, sizeof(magic));
	put(out, "tracing", 7);
	put(out, "6", 2);
	put(out, &order, 1);
	put(out, &size, 1);
	put_u32(out, sysconf(_SC_PAGESIZE));
}

/*
 * Writes the length of a file of tracefs in 64 bits, then the text of the file. If the file cannot
 * be read, only the length 0 is written.
 */
static void put_file(FILE *out, const char *path)
{
	int size = 0;
	char *text = tracefs_instance_file_read(NULL, path, &size);

	put_u64(out, text ? size : 0);
	if (text)
		put(out, text, size);
	free(text);
}

static void put_format(FILE *out, const char *system, const char *event)
{
	char *path;

	if (asprintf(&path, "events/%s/%s/format", system, event) < 0)
		return;
	put_file(out, path);
	free(path);
}

/* tracefs_system_events() lists a system's events, which are directories, but not its files. */
static void put_formats(FILE *out, const char *system)
{
	char **events = tracefs_system_events(NULL, system);
	uint32_t count = 0;

	while (events && events[count])
		count++;
	put_u32(out, count);
	for (uint32_t i = 0; i < count; i++)
		put_format(out, system, events[i]);
	tracefs_list_free(events);
}

static void put_systems(FILE *out, const char *const *systems)
{
	uint32_t count = 0;

	while (systems[count])
		count++;
	put_u32(out, count);
	for (uint32_t i = 0; i < count; i++) {
		put(out, systems[i], strlen(systems[i]) + 1);
		put_formats(out, systems[i]);
	}
}

/*
 * Writes the names of the kernel's functions, because events have addresses only. Symbols of data
 * are left out.
 */
static void put_symbols(FILE *out)
{
	FILE *in = fopen("/proc/kallsyms", "re");
	char *line = NULL, *text = NULL, type;
	size_t room = 0, size = 0;
	FILE *kept = open_memstream(&text, &size);

	while (in && kept && getline(&line, &room, in) > 0)
		if (sscanf(line, "%*x %c", &type) == 1 && strchr("tTwW", type))
			fputs(line, kept);
	if (kept)
		fclose(kept);
	if (in)
		fclose(in);
	put_u32(out, text ? size : 0);
	put(out, text ?: "", text ? size : 0);
	free(line);
	free(text);
}

static void put_printk_formats(FILE *out)
{
	int size = 0;
	char *text = tracefs_instance_file_read(NULL, "printk_formats", &size);

	put_u32(out, text ? size : 0);
	put(out, text ?: "", text ? size : 0);
	free(text);
}

/* Takes all pages out of one CPU's buffer; the last page may be partly used. */
static int take_pages(struct tracefs_instance *instance, unsigned int cpu, struct cpu_data *data)
{
	size_t page = sysconf(_SC_PAGESIZE), room = 0;
	char path[64];
	ssize_t got;
	int fd;

	snprintf(path, sizeof(path), "per_cpu/cpu%u/trace_pipe_raw", cpu);
	fd = tracefs_instance_file_open(instance, path, O_RDONLY | O_NONBLOCK);
	if (fd < 0)
		return 0;		/* a CPU without a buffer */
	do {
		if (data->size + page > room) {
			char *more = realloc(data->pages, room = 2 * room + 4 * page);

			if (!more) {
				close(fd);
				return -ENOMEM;
			}
			data->pages = more;
		}
		memset(data->pages + data->size, 0, page);
		got = read(fd, data->pages + data->size, page);
		if (got > 0)
			data->size += page;
	} while (got > 0 || (got < 0 && errno == EINTR));
	close(fd);
	return 0;
}

static int put_data(FILE *out, struct tracefs_instance *instance, uint32_t cpus)
{
	struct cpu_data *data = calloc(cpus, sizeof(*data));
	size_t page = sysconf(_SC_PAGESIZE);
	uint64_t offset;
	int error = data ? 0 : -ENOMEM;

	for (uint32_t i = 0; i < cpus && !error; i++)
		error = take_pages(instance, i, &data[i]);
	put_u32(out, cpus);
	put(out, "flyrecord", 10);
	offset = ftello(out) + 16ull * cpus;
	for (uint32_t i = 0; i < cpus && !error; i++) {
		offset = (offset + page - 1) / page * page;
		data[i].offset = offset;
		offset += data[i].size;
		put_u64(out, data[i].offset);
		put_u64(out, data[i].size);
	}
	for (uint32_t i = 0; i < cpus && !error; i++) {
		while ((uint64_t)ftello(out) < data[i].offset && !ferror(out))
			fputc(0, out);
		put(out, data[i].pages ?: "", data[i].pages ? data[i].size : 0);
	}
	for (uint32_t i = 0; data && i < cpus; i++)
		free(data[i].pages);
	free(data);
	return error;
}

int trace_dat_write(int fd, struct tracefs_instance *instance, unsigned int cpus,
		    const char *const *systems)
{
	int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0), error;
	FILE *out = copy < 0 ? NULL : fdopen(copy, "w");

	if (!out) {
		error = -errno;
		if (copy >= 0)
			close(copy);
		return error;
	}
	put_start(out);
	put(out, "header_page", 12);
	put_file(out, "events/header_page");
	put(out, "header_event", 13);
	put_file(out, "events/header_event");
	put_formats(out, "ftrace");
	put_systems(out, systems);
	put_symbols(out);
	put_printk_formats(out);
	put_file(out, "saved_cmdlines");
	error = put_data(out, instance, cpus);
	errno = 0;
	if (ferror(out) || fflush(out))
		error = error ?: -(errno ?: EIO);
	if (fclose(out))
		error = error ?: -errno;
	return error;
}

/* -- Reading -------------------------------------------------------------- */

struct reading {
	struct trace_events *events;
	int error;
};

static int read_record(struct tracecmd_input *input, struct tep_record *record, int cpu, void *data)
{
	struct tep_handle *tep = tracecmd_get_tep(input);
	struct tep_event *event = tep_find_event_by_record(tep, record);
	struct reading *reading = data;
	struct trace_seq text;

	if (!event)
		return 0;
	trace_seq_init(&text);
	tep_print_event(tep, &text, record, "%s", TEP_PRINT_INFO);
	trace_seq_terminate(&text);
	reading->error = trace_read(reading->events, record->ts, event->name, text.buffer);
	trace_seq_destroy(&text);
	return reading->error;
}

/*
 * This function stands in for tracecmd_open(), which closes an incomplete handle when the data of a
 * CPU are cut off, so that libtracecmd 1.3.1 (of trace-cmd 3.1.6) crashes. Here such a handle stays
 * open until the program ends.
 */
static struct tracecmd_input *open_input(const char *path)
{
	struct tracecmd_input *input = tracecmd_open_head(path, TRACECMD_FL_LOAD_NO_PLUGINS);

	return input && !tracecmd_init_data(input) ? input : NULL;
}

int trace_dat_read(const char *path, struct trace_events *events)
{
	struct reading reading = { .events = events };
	struct tracecmd_input *input;
	int error;

	events->list = NULL;
	events->count = 0;
	tracecmd_set_loglevel(TEP_LOG_NONE);
	input = open_input(path);
	if (!input)
		return -EINVAL;
	error = tracecmd_iterate_events(input, NULL, 0, read_record, &reading);
	tracecmd_close(input);
	error = reading.error ?: error ? -EINVAL : 0;
	if (error)
		trace_free(events);
	else
		trace_sort(events);
	return error;
}

/* In the child: send all events, and end with the status 0, or an errno after an error. */
static void send_events(const char *path, int to)
{
	static const struct rlimit no_core;
	struct trace_events events = { .list = NULL };
	int error;
	FILE *out = fdopen(to, "w");

	setrlimit(RLIMIT_CORE, &no_core);
	error = out ? trace_dat_read(path, &events) : -ENOMEM;
	if (!error && events.count &&
	    fwrite(events.list, sizeof(*events.list), events.count, out) < events.count)
		error = -EIO;
	if (out && fclose(out))
		error = error ?: -EIO;
	_exit(-error);
}

static int receive_events(int from, struct trace_events *events)
{
	struct trace_event event;
	FILE *in = fdopen(from, "r");
	int error = in ? 0 : -ENOMEM;

	while (!error && fread(&event, sizeof(event), 1, in) == 1)
		error = trace_add(events, &event);
	if (in)
		fclose(in);
	else
		close(from);
	return error;
}

static int wait_for_child(pid_t pid)
{
	int status;

	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return -errno;
	if (!WIFEXITED(status))
		return -EINVAL;
	return WEXITSTATUS(status) == ENOMEM ? -ENOMEM : WEXITSTATUS(status) ? -EINVAL : 0;
}

int trace_dat_read_foreign(const char *path, struct trace_events *events)
{
	int ends[2], error, ended;
	pid_t pid;

	events->list = NULL;
	events->count = 0;
	if (pipe2(ends, O_CLOEXEC))
		return -errno;
	fflush(NULL);
	pid = fork();
	if (pid < 0) {
		error = -errno;
		close(ends[0]);
		close(ends[1]);
		return error;
	}
	if (!pid)
		send_events(path, ends[1]);
	close(ends[1]);
	error = receive_events(ends[0], events);
	ended = wait_for_child(pid);
	error = error ?: ended;
	if (error)
		trace_free(events);
	return error;
}
