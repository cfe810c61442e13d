// SPDX-License-Identifier: GPL-2.0-only
/*
 * The affinity of tasks that exec, exit or start other tasks while their CPUs are away.
 * An exec does not change the affinity that a task gets back, and a task never gets an
 * affinity that was kept for another task.
 */
#define _GNU_SOURCE
#include <linux/sched.h>
#include <pthread.h>

#include "affinity.h"
#include "../kselftest_harness.h"

#define CROWD 50
#define ROUNDS 20
#define SLOTS 4

/* The orders that a child gets in the value of its slot, and what the child stores there. */
enum order {
	GO_ON,
	EXEC,		/* begin this program anew */
	EXEC_AGAIN,	/* begin this program anew, again and again */
	START,		/* start a child by vfork(), or a thread; when told, either execs */
	EXIT,
	BEGUN,		/* stored by the child when the program has begun anew */
};

/* The memory of the slots, and its descriptor, by which a program finds the slots after an exec. */
static int slots_fd = -1;
static struct slot *slots;

static long order_of(const struct slot *slot)
{
	return __atomic_load_n(&slot->value, __ATOMIC_SEQ_CST);
}

static void tell(struct slot *slot, enum order order)
{
	__atomic_store_n(&slot->value, order, __ATOMIC_SEQ_CST);
}

static void spin_until_told(struct slot *slot)
{
	while (order_of(slot) == GO_ON)
		slot_beat(slot);
}

/* Begins this program anew; the new program uses @slot. */
static void exec(const struct slot *slot)
{
	char fd[16], nr[16];

	snprintf(fd, sizeof(fd), "%d", slots_fd);
	snprintf(nr, sizeof(nr), "%d", (int)(slot - slots));
	execl("/proc/self/exe", "exec", "--begun", fd, nr, NULL);
	_exit(1);
}

static bool slots_attach(int fd)
{
	slots_fd = fd;
	slots = mmap(NULL, SLOTS * sizeof(*slots), PROT_READ | PROT_WRITE, MAP_SHARED, fd,
		     0);
	return slots != MAP_FAILED;
}

static bool slots_make(void)
{
	int fd = syscall(SYS_memfd_create, "slots", 0);

	return fd >= 0 && !ftruncate(fd, SLOTS * sizeof(*slots)) && slots_attach(fd);
}

/* What the program does after it has executed itself again. */
static int begun(int fd, int nr)
{
	struct slot *slot;

	if (prctl(PR_SET_PDEATHSIG, SIGKILL) || !slots_attach(fd))
		return 1;
	slot = slots + nr;
	slot_beat(slot);
	if (order_of(slot) == EXEC_AGAIN)
		exec(slot);
	tell(slot, BEGUN);
	for (;;)
		slot_beat(slot);
}

static void obey(struct slot *slot)
{
	spin_until_told(slot);
	if (order_of(slot) == EXIT)
		_exit(0);
	exec(slot);
}

static void *obey_in_thread(void *slot)
{
	obey(slot);
	return NULL;
}

/*
 * When told, starts a child, which uses the next slot, and execs when told, while its
 * parent waits in vfork(). The child writes its PID to the last slot.
 */
static void start_child(struct slot *slot)
{
	spin_until_told(slot);
	if (!vfork()) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		tell(slots + SLOTS - 1, getpid());
		spin_until_told(slot + 1);
		exec(slot + 1);
	}
	for (;;)
		slot_beat(slot);
}

/* When told, starts a thread, which uses the next slot, and execs when told. */
static void start_thread(struct slot *slot)
{
	pthread_t thread;

	spin_until_told(slot);
	if (pthread_create(&thread, NULL, obey_in_thread, slot + 1))
		_exit(1);
	for (;;)
		slot_beat(slot);
}

/* A thread that writes its thread ID to the last slot. */
static void *tell_number(void *slot)
{
	tell(slots + SLOTS - 1, syscall(SYS_gettid));
	return obey_in_thread(slot);
}

/* Starts a second thread, with the next slot. The first thread may end before the second. */
static void two_threads(struct slot *slot)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, tell_number, slot + 1))
		_exit(1);
	spin_until_told(slot);
	if (order_of(slot) == EXIT)
		pthread_exit(NULL);
	exec(slot);
}

FIXTURE(affinity_exec) {
	struct task task, other;
	char all[64];
	const char *one;	/* where a task that was bound to VICTIM may run at last */
	const char *two;	/* where a task that was bound to OTHER may run at last */
};

FIXTURE_VARIANT(affinity_exec) {
	enum keeping how;
};

FIXTURE_VARIANT_ADD(affinity_exec, natively) { NATIVELY };
FIXTURE_VARIANT_ADD(affinity_exec, by_default) { BY_DEFAULT };
FIXTURE_VARIANT_ADD(affinity_exec, if_wanted) { IF_WANTED };

FIXTURE_SETUP(affinity_exec)
{
	const char *why = affinity_cannot_run(3);

	if (why)
		SKIP(return, "%s", why);
	ASSERT_EQ(0, affinity_start_over());
	ASSERT_EQ(0, keeping_set(variant->how));
	ASSERT_TRUE(slots_make());
	ASSERT_EQ(0, task_status(getpid(), "Cpus_allowed_list", self->all,
				 sizeof(self->all)));
	self->one = variant->how == IF_WANTED ? "1" : self->all;
	self->two = variant->how == IF_WANTED ? "2" : self->all;
}

FIXTURE_TEARDOWN(affinity_exec)
{
	if (cannot_run())
		return;
	task_kill(&self->task);
	task_kill(&self->other);
	EXPECT_EQ(0, affinity_put_back());
}

/* Starts a child that uses @slot, and binds the child to the CPUs of @list. */
static bool start(struct task *task, struct slot *slot, void (*run)(struct slot *slot),
		  const char *list)
{
	return task_start(task, slot, run) > 0 && task_began(task) &&
	       !pin_list(task->pid, list);
}

/* Waits until a task that was told to begin anew has begun. */
static bool has_begun(const struct slot *slot)
{
	return soon(order_of(slot) == BEGUN, PATIENCE_MS);
}

static bool have_begun(struct slot *slot)
{
	tell(slot, EXEC);
	return has_begun(slot);
}

static int threads_of(pid_t pid)
{
	char text[16];

	return task_status(pid, "Threads", text, sizeof(text)) ? -1 : atoi(text);
}

TEST_F(affinity_exec, while_away)
{
	ASSERT_TRUE(start(&self->task, slots, obey, "1"));
	ASSERT_EQ(0, set_online(VICTIM, false));
	ASSERT_TRUE(soon_allowed(&self->task, self->all));
	ASSERT_TRUE(have_begun(slots));
	EXPECT_TRUE(allowed(&self->task, self->all));
	ASSERT_EQ(0, set_online(VICTIM, true));
	EXPECT_TRUE(stays_allowed(&self->task, self->one));
	EXPECT_TRUE(task_lives(&self->task, 20, PATIENCE_MS));
}

TEST_F(affinity_exec, before)
{
	ASSERT_TRUE(start(&self->task, slots, obey, "1"));
	ASSERT_TRUE(have_begun(slots));
	EXPECT_TRUE(allowed(&self->task, "1"));
	ASSERT_EQ(0, set_online(VICTIM, false));
	ASSERT_TRUE(soon_allowed(&self->task, self->all));
	ASSERT_EQ(0, set_online(VICTIM, true));
	EXPECT_TRUE(stays_allowed(&self->task, self->one));
	EXPECT_TRUE(task_lives(&self->task, 20, PATIENCE_MS));
}

/*
 * The kernel's worker that gives affinities back may find the task in the middle of an
 * exec.
 */
TEST_F_TIMEOUT(affinity_exec, all_the_time, 120)
{
	ASSERT_TRUE(start(&self->task, slots, obey, "1"));
	tell(slots, EXEC_AGAIN);
	for (int i = 0; i < ROUNDS; i++) {
		ASSERT_EQ(0, set_online(VICTIM, false));
		ASSERT_TRUE(soon_allowed(&self->task, self->all));
		ASSERT_TRUE(task_lives(&self->task, 2, PATIENCE_MS));
		ASSERT_EQ(0, set_online(VICTIM, true));
		ASSERT_TRUE(soon_allowed(&self->task, self->one));
	}
	ASSERT_TRUE(have_begun(slots));
	EXPECT_TRUE(stays_allowed(&self->task, self->one));
}

TEST_F(affinity_exec, asks_for_another_cpu_afterwards)
{
	ASSERT_TRUE(start(&self->task, slots, obey, "1"));
	ASSERT_EQ(0, set_online(VICTIM, false));
	ASSERT_TRUE(soon_allowed(&self->task, self->all));
	ASSERT_TRUE(have_begun(slots));
	ASSERT_EQ(0, pin(self->task.pid, OTHER));
	ASSERT_EQ(0, set_online(VICTIM, true));
	EXPECT_TRUE(stays_allowed(&self->task, "2"));
	/*
	 * The affinity that the task asked for after the exec is lost as well, and, with
	 * IF_WANTED, given back.
	 */
	ASSERT_EQ(0, set_online(OTHER, false));
	ASSERT_TRUE(soon_allowed(&self->task, self->all));
	ASSERT_EQ(0, set_online(OTHER, true));
	EXPECT_TRUE(stays_allowed(&self->task, self->two));
}

TEST_F(affinity_exec, asks_for_all_cpus_afterwards)
{
	ASSERT_TRUE(start(&self->task, slots, obey, "1"));
	ASSERT_EQ(0, set_online(VICTIM, false));
	ASSERT_TRUE(soon_allowed(&self->task, self->all));
	ASSERT_TRUE(have_begun(slots));
	ASSERT_EQ(0, unpin(self->task.pid));
	ASSERT_EQ(0, set_online(VICTIM, true));
	EXPECT_TRUE(stays_allowed(&self->task, self->all));
}

/* Starts a process with two threads. A thread that execs gets the PID of its process. */
static void start_threads(struct __test_metadata *_metadata, struct task *task,
			  struct task *thread)
{
	ASSERT_TRUE(start(task, slots, two_threads, "1"));
	*thread = (struct task){ .slot = slots + 1 };
	ASSERT_TRUE(task_began(thread));
	thread->pid = order_of(slots + SLOTS - 1);
	ASSERT_EQ(0, pin(thread->pid, OTHER));
}

/*
 * After the exec a process gets back the affinity that was kept for the thread that did
 * the exec.
 */
TEST_F(affinity_exec, by_a_thread)
{
	struct task thread, process;

	start_threads(_metadata, &self->task, &thread);
	ASSERT_EQ(0, cpus_move(variant->how, "1-2", false));
	ASSERT_TRUE(soon_allowed(&self->task, self->all));
	ASSERT_TRUE(soon_allowed(&thread, self->all));
	ASSERT_TRUE(have_begun(thread.slot));
	ASSERT_EQ(1, threads_of(self->task.pid));
	process = (struct task){ self->task.pid, thread.slot };
	ASSERT_TRUE(task_lives(&process, 20, PATIENCE_MS));
	ASSERT_EQ(0, set_online(VICTIM, true));
	EXPECT_TRUE(stays_allowed(&process, self->all));
	ASSERT_EQ(0, set_online(OTHER, true));
	EXPECT_TRUE(stays_allowed(&process, self->two));
	EXPECT_TRUE(task_lives(&process, 20, PATIENCE_MS));
}

TEST_F(affinity_exec, by_the_first_thread)
{
	struct task thread;

	start_threads(_metadata, &self->task, &thread);
	ASSERT_EQ(0, cpus_move(variant->how, "1-2", false));
	ASSERT_TRUE(soon_allowed(&self->task, self->all));
	ASSERT_TRUE(soon_allowed(&thread, self->all));
	ASSERT_TRUE(have_begun(slots));
	ASSERT_EQ(1, threads_of(self->task.pid));
	ASSERT_EQ(0, set_online(OTHER, true));
	EXPECT_TRUE(stays_allowed(&self->task, self->all));
	ASSERT_EQ(0, set_online(VICTIM, true));
	EXPECT_TRUE(stays_allowed(&self->task, self->one));
}

/* A thread that was started while the CPU was away has no affinity to get back. */
TEST_F(affinity_exec, by_a_new_thread)
{
	struct task process;

	ASSERT_TRUE(start(&self->task, slots, start_thread, "1"));
	ASSERT_EQ(0, set_online(VICTIM, false));
	ASSERT_TRUE(soon_allowed(&self->task, self->all));
	tell(slots, START);
	process = (struct task){ self->task.pid, slots + 1 };
	ASSERT_TRUE(task_began(&process));
	ASSERT_TRUE(have_begun(process.slot));
	ASSERT_EQ(1, threads_of(process.pid));
	ASSERT_EQ(0, set_online(VICTIM, true));
	EXPECT_TRUE(stays_allowed(&process, self->all));
}

/*
 * If the PID of a task changes by an exec while the kernel's worker looks at all tasks,
 * the worker may miss the task, and finds the task after the next request that brings a
 * CPU online.
 */
TEST_F_TIMEOUT(affinity_exec, by_a_thread_when_the_cpu_comes, 120)
{
	for (int i = 0; i < ROUNDS; i++) {
		struct task thread, process;

		memset(slots, 0, SLOTS * sizeof(*slots));
		start_threads(_metadata, &self->task, &thread);
		ASSERT_EQ(0, cpus_move(variant->how, "1-2", false));
		ASSERT_TRUE(soon_allowed(&thread, self->all));
		tell(thread.slot, EXEC);
		ASSERT_EQ(0, set_online(OTHER, true));
		ASSERT_TRUE(has_begun(thread.slot));
		ASSERT_EQ(0, set_online(VICTIM, true));
		process = (struct task){ self->task.pid, thread.slot };
		ASSERT_TRUE(soon_allowed(&process, self->two));
		task_kill(&self->task);
	}
}

/* Parent and child have both lost their CPU: the child while it ran, the parent at its wake-up. */
TEST_F(affinity_exec, by_a_child_of_vfork)
{
	struct task child = { .slot = slots + 1 };

	ASSERT_TRUE(start(&self->task, slots, start_child, "1"));
	tell(slots, START);
	ASSERT_TRUE(task_began(&child));
	child.pid = order_of(slots + SLOTS - 1);
	ASSERT_TRUE(allowed(&child, "1"));
	ASSERT_EQ(0, set_online(VICTIM, false));
	ASSERT_TRUE(soon_allowed(&child, self->all));
	EXPECT_TRUE(allowed(&self->task, "1"));
	ASSERT_TRUE(have_begun(child.slot));
	ASSERT_TRUE(soon_allowed(&self->task, self->all));
	ASSERT_TRUE(task_lives(&self->task, 20, PATIENCE_MS));
	ASSERT_EQ(0, set_online(VICTIM, true));
	EXPECT_TRUE(soon_allowed(&self->task, self->one));
	EXPECT_TRUE(stays_allowed(&child, self->one));
	EXPECT_TRUE(task_lives(&child, 20, PATIENCE_MS));
}

TEST_F(affinity_exec, by_a_new_child_of_vfork)
{
	struct task child = { .slot = slots + 1 };

	ASSERT_TRUE(start(&self->task, slots, start_child, "1"));
	ASSERT_EQ(0, set_online(VICTIM, false));
	ASSERT_TRUE(soon_allowed(&self->task, self->all));
	tell(slots, START);
	ASSERT_TRUE(task_began(&child));
	child.pid = order_of(slots + SLOTS - 1);
	ASSERT_TRUE(have_begun(child.slot));
	ASSERT_TRUE(task_lives(&self->task, 20, PATIENCE_MS));
	ASSERT_EQ(0, set_online(VICTIM, true));
	EXPECT_TRUE(soon_allowed(&self->task, self->one));
	EXPECT_TRUE(stays_allowed(&child, self->all));
}

/* Starts a child with the PID of a process that has ended. */
static pid_t fork_as(pid_t pid)
{
	struct clone_args args = {
		.exit_signal = SIGCHLD,
		.set_tid = (uintptr_t)&pid,
		.set_tid_size = 1,
	};

	return syscall(SYS_clone3, &args, sizeof(args));
}

/* An affinity that was kept for a task is not given to a later task with the same PID. */
TEST_F(affinity_exec, of_a_task_that_exits)
{
	pid_t pid;
	int status;

	ASSERT_TRUE(start(&self->task, slots, obey, "1"));
	ASSERT_TRUE(start(&self->other, slots + 1, obey, "1"));
	ASSERT_EQ(0, set_online(VICTIM, false));
	ASSERT_TRUE(soon_allowed(&self->task, self->all));
	ASSERT_TRUE(soon_allowed(&self->other, self->all));
	tell(slots, EXIT);
	ASSERT_EQ(self->task.pid, waitpid(self->task.pid, &status, 0));
	ASSERT_EQ(0, status);
	pid = fork_as(self->task.pid);
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		slots[2].value = getpid();
		spin(slots + 2);
	}
	EXPECT_EQ(self->task.pid, pid);
	self->task = (struct task){ pid, slots + 2 };
	ASSERT_GT(pid, 0);
	ASSERT_TRUE(task_began(&self->task));
	EXPECT_EQ(pid, slots[2].value);
	ASSERT_EQ(0, set_online(VICTIM, true));
	EXPECT_TRUE(stays_allowed(&self->other, self->one));
	EXPECT_TRUE(allowed(&self->task, self->all));
}

/* The first thread is a zombie until the second thread ends. */
TEST_F(affinity_exec, of_a_process_without_its_first_thread)
{
	struct task thread;
	char state = '?';
	int cpu;

	start_threads(_metadata, &self->task, &thread);
	ASSERT_EQ(0, pin(thread.pid, VICTIM));
	ASSERT_EQ(0, set_online(VICTIM, false));
	ASSERT_TRUE(soon_allowed(&self->task, self->all));
	ASSERT_TRUE(soon_allowed(&thread, self->all));
	tell(slots, EXIT);
	for (int ms = 0; ms < PATIENCE_MS && state != 'Z'; ms++) {
		ASSERT_EQ(0, task_where(self->task.pid, &state, &cpu));
		wait_ms(1);
	}
	ASSERT_EQ('Z', state);
	ASSERT_EQ(0, set_online(VICTIM, true));
	EXPECT_TRUE(stays_allowed(&thread, self->one));
	EXPECT_TRUE(task_lives(&thread, 20, PATIENCE_MS));
}

static void begin_and_sleep(struct slot *slot)
{
	slot_beat(slot);
	for (;;)
		wait_ms(1);
}

/* Tasks exit while the kernel's worker looks for tasks whose affinity is kept. */
TEST_F_TIMEOUT(affinity_exec, of_many_that_exit_when_the_cpu_comes, 120)
{
	static struct task crowd[CROWD];

	ASSERT_TRUE(start(&self->task, slots, obey, "1"));
	for (int round = 0; round < 3; round++) {
		for (int i = 0; i < CROWD; i++)
			ASSERT_TRUE(start(&crowd[i], slots + 2, begin_and_sleep, "1"));
		ASSERT_EQ(0, set_online(VICTIM, false));
		for (int i = 0; i < CROWD; i++)
			ASSERT_TRUE(soon_allowed(&crowd[i], self->all));
		ASSERT_TRUE(soon_allowed(&self->task, self->all));
		for (int i = 0; i < CROWD / 2; i++)
			kill(crowd[i].pid, SIGKILL);
		ASSERT_EQ(0, set_online(VICTIM, true));
		for (int i = 0; i < CROWD; i++)
			task_kill(&crowd[i]);
		EXPECT_TRUE(stays_allowed(&self->task, self->one));
		ASSERT_EQ(0, pin(self->task.pid, VICTIM));
	}
}

int main(int argc, char **argv)
{
	if (argc == 4 && !strcmp(argv[1], "--begun"))
		return begun(atoi(argv[2]), atoi(argv[3]));
	return test_harness_run(argc, argv);
}
