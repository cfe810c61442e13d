/* SPDX-License-Identifier: GPL-2.0-only */
/* Arguments of the form key=value. */
#ifndef SELFTESTS_BOLT_LIB_ARGS_H
#define SELFTESTS_BOLT_LIB_ARGS_H

#include <string.h>

/* Returns the value of @key, or @fallback if @args has no @key. @args ends with NULL. */
static inline const char *arg_text(char **args, const char *key, const char *fallback)
{
	size_t len = strlen(key);

	for (; *args; args++)
		if (!strncmp(*args, key, len) && (*args)[len] == '=')
			return *args + len + 1;
	return fallback;
}

#endif /* SELFTESTS_BOLT_LIB_ARGS_H */
