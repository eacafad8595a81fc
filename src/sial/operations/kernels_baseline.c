// The inner loops of the block operations for the baseline processor.

#define OB_KERNEL(name) ob_sial_##name##_baseline
#include "kernels.inc"
