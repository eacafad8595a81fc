#include "backend/opencl/libraries.hpp"

namespace ob::opencl {

Result<const BlasTable*> Libraries::blas() const { return get(blas_, &BlasTable::open); }

Result<const Kernels*> Libraries::kernels() const {
  return get(kernels_, [this] { return Kernels::create(cl_, accelerator_); });
}

}  // namespace ob::opencl
