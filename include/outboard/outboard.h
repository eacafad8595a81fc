/* What the drop-in library offers to those who know of it. Programs need none of this: they
   find the functions in the preloaded library by name (dlsym), as `outboard explain` does. */
#ifndef OUTBOARD_H
#define OUTBOARD_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What would happen to a call in mode auto, and why.
   routine  as in the report: "dgemm", "zgetrf", "fftw c2c", "fftwf r2c"
   sizes    "2000": every dimension; "m=2000,n=64": by the names of the routine's arguments, those
            left out get the largest given; of FFTs "1048576", "512x512", "256*100" (100 transforms)
   text     gets lines "key value", ended by a zero byte (docs/decision.md lists them); on failure
            one line that says what is wrong
   Returns 0, or 1 on failure. Connects to the server, if there was no connection.
   Threads: any */
int outboard_explain(const char* routine, const char* sizes, char* text, size_t text_bytes);

/* How exact the calls that this thread makes from now on are to be on accelerators: "standard",
   "strict" (the same call gives the same bits again), "fast" (lower precision inside) or "emulated"
   (the operands' precision put together from lower ones); NULL or "": what OUTBOARD_ACCURACY says.
   docs/accuracy.md.
   Returns 0, or 1 for another word; nothing changes then.   Threads: any, each has its own */
int outboard_accuracy(const char* mode);

#ifdef __cplusplus
}
#endif

#endif
