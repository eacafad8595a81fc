#pragma once
// All operations on blocks in host memory.

#include "sial/operations/contraction.hpp"
#include "sial/operations/copy.hpp"
#include "sial/operations/elements.hpp"
#include "sial/operations/gemm.hpp"
#include "sial/operations/scratch.hpp"
#include "sial/operations/view.hpp"
