#include "transport/detail/system_error.hpp"

#include <cstring>

namespace ob::transport::detail {
namespace {

// strerror_r has two signatures; the C library and its feature macros select one.
[[maybe_unused]] const char* chosen(const char* text, const char*) { return text; }
[[maybe_unused]] const char* chosen(int, const char* buffer) { return buffer; }

}  // namespace

std::string system_text(int error) {
  char buffer[128] = "unknown error";
  return chosen(::strerror_r(error, buffer, sizeof buffer), buffer);
}

Status system_error(Code code, const std::string& problem, int error) {
  return {code, problem + " (" + system_text(error) + ")"};
}

}  // namespace ob::transport::detail
