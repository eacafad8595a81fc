#include "overlap/programs/one_sided.hpp"

#include <link.h>
#include <mpi.h>

#include <cstdint>
#include <cstring>
#include <string_view>

namespace ob::overlap {
namespace {

/// The tables of one loaded object that name the functions that it calls.
struct Dynamic {
  const ElfW(Sym) * symbols = nullptr;
  const char* strings = nullptr;
  const ElfW(Rela) * relocations[2] = {};  // of data and of calls
  std::size_t bytes[2] = {};
};

Dynamic read_dynamic(const dl_phdr_info& info) {
  Dynamic found;
  const ElfW(Dyn)* entry = nullptr;
  for (int i = 0; i < info.dlpi_phnum; ++i)
    if (info.dlpi_phdr[i].p_type == PT_DYNAMIC)
      entry = reinterpret_cast<const ElfW(Dyn)*>(info.dlpi_addr + info.dlpi_phdr[i].p_vaddr);
  for (; entry != nullptr && entry->d_tag != DT_NULL; ++entry) {
    // glibc relocates the pointers in place, except those of the vDSO.
    ElfW(Addr) address = entry->d_un.d_ptr;
    if (address < info.dlpi_addr) address += info.dlpi_addr;
    switch (entry->d_tag) {
      case DT_SYMTAB: found.symbols = reinterpret_cast<const ElfW(Sym)*>(address); break;
      case DT_STRTAB: found.strings = reinterpret_cast<const char*>(address); break;
      case DT_RELA: found.relocations[0] = reinterpret_cast<const ElfW(Rela)*>(address); break;
      case DT_RELASZ: found.bytes[0] = entry->d_un.d_val; break;
      case DT_JMPREL: found.relocations[1] = reinterpret_cast<const ElfW(Rela)*>(address); break;
      case DT_PLTRELSZ: found.bytes[1] = entry->d_un.d_val; break;
      default: break;
    }
  }
  return found;
}

bool makes_windows(std::string_view name) {
  constexpr std::string_view kStem = "MPI_Win_";
  if (!name.starts_with(kStem) && !name.starts_with("mpi_win_")) return false;
  const std::string_view function = name.substr(kStem.size());
  // MPI_Win_allocate_shared works at every level, and is no reason.
  for (const std::string_view maker : {"create", "create_dynamic", "allocate"}) {
    if (!function.starts_with(maker)) continue;
    const std::string_view end = function.substr(maker.size());
    if (end.empty() || end == "_" || end == "_f08_" || end == "_cptr_") return true;
  }
  return false;
}

bool refers_to_windows(const Dynamic& object) {
  if (object.symbols == nullptr || object.strings == nullptr) return false;
  for (int table = 0; table < 2; ++table) {
    const std::size_t count = object.bytes[table] / sizeof(ElfW(Rela));
    for (std::size_t i = 0; object.relocations[table] != nullptr && i < count; ++i) {
      const auto index = ELF64_R_SYM(object.relocations[table][i].r_info);
      if (index != 0 && makes_windows(object.strings + object.symbols[index].st_name)) return true;
    }
  }
  return false;
}

bool is_of_mpi(const char* path) {
  const char* const slash = std::strrchr(path, '/');
  const std::string_view file = slash == nullptr ? path : slash + 1;
  return file.starts_with("libmpi") || file.starts_with("libompi") ||
         file.starts_with("libopen-") || file.starts_with("mca_") || file.starts_with("linux-vdso");
}

int look(dl_phdr_info* info, std::size_t, void*) {
  if (info->dlpi_name != nullptr && is_of_mpi(info->dlpi_name)) return 0;
  return refers_to_windows(read_dynamic(*info)) ? 1 : 0;
}

// The MPI of the process may be another one than that of the build.
bool is_open_mpi_4() noexcept {
  char text[MPI_MAX_LIBRARY_VERSION_STRING] = "";
  int length = 0;
  PMPI_Get_library_version(text, &length);
  return std::string_view(text).starts_with("Open MPI v4.");
}

}  // namespace

bool one_sided_needs_level(int required) noexcept {
  return required < MPI_THREAD_MULTIPLE && is_open_mpi_4() && ::dl_iterate_phdr(look, nullptr) != 0;
}

}  // namespace ob::overlap
