/* SPDX-License-Identifier: GPL-2.0-only */
/* Directories of the kernel's files. */
#ifndef SELFTESTS_BOLT_LIB_DIRS_H
#define SELFTESTS_BOLT_LIB_DIRS_H

#define CPU_DIR "/sys/devices/system/cpu/"
#define BOLT_DIR CPU_DIR "bolt/"
#define DEBUG_DIR "/sys/kernel/debug/bolt/"
#define TRACE_DIR "/sys/kernel/tracing/"
/* Where version 2 of control groups is mounted. */
#define V2 "/sys/fs/cgroup"
#define GROUP_DIR V2 "/"

#endif /* SELFTESTS_BOLT_LIB_DIRS_H */
