#include "interpose/fftw_problem.hpp"

#include <cstdlib>
#include <span>

namespace ob::interpose {
namespace {

bool multiply(std::int64_t& value, std::int64_t factor) noexcept {
  return !__builtin_mul_overflow(value, factor, &value);
}

bool ranks_fit(int rank, int howmany_rank) noexcept {
  return rank >= 0 && howmany_rank >= 0 && rank <= FftwProblem::kMaxRank &&
         howmany_rank <= FftwProblem::kMaxRank;
}

// Length of the last dimension of an array as it lies in memory when the caller gave no embedding.
std::int64_t default_last(const FftwCall& call, bool is_input, std::int64_t n) noexcept {
  if (call.kind == FftKind::c2c) return n;
  const bool is_complex = is_input == (call.kind == FftKind::c2r);
  if (is_complex) return n / 2 + 1;
  return call.input == call.output ? 2 * (n / 2 + 1)
                                   : n;  // in place: rows as long as the complex ones
}

// Row-major strides of one array.
bool set_strides(FftwProblem& problem, const int* n, const FftwEmbedding& embedding,
                 bool is_input) noexcept {
  std::int64_t stride = embedding.stride;
  for (int i = problem.rank; i-- > 0;) {
    (is_input ? problem.dims[i].input_stride : problem.dims[i].output_stride) = stride;
    if (i == 0) break;
    std::int64_t length = n[i];
    if (embedding.embed != nullptr) {
      length = embedding.embed[i];
    } else if (i == problem.rank - 1) {
      length = default_last(problem.call, is_input, n[i]);
    }
    if (!multiply(stride, length)) return false;
  }
  return true;
}

struct Side {
  std::array<Layout::Dimension, Layout::kMaxDimensions>* dimensions;
  std::int64_t element_bytes;
};

bool append(const Side& side, int at, std::int64_t count, std::int64_t stride) noexcept {
  if (!multiply(stride, side.element_bytes)) return false;
  (*side.dimensions)[at] = {static_cast<std::uint64_t>(count), stride};
  return true;
}

// Elements of the last dimension that exist on one side.
std::int64_t stored(const FftwCall& call, bool is_input, std::int64_t n) noexcept {
  const bool is_half = call.kind == (is_input ? FftKind::c2r : FftKind::r2c);
  return is_half ? n / 2 + 1 : n;
}

std::int64_t side_bytes(const FftwCall& call, bool is_input) noexcept {
  const std::int64_t complex_bytes = element_bytes(call.precision);
  const bool is_real = call.kind == (is_input ? FftKind::r2c : FftKind::c2r);
  return is_real ? complex_bytes / 2 : complex_bytes;
}

// Product of all counts; false if it cannot be counted in bytes.
bool countable(std::span<const FftwDimension> dims, std::int64_t& product) noexcept {
  for (const FftwDimension& d : dims) {
    if (d.n < 1 || !multiply(product, d.n)) return false;
  }
  return true;
}

// No address space reaches further, and sums of a few such reaches cannot overflow.
constexpr std::int64_t kMaxReachBytes = std::int64_t{1} << 57;

bool range_of(std::span<const Layout::Dimension> dimensions, std::int64_t element_bytes,
              ByteRange& range) noexcept {
  range = {0, element_bytes};
  for (const Layout::Dimension& d : dimensions) {
    std::int64_t reach = d.stride_bytes;
    if (!multiply(reach, static_cast<std::int64_t>(d.count) - 1)) return false;
    if (reach < -kMaxReachBytes || reach > kMaxReachBytes) return false;
    (reach < 0 ? range.low : range.high) += reach;
  }
  return true;
}

// True if no two elements share a byte: sorted by stride, each dimension steps over all the faster
// ones together. Sufficient, not necessary; interleavings that fail it are rare and stay native.
bool elements_are_distinct(std::span<const Layout::Dimension> dimensions,
                           std::int64_t element_bytes) noexcept {
  std::array<Layout::Dimension, Layout::kMaxDimensions> sorted{};
  int count = 0;
  for (const Layout::Dimension& d : dimensions) {
    if (d.count == 1) continue;
    const Layout::Dimension added{d.count, std::abs(d.stride_bytes)};
    int at = count++;
    for (; at > 0 && sorted[at - 1].stride_bytes > added.stride_bytes; --at) {
      sorted[at] = sorted[at - 1];
    }
    sorted[at] = added;
  }
  std::int64_t extent = element_bytes;
  for (int i = 0; i < count; ++i) {
    if (sorted[i].stride_bytes < extent) return false;
    extent += sorted[i].stride_bytes *
              static_cast<std::int64_t>(sorted[i].count - 1);  // bounded by range_of
  }
  return true;
}

bool sign_is_known(const FftwCall& call) noexcept {
  return call.sign == -1 || call.sign == 1;  // others mean +1 to some libraries
}

// Fills the plan and the layouts of both sides; false if they do not fit.
bool fill(const FftwProblem& problem, FftTransform& transform) noexcept {
  const FftwCall& call = problem.call;
  const Side input{&transform.input, side_bytes(call, true)};
  const Side output{&transform.output, side_bytes(call, false)};
  int& at = transform.dimensions;
  for (int i = 0; i < problem.howmany_rank; ++i) {
    const FftwDimension& d = problem.howmany[i];
    transform.plan.batch *= static_cast<std::uint64_t>(d.n);
    if (d.n == 1) continue;
    if (at == Layout::kMaxDimensions) return false;
    if (!append(input, at, d.n, d.input_stride) || !append(output, at, d.n, d.output_stride))
      return false;
    ++at;
  }
  for (int i = 0; i < problem.rank; ++i) {
    const FftwDimension& d = problem.dims[i];
    const bool halved = call.kind != FftKind::c2c && i == problem.rank - 1;
    if (d.n == 1 && !halved) continue;
    if (at == Layout::kMaxDimensions || transform.plan.rank == FftPlan::kMaxRank) return false;
    const std::int64_t in_count = halved ? stored(call, true, d.n) : d.n;
    const std::int64_t out_count = halved ? stored(call, false, d.n) : d.n;
    if (!append(input, at, in_count, d.input_stride) ||
        !append(output, at, out_count, d.output_stride))
      return false;
    transform.plan.n[transform.plan.rank++] = static_cast<std::uint64_t>(d.n);
    ++at;
  }
  return true;
}

}  // namespace

FftwProblem basic_problem(const FftwCall& call, int rank, const int* n) noexcept {
  const FftwEmbedding packed{nullptr, 1, 1};
  return many_problem(call, rank, n, 1, packed, packed);
}

FftwProblem many_problem(const FftwCall& call, int rank, const int* n, int howmany,
                         const FftwEmbedding& in, const FftwEmbedding& out) noexcept {
  FftwProblem problem;
  problem.call = call;
  if (!ranks_fit(rank, 1)) return problem;
  problem.rank = rank;
  for (int i = 0; i < rank; ++i) problem.dims[i].n = n[i];
  problem.howmany_rank = 1;
  problem.howmany[0] = {howmany, in.dist, out.dist};
  problem.representable = set_strides(problem, n, in, true) && set_strides(problem, n, out, false);
  return problem;
}

template <class Integer>
FftwProblem guru_problem(const FftwCall& call, int rank, const FftwIodim<Integer>* dims,
                         int howmany_rank, const FftwIodim<Integer>* howmany) noexcept {
  FftwProblem problem;
  problem.call = call;
  if (!ranks_fit(rank, howmany_rank)) return problem;
  problem.rank = rank;
  problem.howmany_rank = howmany_rank;
  for (int i = 0; i < rank; ++i) problem.dims[i] = {dims[i].n, dims[i].is, dims[i].os};
  for (int i = 0; i < howmany_rank; ++i)
    problem.howmany[i] = {howmany[i].n, howmany[i].is, howmany[i].os};
  problem.representable = true;
  return problem;
}

template FftwProblem guru_problem(const FftwCall&, int, const FftwIodim<int>*, int,
                                  const FftwIodim<int>*) noexcept;
template FftwProblem guru_problem(const FftwCall&, int, const FftwIodim<std::ptrdiff_t>*, int,
                                  const FftwIodim<std::ptrdiff_t>*) noexcept;

std::optional<FftwOffload> to_offload(const FftwProblem& problem) noexcept {
  const FftwCall& call = problem.call;
  if (!problem.representable || !sign_is_known(call)) return std::nullopt;
  std::int64_t bytes =
      element_bytes(call.precision);  // also bounds the padded side of real transforms
  if (!countable({problem.dims.data(), static_cast<std::size_t>(problem.rank)}, bytes))
    return std::nullopt;
  if (!countable({problem.howmany.data(), static_cast<std::size_t>(problem.howmany_rank)}, bytes)) {
    return std::nullopt;
  }
  FftwOffload offload;
  FftTransform& transform = offload.transform;
  transform.plan.kind = call.kind;
  transform.plan.precision = call.precision;
  transform.plan.sign = static_cast<std::int8_t>(call.sign);
  transform.plan.in_place = call.input == call.output;
  if (!fill(problem, transform) || transform.plan.rank == 0) return std::nullopt;
  const auto used = static_cast<std::size_t>(transform.dimensions);
  const std::int64_t in_bytes = side_bytes(call, true);
  const std::int64_t out_bytes = side_bytes(call, false);
  if (!range_of({transform.input.data(), used}, in_bytes, offload.input)) return std::nullopt;
  if (!range_of({transform.output.data(), used}, out_bytes, offload.output)) return std::nullopt;
  if (!elements_are_distinct({transform.output.data(), used}, out_bytes)) return std::nullopt;
  return offload;
}

}  // namespace ob::interpose
