// The inner loops of the block operations for processors with AVX2 and FMA. This file is C and
// shares no inline function with other files, which are compiled for the baseline processor.

#define OB_KERNEL(name) ob_sial_##name##_avx2
#include "kernels.inc"
