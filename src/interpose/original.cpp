#include "interpose/original.hpp"

#include <dlfcn.h>
#include <link.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <new>

namespace ob::interpose {
namespace {

// Code that belongs to no object (that of a JIT) is distinguished by page.
constexpr std::uintptr_t kPageBytes = 4096;

void* base_of(const void* address) noexcept {
  Dl_info info{};
  return dladdr(address, &info) != 0 ? info.dli_fbase : nullptr;
}

bool is_ours(const void* function) noexcept {
  static std::atomic<void*> own{nullptr};
  void* base = own.load(std::memory_order_relaxed);
  if (base == nullptr) {
    base = base_of(reinterpret_cast<const void*>(&find_original));
    own.store(base, std::memory_order_relaxed);
  }
  return base_of(function) == base;
}

void* foreign(void* function) noexcept {
  return function != nullptr && !is_ours(function) ? function : nullptr;
}

// Looks in a loaded object and its dependencies.
void* find_in(const char* object, const char* name) noexcept {
  if (object == nullptr || *object == '\0') return nullptr;
  void* handle = dlopen(object, RTLD_LAZY | RTLD_NOLOAD);
  if (handle == nullptr) return nullptr;
  void* function = foreign(dlsym(handle, name));
  // The library stays loaded even if the program closes it, because caches that are read without
  // locks hold its functions.
  Dl_info info{};
  if (function != nullptr && dladdr(function, &info) != 0) pin_object(info.dli_fname);
  dlclose(handle);
  return function;
}

struct Wanted {
  int index;
  char name[4096];  // PATH_MAX
};

int take_name(dl_phdr_info* info, std::size_t, void* data) {
  auto* wanted = static_cast<Wanted*>(data);
  if (wanted->index-- > 0) return 0;
  std::strncpy(wanted->name, info->dlpi_name != nullptr ? info->dlpi_name : "",
               sizeof wanted->name - 1);
  return 1;
}

// Searches all objects in load order, as the last resort for callers outside any object and for
// callers reached through function pointers. Opening an object inside dl_iterate_phdr could
// deadlock, so each round only fetches the next name.
void* scan(const char* name) noexcept {
  for (int i = 0;; ++i) {
    Wanted wanted{i, {}};
    if (dl_iterate_phdr(take_name, &wanted) == 0) return nullptr;
    if (void* function = find_in(wanted.name, name)) return function;
  }
}

[[noreturn]] void die_without(const char* name) noexcept {
  const char* parts[] = {"outboard: symbol lookup error: no loaded library has '", name,
                         "' (the program's own BLAS, LAPACK or FFTW is missing) link or load it\n"};
  for (const char* part : parts) {
    if (write(STDERR_FILENO, part, std::strlen(part)) < 0) break;
  }
  std::abort();
}

struct Range {
  std::uintptr_t begin;
  std::uintptr_t bytes;
};

struct RangeSearch {
  std::uintptr_t address;
  Range found;
};

int match_segment(dl_phdr_info* info, std::size_t, void* data) {
  auto* search = static_cast<RangeSearch*>(data);
  std::uintptr_t low = UINTPTR_MAX;
  std::uintptr_t high = 0;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const auto& segment = info->dlpi_phdr[i];
    if (segment.p_type != PT_LOAD) continue;
    const std::uintptr_t begin = info->dlpi_addr + segment.p_vaddr;
    low = begin < low ? begin : low;
    high = begin + segment.p_memsz > high ? begin + segment.p_memsz : high;
  }
  if (search->address < low || search->address >= high) return 0;
  search->found = {low, high - low};
  return 1;
}

Range range_of(const void* caller) noexcept {
  RangeSearch search{reinterpret_cast<std::uintptr_t>(caller), {0, 0}};
  if (dl_iterate_phdr(match_segment, &search) != 0) return search.found;
  return {search.address & ~(kPageBytes - 1), kPageBytes};
}

Scope* find_scope(Scope* from, const void* caller) noexcept {
  const auto address = reinterpret_cast<std::uintptr_t>(caller);
  for (Scope* scope = from; scope != nullptr; scope = scope->next) {
    if (address - scope->begin < scope->bytes) return scope;
  }
  return nullptr;
}

// Stores the answer. Without memory, the answer is not stored.
void remember(Symbol& symbol, const void* caller, void* function) noexcept {
  void* memory = std::malloc(sizeof(Scope));
  if (memory == nullptr) return;
  const Range range = range_of(caller);
  auto* scope = new (memory) Scope;
  scope->begin = range.begin;
  scope->bytes = range.bytes;
  scope->function = function;
  scope->next = symbol.scopes.load(std::memory_order_acquire);
  while (!symbol.scopes.compare_exchange_weak(scope->next, scope, std::memory_order_acq_rel)) {
  }
}

void* look_up(Symbol& symbol, const void* caller) noexcept {
  void* function = foreign(dlsym(RTLD_NEXT, symbol.name));
  if (function != nullptr) {
    Dl_info info{};
    if (dladdr(function, &info) != 0) pin_object(info.dli_fname);
    // Once a caller has a library of its own, a later library in the global scope must not replace
    // it.
    if (symbol.scopes.load(std::memory_order_acquire) == nullptr) {
      symbol.function.store(function, std::memory_order_release);
      return function;
    }
  }
  Dl_info info{};
  if (function == nullptr && dladdr(caller, &info) != 0)
    function = find_in(info.dli_fname, symbol.name);
  if (function == nullptr) function = scan(symbol.name);
  if (function == nullptr) die_without(symbol.name);
  remember(symbol, caller, function);
  return function;
}

// Finds the place of the stored answers about `function`. It is in the symbol or in a scope whose
// function it is; null if there is none.
template <class Answer>
std::atomic<Answer>* answer_of(Symbol& symbol, const void* function,
                               std::atomic<Answer> Symbol::*everywhere,
                               std::atomic<Answer> Scope::*somewhere) noexcept {
  if (symbol.function.load(std::memory_order_relaxed) == function) return &(symbol.*everywhere);
  Scope* scope = symbol.scopes.load(std::memory_order_acquire);
  while (scope != nullptr && scope->function != function) scope = scope->next;
  return scope != nullptr ? &(scope->*somewhere) : nullptr;
}

// Returns the stored answer, or the answer of `ask`, which must not be the initial zero.
template <class Answer, class Ask>
Answer ask_once(std::atomic<Answer>* kept, Ask ask) noexcept {
  Answer answer = kept != nullptr ? kept->load(std::memory_order_relaxed) : Answer{};
  if (answer != Answer{}) return answer;
  const int saved_errno = errno;
  answer = ask();
  dlerror();  // clears the error of this library, which is not the program's
  errno = saved_errno;
  if (kept != nullptr) kept->store(answer, std::memory_order_relaxed);
  return answer;
}

}  // namespace

void* find_original(Symbol& symbol, const void* caller) noexcept {
  if (Scope* scope = find_scope(symbol.scopes.load(std::memory_order_acquire), caller))
    return scope->function;
  const int saved_errno = errno;
  void* function = look_up(symbol, caller);
  dlerror();  // clears the error of this library, which is not the program's
  errno = saved_errno;
  return function;
}

Integers integers_of(Symbol& symbol, const void* function) noexcept {
  auto* kept = answer_of(symbol, function, &Symbol::integers, &Scope::integers);
  return ask_once(kept, [&] { return probe_integers(function); });
}

bool is_alias(Symbol& symbol, const void* function, const char* fortran_name) noexcept {
  auto* kept = answer_of(symbol, function, &Symbol::alias, &Scope::alias);
  return ask_once(kept, [&] {
           return symbol_beside(function, fortran_name) != nullptr ? Alias::yes : Alias::no;
         }) == Alias::yes;
}

}  // namespace ob::interpose
