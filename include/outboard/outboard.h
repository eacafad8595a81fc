/* What the drop-in library offers to those who know of it. Programs need none of this: it is for
   `outboard explain` and the like, which find the functions in the preloaded library by name. */
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

#ifdef __cplusplus
}
#endif

#endif
