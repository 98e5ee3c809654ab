/* SPDX-License-Identifier: (GPL-2.0-only OR Apache-2.0) */
/*
 * What passes between the kernel and the recorder. bpf2go makes the Go types
 * and constants from this file; what comes from Go is in format.h.
 *
 * The ring buffer holds records of calls and of other things. enum number says which.
 * All have thread, number and flags at the same place, in the first 32 bytes.
 * A record of a call has one of three shapes. Its flags say which:
 *
 *   plain   struct event with four arguments: 64 bytes, a line of the cache
 *   wide    struct event (FLAG_WIDE)
 *   rich    struct event (FLAG_WIDE | FLAG_RICH), struct details, string 0, string 1
 *
 * Strings are details.len bytes long and follow one another without a gap. A reader
 * ignores the bytes after them.
 */
#pragma once

#include "arch.h"
#include "format.h"
#include "helpers.h"

enum limit {
	PLAIN_ARGS = 4, /* of a call whose record is plain */
	MAX_IOCTLS = 16,
	MAX_PIECES = 4,
	MAX_SLOTS = 16,    /* registers of arguments, and words on the stack behind them */
	MAX_FRAMES = 24,   /* calls of a thread within one another */
	MAX_NUMBERS = 512, /* of an array */
	SPAN_ROOM = 4096,  /* bytes of a string, and of MAX_NUMBERS; a power of two */
	SPAN_PIECES = 2 * SPAN_ROOM, /* bytes of all pieces but the last */
};

/* Records of something else than a call have one of these in the place of its number. Each
 * but NR_WAIT, which is in the shape of a call, is a row of a table in Go: records in
 * record/ebpf. */
enum number : u16 {
	NR_OTHERS = MAX_SYS - 8, /* the first */
	NR_SPAN = NR_OTHERS,     /* struct span: a call of a library */
	NR_JOINED,               /* struct joined: a process enters the cgroup */
	NR_PROGRAM,              /* struct program: a program or a library is mapped */
	NR_SPACE,                /* struct space: an address space begins */
	NR_FAULT,                /* struct fault */
	NR_COMPLETED,            /* struct completion: a request completes */
	NR_SUBMITTED,            /* struct submission: a request is submitted */
	NR_WAIT,                 /* the wait of a thread */
};

enum bits {
	DUR_BITS = 48,
	TYPE_SHIFT = 12,
	NR_BITS = 9,
	OPCODE_BITS = 6, /* of completion.flags */
	MAX_CALLS = (1 << (16 - NR_BITS)) - 1, /* in a plain record */
};
_Static_assert(1 << NR_BITS == MAX_SYS && 1 << OPCODE_BITS == MAX_OPCODES, "there is room for all numbers");

/* How a system call is recorded. */
enum kind : u8 {
	KIND_NONE = 0, /* not at all */
	KIND_PLAIN,    /* its first four registers */
	KIND_IO,       /* the same, with the type of the descriptor in the first */
	KIND_WIDE,     /* all its registers */
	KIND_FORK,     /* all its registers; the result as the recorder sees it */
	KIND_RICH,     /* its registers and strings, and nothing else */
	KIND_OPEN,     /* also the file behind the resulting descriptor */
	KIND_STAT,     /* also type, mode and size from struct stat */
	KIND_STATX,    /* also type, mode and size from struct statx */
	KIND_BRIEF = KIND_STATX, /* up to here a record can be put together in the ring */
	KIND_OPENAT2,  /* as KIND_OPEN; also struct open_how, into arguments 2 to 4 */
	KIND_READLINK, /* also the target, as the string after the path */
	KIND_IOVEC,    /* also the sum of the lengths, into an argument */
	KIND_ATTR,     /* also struct xattr_args, into arguments 4 and 5 */
	KIND_ACL,      /* also the mode that an access list gives its file, into argument 5 */
	KIND_OFFSETS,  /* also the offsets that arguments point to, as before the call */
	KIND_PIPE,     /* also the two descriptors, into argument 0 */
	KIND_CLONE3,   /* also the flags, into argument 0 */
	KIND_WAIT,     /* the result as the recorder sees it */
	KIND_WAITID,   /* also the process that has ended, into argument 5 */
	KIND_SETUP,    /* io_uring_setup: also struct io_uring_params, into arguments 1 to 3, and its ring */
	KIND_CONTEXT,  /* io_setup: also the context, into argument 1, and its number */
	KIND_REGISTER, /* io_uring_register: also its ring, and what is registered, as the string */
	KIND_BATCH,    /* also the context of libaio */
	KIND_ALWAYS = KIND_BATCH, /* up to here all calls are sent */
	KIND_ADDRESS,  /* only those of UNIX sockets with a path, which is the string; its length is argument 2 */
	KIND_IOCTL,    /* only the requests in ioctls; also ranges, into arguments 2 to 5 */

	/* These are counted, and sent only if that is said. */
	KIND_MISSING,
	KIND_COUNT = KIND_MISSING, /* the calls; plan.reg is the enum missing_kind */
	KIND_SUBMIT,               /* io_submit: its requests, and its time; sent with its context and batch */
	KIND_GETEVENTS,            /* io_getevents: its time; sent the same, after the requests that it found complete */
	KIND_RING,                 /* io_uring_enter: its time, where requests on files complete; sent with its ring and batch */
	KIND_MAP,                  /* mmap: the file; sent with all registers and the file if it maps one, or if with_memory */
	KIND_SPACE,                /* other calls on memory: sent with all registers and the address space if that concerns
				    * a mapping of a file, if with_memory, or if plan.reg is 1 */

	/* The arguments of these are taken at entry. */
	KIND_AT_ENTRY,
	KIND_FCNTL = KIND_AT_ENTRY, /* also the lock, into arguments 2 to 5 */
	KIND_EXEC,                  /* sent by sched_process_exec where it succeeds */
	KIND_EXIT,                  /* sent at entry, for it never returns */
};

/* One system call's entry in the table of plans. */
struct plan {
	enum kind kind;
	u8 string[MAX_STRINGS]; /* register of the string, from 1; 0 for none */
	u8 reg;                 /* register of the pointer, or the argument, that the kind needs; from 0.
				 * Of KIND_OFFSETS a bit for each. Of KIND_WIDE 1 for calls that are
				 * not sent if there was nothing to receive */
};

enum flag : u16 {
	FLAG_RICH = 1,
	FLAG_STAT = 2,       /* details.mode and size are set */
	FLAG_FILE = 4,       /* all of details is set */
	FLAG_CONNECTED = 8,  /* this end of the channel did not come from accept: the other one is no client */
	FLAG_TARGET = 16,    /* string 1 is what a symbolic link holds */
	FLAG_UNREADABLE = 32, /* what an argument points to could not be read */
	FLAG_SIGNAL = 64,    /* the thread was ended by the signal in argument 1 */
	FLAG_KILLED = 128,   /* the thread was ended by another one of its process */
	FLAG_RENUMBERED = 256, /* by execve; argument 5 holds the thread's id before */
	FLAG_WIDE = 512,       /* more and off are there */
	FLAG_UNIX = 1024,      /* the channel is of UNIX sockets, not of TCP */
	FLAG_BATCH = 2048,     /* the channel is a batch, and pos the number of its ring or context */
	FLAG_AIO = 2048,       /* of a request: of libaio, not of io_uring */
};

enum string_state : u8 {
	STRING_NULL = 0, /* a NULL pointer, or no such string */
	STRING_WHOLE,
	STRING_CUT,      /* longer than any path can be */
	STRING_UNREADABLE,
};

/* Types of files that differ from those of a mode, or are looked for. */
enum file_type { TYPE_BLOCK = 6, TYPE_FILE = 8, TYPE_PSEUDO = 15 };

/* Why a thread is off the processor. */
enum off_kind {
	OFF_READY,   /* it could run; what had the processor is not followed */
	OFF_OWN,     /* it could run; another followed thread had the processor */
	OFF_WAIT,    /* for another thread, or what is not followed */
	OFF_TIMER,   /* until a time has come */
	OFF_STORAGE, /* in_iowait */
	OFF_RECORDER, /* it could run; the recorder had the processor */
	NUM_OFF,
};

struct event {
	u64 start; /* nanoseconds, CLOCK_MONOTONIC */
	u64 dur;   /* nanoseconds in DUR_BITS; above them page faults, as many as fit */
	s64 ret;
	u32 tid;
	u16 nr;    /* in a plain record above NR_BITS the calls that were not recorded since the last event */
	enum flag flags; /* above TYPE_SHIFT the type of the descriptor, as in a mode; 0 unknown */
	u64 args[6]; /* in a plain record PLAIN_ARGS */
	u64 off[NUM_OFF]; /* nanoseconds off the processor between the last event and this one */
	u64 woken;   /* nanoseconds from the waking that ended its last wait within the call, to its end */
	u64 channel; /* that the call sent to or received from, 0 for none; of calls on memory, and of exec, the address space */
	u32 pos;     /* where what it moved ends in that */
	u32 waker;   /* the thread that woke it, 0 for none that is followed */
	u32 calls;   /* that were not recorded since the last event */
	u32 behind;  /* nanoseconds within the call for which it could run, but another followed thread had the processor */
};

#define PLAIN_BYTES __builtin_offsetof(struct event, args[PLAIN_ARGS])

struct details {
	u64 size;   /* bytes */
	u64 blocks; /* of 512 bytes */
	u64 cached; /* pages in the page cache */
	u64 ino;
	u32 dev; /* major << 20 | minor */
	u32 nlink;
	u32 mode; /* type and permissions */
	u16 len[MAX_STRINGS];
	enum string_state state[MAX_STRINGS];
	u8 created; /* the call or request has created the file */
	u8 pad[5];
};

enum fault_flag : u16 {
	FAULT_WRITE = 1,    /* it made a clean page of the file dirty */
	FAULT_PAGE = 2,     /* the fault looked for this page alone */
	FAULT_AROUND = 4,   /* pages in the page cache were mapped around it; first is one of them */
	FAULT_PROGRAM = 8,  /* the file is a program, a library, or one that exec mapped */
	FAULT_FILLED = 16,  /* the page was not in the page cache */
	FAULT_FAILED = 32,  /* it ended in SIGBUS */
	FAULT_RESTED = 64,  /* off is there */
	FAULT_UNNAMED = 128, /* its file is not known yet; never sent */
};

/* A page fault on a mapping of a file. Of FAULT_RESTED the nanoseconds off the processor
 * between the last event and this one follow, as in event.off. */
struct fault {
	u64 start;   /* nanoseconds, CLOCK_MONOTONIC; of one within a recorded call that of the call */
	u64 took;    /* nanoseconds until what it waited for was there; 0 if it did not wait, and within a recorded call */
	u64 space;   /* address space: struct mm_struct */
	u32 tid;
	enum number nr;
	enum fault_flag flags; /* 0 for no fault */
	u64 ino;
	u64 first;   /* page of the file, or the address, of FAULT_FAILED */
	u32 dev;
	u32 pages;   /* that were mapped, or made dirty */
	u32 calls;   /* that were not recorded since the last event */
	u32 pad;
};

/* An address space begins, as a copy of another one. */
struct space {
	u64 start; /* 0 */
	u64 space;
	u64 parent;
	u32 tid;   /* 0 */
	enum number nr;
	u16 flags; /* 0 */
};

/* An address space has a mapping of a program, which is no call of the recording. */
struct program {
	u64 start; /* 0 */
	u64 space;
	u64 address;
	u32 tid;   /* 0 */
	enum number nr;
	u16 flags; /* 0 */
	u64 length;
	u64 offset; /* in the file */
	u64 ino;
	u32 dev;
	u32 pad;
};

/* A process enters the cgroup. */
struct joined {
	u64 start;  /* when, nanoseconds */
	u64 space;  /* address space */
	u32 parent; /* process */
	u32 pad;
	u32 tid;    /* process */
	enum number nr;
	u16 flags;  /* 0 */
};

/* What a request asks for: struct io_uring_sqe, or struct iocb with its fields
 * where that has them. */
struct entry {
	u8 opcode;
	u8 flags;  /* IOSQE_ */
	u16 buf;   /* index of a buffer, or group of buffers */
	s32 fd;
	u64 off;
	u64 addr;
	u64 len;
	u64 addr3;
	u64 sum;   /* of the lengths of the vector */
	u32 op_flags;
	s32 fd2;   /* or a slot for the file that it opens, from 1 */
};

/* A request is submitted. */
struct submission {
	u64 start; /* nanoseconds, CLOCK_MONOTONIC */
	u64 key;   /* the same as of its completion; other requests have it before and after */
	u64 begun; /* when the call or round began that submits it */
	u32 tid;
	enum number nr;
	enum flag flags; /* FLAG_AIO, FLAG_UNREADABLE; above TYPE_SHIFT the type of the file, of FLAG_AIO */
	struct entry entry;
	u64 batch;
	u32 ring;
	u32 reaped;
	u32 index; /* within io_submit */
	u32 process; /* of FLAG_AIO, whose keys are addresses */
	u16 len[MAX_STRINGS];
	enum string_state state[MAX_STRINGS];
	u8 pad[2];
};

/* A request is complete. Of one that has opened a file, struct details follows. */
struct completion {
	u64 end;
	u64 key;
	s64 ret;
	u32 process;
	enum number nr;
	enum flag flags; /* the opcode, FLAG_AIO; above TYPE_SHIFT the type of the file, where it has no FLAG_AIO */
};

/* A completion with what is known of the file that it opened. */
struct opened {
	struct completion c;
	struct details details;
};

/* What is read of requests with an opcode of io_uring. */
struct request_plan {
	u8 recorded;
	u8 vector; /* it has one */
	u8 opens;  /* its result is a descriptor of a file */
	enum place string[MAX_STRINGS]; /* 0 for none */
};

/* What is read in memory for a span: what an argument points to. */
enum piece_kind : u8 {
	PIECE_STRING = 1, /* text with a zero at its end */
	PIECE_BEFORE,     /* a number, before the call */
	PIECE_AFTER,      /* the same after it */
	PIECE_ARRAY,      /* numbers, after it */
	PIECE_ARRAY_BEFORE, /* numbers, before it; a function has at most one such piece */
};

/* What, multiplied by piece.times, is how many numbers an array has: what a slot holds, what
 * the address in a slot points to (COUNT_POINTED | slot), the result of the call, or 1. */
enum piece_count : u8 { COUNT_POINTED = 128, COUNT_RESULT = 254, COUNT_ONE };

struct piece {
	enum piece_kind kind;
	u8 slot;  /* of the address */
	u8 size;  /* of a number: 1, 2, 4 or 8 bytes; of PIECE_BEFORE 4 or 8 */
	enum piece_count count;
	u32 times;
};

/* What is read of calls of a function. */
struct span_plan {
	struct piece piece[MAX_PIECES];
	u8 pieces;
	u8 stack; /* words of arguments on the stack */
	u8 array; /* the piece of PIECE_ARRAY_BEFORE, from 1; 0 for none */
	u8 pad[5];
};

/* A call of a library. The pieces follow, each padded to 8 bytes. */
struct span {
	u64 start; /* nanoseconds, CLOCK_MONOTONIC */
	u64 took;
	s64 ret;
	u32 tid;
	enum number nr;
	u16 flags; /* 0 */
	u32 function;
	u32 pad;
	u16 len[MAX_PIECES];
	enum string_state state[MAX_PIECES];
	u8 pad2[4];
	u64 slots[MAX_SLOTS];
};

/* A thread that is followed, as the iterator tells of it. */
struct member {
	u32 tgid;
	u32 tid;
	u32 parent; /* process; 0 outside of the recorder's PID namespace */
	u32 pad;
	u64 space;  /* struct mm_struct */
};

/* How the result of a call tells whether it ended because of the time. */
enum timed_by : u8 {
	TIMED_NOT = 0,
	TIMED_ALWAYS, /* nanosleep */
	TIMED_ZERO,   /* by 0: poll */
	TIMED_ERROR,  /* by ETIMEDOUT, ETIME or EAGAIN: futex, io_uring_enter, sigtimedwait */
};

/* A call in which threads wait. */
struct wait {
	enum wait_kind kind;
	enum timed_by timed;
};

/* The states of thread.counted, which only ever grows. */
enum counted {
	COUNTED_NOT = 0, /* in live */
	COUNTED_LIVE,
	COUNTED_DEAD,
};

enum thread_flag : u16 {
	THREAD_ALONE = 1,      /* its children are not followed */
	THREAD_EXITED = 2,     /* it has called exit or exit_group */
	THREAD_UNREADABLE = 4, /* what the arguments point to could not be read at entry */
	THREAD_COMPAT = 8,     /* it has called through the 32-bit table */
	THREAD_MET = 16,       /* a call of it has been seen */
};

/* What is kept for each thread that is followed. Its creator sets nothing:
 * all zeroes is a thread of which nothing is known yet. */
struct thread {
	/* What each recorded call looks at, in one line of the cache. */
	u64 start;    /* nanoseconds; 0 outside of the calls that are recorded */
	u64 faults;   /* page faults when the call began */
	u64 chars;    /* bytes of task->ioac when a call began that can move some */
	u64 held;     /* the same that its recorded calls have moved */
	u64 counting; /* nanoseconds; when a call of KIND_MISSING began, 0 outside of them */
	u64 blocked;  /* nanoseconds that it was blocked in the call under way, which its result will explain */
	u16 nr;
	u16 timed;    /* nanoseconds that the program took when the call began, if this run is measured, else 0 */
	enum thread_flag flags;
	u16 rested;   /* the next record must be wide: off is not all 0, or there is a waker or a channel */
	u32 tid;      /* in the recorder's PID namespace; 0 until first needed */
	u32 calls;    /* not recorded, since its last event */

	u32 inner;    /* its own PID namespace where that is another one, by inode */
	u32 child;    /* the last that it made, in the recorder's PID namespace */
	enum counted counted;
	u32 pad;
	u64 args[6];  /* where they must be taken at entry */

	/* For the time off the processor: off.h. Nanoseconds. */
	u64 off[NUM_OFF]; /* since its last event */
	u64 left;      /* when it left the processor outside of recorded calls, 0 while it is there */
	u64 ready;     /* when it could have run again, 0 while it is blocked */
	u64 ran;       /* when it came to the processor */
	u64 mark;      /* clock of the processor when it became ready */
	u64 taken;     /* the same of the recorder's clock there */
	u64 lately[2]; /* of off what it was ready for since it was woken: OFF_READY, OFF_OWN */
	u64 slept;     /* when it was blocked last, outside of recorded calls */
	u64 woken;     /* when it was woken last */
	u64 behind;    /* nanoseconds within the call under way for which it could run, but another followed thread had the processor */
	u64 object;    /* first argument of the call that it was blocked in last, outside of recorded ones */
	u32 blocked_in; /* number of that call, NO_CALL for a page fault */
	u32 waker;     /* the followed thread that woke it then, 0 for none */
	u32 early;     /* the same of a waking that came while it ran */
	u32 cpu;       /* where it became ready */

	/* Of the call under way, if it is one on a socket: message.h. */
	u64 channel; /* 0 for none */
	u32 channel_flags; /* FLAG_UNIX, FLAG_CONNECTED */
	u32 pos;

	/* Of the call under way, if it submits requests or waits for them: request.h. */
	u64 batch; /* its number */
	u32 ring;  /* number of the ring or context, 0 where it is not known yet */
	u32 pad2;

	/* For the account of what is missing: missing.h. */
	u64 ringed;  /* requests of rings on files that had completed when a call of KIND_MISSING began */
	u64 flying;  /* requests that were under way then */
	u64 base;    /* bytes of task->ioac when its first call began */
	u64 settled; /* bytes of it that are in the account */
	u64 page;    /* of the last fault on a mapped file, from 1 */
	u64 address;   /* of the last fault, where a huge page can be mapped */
	u64 addressed; /* faults that had ended then: while there are no more, it is under way */
	u32 in_data; /* that fault was on a file that is no program */
	u32 waits;   /* it left the processor to wait for storage: the enum missing_kind that counts it, from 1 */

	/* The fault that has not been sent, and what follows it in its record: faults.h. */
	struct fault fault;
	u64 fault_off[NUM_OFF];
	u64 fault_count; /* faults that had ended when it began: while there are no more, it is under way */
	u64 majors;      /* the same of those that had to read a page */
	u64 mapping;     /* struct address_space that it is in */
};

#define WAITS_FAULT 255 /* thread.waits: within the fault that has not been sent */
#define NO_CALL MAX_SYS

/* Kinds of I/O that the recording does not hold. */
enum missing_kind {
	MISSING_URING,
	MISSING_AIO,
	MISSING_MAPPED,
	MISSING_COMPAT,
	MISSING_LOST,
	MISSING_ELSEWHERE,
	MISSING_MOUNT,
	MISSING_MEMORY,
	NUM_MISSING,
};

struct tally {
	u64 calls;
	u64 reads;   /* of calls */
	u64 writes;  /* of calls */
	u64 unsized; /* calls that move bytes of which the number is not known */
	u64 bytes;
	u64 nanos;
};

struct file_id {
	u64 ino;
	u32 dev;
	u32 pad;
};

/* What is known of a file that was mapped into memory. */
struct mapped {
	u64 faults;
	u64 in;    /* bytes brought in; the same more than once where it is mapped around faults */
	u64 dirty; /* bytes written to, as far as the kernel sees it */
	u64 size;  /* bytes of the file at the last fault */
	u32 exec;  /* mapped with PROT_EXEC as well: a program or a library */
	u32 pad;
};

/* What could not be followed, for want of memory or room. */
enum untracked_kind {
	UNTRACKED_THREAD,
	UNTRACKED_SPAN,    /* also those too deep within others, and those without their array */
	UNTRACKED_SPACE,   /* where a process has mapped files */
	UNTRACKED_MESSAGE, /* which bytes a call on a UNIX socket moved */
	UNTRACKED_RING,    /* which ring or context a call is on */
	UNTRACKED_NAME,    /* what a process in a PID namespace is called outside of it */
	NUM_UNTRACKED,
};

/* What is measured of the program's own runs. */
enum sample_kind {
	SAMPLE_PLAIN,  /* recorded calls: registers */
	SAMPLE_RICH,   /* and more than that */
	SAMPLE_SWITCH, /* switches and wakings of followed threads; runs are their returns to a processor */
	SAMPLE_MESSAGE,
	NUM_SAMPLES,
};

struct sample {
	u64 runs;
	u64 nanos;
};

/* What bpf2go is to make Go of as well. It sees only what a map, a variable or a function
 * that is not inlined has; for all others a pointer to them must do. */
union exported {
	enum bits bits;
	enum file_type file_type;
	enum limit limit;
	enum missing_kind missing_kind;
	enum off_kind off_kind;
	enum parameters parameters;
	enum sample_kind sample_kind;
	enum untracked_kind untracked_kind;
	struct completion completion;
	struct joined joined;
	struct member member;
	struct program program;
	struct space space;
};
const union exported *exported __attribute__((unused));
