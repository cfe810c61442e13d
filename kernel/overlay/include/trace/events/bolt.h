/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Tracepoints of Bolt: requests and their phases; teardowns that are deferred,
 * cancelled or settled.
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM bolt

#if !defined(_TRACE_BOLT_H) || defined(TRACE_HEADER_MULTI_READ)
#define _TRACE_BOLT_H

#include <linux/tracepoint.h>

TRACE_DEFINE_ENUM(BOLT_PHASE_LOCK);
TRACE_DEFINE_ENUM(BOLT_PHASE_PREPARE);
TRACE_DEFINE_ENUM(BOLT_PHASE_HARDWARE);
TRACE_DEFINE_ENUM(BOLT_PHASE_AP);
TRACE_DEFINE_ENUM(BOLT_PHASE_STOP);
TRACE_DEFINE_ENUM(BOLT_PHASE_DIE);
TRACE_DEFINE_ENUM(BOLT_PHASE_DEAD);

#define show_bolt_phase(phase)				\
	__print_symbolic(phase,				\
		{ BOLT_PHASE_LOCK,	"lock" },	\
		{ BOLT_PHASE_PREPARE,	"prepare" },	\
		{ BOLT_PHASE_HARDWARE,	"hardware" },	\
		{ BOLT_PHASE_AP,	"ap" },		\
		{ BOLT_PHASE_STOP,	"stop" },	\
		{ BOLT_PHASE_DIE,	"die" },	\
		{ BOLT_PHASE_DEAD,	"dead" })

/*
 * A phase of request number @batch, whose lowest-numbered CPU is @cpu, ended @ns
 * nanoseconds after the phase before; the first phase: after the request was made.
 */
TRACE_EVENT(bolt_phase,
	    TP_PROTO(u64 batch, unsigned int cpu, int phase, u64 ns),
	    TP_ARGS(batch, cpu, phase, ns),
	    TP_STRUCT__entry(__field(u64, batch)
			     __field(unsigned int, cpu)
			     __field(int, phase)
			     __field(u64, ns)
	    ),
	    TP_fast_assign(__entry->batch = batch;
			   __entry->cpu = cpu;
			   __entry->phase = phase;
			   __entry->ns = ns;
	    ),
	    TP_printk("batch=%llu cpu=%u phase=%s ns=%llu", __entry->batch,
		      __entry->cpu, show_bolt_phase(__entry->phase),
		      __entry->ns)
);

/*
 * Request number @batch, whose lowest-numbered CPU is @cpu, was to bring @up CPUs up and
 * to take @down CPUs down. It ended after @ns nanoseconds; @err is 0, or the error with
 * which the request failed.
 */
TRACE_EVENT(bolt_batch,
	    TP_PROTO(u64 batch, unsigned int cpu, unsigned int up,
		     unsigned int down, int err, u64 ns),
	    TP_ARGS(batch, cpu, up, down, err, ns),
	    TP_STRUCT__entry(__field(u64, batch)
			     __field(unsigned int, cpu)
			     __field(unsigned int, up)
			     __field(unsigned int, down)
			     __field(int, err)
			     __field(u64, ns)
	    ),
	    TP_fast_assign(__entry->batch = batch;
			   __entry->cpu = cpu;
			   __entry->up = up;
			   __entry->down = down;
			   __entry->err = err;
			   __entry->ns = ns;
	    ),
	    TP_printk("batch=%llu cpu=%u up=%u down=%u err=%d ns=%llu",
		      __entry->batch, __entry->cpu, __entry->up, __entry->down,
		      __entry->err, __entry->ns)
);

DECLARE_EVENT_CLASS(bolt_state,
		    TP_PROTO(unsigned int cpu, int state),
		    TP_ARGS(cpu, state),
		    TP_STRUCT__entry(__field(unsigned int, cpu)
				     __field(int, state)
		    ),
		    TP_fast_assign(__entry->cpu = cpu;
				   __entry->state = state;
		    ),
		    TP_printk("cpu=%u state=%d", __entry->cpu, __entry->state)
);

/* The teardown of @state has been deferred. */
DEFINE_EVENT(bolt_state, bolt_defer,
	     TP_PROTO(unsigned int cpu, int state),
	     TP_ARGS(cpu, state)
);

/*
 * The CPU came back before the deferred teardown of @state ran, so that teardown did
 * not run. Nor did the startup, unless struct bolt_defer of the state has @restart set.
 */
DEFINE_EVENT(bolt_state, bolt_cancel,
	     TP_PROTO(unsigned int cpu, int state),
	     TP_ARGS(cpu, state)
);

/* The deferred teardown of @state has run. */
DEFINE_EVENT(bolt_state, bolt_settle,
	     TP_PROTO(unsigned int cpu, int state),
	     TP_ARGS(cpu, state)
);

#endif /* _TRACE_BOLT_H */

#include <trace/define_trace.h>
