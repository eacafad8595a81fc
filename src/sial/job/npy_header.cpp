#include "sial/job/npy_header.hpp"

#include <charconv>
#include <cstring>
#include <optional>
#include <string_view>

#include "sial/code/byte_fields.hpp"

namespace ob::sial {
namespace {

constexpr std::string_view kNpyMagic = "\x93NUMPY";
constexpr std::size_t kVersionOffset = 6, kLengthOffset = 8;
constexpr std::size_t kNpyAlignment = 64;  // of the data; NumPy writes it so
constexpr std::size_t kShortHeader = 65535;
constexpr std::size_t kLongestHeader = 1 << 20;  // real ones have about 100 bytes
constexpr std::int64_t kMostNpyElements = std::int64_t{1} << 48;

Status bad_npy(const std::string& problem, const std::string& why) {
  return Status(Code::invalid_argument,
                problem + " (" + why + ") write the file with numpy.save() again");
}

// Reads the dictionary of a header, which Python prints: a small part of Python's grammar.
class DictionaryReader {
 public:
  explicit DictionaryReader(std::string_view text) : rest_(text) {}

  bool take(char wanted) {
    skip_blanks();
    if (rest_.empty() || rest_.front() != wanted) return false;
    rest_.remove_prefix(1);
    return true;
  }

  std::optional<std::string_view> take_string() {
    skip_blanks();
    if (rest_.empty() || (rest_.front() != '\'' && rest_.front() != '"')) return {};
    const std::size_t end = rest_.find(rest_.front(), 1);
    if (end == std::string_view::npos) return {};
    const std::string_view found = rest_.substr(1, end - 1);
    rest_.remove_prefix(end + 1);
    return found;
  }

  std::optional<bool> take_bool() {
    for (const std::string_view word : {"True", "False"}) {
      skip_blanks();
      if (!rest_.starts_with(word)) continue;
      rest_.remove_prefix(word.size());
      return word == "True";
    }
    return {};
  }

  // A tuple of extents: (), (3,), (3, 4).
  std::optional<std::vector<std::int64_t>> take_extents() {
    if (!take('(')) return {};
    std::vector<std::int64_t> extents;
    while (!take(')')) {
      skip_blanks();
      std::int64_t extent = 0;
      const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), extent);
      if (error != std::errc() || extent < 0) return {};
      rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
      extents.push_back(extent);
      if (take(',')) continue;
      if (!take(')')) return {};
      break;
    }
    return extents;
  }

  bool at_end() {
    skip_blanks();
    return rest_.empty();
  }

 private:
  void skip_blanks() {
    while (!rest_.empty() && (rest_.front() == ' ' || rest_.front() == '\n'))
      rest_.remove_prefix(1);
  }

  std::string_view rest_;
};

Status set_type(std::string_view descr, NpyHeader& header) {
  if (descr == "<f8") {
    header.type = NpyType::float64;
  } else if (descr == "<i4") {
    header.type = NpyType::int32;
  } else if (descr == "<i8") {
    header.type = NpyType::int64;
  } else {
    return Status(Code::unsupported,
                  "elements have type '" + std::string(descr) +
                      "' (jobs take '<f8', '<i4' and '<i8') convert the array with "
                      "a.astype('<f8') and save it again");
  }
  return {};
}

Status count_elements(NpyHeader& header) {
  header.count = 1;
  for (const std::int64_t extent : header.shape) {
    if (extent > 0 && header.count > kMostNpyElements / extent)
      return bad_npy("the array is too large", "2^48 elements are the most");
    header.count *= extent;
  }
  return {};
}

}  // namespace

Result<std::size_t> npy_header_bytes(std::span<const std::byte> preamble) {
  if (preamble.size() < kNpyPreambleBytes ||
      std::memcmp(preamble.data(), kNpyMagic.data(), kNpyMagic.size()) != 0)
    return bad_npy("not a NumPy file", "the first bytes are others");
  const std::uint8_t major = u8_at(preamble, kVersionOffset);
  std::size_t size = 0;
  if (major == 1) {
    size = kLengthOffset + 2 + u16_at(preamble, kLengthOffset);
  } else if (major == 2) {
    size = kLengthOffset + 4 + std::size_t{u32_at(preamble, kLengthOffset)};
  } else {
    return bad_npy("the NumPy file has format version " + std::to_string(major),
                   "versions 1 and 2 are read");
  }
  if (size > kLongestHeader) return bad_npy("the header is too long", "1 MiB is the most");
  return size;
}

Result<NpyHeader> parse_npy_header(std::span<const std::byte> bytes) {
  OB_ASSIGN_OR_RETURN(const std::size_t size, npy_header_bytes(bytes));
  if (size > bytes.size()) return bad_npy("the header is cut", "the file ends inside it");
  const std::size_t begin =
      u8_at(bytes, kVersionOffset) == 1 ? kLengthOffset + 2 : kNpyPreambleBytes;
  DictionaryReader reader({reinterpret_cast<const char*>(bytes.data()) + begin, size - begin});
  NpyHeader header;
  header.data_offset = size;
  bool has_type = false, has_order = false, has_shape = false;
  const Status unreadable =
      bad_npy("the header is unreadable", "it is a dictionary with descr, fortran_order and shape");
  if (!reader.take('{')) return unreadable;
  while (!reader.take('}')) {
    const auto key = reader.take_string();
    if (!key || !reader.take(':')) return unreadable;
    if (*key == "descr") {
      const auto descr = reader.take_string();
      if (!descr)
        return Status(Code::unsupported,
                      "elements are records (jobs take numbers) save "
                      "one field of the array alone");
      OB_RETURN_IF_ERROR(set_type(*descr, header));
      has_type = true;
    } else if (*key == "fortran_order") {
      const auto order = reader.take_bool();
      if (!order) return unreadable;
      header.fortran_order = *order;
      has_order = true;
    } else if (*key == "shape") {
      auto extents = reader.take_extents();
      if (!extents) return unreadable;
      header.shape = std::move(*extents);
      has_shape = true;
    } else {
      return unreadable;
    }
    if (reader.take(',')) continue;
    if (!reader.take('}')) return unreadable;
    break;
  }
  if (!reader.at_end() || !has_type || !has_order || !has_shape) return unreadable;
  OB_RETURN_IF_ERROR(count_elements(header));
  return header;
}

std::string npy_header(NpyType type, const std::vector<std::int64_t>& shape) {
  const char* descr = type == NpyType::float64 ? "<f8" : type == NpyType::int32 ? "<i4" : "<i8";
  std::string text = std::string("{'descr': '") + descr + "', 'fortran_order': True, 'shape': (";
  for (const std::int64_t extent : shape) text += std::to_string(extent) + ", ";
  if (shape.size() > 1) text.resize(text.size() - 2);
  if (shape.size() == 1) text.pop_back();
  text += "), }";
  const bool is_short = kLengthOffset + 2 + text.size() + kNpyAlignment < kShortHeader;
  const std::size_t length_bytes = is_short ? 2 : 4;
  const std::size_t before = kLengthOffset + length_bytes;
  const std::size_t all =
      (before + text.size() + 1 + kNpyAlignment - 1) / kNpyAlignment * kNpyAlignment;
  text.append(all - before - text.size() - 1, ' ');
  text += '\n';
  std::string header(kNpyMagic);
  header += is_short ? '\1' : '\2';
  header += '\0';
  for (std::size_t i = 0; i < length_bytes; ++i)
    header += static_cast<char>(text.size() >> (8 * i) & 0xff);
  return header + text;
}

}  // namespace ob::sial
