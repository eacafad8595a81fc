#include "sial/job/npy.hpp"

#include <bit>
#include <cstring>
#include <fstream>

#include "sial/code/byte_fields.hpp"
#include "sial/job/npy_header.hpp"

namespace ob::sial {
namespace {

std::size_t npy_element_bytes(NpyType type) { return type == NpyType::int32 ? 4 : 8; }

std::span<std::byte> bytes_of(auto& elements) {
  return std::as_writable_bytes(std::span(elements));
}

// Turns little-endian words into numbers of this processor, in place.
template <class Word>
void from_little_endian(std::span<std::byte> bytes) {
  if constexpr (std::endian::native == std::endian::little) return;
  for (std::size_t at = 0; at < bytes.size(); at += sizeof(Word)) {
    const Word word = unsigned_at<Word>(bytes, at);
    std::memcpy(&bytes[at], &word, sizeof(Word));
  }
}

Status unreadable_file(const std::filesystem::path& file) {
  return Status(Code::unavailable, file.string() + ": cannot be read (" + std::strerror(errno) +
                                       ") check its name and permissions");
}

Result<NpyHeader> read_header(std::ifstream& in, const std::filesystem::path& file) {
  std::vector<std::byte> bytes(kNpyPreambleBytes);
  in.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  bytes.resize(static_cast<std::size_t>(in.gcount()));
  const auto size = npy_header_bytes(bytes);
  if (!size.ok()) return size.status().in(file.string());
  if (*size < kNpyPreambleBytes)
    return Status(Code::invalid_argument, file.string() +
                                              ": the header is too short (it names no shape) write "
                                              "the file with numpy.save() again");
  bytes.resize(*size);
  in.read(reinterpret_cast<char*>(bytes.data()) + kNpyPreambleBytes,
          static_cast<std::streamsize>(*size - kNpyPreambleBytes));
  bytes.resize(kNpyPreambleBytes + static_cast<std::size_t>(in.gcount()));
  auto header = parse_npy_header(bytes);
  if (!header.ok()) return header.status().in(file.string());
  return header;
}

template <class T>
Result<NpyArray> finish(std::vector<T> elements, const NpyHeader& header) {
  const bool reorder = !header.fortran_order && header.shape.size() > 1;
  if (reorder) elements = from_c_order(elements, header.shape);
  return NpyArray(Elements<T>{header.shape, std::move(elements)});
}

template <class T>
Status write_array(const std::filesystem::path& file, NpyType type, const Elements<T>& array) {
  std::ofstream out(file, std::ios::binary | std::ios::trunc);
  out << npy_header(type, array.shape);
  if constexpr (std::endian::native == std::endian::little) {
    out.write(reinterpret_cast<const char*>(array.data.data()),
              static_cast<std::streamsize>(array.data.size() * sizeof(T)));
  } else {
    std::vector<T> swapped = array.data;
    from_little_endian<std::uint64_t>(bytes_of(swapped));  // swapping is its own inverse
    out.write(reinterpret_cast<const char*>(swapped.data()),
              static_cast<std::streamsize>(swapped.size() * sizeof(T)));
  }
  out.close();
  if (out.good()) return {};
  return Status(Code::unavailable, file.string() + ": cannot be written (" + std::strerror(errno) +
                                       ") check its folder and the space on the disk");
}

}  // namespace

template <class T>
std::vector<T> from_c_order(const std::vector<T>& elements,
                            const std::vector<std::int64_t>& shape) {
  const std::size_t rank = shape.size();
  // The distance in the result between neighbours along each dimension.
  std::vector<std::size_t> stride(rank, 1);
  for (std::size_t d = 1; d < rank; ++d)
    stride[d] = stride[d - 1] * static_cast<std::size_t>(shape[d - 1]);
  std::vector<std::int64_t> at(rank, 0);
  std::vector<T> result(elements.size());
  std::size_t place = 0;
  for (const T& element : elements) {
    result[place] = element;
    for (std::size_t d = rank; d-- > 0;) {
      place += stride[d];
      if (++at[d] < shape[d]) break;
      place -= stride[d] * static_cast<std::size_t>(shape[d]);
      at[d] = 0;
    }
  }
  return result;
}

template std::vector<double> from_c_order(const std::vector<double>&,
                                          const std::vector<std::int64_t>&);
template std::vector<std::int64_t> from_c_order(const std::vector<std::int64_t>&,
                                                const std::vector<std::int64_t>&);

Result<NpyArray> read_npy(const std::filesystem::path& file) {
  std::error_code error;
  const std::uintmax_t file_bytes = std::filesystem::file_size(file, error);
  std::ifstream in(file, std::ios::binary);
  if (error || !in) return unreadable_file(file);
  OB_ASSIGN_OR_RETURN(const NpyHeader header, read_header(in, file));
  const auto count = static_cast<std::size_t>(header.count);
  const std::size_t size = count * npy_element_bytes(header.type);
  if (file_bytes != header.data_offset + size) {
    return Status(Code::invalid_argument, file.string() + ": the file is cut or has extra bytes (" +
                                              std::to_string(file_bytes) +
                                              " bytes, its shape needs " +
                                              std::to_string(header.data_offset + size) +
                                              ") write it with numpy.save() again");
  }
  const auto read = [&](std::span<std::byte> to) {
    in.read(reinterpret_cast<char*>(to.data()), static_cast<std::streamsize>(to.size()));
    return in.gcount() == static_cast<std::streamsize>(to.size());
  };
  if (header.type == NpyType::float64) {
    std::vector<double> elements(count);
    if (!read(bytes_of(elements))) return unreadable_file(file);
    from_little_endian<std::uint64_t>(bytes_of(elements));
    return finish(std::move(elements), header);
  }
  std::vector<std::int64_t> elements(count);
  if (header.type == NpyType::int64) {
    if (!read(bytes_of(elements))) return unreadable_file(file);
    from_little_endian<std::uint64_t>(bytes_of(elements));
  } else {
    std::vector<std::int32_t> narrow(count);
    if (!read(bytes_of(narrow))) return unreadable_file(file);
    from_little_endian<std::uint32_t>(bytes_of(narrow));
    elements.assign(narrow.begin(), narrow.end());
  }
  return finish(std::move(elements), header);
}

Status write_npy(const std::filesystem::path& file, const DoubleArray& array) {
  return write_array(file, NpyType::float64, array);
}

Status write_npy(const std::filesystem::path& file, const IntArray& array) {
  return write_array(file, NpyType::int64, array);
}

}  // namespace ob::sial
