#include "support/call_damages.hpp"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <vector>

namespace ob::test {
namespace {

constexpr std::int64_t kDims[] = {0,
                                  1,
                                  -1,
                                  2,
                                  INT32_MAX,
                                  std::int64_t{INT32_MAX} + 1,
                                  (std::int64_t{1} << 32) + 1,
                                  (std::int64_t{1} << 32) - 1,
                                  std::int64_t{1} << 62,
                                  INT64_MAX,
                                  INT64_MIN,
                                  INT32_MIN,
                                  3037000498,
                                  3037000499,
                                  46341,
                                  65536,
                                  1 << 30};
constexpr std::uint64_t kWords64[] = {0x7FF8000000000000,  // NaN
                                      0x7FF0000000000001,  // signalling NaN
                                      0xFFF8DEADFFF8DEAD,
                                      0x7FF0000000000000,  // infinity
                                      0xFFF0000000000000,
                                      0x0000000000000001,  // denormal
                                      0x000FFFFFFFFFFFFF,
                                      0x8000000000000000,  // -0
                                      0x7FEFFFFFFFFFFFFF,  // the largest number
                                      0xFFEFFFFFFFFFFFFF,
                                      0x0010000000000000,  // the least normal number
                                      0x7E37E43C8800759C,  // 1e300
                                      0x01A56E1FC2F8F359,  // 1e-300
                                      0};
constexpr std::uint32_t kWords32[] = {0x7FC00000, 0x7F800001, 0xFFF8DEAD, 0x7F800000, 0xFF800000,
                                      0x00000001, 0x007FFFFF, 0x80000000, 0x7F7FFFFF, 0xFF7FFFFF,
                                      0x00800000, 0x7E967699, 0x006CE3EE, 0};
constexpr char kFlags[] = {'N', 'T', 'C', 'U', 'L', 'R', 'V', 'A', 'S', 'O', 'E',
                           'B', 'F', 'I', 'P', 'n', 'x', ' ', 0,   1,   127};

/// Damages one call, which was legal before.
class Damager {
 public:
  Damager(HostileCall& call, const HostileBuffers& buffers, Choices& choices)
      : call_(call), buffers_(buffers), choices_(choices), routine_(*call.routine) {
    operands_ = routine_.operands(call.arguments);
    for (const Operand& operand : operands_.span()) {
      if (operand.rows * operand.cols > 0) present_.push_back(&operand);
    }
  }

  void damage() {
    struct Damage {
      const char* name;
      bool (Damager::*apply)();
    };
    static constexpr Damage kDamages[] = {
        {"equal operands", &Damager::equal_operands},
        {"operands that overlap", &Damager::shifted_operands},
        {"interleaved operands", &Damager::interleaved_operands},
        {"indices", &Damager::indices},
        {"indices", &Damager::indices},
        {"broken blocks", &Damager::blocks},
        {"numbers", &Damager::numbers},
        {"numbers", &Damager::numbers},
        {"all numbers", &Damager::all_numbers},
        {"a dimension", &Damager::dimension},
        {"a leading dimension", &Damager::leading_dimension},
        {"an increment", &Damager::increment},
        {"an offset", &Damager::offset},
        {"an operand at the end", &Damager::operand_at_the_end},
        {"a buffer", &Damager::buffer},
        {"a buffer freed in use", &Damager::doomed_buffer},
        {"a flag", &Damager::flag},
        {"a scalar", &Damager::scalar},
        {"a writing thread", &Damager::scribbled},
    };
    const Damage& damage = choices_.of(kDamages);
    if ((this->*damage.apply)()) call_.text += std::string(", ") + damage.name;
  }

 private:
  using Filter = bool (*)(Kind);

  // Returns an argument of such a kind; -1 if there is none.
  int argument(Filter filter) {
    std::vector<int> found;
    for (std::size_t i = 0; i < routine_.kinds.size(); ++i) {
      if (filter(routine_.kinds[i])) found.push_back(static_cast<int>(i));
    }
    return found.empty() ? -1 : found[choices_.below(found.size())];
  }
  DeviceOperand& device(const Operand& operand) { return call_.arguments[operand.argument].device; }
  std::uint64_t pitch_bytes(const Operand& operand) {
    const auto ld = device(operand).ld;
    return static_cast<std::uint64_t>(std::max<std::int64_t>(1, ld)) * operand.element_bytes;
  }
  const Operand* operand(bool (*filter)(const Descriptor&, const Operand&)) {
    std::vector<const Operand*> found;
    for (const Operand* each : present_) {
      if (filter(routine_, *each)) found.push_back(each);
    }
    return found.empty() ? nullptr : found[choices_.below(found.size())];
  }
  Contents* contents_of(const Operand& operand) {
    for (Contents& each : call_.contents) {
      if (each.buffer == buffers_.operands[operand.argument]) return &each;
    }
    return nullptr;
  }
  // Puts one operand where another one is.
  bool place_at(std::uint64_t shift_bytes) {
    if (present_.size() < 2) return false;
    const std::size_t one = choices_.below(present_.size());
    const std::size_t other = (one + 1 + choices_.below(present_.size() - 1)) % present_.size();
    const DeviceOperand& there = device(*present_[other]);
    DeviceOperand& moved = device(*present_[one]);
    moved.buffer = there.buffer;
    moved.offset_bytes = there.offset_bytes + shift_bytes;
    return true;
  }

  bool equal_operands() { return place_at(0); }
  bool shifted_operands() {
    constexpr std::uint64_t kShifts[] = {8, 16, 64, 4, 1, 24, 128, 0 - std::uint64_t{8}, 1024};
    return place_at(choices_.of(kShifts));
  }
  // Columns of one operand between those of another, and gaps that differ.
  bool interleaved_operands() {
    if (present_.size() < 2) return false;
    const Operand& one = *present_[choices_.below(present_.size())];
    if (!has_ld(routine_.kinds[one.argument])) return place_at(8 * choices_.below(64));
    // Another damage may have made it huge.
    const std::int64_t old = std::clamp<std::int64_t>(device(one).ld, 1, 1 << 20);
    const auto factor = static_cast<std::int64_t>(1 + choices_.below(4));
    device(one).ld = old * factor + static_cast<std::int64_t>(choices_.below(3));
    return place_at(one.rows * one.element_bytes * choices_.below(3));
  }

  bool indices() {
    const Operand* vector = operand([](const Descriptor& routine, const Operand& each) {
      return routine.kinds[each.argument] == Kind::index_vector;
    });
    Contents* contents = vector == nullptr ? nullptr : contents_of(*vector);
    if (contents == nullptr) return false;
    const auto n = static_cast<std::int64_t>(vector->rows);
    const std::int64_t values[] = {
        0,         -1,        n + 1,           -n - 1,  n,         -n, INT64_MIN, INT64_MAX,
        1LL << 31, 1LL << 32, (1LL << 32) + 1, 1000000, INT32_MIN, 1,  -2,        INT32_MAX};
    const bool all = choices_.chance(64);
    const std::size_t at = choices_.below(std::max<std::size_t>(1, vector->rows));
    for (std::size_t i = 0; i < vector->rows; ++i) {
      if (all || i == at) put_index(*contents, i, choices_.of(values));
    }
    return true;
  }
  // Pivots of which negative ones are pairs, except at the place that the bytes choose.
  bool blocks() {
    const Operand* vector = operand([](const Descriptor& routine, const Operand& each) {
      return routine.kinds[each.argument] == Kind::index_vector && each.read;
    });
    Contents* contents = vector == nullptr ? nullptr : contents_of(*vector);
    if (contents == nullptr) return false;
    const auto n = static_cast<std::int64_t>(vector->rows);
    const bool off_by_one = choices_.chance(128);
    for (std::size_t i = off_by_one ? 1 : 0; i < vector->rows; ++i) {
      const std::size_t pair = (i + (off_by_one ? 1 : 0)) / 2;
      put_index(*contents, i, -1 - static_cast<std::int64_t>(pair) % n);
    }
    return true;
  }
  static void put_index(Contents& contents, std::size_t at, std::int64_t value) {
    if ((at + 1) * sizeof value <= contents.bytes.size())
      std::memcpy(contents.bytes.data() + at * sizeof value, &value, sizeof value);
  }

  Contents* some_numbers() {
    const Operand* numbers = operand([](const Descriptor& routine, const Operand& each) {
      const Kind kind = routine.kinds[each.argument];
      return kind == Kind::matrix || kind == Kind::vector || kind == Kind::strided;
    });
    return numbers == nullptr ? nullptr : contents_of(*numbers);
  }
  void put_number(Contents& contents, std::size_t at) {
    const std::size_t size = real_bytes(routine_.precision);
    const std::uint64_t wide = choices_.of(kWords64);
    const std::uint32_t narrow = kWords32[wide % std::size(kWords32)];
    if ((at + 1) * size > contents.bytes.size()) return;
    std::memcpy(contents.bytes.data() + at * size,
                size == 8 ? static_cast<const void*>(&wide) : &narrow, size);
  }
  bool numbers() {
    Contents* contents = some_numbers();
    if (contents == nullptr) return false;
    const std::size_t count = contents->bytes.size() / real_bytes(routine_.precision);
    for (std::size_t left = 1 + choices_.below(4); left > 0; --left)
      put_number(*contents, choices_.below(std::max<std::size_t>(1, count)));
    return true;
  }
  bool all_numbers() {
    Contents* contents = some_numbers();
    if (contents == nullptr) return false;
    put_number(*contents, 0);
    const std::size_t size = real_bytes(routine_.precision);
    for (std::size_t at = size; at + size <= contents->bytes.size(); at += size)
      std::memcpy(contents->bytes.data() + at, contents->bytes.data(), size);
    return true;
  }

  bool dimension() {
    const int at = argument([](Kind kind) { return kind == Kind::dim; });
    if (at < 0) return false;
    std::int64_t& dim = call_.arguments[at].dim;
    const std::int64_t old = std::clamp<std::int64_t>(dim, -(1 << 20), 1 << 20);
    dim = choices_.chance(40) ? old + 1 : choices_.chance(40) ? old - 1 : choices_.of(kDims);
    return true;
  }
  bool leading_dimension() {
    const int at = argument([](Kind kind) { return kind == Kind::matrix; });
    if (at < 0) return false;
    std::int64_t& ld = call_.arguments[at].device.ld;
    const std::int64_t old = std::clamp<std::int64_t>(ld, -(1 << 20), 1 << 20);
    ld = choices_.chance(64) ? old - 1 : choices_.chance(64) ? old * 2 : choices_.of(kDims);
    return true;
  }
  bool increment() {
    const int at = argument([](Kind kind) { return kind == Kind::strided; });
    if (at < 0) return false;
    std::int64_t& ld = call_.arguments[at].device.ld;
    const std::int64_t old = std::clamp<std::int64_t>(ld, -(1 << 20), 1 << 20);
    ld = choices_.chance(96) ? -old : choices_.of(kDims);
    return true;
  }
  bool offset() {
    const int at = argument([](Kind kind) { return is_memory(kind); });
    if (at < 0) return false;
    constexpr std::uint64_t kEnd = HostileBuffers::kBytes;
    constexpr std::uint64_t kOffsets[] = {1,        2,         4,         8,          12,
                                          kEnd,     kEnd - 8,  kEnd - 4,  kEnd - 16,  kEnd + 8,
                                          kEnd * 2, 1LL << 31, 1LL << 32, 1ULL << 63, 0 - 8ULL};
    call_.arguments[at].device.offset_bytes = choices_.of(kOffsets);
    return true;
  }
  // The last element is the buffer's last one, or just does not fit.
  bool operand_at_the_end() {
    const Operand* last = operand([](const Descriptor&, const Operand&) { return true; });
    if (last == nullptr) return false;
    const std::uint64_t pitch = pitch_bytes(*last);
    const std::uint64_t bytes = (last->cols - 1) * pitch + last->rows * last->element_bytes;
    if (bytes > HostileBuffers::kBytes) return false;
    device(*last).offset_bytes =
        HostileBuffers::kBytes - bytes + (choices_.chance(128) ? last->element_bytes : 0);
    return true;
  }
  bool buffer() {
    const int at = argument([](Kind kind) { return is_memory(kind); });
    if (at < 0) return false;
    const BufferId ids[] = {{},
                            buffers_.freed,
                            buffers_.foreign,
                            {UINT64_MAX},
                            {1ULL << 40},
                            {buffers_.operands.front().value + 100000},
                            buffers_.others[choices_.below(buffers_.others.size())]};
    call_.arguments[at].device.buffer = choices_.of(ids);
    return true;
  }
  bool doomed_buffer() {
    const Operand* moved = operand([](const Descriptor&, const Operand&) { return true; });
    if (moved == nullptr) return false;
    device(*moved).buffer = buffers_.doomed;
    return call_.frees_doomed = true;
  }
  bool flag() {
    const int at = argument([](Kind kind) { return kind == Kind::flag; });
    if (at < 0) return false;
    call_.arguments[at].flag = choices_.of(kFlags);
    return true;
  }
  bool scalar() {
    const int at =
        argument([](Kind kind) { return kind == Kind::scalar || kind == Kind::real_scalar; });
    if (at < 0) return false;
    const std::uint64_t bits = choices_.of(kWords64);
    std::memcpy(&call_.arguments[at].scalar.re, &bits, sizeof bits);
    return true;
  }
  bool scribbled() {
    const Operand* words = operand([](const Descriptor&, const Operand&) { return true; });
    if (words == nullptr) return false;
    const std::uint64_t bytes = words->rows * words->element_bytes;
    const bool integers = routine_.kinds[words->argument] == Kind::index_vector;
    const auto number = static_cast<std::int64_t>(choices_.of(kWords64));
    call_.scribbled =
        ScribbledWords{device(*words).buffer, (device(*words).offset_bytes + 7) / 8 * 8,
                       std::clamp<std::size_t>(bytes / 8, 1, 64), integers ? 1 : 0x3FF0000000000000,
                       integers ? choices_.of(kDims) : number};
    return true;
  }

  HostileCall& call_;
  const HostileBuffers& buffers_;
  Choices& choices_;
  const Descriptor& routine_;
  Operands operands_;
  std::vector<const Operand*> present_;
};

}  // namespace

std::uint64_t odd_number(Choices& choices) noexcept { return choices.of(kWords64); }

void damage_call(HostileCall& call, const HostileBuffers& buffers, Choices& choices,
                 std::size_t count) {
  Damager damager(call, buffers, choices);
  for (std::size_t i = 0; i < count && !choices.empty(); ++i) damager.damage();
}

}  // namespace ob::test
