/* SPDX-License-Identifier: GPL-2.0-only */
/* x86: a CPU that was parked warm leaves the stack on which it waited. */
#include <linux/linkage.h>
#include <linux/objtool.h>
#include <asm/asm.h>
#include <asm/nospec-branch.h>
#include <asm/unwind_hints.h>

	.text

/*
 * void bolt_warm_restart(unsigned long sp)
 *
 * As soft_restart_cpu(), but with an entry of its own: CPUs that are reset may be
 * on their way at the same time, and take theirs from initial_code.
 */
SYM_CODE_START(bolt_warm_restart)
	ANNOTATE_NOENDBR
	UNWIND_HINT_END_OF_STACK
	movq	%rdi, %rsp
	xorl	%ebp, %ebp
	call	bolt_warm_start
	ud2
SYM_CODE_END(bolt_warm_restart)
