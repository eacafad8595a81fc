/* The overlap library of Outboard, version 1.0: communication plans on MPI that run while the
   program computes. A program links to liboutboard-overlap-openmpi.so.1 or
   liboutboard-overlap-mpich.so.1, whichever belongs to its MPI. docs/overlap.md has a first
   program; outboard/overlap.hpp is for C++, outboard/overlap.f90 for Fortran.

   Every function returns 0 (OB_OK) or a status of outboard/device.h; ob_overlap_last_error() tells
   the rest. Outputs are set only after success. Between start and wait the program may read
   everything but what is being received, and write everything but what is being sent or received.
   Threads: ob_overlap_tick any; the others one at a time, and those of one runtime in the same
   order on all ranks. If MPI provides less than MPI_THREAD_SERIALIZED: only the thread that
   initialised MPI. With MPI_THREAD_SERIALIZED and a mode with a thread, the program calls MPI only
   while nothing is under way. */
#ifndef OUTBOARD_OVERLAP_H
#define OUTBOARD_OVERLAP_H

#include <mpi.h>
#include <outboard/device.h>

#ifdef __cplusplus
extern "C" {
#endif

#define OB_OVERLAP_DIMS 4

typedef struct ob_overlap_runtime_s* ob_overlap_runtime;
typedef struct ob_overlap_plan_s* ob_overlap_plan;

/* The mover of the messages. */
enum {
  OB_OVERLAP_AUTOMATIC = 0, /* the first iterations try the others, and the fastest stays */
  OB_OVERLAP_SYNC = 1,      /* start waits */
  OB_OVERLAP_ASYNC = 2,     /* start posts, wait moves */
  OB_OVERLAP_TICKED = 3,    /* ob_overlap_tick moves */
  OB_OVERLAP_SHARED = 4,    /* a thread on the cores of the computation, which naps */
  OB_OVERLAP_PROXY = 5      /* a thread with a core of its own, if one is spare */
};

/* Flags of ob_overlap_start. */
enum { OB_OVERLAP_HOLD = 1 /* sends wait for ob_overlap_ready, or for ob_overlap_wait */ };

/* The cells low <= i < high. Dimensions that the plan does not have are [0, 1). */
typedef struct {
  int64_t low[OB_OVERLAP_DIMS];
  int64_t high[OB_OVERLAP_DIMS];
} ob_overlap_box;

/* An array. Strides count elements; all 0: the last dimension is contiguous, as in C. */
typedef struct {
  void* data;
  int64_t element_bytes;
  int32_t dims; /* 1 to 4 */
  int64_t extents[OB_OVERLAP_DIMS];
  int64_t strides[OB_OVERLAP_DIMS];
} ob_overlap_field;

typedef struct {
  size_t struct_bytes;
  int32_t mode;      /* OB_OVERLAP_... */
  int32_t workers;   /* threads of the process that compute; 0: OMP_NUM_THREADS, or 1 */
  int32_t core;      /* of the proxy; -1: chosen from the affinity mask; others get those before */
  int32_t check;     /* 1: find accesses between start and wait that are not allowed */
  double patience_s; /* a run that does not move for so long is reported; 0: 60 */
  /* Gets the report; NULL: it goes to stderr, and MPI_Abort ends the job. */
  void (*on_stuck)(const char* report, void* context);
  void* context;
  /* Threads that move messages in modes with a thread, 1 to 64; 0: 1. The same on all ranks. More
     than one need MPI_THREAD_MULTIPLE. */
  int32_t proxies;
} ob_overlap_options;

/* The update of a cell reads cells at these offsets. */
enum {
  OB_OVERLAP_STAR = 0, /* along the axes, reach cells */
  OB_OVERLAP_CUBE = 1, /* along axes and diagonals, reach cells */
  OB_OVERLAP_OFFSETS = 2
};

typedef struct {
  size_t struct_bytes;
  const char* name; /* for reports; NULL: "halo" */
  int64_t ghost_low[OB_OVERLAP_DIMS];
  int64_t ghost_high[OB_OVERLAP_DIMS];
  int32_t stencil; /* OB_OVERLAP_STAR, ... */
  int64_t reach;
  const int64_t (*offsets)[OB_OVERLAP_DIMS]; /* OB_OVERLAP_OFFSETS */
  size_t offset_count;
  const ob_overlap_field* fields; /* of equal extents, ghost cells included */
  size_t field_count;
  /* NULL: all cells travel. Otherwise an array of bytes with the extents of the fields and any
     strides. Those cells travel whose byte is not 0. A cell and its copies in the ghost cells of
     other ranks are marked alike. ob_overlap_halo reads it, and no function after it. */
  const ob_overlap_field* mask;
} ob_overlap_halo_options;

/* The way of a panel from its owner to the other ranks. */
enum {
  OB_OVERLAP_BROADCAST_AUTOMATIC = 0, /* chosen by the size of the panel and of the group */
  OB_OVERLAP_BROADCAST_RING = 1,      /* from rank to rank, in pieces that follow each other */
  OB_OVERLAP_BROADCAST_TREE = 2       /* binomial */
};

typedef struct {
  size_t struct_bytes;
  const char* name;   /* for reports; NULL: "panels" */
  int32_t look_ahead; /* panels under way beside the one in use, 0 to 62 */
  int32_t broadcast;  /* OB_OVERLAP_BROADCAST_... */
} ob_overlap_panel_options;

typedef struct {
  size_t struct_bytes;
  ob_status code;
  int32_t rank;      /* in the runtime's communicator, or -1 */
  int32_t neighbour; /* in the plan's communicator, or -1 */
  char plan[64];
  char message[512];
} ob_overlap_error;

/* Describes the last failure of the calling thread. */
ob_status ob_overlap_last_error(ob_overlap_error* error);

/* Sets `mode` to the OB_OVERLAP_... of a name: "automatic", "sync", ... Threads: any.
   OB_INVALID_ARGUMENT: no mode has this name; the message lists them. */
ob_status ob_overlap_mode_named(const char* name, int32_t* mode);
/* Returns the name of a mode, or NULL. Threads: any */
const char* ob_overlap_mode_name(int32_t mode);

/* Duplicates the communicator. Collective. OUTBOARD_OVERLAP (a mode's name, or proxy@CORE) and
   OUTBOARD_OVERLAP_CHECK=1 replace the options. */
ob_status ob_overlap_attach(MPI_Comm comm, const ob_overlap_options* options,
                            ob_overlap_runtime* runtime);
/* Waits for what is under way, ends the plans and the runtime. Collective, before MPI_Finalize. */
ob_status ob_overlap_detach(ob_overlap_runtime runtime);

/* A plan that fills the ghost cells of arrays on a Cartesian communicator, of which it takes the
   periodic dimensions. Collective over `cart`; all ranks fail if one does. */
ob_status ob_overlap_halo(ob_overlap_runtime runtime, MPI_Comm cart,
                          const ob_overlap_halo_options* options, ob_overlap_plan* plan);
/* An empty plan, for any regions. Collective. */
ob_status ob_overlap_moves(ob_overlap_runtime runtime, MPI_Comm comm, const char* name,
                           ob_overlap_plan* plan);
/* Add a region before the commit. Tags are 0 to 16383, different for messages between the same
   ranks. Failures are repeated by the commit, on all ranks. */
ob_status ob_overlap_send(ob_overlap_plan plan, const ob_overlap_field* field,
                          const ob_overlap_box* box, int32_t to, int32_t tag);
ob_status ob_overlap_receive(ob_overlap_plan plan, const ob_overlap_field* field,
                             const ob_overlap_box* box, int32_t from, int32_t tag);
/* A copy within the rank. */
ob_status ob_overlap_move(ob_overlap_plan plan, const ob_overlap_field* from,
                          const ob_overlap_box* from_box, const ob_overlap_field* to,
                          const ob_overlap_box* to_box);
/* Compares both ends of all messages, and makes the requests. Collective. */
ob_status ob_overlap_commit(ob_overlap_plan plan);
/* Collective, as MPI_Comm_free. */
ob_status ob_overlap_plan_destroy(ob_overlap_plan plan);

/* Cells that can be updated between start and wait: they read no ghost cell that is received and
   write no cell that is sent. Halo plans only. */
ob_status ob_overlap_interior(ob_overlap_plan plan, ob_overlap_box* interior);
/* The other cells of the rank as at most 8 disjoint boxes. */
ob_status ob_overlap_boundary(ob_overlap_plan plan, ob_overlap_box boundary[8], int32_t* count);

ob_status ob_overlap_start(ob_overlap_plan plan, uint32_t flags);
/* With OB_OVERLAP_HOLD: these cells have their final values. A message leaves with its last
   cell. Ghost cells arrive meanwhile, so this suits updates that read them from another array. */
ob_status ob_overlap_ready(ob_overlap_plan plan, const ob_overlap_box* box);
/* Moves messages in mode ticked; call it every 0.1 to 1 ms. Costs less than 1 us if nothing is
   under way. */
ob_status ob_overlap_tick(ob_overlap_runtime runtime);
/* 1 if a run under way moves by ob_overlap_tick only, so that the computation should be cut. */
int32_t ob_overlap_ticks(ob_overlap_plan plan);
ob_status ob_overlap_wait(ob_overlap_plan plan);

/* Makes an empty plan of panels, which their owners send to all ranks of `group`: the row or the
   column of a process mesh. NULL options: look-ahead 1. Collective over `group`; all ranks fail if
   one does. */
ob_status ob_overlap_panels(ob_overlap_runtime runtime, MPI_Comm group,
                            const ob_overlap_panel_options* options, ob_overlap_plan* plan);
/* Adds the next panel before the commit, on all ranks alike. `panel` has the extents, which may be
   0. On rank `owner` of the group it also has the elements, in place and with their strides;
   elsewhere its data is not used and may be NULL, and its strides have the same order. Failures are
   repeated by the commit, on all ranks. OB_UNSUPPORTED: the panel has more than 128 GiB. */
ob_status ob_overlap_panel(ob_overlap_plan plan, int32_t owner, const ob_overlap_field* panel);
/* Panels start in their order 0, 1, ...; after the last one, or at any time on all ranks, 0 again.
   At most look_ahead + 1 of them are under way or in use. The owner may write to its elements again
   after the wait. Panels pass from rank to rank, and in modes without a thread only in calls of
   this library: so do not wait in MPI, between the start of a panel and its wait, for a rank that
   waits for panels. OB_INVALID_ARGUMENT: the panel is out of order, or the one before it in the
   same buffer has not been waited for. */
ob_status ob_overlap_panel_start(ob_overlap_plan plan, int64_t panel);
/* Waits until the panel is here. OB_INVALID_ARGUMENT: it was not started. */
ob_status ob_overlap_panel_wait(ob_overlap_plan plan, int64_t panel);
/* Sets `data` to the elements of a panel: packed, in the order of the strides, on the owner, too.
   They are there from its wait until the start of the panel that comes look_ahead + 1 later; at
   other times the function fails with OB_INVALID_ARGUMENT. Read only. */
ob_status ob_overlap_panel_data(ob_overlap_plan plan, int64_t panel, const void** data);

/* Writes what was measured and chosen, with a final 0, and sets `needed` to its size. */
ob_status ob_overlap_explain(ob_overlap_runtime runtime, char* text, size_t capacity,
                             size_t* needed);

/* The same for communicators of Fortran, which are integers; outboard/overlap.f90 uses them. */
ob_status ob_overlap_attach_f(MPI_Fint comm, const ob_overlap_options* options,
                              ob_overlap_runtime* runtime);
ob_status ob_overlap_halo_f(ob_overlap_runtime runtime, MPI_Fint cart,
                            const ob_overlap_halo_options* options, ob_overlap_plan* plan);
ob_status ob_overlap_moves_f(ob_overlap_runtime runtime, MPI_Fint comm, const char* name,
                             ob_overlap_plan* plan);
ob_status ob_overlap_panels_f(ob_overlap_runtime runtime, MPI_Fint group,
                              const ob_overlap_panel_options* options, ob_overlap_plan* plan);

#ifdef __cplusplus
}
#endif
#endif
