#include "device/square_product.hpp"

#include <cstddef>
#include <string_view>

namespace ob {

Status submit_square_product(Device& device, QueueId queue, BufferId matrices, std::int64_t n) {
  const Descriptor* dgemm = routines::find("dgemm");
  Argument arguments[kMaxArguments];
  std::uint64_t offset = 0;
  for (std::size_t i = 0; i < dgemm->kinds.size(); ++i) {
    const std::string_view name = dgemm->argument_names[i];
    switch (dgemm->kinds[i]) {
      case Kind::flag: arguments[i].flag = 'N'; break;
      case Kind::dim: arguments[i].dim = n; break;
      case Kind::matrix:
        arguments[i].device = {matrices, offset, n};
        offset += square_bytes(n);
        break;
      default: arguments[i].scalar = {name == "alpha" ? 1.0 : 0.0, 0}; break;
    }
  }
  return device.call(queue, *dgemm, arguments);
}

}  // namespace ob
