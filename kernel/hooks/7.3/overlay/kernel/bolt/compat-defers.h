/* SPDX-License-Identifier: GPL-2.0-only */
/* As bolt_defers[] of policy.c: none of the states of compat-rows.h may wait. */
