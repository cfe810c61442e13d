/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How "cpubolt policy" and cpuboltd talk: a datagram with a request, a datagram with an answer
 *
 *	status			all about the daemon
 *	explain CPU		why the CPU is online or offline
 *	switch POLICY		use this policy until the daemon ends; root only
 *	lease CPULIST SECONDS	these CPUs are online for so long; root only
 *	release ID		end a lease; root only
 *
 * An answer begins with "ok " or "error ".
 */
#ifndef CONTROL_H
#define CONTROL_H

#define CONTROL_PATH		"/run/cpubolt/cpuboltd.socket"
#define CONTROL_REQUEST_SIZE	4096

#endif /* CONTROL_H */
