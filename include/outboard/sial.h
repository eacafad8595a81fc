/* Super-instructions of your own for SIAL programs, in C, version 1. A plug-in is a shared library
   that exports ob_sial_plugin(); the job file names it under `plugins`. docs/sial/plugins.md has a
   first one; outboard/sial.hpp is for C++ and outboard/sial.f90 for Fortran.

   Threads: a worker calls one function at a time, from one thread of its own. A plug-in links to
   nothing of Outboard. */
#ifndef OUTBOARD_SIAL_H
#define OUTBOARD_SIAL_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define OB_SIAL_VERSION 1
#define OB_SIAL_RANK 8

/* Kinds of arguments. */
enum {
  OB_SIAL_BLOCK = 0,  /* a block, a region of a contiguous local, or a whole static */
  OB_SIAL_SCALAR = 1, /* a double */
  OB_SIAL_INT = 2,    /* an int, or an index */
  OB_SIAL_TEXT = 3    /* a literal text */
};

/* Flags of an entry. */
enum {
  /* The function takes blocks with strides. Without it, all blocks are dense: where one lies inside
     a larger array, the worker copies it there and back. */
  OB_SIAL_TAKES_STRIDES = 1,
  /* The function writes all elements of its w arguments. They are not set to zero before. */
  OB_SIAL_OVERWRITES = 2
};

/* One argument of a call. Memory: valid during the call. Elements are column-major: the first index
   is the fastest. */
typedef struct {
  int32_t kind;
  char intent; /* r: only read it; w: it was set to zero, write it; u: read and write */
  int32_t rank;
  int64_t extents[OB_SIAL_RANK];
  int64_t strides[OB_SIAL_RANK];  /* in elements */
  int64_t segments[OB_SIAL_RANK]; /* number of the segment, as the program counts */
  int64_t first[OB_SIAL_RANK];    /* number of the first element in the whole array, from 1 */
  int64_t elements;               /* product of the extents */
  double* data;                   /* of a block */
  double* scalar;                 /* of OB_SIAL_SCALAR */
  int64_t* integer;               /* of OB_SIAL_INT */
  const char* text;               /* of OB_SIAL_TEXT */
  const char* name;               /* of the array; "" if there is none */
} ob_sial_argument;

/* A call, and the functions that it may use. Names are those of the job file. */
typedef struct ob_sial_call ob_sial_call;
struct ob_sial_call {
  uint32_t version; /* OB_SIAL_VERSION of the worker */
  uint32_t worker;  /* from 0 */
  uint32_t workers;
  uint32_t line;       /* of the execute statement */
  const char* program; /* its name */
  void* host;          /* of the worker */
  /* Keeps a message for the user. The function returns another value than 0 after it. */
  void (*fail)(ob_sial_call* call, const char* message);
  /* Prints a line, as the print statement does: on worker 0, unless the program says otherwise. */
  void (*print)(ob_sial_call* call, const char* text);
  /* Looks for an int, a scalar or an array of the job. Returns 0, or 1 if it has none. */
  int (*find_int)(ob_sial_call* call, const char* name, int64_t* value);
  int (*find_scalar)(ob_sial_call* call, const char* name, double* value);
  int (*find_array)(ob_sial_call* call, const char* name, ob_sial_argument* array);
  /* Returns the text of a key of [config.PROGRAM]; NULL if there is none. */
  const char* (*find_key)(ob_sial_call* call, const char* key);
  /* Returns memory that is freed after the call, aligned to 64 bytes; NULL if there is none. */
  void* (*scratch)(ob_sial_call* call, size_t bytes);
};

/* Returns 0, or another value after call->fail(). A failure ends the program with R08. */
typedef int (*ob_sial_function)(ob_sial_call* call, ob_sial_argument* arguments, int32_t count);

typedef struct {
  const char* name;    /* as in `special NAME INTENTS`; lower case */
  const char* intents; /* one of r, w and u per argument */
  ob_sial_function function;
  uint32_t flags;
} ob_sial_entry;

typedef struct {
  uint32_t version;     /* OB_SIAL_VERSION */
  uint32_t entry_bytes; /* sizeof(ob_sial_entry) */
  uint32_t count;
  const ob_sial_entry* entries;
} ob_sial_table;

/* The function that a plug-in exports. Memory: of the plug-in, and never freed. */
#if defined(__GNUC__)
__attribute__((visibility("default")))
#endif
const ob_sial_table*
ob_sial_plugin(void);

#ifdef __cplusplus
}
#endif
#endif
