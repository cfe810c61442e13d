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
 * As soft_restart_cpu(), but goes on in bolt_warm_start(). soft_restart_cpu()
 * takes its entry from initial_code, which CPUs that come up after a reset may
 * use at the same time.
 */
SYM_CODE_START(bolt_warm_restart)
	ANNOTATE_NOENDBR
	UNWIND_HINT_END_OF_STACK
	movq	%rdi, %rsp
	xorl	%ebp, %ebp
	call	bolt_warm_start
	ud2
SYM_CODE_END(bolt_warm_restart)
