// The library that `outboard run --overlap` preloads into all processes of a job.
//
// It knows no MPI. Each intercepted function is a jump through a slot. The first call finds out
// which MPI the process has, opens the layer for that MPI, and points the slots to the layer, or
// to MPI itself if the layer cannot be used. A process that calls no MPI, such as the launcher,
// loads nothing.

#include <dlfcn.h>
#include <link.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "overlap/programs/intercepted.hpp"
#include "overlap/programs/layer_entry.hpp"

#ifndef __x86_64__
#error "The jumps are written for x86-64."
#endif

// One row of the table of slots: name, slot, and the address of the jump.
#define OB_JUMP(name)                                                                          \
  asm(".text\n.globl " name "\n.type " name ",@function\n.p2align 4\n" name ":\nob_jump_" name \
      ":\n"                                                                                    \
      "  endbr64\n"                                                                            \
      "  jmp *ob_slot_" name                                                                   \
      "(%rip)\n"                                                                               \
      ".size " name ", .-" name                                                                \
      "\n"                                                                                     \
      "ob_first_" name                                                                         \
      ":\n"                                                                                    \
      "  leaq ob_slot_" name                                                                   \
      "(%rip), %r11\n"                                                                         \
      "  jmp ob_first_call\n"                                                                  \
      ".pushsection .data.rel.local,\"aw\"\n.p2align 3\n"                                      \
      "ob_slot_" name ": .quad ob_first_" name                                                 \
      "\n"                                                                                     \
      ".popsection\n.pushsection .rodata\n"                                                    \
      "ob_name_" name ": .asciz \"" name                                                       \
      "\"\n"                                                                                   \
      ".popsection\n.pushsection ob_slots,\"aw\"\n.p2align 3\n"                                \
      "  .quad ob_name_" name ", ob_slot_" name ", ob_jump_" name                              \
      "\n"                                                                                     \
      ".popsection\n");
#define OB_JUMPS(upper, lower, arguments) \
  OB_JUMP("MPI_" #upper)                  \
  OB_JUMP("mpi_" #lower "_")              \
  OB_JUMP("mpi_" #lower "_f08_")

OB_MPI_INTERCEPTED(OB_JUMPS)

// Keeps the registers with arguments while the slots are filled, and starts again through the slot.
asm(".text\n.p2align 4\n"
    "ob_first_call:\n"
    "  push %rdi\n  push %rsi\n  push %rdx\n  push %rcx\n  push %r8\n  push %r9\n  push %r11\n"
    "  call ob_fill_slots\n"
    "  pop %r11\n  pop %r9\n  pop %r8\n  pop %rcx\n  pop %rdx\n  pop %rsi\n  pop %rdi\n"
    "  jmp *(%r11)\n");

namespace {

struct Row {
  const char* name;
  void** slot;
  void* jump;
};

}  // namespace

extern "C" const Row __start_ob_slots[] __attribute__((visibility("hidden")));
extern "C" const Row __stop_ob_slots[] __attribute__((visibility("hidden")));

namespace ob::overlap {
namespace {

std::span<const Row> rows() { return {__start_ob_slots, __stop_ob_slots}; }

void say(const std::string& sentence) {
  const char* const quiet = std::getenv("OUTBOARD_QUIET");
  if (quiet != nullptr && std::strcmp(quiet, "1") == 0) return;
  std::fprintf(stderr, "outboard: overlap: %s\n", sentence.c_str());
}

/// Returns the loaded libraries that have functions of MPI.
std::vector<void*> objects_with_mpi() {
  std::vector<void*> found;
  const auto add = [](dl_phdr_info* info, std::size_t, void* all) {
    static_cast<std::vector<std::string>*>(all)->emplace_back(info->dlpi_name);
    return 0;
  };
  std::vector<std::string> names;
  ::dl_iterate_phdr(add, &names);
  Dl_info own{};
  ::dladdr(rows().front().jump, &own);
  for (const std::string& name : names) {
    if (name.empty() || name == own.dli_fname) continue;
    void* const object = ::dlopen(name.c_str(), RTLD_LAZY | RTLD_NOLOAD);
    if (object == nullptr) continue;
    if (::dlsym(object, "PMPI_Init") != nullptr || ::dlsym(object, "pmpi_init_") != nullptr)
      found.push_back(object);
    else
      ::dlclose(object);
  }
  return found;
}

/// Returns the function of the program's MPI, which need not be in the global scope: Python loads
/// modules, and the MPI with them, into scopes of their own.
void* original(const std::vector<void*>& objects, const Row& row) {
  if (void* const next = ::dlsym(RTLD_NEXT, row.name)) return next;
  for (void* const object : objects) {
    void* const function = ::dlsym(object, row.name);
    if (function != nullptr && function != row.jump) return function;
  }
  return nullptr;
}

/// Returns the MPI's own first line, such as "Open MPI v4.1.4, package: ...", or an empty text.
std::string version_of_mpi(const std::vector<void*>& objects) {
  constexpr std::size_t kLongest = 16384;  // of both MPIs, with room
  for (void* const object : objects) {
    const auto version =
        reinterpret_cast<int (*)(char*, int*)>(::dlsym(object, "PMPI_Get_library_version"));
    if (version == nullptr) continue;
    std::vector<char> text(kLongest, '\0');
    int length = 0;
    if (version(text.data(), &length) != 0) continue;
    const std::string all(text.data());
    return all.substr(0, all.find('\n'));
  }
  return "";
}

/// Returns the layer's name for the ABI of an MPI, or null if there is none.
const char* abi_of(const std::string& version) {
  if (version.starts_with("Open MPI v4.") || version.starts_with("Open MPI v5.")) return "openmpi";
  for (const char* const other : {"MPICH Version:", "Intel(R) MPI", "MVAPICH"})
    if (version.starts_with(other)) return "mpich";
  return nullptr;
}

/// Moves the MPI to the global scope, where the layer finds it.
void make_global(const std::vector<void*>& objects) {
  for (void* const object : objects) {
    Dl_info info{};
    void* const init = ::dlsym(object, "PMPI_Init");
    if (init != nullptr && ::dladdr(init, &info) != 0)
      ::dlopen(info.dli_fname, RTLD_NOW | RTLD_NOLOAD | RTLD_GLOBAL);
  }
}

/// Returns true if a function is not of the library that has it under its name for profilers, too:
/// then it is that of a profiler behind this library.
bool is_of_a_profiler(const std::vector<void*>& objects, const Row& row) {
  const std::string name = (row.name[0] == 'M' ? "P" : "p") + std::string(row.name);
  void* const function = original(objects, row);
  Dl_info here{}, there{};
  if (function == nullptr || ::dladdr(function, &here) == 0) return false;
  for (void* const object : objects) {
    void* const profiling = ::dlsym(object, name.c_str());
    if (profiling != nullptr && ::dladdr(profiling, &there) != 0)
      return here.dli_fbase != there.dli_fbase;
  }
  return false;
}

/// Returns the name of a function that another library intercepts, or null. In front of the layer,
/// such a library would hide ends of requests from it; behind it, it would see nothing, because the
/// layer calls the MPI's functions for profilers.
const char* taken_by_another(const std::vector<void*>& objects) {
  for (const Row& row : rows()) {
    void* const first = ::dlsym(RTLD_DEFAULT, row.name);
    if (first != nullptr && first != row.jump) return row.name;
    if (is_of_a_profiler(objects, row)) return row.name;
  }
  return nullptr;
}

LayerEntry open_layer(const std::vector<void*>& objects) {
  const std::string version = version_of_mpi(objects);
  const char* const abi = abi_of(version);
  if (abi == nullptr) {
    say("the MPI of the program is not known (it calls itself '" + version +
        "'; Open MPI 4 and 5 and the MPICH family are); the program runs without the layer");
    return nullptr;
  }
  if (const char* const name = taken_by_another(objects)) {
    say(std::string("another library intercepts ") + name +
        " (a profiler?); the program runs without the layer");
    return nullptr;
  }
  make_global(objects);
  Dl_info own{};
  ::dladdr(rows().front().jump, &own);
  const std::string path(own.dli_fname);
  const std::string file =
      path.substr(0, path.rfind('/') + 1) + "liboutboard-mpi-layer-" + abi + ".so";
  void* const layer = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (layer == nullptr) {
    const char* const why = ::dlerror();
    say(std::string("the layer for this MPI cannot be opened (") + (why == nullptr ? "" : why) +
        "); build Outboard where this MPI is installed. The program runs without the layer");
    return nullptr;
  }
  return reinterpret_cast<LayerEntry>(::dlsym(layer, kLayerEntry));
}

void missing() {
  std::fputs("outboard: overlap: the program calls a function that its MPI lacks\n", stderr);
  std::abort();
}

void fill() {
  const std::vector<void*> objects = objects_with_mpi();
  const LayerEntry entry = open_layer(objects);
  for (const Row& row : rows()) {
    void* const plain = original(objects, row);
    void* replaced = entry == nullptr || plain == nullptr ? nullptr : entry(row.name, plain);
    if (replaced == nullptr) replaced = plain;
    if (replaced == nullptr) replaced = reinterpret_cast<void*>(&missing);
    __atomic_store_n(row.slot, replaced, __ATOMIC_RELEASE);
  }
}

}  // namespace
}  // namespace ob::overlap

/// Points every slot to its function. Threads: any.
extern "C" __attribute__((visibility("hidden"), used)) void ob_fill_slots() noexcept {
  static std::once_flag once;
  try {
    std::call_once(once, ob::overlap::fill);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "outboard: overlap: no memory to start (%s)\n", error.what());
    std::abort();
  }
}
