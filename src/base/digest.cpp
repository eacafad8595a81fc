#include "base/digest.hpp"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <cstddef>

#ifdef __x86_64__
extern "C" void ob_xxh3_update_avx2(void* state, const void* data, std::size_t size_bytes);
extern "C" void ob_xxh3_update_avx512(void* state, const void* data, std::size_t size_bytes);
#endif

namespace ob {
namespace {

// Shorter pieces are gathered first: to copy a few bytes costs less than a call.
constexpr std::size_t kShortPiece = 1024;

using Update = void (*)(void* state, const void* data, std::size_t size_bytes);

void update_anywhere(void* state, const void* data, std::size_t size_bytes) {
  XXH3_128bits_update(static_cast<XXH3_state_t*>(state), data, size_bytes);
}

// All variants work on the same state; they differ in speed only.
Update fastest() noexcept {
#ifdef __x86_64__
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512f")) return ob_xxh3_update_avx512;
  if (__builtin_cpu_supports("avx2")) return ob_xxh3_update_avx2;
#endif
  return update_anywhere;
}

}  // namespace

struct Digester::State {
  XXH3_state_t state;
};

Digester::Digester() : state_(std::make_unique<State>()) { XXH3_128bits_reset(&state_->state); }
Digester::~Digester() = default;

void Digester::update(std::span<const std::byte> bytes) noexcept {
  static const Update update_fastest = fastest();
  update_fastest(&state_->state, bytes.data(), bytes.size());
}

Digest Digester::digest() const noexcept {
  const XXH128_hash_t hash = XXH3_128bits_digest(&state_->state);
  return {hash.low64, hash.high64};
}

Digest digest_of(const void* base, std::span<const Region> parts) noexcept {
  static const Update update = fastest();
  XXH3_state_t state;
  XXH3_128bits_reset(&state);
  std::byte gathered[4 * kShortPiece];
  for (const Region& part : parts) {
    // A Layout has a writable base; this function only reads.
    const Layout elements = Layout::matrix(const_cast<void*>(base), part);
    Layout::Cursor at(elements);
    while (!at.done()) {
      const std::span<std::byte> piece = at.piece();
      if (piece.size() < kShortPiece) {
        update(&state, gathered, gather(at, gathered));
      } else {
        update(&state, piece.data(), piece.size());
        at.advance(piece.size());
      }
    }
  }
  const XXH128_hash_t hash = XXH3_128bits_digest(&state);
  return {hash.low64, hash.high64};
}

}  // namespace ob
