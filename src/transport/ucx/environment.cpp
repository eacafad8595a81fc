#include "transport/ucx/environment.hpp"

#include <stdlib.h>
#include <unistd.h>

#include <string>

namespace ob::transport::ucx {
namespace {

std::vector<char*>* merged(char** before, std::span<const char* const> forced,
                           std::span<const char* const> defaults) {
  // getenv() finds the first variable of a name.
  auto* all = new std::vector<char*>;
  for (const char* const variable : forced) all->push_back(const_cast<char*>(variable));
  for (char** at = before; at != nullptr && *at != nullptr; ++at) all->push_back(*at);
  for (const char* const variable : defaults) all->push_back(const_cast<char*>(variable));
  all->push_back(nullptr);
  return all;
}

}  // namespace

BorrowedEnvironment::BorrowedEnvironment(std::span<const char* const> forced,
                                         std::span<const char* const> defaults)
    : before_(::environ),
      ours_(merged(before_, forced, defaults)),
      forced_(forced),
      defaults_(defaults) {
  ::environ = ours_->data();
}

BorrowedEnvironment::~BorrowedEnvironment() {
  if (::environ == ours_->data()) {
    ::environ = before_;
  } else {
    take_out_ours();  // a setenv() of the program has copied ours
  }
}

void BorrowedEnvironment::take_out_ours() noexcept {
  const auto ours = [&](const char* variable) {
    for (const auto list : {forced_, defaults_}) {
      for (const char* const mine : list) {
        if (mine == variable) return true;  // compares addresses, not contents
      }
    }
    return false;
  };
  char** to = ::environ;
  for (char** at = ::environ; *at != nullptr; ++at) {
    if (!ours(*at)) *to++ = *at;
  }
  *to = nullptr;
}

}  // namespace ob::transport::ucx
