#pragma once
// The interface between a worker and the library that embeds Python. The library is opened when a
// job names a plug-in in Python, so that a worker itself needs no Python.

#include <stdint.h>

#include "outboard/sial.h"

#define OB_SIAL_PYTHON_VERSION 1

// A super-instruction that a module declares. Memory: the texts are valid during the call of `add`;
// the function stays.
typedef struct {
  const char* name;
  const char* intents;
  uint32_t flags;  // as of ob_sial_entry
  void* function;
} ob_sial_python_entry;

// Functions that can fail return a message, and NULL otherwise. Memory: a message is valid until
// the next call.   Threads: one at a time
typedef struct {
  uint32_t version;  // OB_SIAL_PYTHON_VERSION
  // Starts the interpreter, the one of `executable` if that is not empty. It never ends.
  const char* (*start)(const char* executable);
  // Imports a file, and calls add(to, entry) for each super-instruction of it.
  const char* (*load)(const char* file, void* to,
                      void (*add)(void* to, const ob_sial_python_entry* entry));
  // Calls a function of a module, as an ob_sial_function.
  int (*call)(void* function, ob_sial_call* call, ob_sial_argument* arguments, int32_t count);
} ob_sial_python_host;

#ifdef __cplusplus
extern "C"
#endif
    // The function that the library exports.
    __attribute__((visibility("default"))) const ob_sial_python_host*
    ob_sial_python(void);
