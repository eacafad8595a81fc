// Replaces the connection to a daemon, so that entries can be tested without one. OB_STANDIN
// selects the treatment of calls. "small" jumps to the original at once. "local" takes the slow
// path and lets the original run. "compute" acts like a daemon: it copies exactly the referenced
// elements into memory poisoned with NaN, runs the routine there, and copies exactly the results
// back. "share" does this for a part of each product.

#include <dlfcn.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <numeric>
#include <vector>

#include "backend/cpu/substitutes.hpp"
#include "backend/cpu/thunk.hpp"
#include "base/layout.hpp"
#include "interpose/call.hpp"
#include "interpose/gate.hpp"

namespace ob::interpose {

constinit std::atomic<double> g_min_flops{0};

namespace {

thread_local int g_depth = 0;

// Counts by position in routines::all(): legal calls of a program (not those of a library inside a
// call) that took the slow path, and those of them that the "device" completed.
constexpr std::size_t kMaxRoutines = 1024;
std::atomic<int> g_calls[kMaxRoutines];
std::atomic<int> g_done[kMaxRoutines];

std::size_t index_of(const Descriptor& routine) {
  return static_cast<std::size_t>(&routine - routines::all().data());
}

int sum(const std::atomic<int>* counts) {
  return std::accumulate(counts, counts + kMaxRoutines, 0);
}

bool mode_is(const char* name) {
  const char* mode = std::getenv("OB_STANDIN");
  return mode != nullptr && std::strcmp(mode, name) == 0;
}

void* device_library() {
  static void* const handle = dlopen("libopenblas.so.0", RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
  return handle;
}

// Finds a routine like a device does: newer routines are built from older ones.
cpu::LibraryRoutine device_routine(const Descriptor& routine) {
  const auto symbol = [](const char* name) { return dlsym(device_library(), name); };
  const cpu::ThunkEntry& thunk = cpu::thunks()[index_of(routine)];
  if (void* function = symbol(thunk.symbol)) return {thunk.thunk, function};
  return cpu::substitute(routine, symbol).value_or(cpu::LibraryRoutine{});
}

// The copy of one operand on the "device".
struct Copy {
  Operand operand;
  Kind kind;
  HostOperand host;
  std::vector<unsigned char> bytes;
  Layout at_home(bool written) const {
    return Layout::matrix(host.data, region_of(operand, kind, host.ld, written));
  }
  Layout on_device(bool written) {
    return Layout::matrix(bytes.data(), region_of(operand, Kind::vector, 0, written));
  }
};

bool compute(const Descriptor& routine, const Argument* given) {
  Argument arguments[kMaxArguments];
  std::copy_n(given, routine.kinds.size(), arguments);
  std::vector<Copy> copies;
  const Operands operands = routine.operands(arguments);
  copies.reserve(kMaxOperands);
  for (const Operand& o : operands.span()) {
    const Kind kind = routine.kinds[o.argument];
    Copy& copy = copies.emplace_back(Copy{o, kind, given[o.argument].host, {}});
    copy.bytes.assign(o.element_bytes * std::max<std::uint64_t>(1, o.rows) * o.cols + 16,
                      0xFF);  // 0xFF...: NaN
    arguments[o.argument].host = {copy.bytes.data(), dense_ld(o, kind, copy.host.ld)};
    if (o.read) ob::copy(copy.on_device(false), copy.at_home(false));
  }
  const cpu::LibraryRoutine found = device_routine(routine);
  if (found.function == nullptr || !found.thunk(found.function, arguments)) return false;
  for (Copy& copy : copies) {
    std::int64_t info = 0;
    if (copy.kind == Kind::info) std::memcpy(&info, copy.bytes.data(), sizeof info);
    if (info < 0 || (info > 0 && routine.rerun)) return false;
  }
  for (Copy& copy : copies) {
    if (copy.operand.written) ob::copy(copy.at_home(true), copy.on_device(true));
  }
  return true;
}

}  // namespace

Nesting::Nesting() noexcept : outermost_(g_depth++ == 0) {}
Nesting::~Nesting() { --g_depth; }

Call::Call(const Descriptor& routine, const Argument* arguments, const void*) noexcept
    : routine_(routine) {
  if (mode_is("small")) g_min_flops = std::numeric_limits<double>::infinity();
  if (!nesting_.outermost()) return;
  ++g_calls[index_of(routine)];
  decision_.remote = mode_is("compute") && !routine.trivial(arguments);
  if (mode_is("share") && !routine.trivial(arguments) && routine.base == "gemm")
    decision_.share = 0.4;
}

// One part in three is lost. Its operands stay untouched.
bool Call::run_part(const Argument* part) noexcept {
  static std::atomic<int> parts{0};
  return parts++ % 3 != 0 && run(part);
}
void Call::shared(bool) noexcept {}

bool Call::run(const Argument* arguments) noexcept {
  const bool done = compute(routine_, arguments);
  if (done) ++g_done[index_of(routine_)];
  return done;
}

Call::Call(const Descriptor& routine, std::span<const CallArguments> calls, const void*) noexcept
    : Call(routine, calls.front().items, nullptr) {}

bool Call::run(std::span<const CallArguments> calls) noexcept {
  return std::all_of(calls.begin(), calls.end(),
                     [this](const CallArguments& call) { return run(call.items); });
}

void Call::rehearse(const Argument*) noexcept {}

void Call::begin_local() noexcept {}

Call::~Call() = default;

}  // namespace ob::interpose

#define OB_COUNTER extern "C" [[gnu::visibility("default")]] int
OB_COUNTER standin_calls() { return ob::interpose::sum(ob::interpose::g_calls); }
OB_COUNTER standin_calls_of(std::size_t routine) { return ob::interpose::g_calls[routine]; }
OB_COUNTER standin_done_of(std::size_t routine) { return ob::interpose::g_done[routine]; }
