// SPDX-License-Identifier: GPL-2.0-only
/*
 * Reads what user space writes, for sysfs.c and debugfs.c: lists and masks of CPUs,
 * numbers, words. A text that is not clear as a whole is refused, so that no part
 * of it is carried out.
 */
#include <linux/array_size.h>
#include <linux/bitmap.h>
#include <linux/cpuhotplug.h>
#include <linux/ctype.h>
#include <linux/errno.h>
#include <linux/kstrtox.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/string.h>

#include "parse.h"

/* Returns the length of the text without one NUL and one newline at its end. */
static size_t bolt_text_end(const char *buf, size_t count)
{
	if (count && !buf[count - 1])
		count--;
	if (count && buf[count - 1] == '\n')
		count--;
	return count;
}

/*
 * Whether the text has only printable ASCII characters and tabs, and no number in the
 * text overflows in bitmap_parselist().
 */
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
 * @bits:	where to put the list, as a bitmap of @nbits bits
 * @nbits:	how many CPUs there may be
 *
 * bitmap_parselist() stops at a newline, takes 0xa0 for a space, and adds the group size
 * of a list such as 2-3:1/4294967295 to a CPU in 32 bits, which overflows. So a newline
 * inside a text, 0xa0 and a number above INT_MAX are refused here. A list may be empty.
 *
 * Context: any.
 * Return: 0; -E2BIG: a page or more, which kernfs may have cut; -EINVAL: malformed, or a
 * CPU beyond @nbits.
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
	/*
	 * A CPU beyond the mask is refused with the same error as any other
	 * impossible CPU.
	 */
	return err == -ERANGE || err == -EOVERFLOW ? -EINVAL : err;
}

/**
 * bolt_parse_mask - read a mask of CPUs
 * @buf:	an array of unsigned long, not necessarily aligned
 * @count:	how many bytes
 * @bits:	where to put the mask, as a bitmap of @nbits bits
 * @nbits:	how many CPUs there may be
 *
 * As for sched_setaffinity(), the mask may be shorter than the kernel's, or longer;
 * unlike there, a bit that is set beyond the kernel's mask is an error.
 *
 * Context: any.
 * Return: 0; -E2BIG: a page or more, which kernfs may have cut; -EINVAL: not an array of
 * unsigned long, or a CPU beyond @nbits.
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

/**
 * bolt_parse_word - whether a text is a given word
 * @buf:	what was written
 * @count:	how many bytes
 * @word:	the word
 *
 * sysfs_streq() is not used, as it does not see bytes that follow a NUL.
 *
 * Context: any.
 * Return: true if so.
 */
bool bolt_parse_word(const char *buf, size_t count, const char *word)
{
	size_t len = bolt_text_end(buf, count);

	return len == strlen(word) && !memcmp(buf, word, len);
}

/**
 * bolt_parse_number - read a decimal number
 * @buf:	what was written, with a NUL after it
 * @count:	how many bytes
 * @number:	where to put the number
 *
 * kstrtouint() does not see bytes that follow a NUL; a text with such bytes is refused
 * here.
 *
 * Context: any.
 * Return: 0; -E2BIG: a page or more, which kernfs may have cut; -ERANGE: more than
 * an unsigned int holds; -EINVAL: anything else than one number.
 */
int bolt_parse_number(const char *buf, size_t count, unsigned int *number)
{
	if (count >= PAGE_SIZE)
		return -E2BIG;
	if (memchr(buf, '\0', bolt_text_end(buf, count)))
		return -EINVAL;
	return kstrtouint(buf, 10, number);
}

/**
 * bolt_parse_override - read what the administrator says of a state: "STATE WORD"
 * @buf:	what was written, with a NUL after it; this function changes the
 *		text
 * @count:	how many bytes
 * @state:	where to put the number of the hotplug state
 * @say:	where to put which word was written
 *
 * Blanks may surround the number and the word.
 *
 * Context: any.
 * Return: 0; -E2BIG: a page or more; -EINVAL: malformed, or no hotplug state
 * between CPUHP_OFFLINE and CPUHP_ONLINE.
 */
int bolt_parse_override(char *buf, size_t count, unsigned int *state,
			enum bolt_say *say)
{
	static const char *const words[] = {
		[BOLT_SAY_DEFAULT] = "default",
		[BOLT_SAY_CRITICAL] = "critical",
		[BOLT_SAY_SERIAL] = "serial",
		[BOLT_SAY_UNFIT] = "unfit",
	};
	size_t len = bolt_text_end(buf, count);
	char *text, *word;
	int which;

	if (count >= PAGE_SIZE)
		return -E2BIG;
	if (!bolt_text_fits(buf, len))
		return -EINVAL;
	buf[len] = '\0';
	text = strim(buf);
	word = strpbrk(text, " \t");
	if (!word)
		return -EINVAL;
	*word = '\0';
	word = skip_spaces(word + 1);
	if (kstrtouint(text, 10, state) || *state <= CPUHP_OFFLINE ||
	    *state >= CPUHP_ONLINE)
		return -EINVAL;
	which = match_string(words, ARRAY_SIZE(words), word);
	if (which < 0)
		return -EINVAL;
	*say = which;
	return 0;
}

#include "tests/parse-kunit.h"
