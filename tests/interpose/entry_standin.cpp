// Stands where the connection to a daemon would be, so that entries can be tested without one.
// OB_STANDIN says what becomes of calls: "small" jumps to the original at once, "local" takes the
// slow path and lets the original run, "compute" does what a daemon would: it moves exactly the
// referenced elements into memory poisoned with NaN, runs the routine there, and moves exactly the
// results back.

#include <dlfcn.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <vector>

#include "backend/cpu/thunk.hpp"
#include "base/layout.hpp"
#include "interpose/call.hpp"

namespace ob::interpose {

constinit std::atomic<double> g_min_flops{0};

Nesting::Nesting() noexcept : outermost_(true) {}
Nesting::~Nesting() = default;

namespace {

std::atomic<int> g_calls{0};
std::atomic<int> g_done{0};

bool mode_is(const char* name) {
  const char* mode = std::getenv("OB_STANDIN");
  return mode != nullptr && std::strcmp(mode, name) == 0;
}

void* device_library() {
  static void* const handle = dlopen("libopenblas.so.0", RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
  return handle;
}

// One operand on the "device".
struct Copy {
  Operand operand;
  Argument* argument;
  HostOperand host;
  std::vector<unsigned char> bytes;
  Region host_region() const {
    const bool vector = host.ld == 0;
    const auto ld =
        vector ? std::max<std::uint64_t>(1, operand.rows) : static_cast<std::uint64_t>(host.ld);
    return {0, operand.element_bytes, operand.triangle, operand.rows, operand.cols, ld};
  }
  Region device_region() const {
    return {0,
            operand.element_bytes,
            operand.triangle,
            operand.rows,
            operand.cols,
            std::max<std::uint64_t>(1, operand.rows)};
  }
};

bool compute(const Descriptor& routine, const Argument* given) {
  Argument arguments[kMaxArguments];
  std::copy_n(given, routine.kinds.size(), arguments);
  std::vector<Copy> copies;
  const Operands operands = routine.operands(arguments);
  for (const Operand& o : operands.span()) {
    Argument* argument = &arguments[o.argument];
    copies.push_back({o, argument, argument->host, {}});
    Copy& copy = copies.back();
    copy.bytes.assign(o.element_bytes * std::max<std::uint64_t>(1, o.rows) * o.cols + 16,
                      0xFF);  // 0xFF...: NaN
    argument->host = {copy.bytes.data(), static_cast<std::int64_t>(copy.device_region().ld)};
    if (o.read) {
      ob::copy(Layout::matrix(copy.bytes.data(), copy.device_region()),
               Layout::matrix(copy.host.data, copy.host_region()));
    }
  }
  const auto index = static_cast<std::size_t>(&routine - routines::all().data());
  const cpu::ThunkEntry& thunk = cpu::thunks()[index];
  void* function = dlsym(device_library(), thunk.symbol);
  if (function == nullptr) return false;
  thunk.thunk(function, arguments);
  for (Copy& copy : copies) {
    if (!copy.operand.written) continue;
    ob::copy(Layout::matrix(copy.host.data, copy.host_region()),
             Layout::matrix(copy.bytes.data(), copy.device_region()));
  }
  return true;
}

}  // namespace

Call::Call(const Descriptor& routine, const Argument* arguments, const std::int64_t* lds) noexcept
    : routine_(routine) {
  if (mode_is("small")) g_min_flops = std::numeric_limits<double>::infinity();
  ++g_calls;
  if (!routine.legal(arguments, lds)) {
    std::fprintf(stderr, "standin: an illegal %s came through\n", routine.name.data());
    std::abort();
  }
  if (mode_is("compute") && !routine.trivial(arguments)) done_ = compute(routine, arguments);
  if (done_) ++g_done;
}

Call::~Call() = default;

}  // namespace ob::interpose

extern "C" [[gnu::visibility("default")]] int standin_calls() { return ob::interpose::g_calls; }
extern "C" [[gnu::visibility("default")]] int standin_done() { return ob::interpose::g_done; }
