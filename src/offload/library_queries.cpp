#include "offload/library_queries.hpp"

#include <charconv>
#include <cstdlib>
#include <cstring>

#include "base/machine.hpp"

namespace ob::offload {

int threads_of(void* object) noexcept {
  if (const auto ask = find_function<AskNumber>(
          object, {"openblas_get_num_threads", "openblas_get_num_threads64_",
                   "scipy_openblas_get_num_threads", "scipy_openblas_get_num_threads64_",
                   "bli_thread_get_num_threads", "MKL_Get_Max_Threads"})) {
    return ask();
  }
  if (const char* asked = std::getenv("OMP_NUM_THREADS")) {
    int threads = 0;
    std::from_chars(asked, asked + std::strlen(asked), threads);
    if (threads > 0) return threads;
  }
  return static_cast<int>(usable_cores());
}

}  // namespace ob::offload
