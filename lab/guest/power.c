// SPDX-License-Identifier: GPL-2.0-only
/* init's commands swapon, which makes swap space for hibernation, and kexec. */
#define _GNU_SOURCE
#include "power.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/kexec.h>
#include <linux/reboot.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/swap.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "guest.h"

/* The header of swap space, in the first page. */
struct swap_header {
	char boot[1024];
	uint32_t version, last_page, bad_pages;
};

/* swapon DEVICE: the whole device becomes swap space. */
int do_swapon(char **args)
{
	long size = sysconf(_SC_PAGESIZE);
	struct swap_header *header;
	int fd, err = 0;
	char *page;
	off_t end;

	if (!args[1])
		return -EINVAL;
	page = calloc(1, size);
	fd = open(args[1], O_RDWR | O_CLOEXEC);
	if (fd < 0 || !page)
		return -errno;
	end = lseek(fd, 0, SEEK_END);
	header = (struct swap_header *)page;
	header->version = 1;
	header->last_page = end / size - 1;
	memcpy(page + size - 10, "SWAPSPACE2", 10);
	if (pwrite(fd, page, size, 0) != size || fsync(fd))
		err = -errno;
	close(fd);
	free(page);
	if (!err && swapon(args[1], 0))
		err = -errno;
	return err;
}

/*
 * kexec: starts the kernel and the initramfs in /kexec. Returns on failure only.
 * kexec last: starts the image in /kexec without an initramfs. That image is no kernel: it powers
 * the guest off, and prints nothing.
 */
int do_kexec(char **args)
{
	int kernel = open("/kexec/image", O_RDONLY | O_CLOEXEC);
	bool last = args[1] && !strcmp(args[1], "last");
	int initrd = last ? -1 : open("/kexec/initrd", O_RDONLY | O_CLOEXEC);
	char line[4096];
	ssize_t n = read_text("/proc/cmdline", line, sizeof(line));

	if (kernel < 0 || (initrd < 0 && !last))
		return -ENOENT;
	if (n <= 0)
		return -EIO;
	line[strcspn(line, "\n")] = '\0';
	if (syscall(SYS_kexec_file_load, kernel, initrd, strlen(line) + 1, line,
		    last ? KEXEC_FILE_NO_INITRAMFS : 0))
		return -errno;
	emit("{\"kexec\":\"loaded\"}");
	if (last)
		emit("{\"end\":\"ok\"}");
	sync();
	syscall(SYS_reboot, LINUX_REBOOT_MAGIC1, LINUX_REBOOT_MAGIC2,
		LINUX_REBOOT_CMD_KEXEC, NULL);
	return -errno;
}
