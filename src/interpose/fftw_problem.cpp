#include "interpose/fftw_problem.hpp"

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

// The length of the last dimension of an array in memory if the caller gave no embedding.
std::int64_t default_last(const FftwCall& call, bool is_input, std::int64_t n) noexcept {
  if (call.kind == FftKind::c2c || call.kind == FftKind::r2r) return n;
  if (is_complex(call.kind, is_input)) return n / 2 + 1;
  const bool in_place = call.arrays.input == call.arrays.output;
  return in_place ? 2 * (n / 2 + 1) : n;  // in place, real rows are as long as complex ones
}

// Sets the row-major strides of one array.
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

bool append(FftSide& side, std::int64_t count, std::int64_t stride) noexcept {
  if (side.dimensions == Layout::kMaxDimensions) return false;
  if (!multiply(stride, side.element_bytes)) return false;
  side.dims[static_cast<std::size_t>(side.dimensions++)] = {static_cast<std::uint64_t>(count),
                                                            stride};
  return true;
}

// The last dimension of the complex side of r2c and c2r has only half of a spectrum.
bool is_halved(FftKind kind, bool is_input) noexcept {
  return kind != FftKind::c2c && is_complex(kind, is_input);
}

bool is_split(const FftwCall& call, bool is_input) noexcept {
  return call.split && is_complex(call.kind, is_input);
}

std::uint32_t side_bytes(const FftwCall& call, bool is_input) noexcept {
  const std::uint32_t complex_bytes = element_bytes(call.precision);
  const bool complex_elements = is_complex(call.kind, is_input) && !call.split;
  return complex_elements ? complex_bytes : complex_bytes / 2;
}

// True if a dimension has length 1 and changes nothing. Most kinds of DCT and DST double one point
// or multiply it by the root of 2.
bool is_idle(const FftwProblem& problem, int i) noexcept {
  if (problem.dims[static_cast<std::size_t>(i)].n != 1) return false;
  switch (problem.call.kind) {
    case FftKind::c2c: return true;
    case FftKind::r2c:
    case FftKind::c2r: return i != problem.rank - 1;
    case FftKind::r2r: break;
  }
  const RealTransform real = problem.real[static_cast<std::size_t>(i)];
  return real == RealTransform::r2hc || real == RealTransform::hc2r || real == RealTransform::dht;
}

// Computes the product of all counts. False if the size in bytes overflows.
bool countable(std::span<const FftwDimension> dims, std::int64_t& product) noexcept {
  for (const FftwDimension& d : dims) {
    if (d.n < 1 || !multiply(product, d.n)) return false;
  }
  return true;
}

std::span<const Layout::Dimension> dims_of(const FftSide& side) noexcept {
  return {side.dims.data(), static_cast<std::size_t>(side.dimensions)};
}

// The largest extent. No address space is larger, and sums of a few such extents cannot overflow.
constexpr std::int64_t kMaxReachBytes = std::int64_t{1} << 57;

bool range_of(const FftSide& side, ByteRange& range) noexcept {
  range = {0, side.element_bytes};
  for (const Layout::Dimension& d : dims_of(side)) {
    std::int64_t reach = d.stride_bytes;
    if (!multiply(reach, static_cast<std::int64_t>(d.count) - 1)) return false;
    if (reach < -kMaxReachBytes || reach > kMaxReachBytes) return false;
    (reach < 0 ? range.low : range.high) += reach;
  }
  return true;
}

bool sign_is_known(const FftwCall& call) noexcept {
  return call.sign == -1 || call.sign == 1;  // others mean +1 to some libraries
}

bool append_batch(const FftwProblem& problem, FftTransform& transform) noexcept {
  for (int i = 0; i < problem.howmany_rank; ++i) {
    const FftwDimension& d = problem.howmany[static_cast<std::size_t>(i)];
    transform.plan.batch *= static_cast<std::uint64_t>(d.n);
    if (d.n == 1) continue;
    if (!append(transform.input, d.n, d.input_stride)) return false;
    if (!append(transform.output, d.n, d.output_stride)) return false;
  }
  return true;
}

// REDFT00 of one point has no definition, and a plan of it is NULL.
bool is_undefined(const FftwProblem& problem, int i) noexcept {
  return problem.call.kind == FftKind::r2r && problem.dims[static_cast<std::size_t>(i)].n == 1 &&
         problem.real[static_cast<std::size_t>(i)] == RealTransform::redft00;
}

bool append_dims(const FftwProblem& problem, FftTransform& transform) noexcept {
  const FftKind kind = problem.call.kind;
  FftPlan& plan = transform.plan;
  for (int i = 0; i < problem.rank; ++i) {
    if (is_idle(problem, i)) continue;
    if (plan.rank == FftPlan::kMaxRank || is_undefined(problem, i)) return false;
    const FftwDimension& d = problem.dims[static_cast<std::size_t>(i)];
    const std::int64_t half = d.n / 2 + 1;
    const bool last = i == problem.rank - 1;
    if (!append(transform.input, last && is_halved(kind, true) ? half : d.n, d.input_stride))
      return false;
    if (!append(transform.output, last && is_halved(kind, false) ? half : d.n, d.output_stride))
      return false;
    plan.real[plan.rank] = problem.real[static_cast<std::size_t>(i)];
    plan.n[plan.rank++] = static_cast<std::uint64_t>(d.n);
  }
  return true;
}

// Appends a dimension for the two halves of split complex numbers. The arrays determine the
// distance between the halves later.
bool append_halves(const FftwCall& call, FftTransform& transform) noexcept {
  return (!is_split(call, true) || append(transform.input, 2, 0)) &&
         (!is_split(call, false) || append(transform.output, 2, 0));
}

// Finds the bytes that each array of a side may touch, and checks that no result overwrites
// another.
bool find_ranges(FftwOffload& offload) noexcept {
  const FftTransform& t = offload.transform;
  if (!range_of(t.input, offload.input) || !range_of(t.output, offload.output)) return false;
  const bool split = offload.split && is_complex(t.plan.kind, false);
  std::span<const Layout::Dimension> dims = dims_of(t.output);
  if (split) dims = dims.first(dims.size() - 1);  // place() checks both halves together
  return elements_are_distinct(dims, t.output.element_bytes);
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

FftwProblem with_kinds(FftwProblem problem, const int* kinds) noexcept {
  for (int i = 0; problem.representable && i < problem.rank; ++i) {
    problem.representable = kinds[i] >= 0 && kinds[i] <= static_cast<int>(RealTransform::rodft11);
    problem.real[static_cast<std::size_t>(i)] = static_cast<RealTransform>(kinds[i]);
  }
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
  offload.split = call.split;
  FftTransform& transform = offload.transform;
  transform.input.element_bytes = side_bytes(call, true);
  transform.output.element_bytes = side_bytes(call, false);
  FftPlan& plan = transform.plan;
  plan.kind = call.kind;
  plan.precision = call.precision;
  plan.sign = static_cast<std::int8_t>(call.sign);
  plan.in_place = call.arrays.input == call.arrays.output;
  if (!append_batch(problem, transform) || !append_dims(problem, transform) ||
      !append_halves(call, transform)) {
    return std::nullopt;
  }
  if (plan.rank == 0 || points(plan) == 1 || !find_ranges(offload)) return std::nullopt;
  return offload;
}

}  // namespace ob::interpose
