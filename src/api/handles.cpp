#include "api/handles.hpp"

#include <pthread.h>

#include <atomic>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "api/kernel_objects.hpp"
#include "api/lease_objects.hpp"
#include "api/peer_objects.hpp"
#include "client/inherited_connections.hpp"
#include "client/proxy.hpp"

namespace ob::api {
namespace {

// A handle, from the lowest bit: kind (4 bits), number (52 bits), generation of the process (8
// bits). Numbers are never used again.
constexpr unsigned kKindBits = 4;
constexpr unsigned kNumberBits = 52;
static_assert(sizeof(void*) == sizeof(std::uint64_t), "handles need pointers of 64 bits");

template <class Object>
using Table = HandleTable<Id<Object>, Object>;

struct Registry {
  std::tuple<Table<OpenDevice>, Table<Queue>, Table<Buffer>, Table<Event>, Table<Plan>,
             Table<Module>, Table<Kernel>, Table<OpenMailbox>, Table<ConnectedPeer>,
             Table<GivenGrant>, Table<HeldLease>>
      tables;
  Registry* parents = nullptr;  // what a forked child inherited and must not touch
};

// The documented state of the process. It is never destroyed, because other libraries may still
// use handles in their destructors.
constinit std::atomic<Registry*> g_registry{nullptr};
constinit std::atomic<std::uint64_t> g_generation{0};

// The child has no other threads, so locks of the parent may be held for ever, and queues have lost
// their workers.
void begin_anew() noexcept {
  client::close_inherited_connections();
  client::Proxy::begin_anew_in_child();
  auto* const fresh = new (std::nothrow) Registry;
  if (fresh != nullptr) fresh->parents = g_registry.load();
  g_registry = fresh;
  g_generation = (g_generation + 1) % 256;
}

Registry& registry() {
  static const int watched = ::pthread_atfork(nullptr, nullptr, begin_anew);
  (void)watched;
  Registry* known = g_registry.load(std::memory_order_acquire);
  if (known != nullptr) return *known;
  auto fresh = std::make_unique<Registry>();
  if (g_registry.compare_exchange_strong(known, fresh.get())) return *fresh.release();
  return *known;
}

template <class Object>
Table<Object>& table() {
  return std::get<Table<Object>>(registry().tables);
}

// Returns the number in a handle of this kind and process.
template <class Object>
Result<Id<Object>> number_in(typename KindOf<Object>::Handle handle) {
  using Kind = KindOf<Object>;
  const std::string name = Kind::name;
  const auto value = reinterpret_cast<std::uintptr_t>(handle);
  if (value == 0) return Status(Code::invalid_argument, "no " + name + " (the handle is NULL)");
  if (value >> (kKindBits + kNumberBits) != g_generation.load(std::memory_order_relaxed)) {
    return Status(Code::unavailable, "the " + name +
                                         " belongs to the parent of this process (it was made "
                                         "before fork); open a device here");
  }
  const std::uintptr_t kind_mask = (std::uintptr_t{1} << kKindBits) - 1;
  if ((value & kind_mask) != Kind::number) {
    return Status(Code::invalid_argument, "the handle is not that of a " + name +
                                              " (it is of another kind, or no handle at all)");
  }
  return Id<Object>{(value >> kKindBits) & ((std::uintptr_t{1} << kNumberBits) - 1)};
}

template <class Object>
Status ended() {
  return {Code::invalid_argument, std::string("the ") + KindOf<Object>::name +
                                      " does not exist any more (it was destroyed, or its device "
                                      "closed)"};
}

}  // namespace

template <class Object>
typename KindOf<Object>::Handle add(std::shared_ptr<Object> object) {
  const std::uintptr_t number = table<Object>().add(std::move(object)).value;
  const std::uintptr_t value = g_generation.load() << (kKindBits + kNumberBits) |
                               number << kKindBits | KindOf<Object>::number;
  return reinterpret_cast<typename KindOf<Object>::Handle>(value);
}

template <class Object>
Result<std::shared_ptr<Object>> find(typename KindOf<Object>::Handle handle) {
  OB_ASSIGN_OR_RETURN(const Id<Object> id, number_in<Object>(handle));
  auto object = table<Object>().find(id);
  if (object == nullptr) return ended<Object>();
  return object;
}

template <class Object>
Result<std::shared_ptr<Object>> take(typename KindOf<Object>::Handle handle) {
  OB_ASSIGN_OR_RETURN(const Id<Object> id, number_in<Object>(handle));
  auto object = table<Object>().take(id);
  if (object == nullptr) return ended<Object>();
  return object;
}

template <class Object>
std::vector<std::shared_ptr<Object>> take_all_of(const OpenDevice& device) {
  return table<Object>().take_if(
      [&](const Object& object) { return object.device.get() == &device; });
}

#define OB_HANDLES_OF(Object)                                                    \
  template KindOf<Object>::Handle add(std::shared_ptr<Object>);                  \
  template Result<std::shared_ptr<Object>> find<Object>(KindOf<Object>::Handle); \
  template Result<std::shared_ptr<Object>> take<Object>(KindOf<Object>::Handle)
OB_HANDLES_OF(OpenDevice);
OB_HANDLES_OF(Queue);
OB_HANDLES_OF(Buffer);
OB_HANDLES_OF(Event);
OB_HANDLES_OF(Plan);
OB_HANDLES_OF(Module);
OB_HANDLES_OF(Kernel);
OB_HANDLES_OF(OpenMailbox);
OB_HANDLES_OF(ConnectedPeer);
OB_HANDLES_OF(GivenGrant);
OB_HANDLES_OF(HeldLease);
#undef OB_HANDLES_OF
template std::vector<std::shared_ptr<Queue>> take_all_of(const OpenDevice&);
template std::vector<std::shared_ptr<Buffer>> take_all_of(const OpenDevice&);
template std::vector<std::shared_ptr<Event>> take_all_of(const OpenDevice&);
template std::vector<std::shared_ptr<Plan>> take_all_of(const OpenDevice&);
template std::vector<std::shared_ptr<Module>> take_all_of(const OpenDevice&);
template std::vector<std::shared_ptr<Kernel>> take_all_of(const OpenDevice&);
template std::vector<std::shared_ptr<OpenMailbox>> take_all_of(const OpenDevice&);
template std::vector<std::shared_ptr<ConnectedPeer>> take_all_of(const OpenDevice&);
template std::vector<std::shared_ptr<GivenGrant>> take_all_of(const OpenDevice&);

}  // namespace ob::api
