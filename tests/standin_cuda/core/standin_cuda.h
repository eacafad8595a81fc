#pragma once
/* What tests ask of the stand-in, from libstandin_cuda.so: open it as the others are opened, with
 * dlopen, or link it. */

#ifdef __cplusplus
extern "C" {
#endif

/** How often a rule was broken; what the last one was (valid until the next). */
unsigned long long standin_cuda_violations(void);
const char* standin_cuda_last_violation(void);
void standin_cuda_forget_violations(void);

/** What lives, as "2 stream(s), 1 device block(s)"; empty if nothing (valid until the next call).
 */
const char* standin_cuda_living(void);

/** More failures, counted from now on, by the rules of STANDIN_CUDA_FAIL; none any more. */
void standin_cuda_fail(const char* rules);
void standin_cuda_fail_no_more(void);

/** From now on holds the work of these functions (commas between) once its stream has come to it,
 * and remembers when work ran; then lets go of it, or of that of one function. How much is held;
 * how much work of a function was submitted since, but not begun; pairs of work of two functions,
 * in different streams, that ran at the same time. */
void standin_cuda_watch(const char* held);
void standin_cuda_release(void);
void standin_cuda_release_one(const char* function);
unsigned long long standin_cuda_held(void);
unsigned long long standin_cuda_waiting(const char* function);
unsigned long long standin_cuda_overlaps(const char* function, const char* other);

/** How often a function was called, its forms together (without _v2 and _64). */
unsigned long long standin_cuda_calls(const char* function);

/** Where the bytes of an address of a device are: for tests that look at a device's memory. */
void* standin_cuda_backing(const void* device_pointer);

#ifdef __cplusplus
}
#endif
