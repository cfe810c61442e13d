// SPDX-License-Identifier: GPL-2.0-only
/*
 * CPUs as user space names them: lists and masks. What is not clearly meant is
 * refused, so that no half of it is done.
 */
#include <linux/bitmap.h>
#include <linux/ctype.h>
#include <linux/errno.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/string.h>

#include "internal.h"

/* Where the text ends: before one newline and one NUL, if they are its last. */
static size_t bolt_text_end(const char *buf, size_t count)
{
	if (count && !buf[count - 1])
		count--;
	if (count && buf[count - 1] == '\n')
		count--;
	return count;
}

/* Printable, and no number with which bitmap_parselist() would go round. */
static bool bolt_text_fits(const char *buf, size_t len)
{
	u64 number = 0;

	for (; len; buf++, len--) {
		if (!isascii(*buf) || (*buf != '\t' && iscntrl(*buf)))
			return false;
		number = isdigit(*buf) ? 10 * number + *buf - '0' : 0;
		if (number > INT_MAX)
			return false;
	}
	return true;
}

/**
 * bolt_parse_list - read a list of CPUs
 * @buf:	what was written, with a NUL after it
 * @count:	how many bytes
 * @bits:	where to put it: @nbits
 * @nbits:	how many CPUs there may be
 *
 * bitmap_parselist() stops at a newline, takes 0xa0 for a space, and adds up
 * group sizes beyond 32 bits: all that is refused here. A list may be empty.
 *
 * Context: any.
 * Return: 0; -E2BIG: kernfs has cut it; -EINVAL: malformed, or a CPU beyond
 * @nbits.
 */
int bolt_parse_list(const char *buf, size_t count, unsigned long *bits,
		    unsigned int nbits)
{
	int err;

	if (count >= PAGE_SIZE)
		return -E2BIG;
	if (!bolt_text_fits(buf, bolt_text_end(buf, count)))
		return -EINVAL;
	err = bitmap_parselist(buf, bits, nbits);
	/* A list that goes beyond the mask is as impossible as the rest. */
	return err == -ERANGE || err == -EOVERFLOW ? -EINVAL : err;
}

/**
 * bolt_parse_mask - read a mask of CPUs
 * @buf:	an array of unsigned long, not necessarily aligned
 * @count:	how many bytes
 * @bits:	where to put it: @nbits
 * @nbits:	how many CPUs there may be
 *
 * As for sched_setaffinity() the mask may be shorter than the kernel's, or
 * longer; but then what is beyond must be zero.
 *
 * Context: any.
 * Return: 0; -E2BIG: kernfs has cut it; -EINVAL: not an array of unsigned
 * long, or a CPU beyond @nbits.
 */
int bolt_parse_mask(const void *buf, size_t count, unsigned long *bits,
		    unsigned int nbits)
{
	size_t size = BITS_TO_LONGS(nbits) * sizeof(*bits);

	if (count >= PAGE_SIZE)
		return -E2BIG;
	if (!count || count % sizeof(*bits))
		return -EINVAL;
	if (count > size && memchr_inv(buf + size, 0, count - size))
		return -EINVAL;
	bitmap_zero(bits, nbits);
	memcpy(bits, buf, min(count, size));
	return find_next_bit(bits, size * BITS_PER_BYTE, nbits) <
	       size * BITS_PER_BYTE ? -EINVAL : 0;
}
