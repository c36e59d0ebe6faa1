#ifndef TOCSIN_ADAPTERS_TRACE_KERNEL_TABLES_H
#define TOCSIN_ADAPTERS_TRACE_KERNEL_TABLES_H
/* The tables that the probes fill in the kernel and that the tracer reads: plain C, for both compilers. Times are
   nanoseconds of CLOCK_MONOTONIC. The keys name one life of a process, so that a pid that comes again, an exec or a
   reused address begins at zero without a race. */

#ifdef __cplusplus
#include <linux/types.h>
namespace tocsin::adapters::trace::kernel {
#endif

enum {
  most_name = 64,
  most_functions = 32,
};

/* What the cookie of a probe says. */
enum {
  function_mask = 0xff,
  flag_this_first = 0x100, /* the object is the first argument although the function returns a class */
  flag_delegates = 0x200,  /* may call another operation, which does the work and is not counted for itself */
  flag_delegated = 0x400,  /* may be called so */
  flag_peer = 0x800,       /* a send or a receive: not of all members of the group */
  flag_old_string = 0x1000,
  /* Of NCCL's calls: which argument it is, from 1. The data type follows the count. */
  communicator_shift = 16,
  count_shift = 20,
  root_shift = 24,
};

/* Calls that have a budget, each with probes of its own. */
enum {
  call_c10d,
  call_nccl,
  call_launch,
  call_graph,
  call_copy,
  call_allocate,
  call_wait,
  most_calls = 8,
};

enum { copy_to_device, copy_to_host, copy_on_device, copy_other };

struct process_key {
  __u64 start; /* since boot, CLOCK_BOOTTIME */
  __u32 pid;   /* in the tracer's namespace */
  __u32 exec;  /* counts its execs */
};

struct process {
  __u64 born; /* when its first call was seen; with the pid it names this entry */
  __u64 launched, done;
  __u64 peer_launched, peer_done;
  __u64 unfinished; /* of those that were launched: nobody reports their end */
  __u64 groups;     /* how many were made */
  __u64 pending;    /* communicators that were asked for */
  __u64 attached;   /* since when it has a GPU */
  __u64 calls[most_calls];
  __u64 copied[4]; /* bytes */
  __u64 waited;    /* nanoseconds in waits that have ended */
};

struct object_key {
  __u64 object; /* its address */
  __u64 born;   /* of the process */
  __u32 pid;
  __u32 kind;
};
enum { kind_c10d = 1, kind_nccl = 2 };

struct group {
  __u64 launched, done;
  __u64 peer_launched, peer_done;
  __u64 functions[most_functions];
  __u64 order; /* the how-many-eth of its process, from 1; 0: it was made before the tracer looked */
  __u32 rank, size;
  __u64 identity; /* of a communicator: equal in its ranks */
  __u64 splits;
  __u64 last_count;
  __u32 last_function, last_type;
  __s32 last_root; /* -1: it has none */
  __u32 unused;
  char name[most_name];
};

/* An operation that was entered and is not completed. */
struct work {
  __u64 group; /* the object's address */
  __u64 sequence;
  __u64 start;
  __u64 waiting; /* since when the host waits for it; 0: it does not */
  __u32 function;
  __u32 peer;
};

/* What a thread has entered and not yet begun. */
struct thread {
  __u64 born;
  __u64 group;
  __u64 stack;
  __u64 function;
  __u64 unnamed[4]; /* groups made since the last one got its name */
};

/* A communicator that was asked for: where its handle will be. One of the last so many of its process. */
enum { most_pending = 16 };
struct pending_key {
  __u64 born;
  __u32 pid, slot;
};
struct pending {
  __u64 at, identity;
  __u32 size, rank;
  __u32 many, unused; /* so many handles, of the ranks from 0 */
};

/* A thread inside a call that waits for the GPU. */
struct wait_key {
  __u64 born; /* of the process */
  __u64 thread;
  __u32 pid, unused;
};
struct wait {
  __u64 since;
  __u64 back; /* the address that it returns to */
  __u64 function;
};

/* Which pid namespace the tracer lives in. */
struct place {
  __u64 space;
  __u32 level;
  __u32 lost; /* entries that found no room */
};

#ifdef __cplusplus
}
#endif
#endif
