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
  flag_no_store = 0x2000,
};

struct process_key {
  __u64 start; /* since boot, CLOCK_BOOTTIME */
  __u32 pid;   /* in the tracer's namespace */
  __u32 exec;  /* counts its execs */
};

struct process {
  __u64 born; /* when its first call was seen; with the pid it names this entry */
  __u64 launched, done;
  __u64 peer_launched, peer_done;
  __u64 groups; /* how many were made */
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
  __u32 named;
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
