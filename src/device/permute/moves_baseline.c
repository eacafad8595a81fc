// The inner loops of copies for the baseline processor.

#define OB_KERNEL(name) ob_##name##_baseline
#include "moves.inc"
