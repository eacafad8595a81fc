#include "wire/fields.hpp"

namespace ob::wire {

void Fields::refuse(std::string_view field, const std::string& why) {
  if (ok()) problem_ = std::string(field) + " " + why;
}

void Fields::refuse_unreadable(std::string_view field) {
  refuse(field, "cannot be read (the body of " + std::to_string(body_bytes_) +
                    " bytes ends too early, a length exceeds its limit, or padding is not zero)");
}

Status Fields::finish() {
  if (ok() && !reader_.finished()) {
    problem_ = "bytes follow the last field (the body has " + std::to_string(body_bytes_) + ")";
  }
  if (ok()) return {};
  return Status(Code::protocol_error, std::string(message_) + ": " + problem_);
}

}  // namespace ob::wire
