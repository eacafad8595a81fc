#include "overlap/programs/call_sites.hpp"

#include <dlfcn.h>
#include <link.h>

#include <cstdio>

namespace ob::overlap {

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
  for (const auto& [place, site] : sites_) {
    Dl_info info{};
    const link_map* object = nullptr;
    // The place is a return address; the call itself lies before it.
    const bool known = ::dladdr1(reinterpret_cast<void*>(place - 1), &info,
                                 const_cast<void**>(reinterpret_cast<const void**>(&object)),
                                 RTLD_DL_LINKMAP) != 0;
    // Debug information has the addresses of the file. Those of a program that is linked to one
    // place are the addresses in memory.
    const std::uintptr_t base = known ? object->l_addr : 0;
    const std::string symbol = known && info.dli_sname != nullptr ? info.dli_sname : "";
    all += all.empty() ? "\n" : ",\n";
    all += "  {\"call\": " + json_text(site.function) +
           ", \"object\": " + json_text(known ? info.dli_fname : "") +
           ", \"offset\": " + std::to_string(place - 1 - base) +
           ", \"symbol\": " + json_text(symbol) + ", \"calls\": " + std::to_string(site.calls) +
           ", \"operations\": " + std::to_string(site.operations) +
           ", \"bytes\": " + std::to_string(site.bytes) +
           ", \"hidden_ns\": " + std::to_string(site.hidden_ns) +
           ", \"exposed_ns\": " + std::to_string(site.exposed_ns) + "}";
  }
  return all;
}

std::string json_text(const std::string& text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (static_cast<unsigned char>(c) < 0x20) {
      char escape[8];
      std::snprintf(escape, sizeof escape, "\\u%04x", static_cast<unsigned>(c));
      quoted += escape;
      continue;
    }
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + "\"";
}

}  // namespace ob::overlap
