#include "cusolver/call.hpp"

#include <cstring>

#include "core/address_space.hpp"

namespace standin::solver {

LiveSet<Handle>& Library::handles() {
  static auto* const kHandles = new LiveSet<Handle>("cusolver handle(s)");
  return *kHandles;
}

void Call::workspace(void* p, std::size_t given, std::size_t wanted) {
  if (!good()) return;
  if (given < wanted) {
    access.refuse("a workspace of " + std::to_string(given) + " bytes where " +
                  std::to_string(wanted) + " are wanted");
    return;
  }
  spoilt_ = access.region(p, given, given, given == 0 ? 0 : 1, Intent::write, 16);
  spoilt_bytes_ = given;
}

void Call::host_workspace(void* p, std::size_t given, std::size_t wanted) {
  if (!good()) return;
  if (given < wanted || (wanted != 0 && p == nullptr)) {
    access.refuse("too small a workspace of the host");
  } else if (AddressSpace::instance().inside(p)) {
    access.refuse("a device's pointer where one of the host is wanted");
  } else if (p != nullptr) {
    std::memset(p, 0xFF, given);
  }
}

cusolverStatus_t Call::submit(std::function<void()> work) {
  return LibraryCall::submit([work = std::move(work), at = spoilt_, bytes = spoilt_bytes_] {
    if (at != nullptr) std::memset(at, 0xFF, bytes);
    work();
  });
}

}  // namespace standin::solver
