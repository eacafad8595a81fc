// The inner loops of copies for processors with AVX2 and FMA. This file is C and shares no inline
// function with other files, which are compiled for the baseline processor.

#define OB_KERNEL(name) ob_##name##_avx2
#include "moves.inc"
