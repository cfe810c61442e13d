/* SPDX-License-Identifier: GPL-2.0-only */
/* More entries of bolt_defers[] of policy.c: none, as no state of compat-rows.h may be deferred. */
