/* The functions of the drop-in library for programs that know about it. A program does not link to
   the library: it finds the functions in the preloaded library by name (dlsym), as
   `outboard explain` does. Other programs do not need this header. */
#ifndef OUTBOARD_H
#define OUTBOARD_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Explains where a call would run in mode auto, and why. The call itself does not happen.
   routine     the name as in the report: "dgemm", "zgetrf", "fftw c2c", "fftwf r2c"
   sizes       "2000" sets every dimension. "m=2000,n=64" sets dimensions by the names of the
               routine's arguments; the others get the largest size given. The sizes of an FFT are
               "1048576", "512x512", or "256*100" for 100 transforms.
   text        receives lines "key value" (docs/decision.md lists the keys), or after a failure one
               line that names the mistake. A zero byte ends the text.
   text_bytes  the size of text, with the zero byte. A longer answer is cut to text_bytes - 1 bytes,
               and the function still returns 0.
   Returns 0, or 1 after a failure. Connects to the server if there is no connection.
   Threads: any */
int outboard_explain(const char* routine, const char* sizes, char* text, size_t text_bytes);

/* Sets the accuracy of later calls of this thread on accelerators (docs/accuracy.md).
   mode  "standard"; "strict": the same call gives the same bits again; "fast": the device may use
         a lower precision inside; "emulated": lower precisions emulate that of the operands.
         NULL or "" returns to the accuracy that OUTBOARD_ACCURACY sets.
   Returns 0. For any other word it returns 1 and changes nothing.
   Threads: any; each thread has its own accuracy */
int outboard_accuracy(const char* mode);

#ifdef __cplusplus
}
#endif

#endif
