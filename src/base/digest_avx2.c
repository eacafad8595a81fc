// XXH3 for processors with AVX2. This file is C and includes nothing else: no inline function that
// other files share may be compiled for more than the baseline processor.

#define XXH_INLINE_ALL
#include <xxhash.h>

void ob_xxh3_update_avx2(void* state, const void* data, size_t size_bytes);

void ob_xxh3_update_avx2(void* state, const void* data, size_t size_bytes) {
  XXH3_128bits_update((XXH3_state_t*)state, data, size_bytes);
}
