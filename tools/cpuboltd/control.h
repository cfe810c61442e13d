/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How "cpubolt policy" and cpuboltd talk: a datagram with a request, a datagram with an answer
 *
 *	status			what the daemon does, and why
 *	explain CPU		why the CPU is online or offline
 *	switch POLICY		use this policy until the next switch, or until the daemon ends;
 *				root only
 *	lease CPULIST SECONDS	the floor has these CPUs for so long; root only
 *	release ID		end the lease that has this ID; root only
 *
 * An answer begins with "ok " or "error ".
 */
#ifndef CONTROL_H
#define CONTROL_H

#define CONTROL_PATH		"/run/cpubolt/cpuboltd.socket"
#define CONTROL_REQUEST_SIZE	4096

#endif /* CONTROL_H */
