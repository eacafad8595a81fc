#pragma once
// A process that changes shared memory while a test uses it, as a client may do with a mapped
// buffer. A thread would be a race in the eyes of sanitizers.

#include <cstddef>
#include <cstdint>

#include "support/forked_child.hpp"

namespace ob::test {

/// Sets `count` words to `one` and to `other` in turns until it is destroyed.
/// Memory: shared between processes (MAP_SHARED)
class HostileWriter {
 public:
  HostileWriter(void* words, std::size_t count, std::int64_t one, std::int64_t other)
      : writer_([=] {
          auto* const out = static_cast<volatile std::int64_t*>(words);
          for (;;) {
            for (std::size_t i = 0; i < count; ++i) out[i] = one;
            for (std::size_t i = 0; i < count; ++i) out[i] = other;
          }
        }) {}

 private:
  const ForkedChild writer_;
};

}  // namespace ob::test
