#include "interpose/fftw_provider.hpp"

#include <dlfcn.h>

#include <cerrno>
#include <cstdio>
#include <new>

namespace ob::interpose {
namespace {

struct Node {
  const void* object = nullptr;  // load address
  Precision precision = Precision::z;
  FftwProvider provider;
  Node* next = nullptr;
};

constinit std::atomic<Node*> g_nodes{nullptr};

const void* object_of(const void* address) noexcept {
  Dl_info info{};
  return dladdr(address, &info) != 0 ? info.dli_fbase : nullptr;
}

Node* find_node(Node* from, const void* object, Precision precision) noexcept {
  for (Node* node = from; node != nullptr; node = node->next) {
    if (node->object == object && node->precision == precision) return node;
  }
  return nullptr;
}

template <class Function>
void resolve(Function& function, void* handle, const char* prefix, const char* name) noexcept {
  char symbol[64];
  std::snprintf(symbol, sizeof symbol, "%s%s", prefix, name);
  function = reinterpret_cast<Function>(dlsym(handle, symbol));
}

bool look_up(FftwProvider& provider, const FftwLibrary& library,
             const void* native_function) noexcept {
  Dl_info info{};
  if (dladdr(native_function, &info) == 0 || info.dli_fname == nullptr) return false;
  // The handle is never closed, because the pointers below and the plans are valid only while the
  // copy is loaded.
  void* handle = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
  if (handle == nullptr) return false;
  const auto kind = [](FftKind k) { return static_cast<std::size_t>(k); };
  resolve(provider.execute, handle, library.prefix, "execute");
  resolve(provider.execute_new[kind(FftKind::c2c)], handle, library.prefix, "execute_dft");
  resolve(provider.execute_new[kind(FftKind::r2c)], handle, library.prefix, "execute_dft_r2c");
  resolve(provider.execute_new[kind(FftKind::c2r)], handle, library.prefix, "execute_dft_c2r");
  resolve(provider.execute_new[kind(FftKind::r2r)], handle, library.prefix, "execute_r2r");
  resolve(provider.execute_split, handle, library.prefix, "execute_split_dft");
  resolve(provider.execute_split_r2c, handle, library.prefix, "execute_split_dft_r2c");
  resolve(provider.execute_split_c2r, handle, library.prefix, "execute_split_dft_c2r");
  resolve(provider.destroy, handle, library.prefix, "destroy_plan");
  const void* found = reinterpret_cast<const void*>(provider.execute);
  return provider.execute != nullptr && provider.execute_new[0] != nullptr &&
         provider.destroy != nullptr && object_of(found) == info.dli_fbase;
}

bool fill(FftwProvider& provider, const FftwLibrary& library,
          const void* native_function) noexcept {
  const int saved_errno = errno;
  const bool found = look_up(provider, library, native_function);
  dlerror();  // clears the error of this library, which is not the program's
  errno = saved_errno;
  return found;
}

}  // namespace

const FftwProvider* fftw_provider(const FftwLibrary& library,
                                  const void* native_function) noexcept {
  const void* object = object_of(native_function);
  if (object == nullptr) return nullptr;
  Node* head = g_nodes.load(std::memory_order_acquire);
  if (Node* node = find_node(head, object, library.precision)) return &node->provider;
  FftwProvider provider;
  if (!fill(provider, library, native_function)) return nullptr;
  auto* added = new (std::nothrow) Node{object, library.precision, provider, head};
  if (added == nullptr) return nullptr;
  while (!g_nodes.compare_exchange_weak(added->next, added, std::memory_order_acq_rel)) {
    // Another thread was first, perhaps with the same copy. There must be one provider per copy,
    // because cleanup would miss plans otherwise.
    if (Node* node = find_node(added->next, object, library.precision)) {
      delete added;
      return &node->provider;
    }
  }
  return &added->provider;
}

bool is_same_object(const void* caller, const void* native_function) noexcept {
  const void* object = object_of(caller);
  return object != nullptr && object == object_of(native_function);
}

}  // namespace ob::interpose
