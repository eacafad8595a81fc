#include "backend/cuda/libraries.hpp"

namespace ob::cuda {

Result<std::unique_ptr<Libraries>> Libraries::open() {
  OB_ASSIGN_OR_RETURN(const Runtime runtime, Runtime::open());
  return std::unique_ptr<Libraries>(new Libraries(runtime));
}

template <class Table, class Open>
Result<const Table*> Libraries::get(Later<Table>& later, Open&& open) {
  std::call_once(later.once, [&] { later.table.emplace(open()); });
  if (!later.table->ok()) return later.table->status();
  return static_cast<const Table*>(&later.table->value());
}

Result<const Driver*> Libraries::driver() const {
  return get(driver_, [this] { return Driver::open(runtime_); });
}
Result<const BlasTable*> Libraries::blas() const { return get(blas_, &BlasTable::open); }
Result<const SolverTable*> Libraries::solver() const { return get(solver_, &SolverTable::open); }
Result<const FftTable*> Libraries::fft() const { return get(fft_, &FftTable::open); }
Result<const NvrtcTable*> Libraries::nvrtc() const { return get(nvrtc_, &NvrtcTable::open); }

}  // namespace ob::cuda
