#include "overlap/programs/call_sites.hpp"

#include <dlfcn.h>
#include <link.h>

#include "base/json_text.hpp"

namespace ob::overlap {

Place describe(std::uintptr_t place) {
  Dl_info info{};
  const link_map* object = nullptr;
  // The place is a return address; the call itself lies before it.
  const std::uintptr_t call = place - 1;
  const bool known =
      ::dladdr1(reinterpret_cast<void*>(call), &info,
                const_cast<void**>(reinterpret_cast<const void**>(&object)), RTLD_DL_LINKMAP) != 0;
  if (!known) return {"", call, ""};
  // Debug information has the addresses of the file. Those of a program that is linked to one
  // place are the addresses in memory.
  return {info.dli_fname, call - object->l_addr, info.dli_sname == nullptr ? "" : info.dli_sname};
}

void CallSites::add(std::uintptr_t place, const CallSite& call) noexcept {
  const std::lock_guard guard(lock_);
  try {
    CallSite& site = sites_[place];
    site.function = call.function;
    site.calls += call.calls;
    site.operations += call.operations;
    site.bytes += call.bytes;
    site.hidden_ns += call.hidden_ns;
    site.exposed_ns += call.exposed_ns;
  } catch (...) {
    // The report then lacks a line, and the program goes on.
  }
}

std::string CallSites::json() {
  const std::lock_guard guard(lock_);
  std::string all;
  for (const auto& [address, site] : sites_) {
    const Place place = describe(address);
    all += all.empty() ? "\n" : ",\n";
    all += "  {\"call\": " + json_text(site.function) + ", \"object\": " + json_text(place.object) +
           ", \"offset\": " + std::to_string(place.offset) +
           ", \"symbol\": " + json_text(place.symbol) +
           ", \"calls\": " + std::to_string(site.calls) +
           ", \"operations\": " + std::to_string(site.operations) +
           ", \"bytes\": " + std::to_string(site.bytes) +
           ", \"hidden_ns\": " + std::to_string(site.hidden_ns) +
           ", \"exposed_ns\": " + std::to_string(site.exposed_ns) + "}";
  }
  return all;
}

}  // namespace ob::overlap
