#include "algorithms/device_call.hpp"

namespace ob::algorithms {

const Descriptor* routine_of(std::string_view base, Precision precision) {
  for (const Descriptor& routine : routines::all()) {
    if (routine.precision == precision && routine.base == base) return &routine;
  }
  return nullptr;
}

}  // namespace ob::algorithms
