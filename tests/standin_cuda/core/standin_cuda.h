#pragma once
/* The functions of libstandin_cuda.so with which tests query the stand-in. Link the library, or
 * open it with dlopen like the other libraries. */

#ifdef __cplusplus
extern "C" {
#endif

/** The number of broken rules; the last one (valid until the next); forgets them all. */
unsigned long long standin_cuda_violations(void);
const char* standin_cuda_last_violation(void);
void standin_cuda_forget_violations(void);

/** The live objects, as "2 stream(s), 1 device block(s)"; empty if there is none. The text is valid
 * until the next call. */
const char* standin_cuda_living(void);

/** Adds rules of failures, in the syntax of STANDIN_CUDA_FAIL, that count from now on; removes all.
 */
void standin_cuda_fail(const char* rules);
void standin_cuda_fail_no_more(void);

/** watch: from now on records when work runs, and holds the work of these functions (commas
 * between) when its stream reaches it. release: lets all of it go, or that of one function. held:
 * the amount of held work. waiting: the amount of work of a function that was submitted since
 * watch but has not begun. overlaps: pairs of work of two functions that ran concurrently in
 * different streams. */
void standin_cuda_watch(const char* held);
void standin_cuda_release(void);
void standin_cuda_release_one(const char* function);
unsigned long long standin_cuda_held(void);
unsigned long long standin_cuda_waiting(const char* function);
unsigned long long standin_cuda_overlaps(const char* function, const char* other);

/** The number of calls of a function, all its forms together (without _v2 and _64). */
unsigned long long standin_cuda_calls(const char* function);

/** The place of the bytes of a device's address, for tests that look at a device's memory. */
void* standin_cuda_backing(const void* device_pointer);

#ifdef __cplusplus
}
#endif
