/* The device API of Outboard, version 1.0: memory, queues, library routines and transforms of
   accelerators that are in this process, on this machine or across the network. A program links to
   liboutboard.so.1. docs/device-api.md has a first program; outboard/device.hpp is for C++.

   Every function returns 0 (OB_OK) or a status; ob_last_error() tells the rest. Outputs are set
   only after success. Commands of a queue run in order; a function that takes a queue returns when
   the command is handed over, before it has run. Handed over commands leave for a remote device
   with the next wait or flush, when a buffer of 256 KiB is full, or else after about 50 us: a
   thread of the library sends them, receives answers for which nobody waits, and runs callbacks.
   It starts with the first remote device or callback of the process, takes no signals, and ends
   with the last open device.
   Threads: any. Commands of one queue come from one thread at a time: the second of two at once
   gets OB_INVALID_ARGUMENT. In a forked child the parent's handles answer OB_UNAVAILABLE. */
#ifndef OUTBOARD_DEVICE_H
#define OUTBOARD_DEVICE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define OB_API 0x00010000u /* major << 16 | minor of this header */

/* Handles. 0 (NULL) is none. A handle is valid until its object is destroyed or its device is
   closed; an invalid one is refused, never followed. */
typedef struct ob_device_s* ob_device;
typedef struct ob_queue_s* ob_queue;
typedef struct ob_buffer_s* ob_buffer;
typedef struct ob_event_s* ob_event;
typedef struct ob_plan_s* ob_plan;
typedef struct ob_module_s* ob_module;
typedef struct ob_kernel_s* ob_kernel;
typedef struct ob_mailbox_s* ob_mailbox;
typedef struct ob_peer_s* ob_peer;
typedef struct ob_grant_s* ob_grant;
typedef struct ob_lease_s* ob_lease;

typedef int32_t ob_status;
enum {
  OB_OK = 0,
  OB_INVALID_ARGUMENT = 1,
  OB_UNSUPPORTED = 2,
  OB_OUT_OF_MEMORY = 3,
  OB_DEADLINE_EXCEEDED = 4,
  OB_DENIED = 5,
  OB_VERSION_MISMATCH = 6,
  OB_PROTOCOL_ERROR = 7,
  OB_CONNECTION_LOST = 8,
  OB_DEVICE_ERROR = 9,
  OB_UNAVAILABLE = 10,
  OB_INTERNAL = 11,
  OB_BUSY = 12,
  OB_DECLINED = 13,
  OB_BUILD_FAILED = 14,
  OB_KERNEL_FAULT = 15,
  OB_FENCED = 16 /* the lease of the device is over */
};

/* Where a failure comes from. */
enum {
  OB_FROM_NOBODY = 0,
  OB_FROM_CALLER = 1,
  OB_FROM_CONNECTION = 2,
  OB_FROM_DAEMON = 3,
  OB_FROM_DEVICE = 4,
  OB_FROM_COMPILER = 5,
  OB_FROM_KERNEL = 6
};

/* Flags. A function refuses those that it does not list. */
enum {
  OB_CAPTURE = 1, /* writes: the source may change when the function returns */
  OB_WAIT = 2,    /* reads: the destination is valid when the function returns;
                     ob_buffer_create: the memory exists when the function returns */
  OB_TIMED = 4    /* events: records note the time on the device */
};

/* A time limit for waits that has no end. */
#define OB_FOREVER (-1)

/* Structs with struct_bytes: the caller sets it to sizeof the struct, so that later versions can
   add members at the end. */

typedef struct {
  size_t struct_bytes;
  ob_status code;
  int32_t origin;     /* OB_FROM_... */
  uint64_t command;   /* number of the failed command in its queue, from 1; 0: none */
  char name[64];      /* the routine or kernel of that command, or "" */
  char message[1024]; /* problem (why) suggestion */
} ob_error;

/* A place in a buffer. */
typedef struct {
  ob_buffer buffer;
  uint64_t offset_bytes;
} ob_place;

/* A rectangle of bytes: `rows` runs of width_bytes, whose beginnings lie a pitch apart. Width and
   pitches are multiples of word_bytes: 1, 2, 4 or 8, the size of one number. 0 is for bytes whose
   meaning is not said; devices whose host has another byte order refuse it. */
typedef struct {
  uint64_t width_bytes, rows, device_pitch_bytes, host_pitch_bytes;
  uint32_t word_bytes, flags;
} ob_rect;

/* The work of a queue since the last synchronize. */
typedef struct {
  size_t struct_bytes;
  uint64_t failed_command; /* number of the first failed command, from 1; 0: none */
  uint64_t compute_ns;     /* routines, transforms and kernels on the device */
  uint64_t plan_ns;        /* waits for plans and modules that were not ready */
  uint64_t waited_ns;      /* waits for the turn to compute */
  ob_error error;          /* of that command; its struct_bytes is the library's */
} ob_report;

typedef struct {
  size_t struct_bytes;
  uint64_t memory_bytes;
  double gflops_double;   /* measured rate of dgemm [GFLOP/s]; 0: unknown */
  uint32_t host_visible;  /* 1: ob_buffer_map() works */
  uint32_t kernels;       /* 1: runs kernels of the program */
  uint32_t big_endian;    /* byte order of the device's host */
  uint32_t peers;         /* 1: takes messages of other devices and sends to them; 0: copies from
                             and to other devices go through this process */
  char backend[64];       /* "cpu", "null", ... */
  char description[1024]; /* for people */
} ob_device_facts;

typedef struct {
  size_t struct_bytes;
  const char* key_folder; /* this client's key (outboard key); NULL: OUTBOARD_KEY, or none */
  uint32_t plain;         /* 1: with a key, unencrypted data if the daemon agrees */
  uint32_t streams;       /* TCP streams of a connection, 1 to 16; 0: 1 */
  uint32_t dead_after_ms; /* silence after which a daemon counts as dead; 0: 1750 ms if it sends
                             signs of life, else 4500 ms */
} ob_device_options;

/* Returns the version of the library: major << 16 | minor. */
uint32_t ob_api(void);
/* Copies what is known about the last failed call of this thread. */
ob_status ob_last_error(ob_error* error);

/* Opens a device.
   where    "HOST:PORT", "HOST:PORT/INDEX" or "unix:PATH": of a daemon; "local:cpu": this process
            computes; "local:cuda", "local:cuda/INDEX", "local:opencl", "local:opencl/INDEX": an
            accelerator of this machine;
            "local:null": nothing is computed, for tests; NULL: the first daemon of the
            list OUTBOARD_SERVER that answers
   options  may be NULL
   Errors: OB_INVALID_ARGUMENT for another form; OB_UNAVAILABLE if nobody answers; OB_DENIED;
   OB_VERSION_MISMATCH (names both). Cost: connects; "local:cpu" opens BLAS and measures (0.1 s) */
ob_status ob_device_open(const char* where, const ob_device_options* options, ob_device* device);
ob_status ob_device_get_facts(ob_device device, ob_device_facts* facts);
/* Waits for all queues of the device and their callbacks, and destroys all that was made of it. */
ob_status ob_device_close(ob_device device);

/* Makes a buffer of uninitialised memory, aligned to 64 bytes.
   flags  0: does not wait; commands that use the buffer fail if there is no memory. Or OB_WAIT */
ob_status ob_buffer_create(ob_device device, uint64_t bytes, uint32_t flags, ob_buffer* buffer);
/* Destroys a buffer. Commands that were handed over may still use it. May wait for a round trip. */
ob_status ob_buffer_destroy(ob_buffer buffer);
/* Returns the address of the buffer's memory, for devices with host_visible. Use it only while no
   command uses the buffer.   Errors: OB_UNSUPPORTED if the memory cannot be mapped */
ob_status ob_buffer_map(ob_buffer buffer, void** address);

/* flags: 0 */
ob_status ob_queue_create(ob_device device, uint32_t flags, ob_queue* queue);
/* Waits for the queue's commands and callbacks and destroys it; a failure that nobody asked for is
   lost. */
ob_status ob_queue_destroy(ob_queue queue);
/* Sends the commands that were handed over, so that the device starts them. */
ob_status ob_queue_flush(ob_queue queue);
/* Sets the accuracy of the routines and transforms that are handed over from now on; a new queue
   has OB_STANDARD (docs/accuracy.md). A mode that makes no difference on the device does what
   OB_STANDARD says. */
enum { OB_STANDARD = 0, OB_STRICT = 1, OB_FAST = 2, OB_EMULATED = 3 };
ob_status ob_queue_accuracy(ob_queue queue, int32_t mode);
/* Waits for the queue, reports its work since the last synchronize, and clears its failure. Returns
   the code of the failure.
   timeout_ms  0 asks, and the answer may come with a later question; OB_FOREVER
   Errors: OB_DEADLINE_EXCEEDED: not yet, nothing is cleared
   report      may be NULL */
ob_status ob_queue_synchronize(ob_queue queue, int64_t timeout_ms, ob_report* report);

/* Calls done(user, report) when the queue reaches this command, also after a failure. The report is
   that of ob_queue_synchronize(), which still reports all of it; it is valid during the call.
   Callbacks run one after another on a thread of the library; those of one queue in its order. They
   may hand over commands and destroy buffers, events and plans. A function that waits fails there
   with OB_INVALID_ARGUMENT. One that takes long delays all others.
   Errors: OB_UNAVAILABLE if the process can have no more threads */
ob_status ob_queue_callback(ob_queue queue, void (*done)(void* user, const ob_report* report),
                            void* user);

/* Copies. Source and destination belong to the command until its queue has passed it. After a
   failed command a queue skips its commands until ob_queue_synchronize(); what skipped writes were
   to fill is undefined then.
   flags of writes: 0 or OB_CAPTURE; of reads: 0 or OB_WAIT, which returns the failure of the queue,
   if there is one, and leaves it there. A copy of 0 bytes is no command. */
ob_status ob_write(ob_queue queue, ob_place to, const void* from, uint64_t bytes, uint32_t flags);
ob_status ob_read(ob_queue queue, void* to, ob_place from, uint64_t bytes, uint32_t flags);
ob_status ob_write_2d(ob_queue queue, ob_place to, const void* from, const ob_rect* rect);
ob_status ob_read_2d(ob_queue queue, void* to, ob_place from, const ob_rect* rect);
/* Copies between buffers of one device, or places of one buffer that do not overlap. */
ob_status ob_copy(ob_queue queue, ob_place to, ob_place from, uint64_t bytes);
/* device_pitch_bytes is the pitch of `to`, host_pitch_bytes that of `from`; flags: 0 */
ob_status ob_copy_2d(ob_queue queue, ob_place to, ob_place from, const ob_rect* rect);

/* Writes a pattern `count` times, one after another. The pattern is copied.
   pattern_bytes  1, 2, 4, 8 or 16. On a host of the other byte order the pattern arrives as one
                  number of this size; one of 16 bytes, as two numbers of 8 */
ob_status ob_fill(ob_queue queue, ob_place to, const void* pattern, uint32_t pattern_bytes,
                  uint64_t count);

/* flags: 0, or OB_TIMED for ob_event_elapsed_ns() */
ob_status ob_event_create(ob_device device, uint32_t flags, ob_event* event);
ob_status ob_event_destroy(ob_event event);
/* Marks the event when the queue reaches this command, also after a failure. */
ob_status ob_event_record(ob_event event, ob_queue queue);
/* Holds the queue until the last record that was handed over before is done; without a record it
   does nothing. If a message recorded the event (ob_receive, ob_send) and failed, the queue fails.
   The queue may be of another device. This process tells that device then, so the queue goes on a
   round trip of this process to both devices later.
   Errors: OB_UNAVAILABLE if the daemon of the queue takes only one connection of this process */
ob_status ob_event_hold(ob_event event, ob_queue queue);
/* Waits for the last record.   timeout_ms: as ob_queue_synchronize() */
ob_status ob_event_wait(ob_event event, int64_t timeout_ms);
/* Returns a descriptor that polls readable (POLLIN) once the last record that was handed over
   before is done, or the device is lost; for poll(), epoll and event loops. It polls readable until
   the next call of this function, which waits for the last record then. It belongs to the event: do
   not read, write or close it. */
ob_status ob_event_fd(ob_event event, int* fd);
/* Returns the time on the device between the last records of two events of one device that were
   made with OB_TIMED. Both records are done.
   Errors: OB_DEADLINE_EXCEEDED if one is not done; OB_INVALID_ARGUMENT if `to` is earlier */
ob_status ob_event_elapsed_ns(ob_event from, ob_event to, uint64_t* elapsed_ns);

/* One argument of a routine. */
typedef union {
  int64_t integer;    /* dimensions */
  double real;        /* scalars of real routines, and real ones of complex routines */
  const double* pair; /* complex scalars: real part, imaginary part */
  ob_place place;     /* matrices, vectors, pivots, info, results of functions */
  void* host;         /* the same in the program's memory, for ob_on_devices() */
  char flag;          /* 'N', 'T', 'U' ... */
} ob_value;
typedef struct {
  ob_value value;
  int64_t ld; /* leading dimension of a matrix, increment of a vector with one; else not read */
} ob_operand;

/* Runs a BLAS or LAPACK routine on buffers.
   routine   its name, such as "dgemm"; `outboard coverage` lists them
   operands  in the order of the Fortran interface, without workspaces and their lengths. Matrices
             are column-major. Pivots, info and integer results are int64. A place may have no
             buffer where the routine refers to no memory
   Errors: OB_UNSUPPORTED for an unknown routine; OB_INVALID_ARGUMENT for a wrong count, illegal
   arguments, or operands that leave their buffers, are not aligned, or overlap a result */
ob_status ob_call(ob_queue queue, const char* routine, const ob_operand* operands, size_t count);

/* Runs a routine on several devices, which may be local, remote or both, with operands in the
   program's memory, and returns when it is done. gemm, symm, hemm, trmm, trsm, syrk, herk, syr2k
   and her2k are cut into a part for each device; potrf, getrf, geqrf, posv and gesv go in blocks of
   columns, and their panels through this process.
   devices   1 to 64, each once
   operands  as for ob_call(), but memory is value.host and not value.place. Operands that the
             routine reads change only after all results have arrived
   Errors: as ob_call(); OB_UNSUPPORTED for other routines; those of the devices: one that is lost
   ends the call */
ob_status ob_on_devices(const ob_device* devices, size_t device_count, const char* routine,
                        const ob_operand* operands, size_t count);

enum { OB_FFT_C2C = 0, OB_FFT_R2C = 1, OB_FFT_C2R = 2, OB_FFT_R2R = 3 };
enum { OB_SINGLE = 0, OB_DOUBLE = 1 };

/* A transform as FFTW defines it: unnormalised, packed, the first dimension slowest. */
typedef struct {
  size_t struct_bytes;
  int32_t kind;      /* OB_FFT_... */
  int32_t precision; /* OB_SINGLE, OB_DOUBLE */
  int32_t sign;      /* -1 forward, 1 backward; r2c: -1; c2r: 1; r2r: either */
  int32_t in_place;  /* 1: input and output are one place; else they do not overlap */
  int32_t rank;      /* 1 to 7 */
  uint64_t n[7];
  uint64_t batch;  /* transforms one after another */
  int32_t real[7]; /* r2r: the kind of each dimension, by FFTW's numbers (FFTW_R2HC is 0) */
} ob_fft;

/* Makes a plan, in the background; executions wait for it. */
ob_status ob_plan_create(ob_device device, const ob_fft* transform, ob_plan* plan);
ob_status ob_plan_destroy(ob_plan plan);
ob_status ob_plan_execute(ob_plan plan, ob_queue queue, ob_place in, ob_place out);

/* Copies from device to device. The data goes from daemon to daemon, and within one daemon through
   its memory; it does not pass through this process. */

/* Copies from a buffer of one device to a buffer of another device, or of the same one. Each queue
   holds its later commands back until its part is done: that of `from`, until the source may
   change; that of `to`, until the data is there. A failure sticks to the queues that it concerns.
   If the daemons cannot reach each other, or if a device is in this process, the data passes
   through this process, and the function waits until it has left `from`.
   rect  device_pitch_bytes is the pitch of `to`, host_pitch_bytes that of `from`; flags: 0
   Errors: the failure of a queue that has failed before and has reported it */
ob_status ob_copy_between(ob_queue from_queue, ob_place from, ob_queue to_queue, ob_place to,
                          const ob_rect* rect);

/* The size of an address, which is text that ends with a zero. */
enum { OB_ADDRESS_BYTES = 512 };

/* Opens the mailbox of a device and returns its address. Who knows the address can send what this
   device receives; so it is a secret, which travels to other processes by MPI, a file or a pipe. It
   names the daemon as `where` of ob_device_open() did: a name that other daemons know, too.
   Errors: OB_UNSUPPORTED for a device of this process; OB_INVALID_ARGUMENT if it is open already */
ob_status ob_mailbox_open(ob_device device, char address[OB_ADDRESS_BYTES], ob_mailbox* mailbox);
/* Closes the mailbox: receives whose message has not come fail. */
ob_status ob_mailbox_close(ob_mailbox mailbox);
/* Connects a device to the mailbox of another device, of this process or another one. Waits for
   the daemon, up to 2 s.
   Errors: OB_INVALID_ARGUMENT for no address, or that of a closed mailbox; OB_UNAVAILABLE,
   OB_DENIED, OB_UNSUPPORTED if the daemon does not reach the other one */
ob_status ob_peer_connect(ob_device device, const char* address, ob_peer* peer);
/* Messages that wait for their receives have a second to leave. */
ob_status ob_peer_disconnect(ob_peer peer);

/* Sends a rectangle to a peer when the queue reaches this command. The queue goes on at once: the
   source must not change before the message has left.
   number  names the message for its receive; 1 to 2^63 - 1
   rect    device_pitch_bytes is the pitch of `from`; host_pitch_bytes is not read; flags: 0
   sent    an event of the device that marks when the source may change; or NULL
   Messages to one peer travel in the order in which they are sent: one that nobody receives yet
   delays those behind it. */
ob_status ob_send(ob_queue queue, ob_peer peer, uint64_t number, ob_place from, const ob_rect* rect,
                  ob_event sent);
/* Receives a message from the moment when the queue reaches this command.
   rect     as ob_send(): width, rows and word_bytes are those of the sender
   next     a peer of the device, to which the message is forwarded while it arrives; or NULL
   arrived  an event of the device that marks the arrival; the queue goes on at once. Commands that
            use the destination come behind ob_event_hold(). A message that fails makes the queues
            that hold for the event fail. NULL: the queue itself waits for the message
   Errors: OB_INVALID_ARGUMENT in the queue if the number has a receive already */
ob_status ob_receive(ob_queue queue, ob_mailbox mailbox, uint64_t number, ob_place to,
                     const ob_rect* rect, ob_peer next, ob_event arrived);

/* Grants: other programs write to a range of a buffer, or read it, while its owner does nothing. */

enum { OB_MAY_READ = 1, OB_MAY_WRITE = 2 };

/* Lets others use a range of a buffer, and returns the address at which they do: a secret, which
   travels to them as that of a mailbox does.
   may      OB_MAY_READ, OB_MAY_WRITE or both
   user     the name in the only client's key that may use the grant; a daemon without a key proves
            no user, and refuses it. NULL: everybody who has the address
   seconds  its life from now on, 1 to 86400, by the clock of the daemon
   uses     the puts and gets that it permits; 0: any number
   The grant ends with its time, its last use, ob_grant_revoke(), its buffer or its device. A device
   has 1024 grants at most. Waits for a round trip.
   Errors: OB_UNSUPPORTED for a device of this process; OB_DENIED beyond the limit, or if the daemon
   makes none (--no-peers) */
ob_status ob_grant_create(ob_buffer buffer, uint64_t offset, uint64_t bytes, uint32_t may,
                          const char* user, uint32_t seconds, uint32_t uses,
                          char address[OB_ADDRESS_BYTES], ob_grant* grant);
/* Holds the queue until so many puts have landed since the grant was made. The queue fails if the
   grant is revoked before. */
ob_status ob_grant_wait(ob_grant grant, ob_queue queue, uint64_t landed);
/* Ends the grant. When it returns, nobody writes to its range or reads it any more. */
ob_status ob_grant_revoke(ob_grant grant);

/* Copy bytes to or from the range of a grant, of this device or another one, of this process or
   another one. They begin when the queue reaches them, and behind the commands of the owner that
   use the buffer and came before. The queue is held until the data has landed; a failure sticks to
   it, and what the range holds after a failed put is undefined.
   offset  in the range of the grant
   landed  an event of the queue's device, recorded behind the copy; or NULL
   Errors, in the queue: OB_DENIED if the grant has ended or does not permit it;
   OB_INVALID_ARGUMENT beyond its range; OB_UNAVAILABLE if its daemon is lost or silent (4.5 s) */
ob_status ob_put(ob_queue queue, const char* address, uint64_t offset, ob_place from,
                 uint64_t bytes, ob_event landed);
ob_status ob_get(ob_queue queue, const char* address, uint64_t offset, ob_place to, uint64_t bytes,
                 ob_event landed);

/* Kernels of the program (docs/device-api.md). Devices behind a daemon do not run them in this
   version. */

/* The language of a module. OB_PORTABLE is the subset of OpenCL C 1.2 that runs on all devices. */
enum { OB_PORTABLE = 1, OB_OPENCL = 2, OB_CUDA = 3, OB_PTX = 4, OB_CUBIN = 5 };

/* One form of a module. */
typedef struct {
  int32_t kind;             /* OB_PORTABLE ... */
  uint32_t flags;           /* 0 */
  const void* bytes;        /* the source, or machine code */
  size_t count;             /* its size [bytes], at most 1 MiB, machine code 64 MiB; 0: the source
                               ends with a zero */
  const char* architecture; /* of machine code, such as "sm_90"; else NULL */
} ob_variant;

/* Compiles a module in the background; does not wait for the compiler.
   variants  1 to 16 forms; the device takes the first that it can use
   options   "-D NAME" and "-D NAME=VALUE", separated by blanks; or NULL
   Errors: OB_UNSUPPORTED if kernels do not run here, with what is missing; OB_INVALID_ARGUMENT;
   OB_OUT_OF_MEMORY for the 257th module of a device */
ob_status ob_module_load(ob_device device, const ob_variant* variants, size_t count,
                         const char* options, ob_module* module);
/* Waits until the module is compiled.   timeout_ms: 0 asks; OB_FOREVER
   Errors: OB_BUILD_FAILED; OB_UNSUPPORTED if the device takes none of the variants;
   OB_DEADLINE_EXCEEDED: not yet */
ob_status ob_module_wait(ob_module module, int64_t timeout_ms);
/* Copies the compiler's words, also those of a module that compiled: at most 64 KiB, the beginning
   and the end.
   bytes  in: the size of `text`, which is cut to it; out: the size that all words need, with the
          zero at their end
   text   may be NULL, which asks for the size
   Errors: OB_DEADLINE_EXCEEDED while the module is being compiled */
ob_status ob_module_log(ob_module module, char* text, size_t* bytes);
/* Gives a module up. It is unloaded once its kernel objects are destroyed and their commands have
   run. */
ob_status ob_module_unload(ob_module module);

/* Makes a kernel object: the name of a kernel, and its arguments. Does not wait: if the module is
   not compiled yet, a wrong name fails where the kernel is used. */
ob_status ob_kernel_create(ob_module module, const char* name, ob_kernel* kernel);
ob_status ob_kernel_destroy(ob_kernel kernel);

/* Kinds of arguments, and what a kernel does with a buffer. */
enum { OB_ARGUMENT_BUFFER = 1, OB_ARGUMENT_SCALAR = 2, OB_ARGUMENT_LOCAL = 3 };
enum { OB_ACCESS_READ = 1, OB_ACCESS_WRITE = 2 };

/* A parameter of a kernel, as its source declares it. */
typedef struct {
  size_t struct_bytes;
  int32_t kind;       /* OB_ARGUMENT_BUFFER ... */
  uint32_t bytes;     /* the size of a number, or of an element of memory; 0: not known */
  uint32_t read_only; /* 1: a buffer that the kernel cannot write */
  uint32_t count;     /* parameters of the kernel */
  char type[64];      /* such as "double*" or "uint" */
  char name[64];
} ob_parameter;

/* Tells about a parameter; `count` also for index 0 of a kernel without parameters.
   Errors: OB_DEADLINE_EXCEEDED while the module is being compiled; OB_BUILD_FAILED */
ob_status ob_kernel_get_parameter(ob_kernel kernel, uint32_t index, ob_parameter* parameter);

/* An argument of a kernel. */
typedef struct {
  int32_t kind;   /* OB_ARGUMENT_BUFFER ... */
  uint32_t bytes; /* the size of a number, 1 to 128, or of local memory; 0 for a buffer */
  union {
    ob_place place;    /* of a buffer; its offset is a multiple of the size of an element */
    const void* value; /* of a number, which is copied */
  } as;
  uint64_t extent_bytes; /* of a buffer: the bytes from `place` on that the kernel may use; they are
                            checked against the buffer, not while the kernel runs. 0: all */
  uint32_t access;       /* of a buffer: OB_ACCESS_READ, OB_ACCESS_WRITE; 0: both */
  uint32_t reserved;     /* 0 */
} ob_argument;

/* Sets an argument, which stays set for later runs. One thread at a time uses a kernel object.
   index  from 0
   Errors: OB_INVALID_ARGUMENT if it does not fit the kernel. If the module is not compiled yet, the
   run finds that out */
ob_status ob_kernel_set(ob_kernel kernel, uint32_t index, const ob_argument* argument);
/* Runs the kernel with the present arguments: groups[0] x groups[1] x groups[2] groups of
   group_size[0] x group_size[1] x group_size[2] work-items. Unused dimensions have the extent 1.
   Errors: OB_INVALID_ARGUMENT if an argument is missing, or an extent is 0 or too large; in the
   queue: OB_BUILD_FAILED, OB_KERNEL_FAULT */
ob_status ob_kernel_run(ob_kernel kernel, ob_queue queue, const uint32_t groups[3],
                        const uint32_t group_size[3]);

/* Leases of the devices of a pool (docs/pool.md). A lease is renewed until it is released, or the
   process ends. Its devices are those of ob_device_open() in all but their end. A device that was
   taken back answers OB_FENCED, but OB_CONNECTION_LOST if its daemon closes the connection before
   the library knows why; close it, or release the lease. It answers OB_FENCED in any case once
   OB_LEASE_TAKEN was reported.
   Errors: OB_BUSY while others have the devices; OB_UNSUPPORTED if the pool has none of this kind;
   OB_UNAVAILABLE if the manager or a daemon cannot be reached */

/* Members that are 0 or NULL ask for nothing special. */
typedef struct {
  size_t struct_bytes;
  const char* pool;       /* the manager; NULL: that of OUTBOARD_POOL */
  const char* kind;       /* of the devices */
  const char* near;       /* NULL: those near this machine come first; others: OB_UNSUPPORTED */
  uint32_t count;         /* devices, 1 or more */
  uint32_t exclusive;     /* 1: no other lease has them */
  uint32_t share_percent; /* else the least share of each, up to 100 */
  uint32_t wait_ms;       /* the longest wait for devices */
  uint32_t seconds;       /* the time of the lease, which the library renews; 0: 30 */
  uint32_t reserved;      /* 0 */
  uint64_t memory_bytes;  /* free memory of each device; 0: if shared, its share of it */
} ob_request;

/* What has happened to a lease. */
enum { OB_LEASE_GIVEN = 1, OB_LEASE_EXPIRES = 2, OB_LEASE_TAKEN = 3, OB_LEASE_GONE = 4 };

/* Acquires devices, all of them or none. */
ob_status ob_lease_acquire(const ob_request* request, ob_lease* lease);
/* Gives all devices back, after their queues have run; this closes them. */
ob_status ob_lease_release(ob_lease lease);
/* Adds devices.   wait_ms  OB_FOREVER, or the longest wait for them */
ob_status ob_lease_grow(ob_lease lease, uint32_t count, int64_t wait_ms);
/* Gives a device back, after its queues have run; this closes it. */
ob_status ob_lease_shrink(ob_lease lease, ob_device device);
/* Returns a device of the lease.   index  from 0 */
ob_status ob_lease_device(ob_lease lease, uint32_t index, ob_device* device);
/* Calls `changed` when something happens to the lease, as a callback of ob_queue_callback(). When
   it returns, and when the lease is released, the callback before is not called any more.
   what    OB_LEASE_...
   device  the one that this is about, or NULL */
ob_status ob_lease_watch(ob_lease lease,
                         void (*changed)(void* user, int32_t what, ob_device device), void* user);

#ifdef __cplusplus
}
#endif

#endif
