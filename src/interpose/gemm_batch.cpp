#include "interpose/gemm_batch.hpp"

#include <array>
#include <new>
#include <vector>

#include "interpose/call.hpp"
#include "interpose/normal_form.hpp"

namespace ob::interpose {
namespace {

// Positions in the arguments of cblas_?gemm. The arrays of a grouped batch have the same positions.
enum Gemm {
  kLayout,
  kTransA,
  kTransB,
  kM,
  kN,
  kK,
  kAlpha,
  kA,
  kLda,
  kB,
  kLdb,
  kBeta,
  kC,
  kLdc,
  kGemmCount
};
constexpr int kGroupCount = kGemmCount;
constexpr int kGroupSize = kGemmCount + 1;
// Positions in the arguments of a strided batch, which has the distances in between.
enum Strided {
  kStridedA = kA,
  kStrideA = kA + 2,
  kStridedB,
  kStrideB = kStridedB + 2,
  kStridedBeta,
  kStridedC,
  kStrideC = kStridedC + 2,
  kBatchSize
};

using GemmRaw = std::array<Raw, kGemmCount>;

// Reads integers and scalars of one batch.
class Reader {
 public:
  Reader(Precision precision, Integers integers) : precision_(precision), integers_(integers) {}

  std::int64_t by_value(const Raw& raw) const {
    return integers_ == Integers::lp64 ? static_cast<std::int32_t>(raw.integer) : raw.integer;
  }
  std::int64_t integer(const Raw& array, std::int64_t i) const {
    return integers_ == Integers::lp64 ? static_cast<const std::int32_t*>(array.pointer)[i]
                                       : static_cast<const std::int64_t*>(array.pointer)[i];
  }
  // Real scalars are passed by value, complex ones by reference.
  Raw scalar(const Raw& array, std::int64_t i) const {
    char* at = static_cast<char*>(array.pointer) + i * element_bytes(precision_);
    if (precision_ == Precision::s) return {*reinterpret_cast<const float*>(at)};
    if (precision_ == Precision::d) return {*reinterpret_cast<const double*>(at)};
    return {static_cast<void*>(at)};
  }
  void* moved(const Raw& base, std::int64_t elements) const {
    return static_cast<char*>(base.pointer) + elements * element_bytes(precision_);
  }

 private:
  Precision precision_;
  Integers integers_;
};

struct Batch {
  double flops = 0;
  std::vector<CallArguments> calls;
};

double flops_of(const Raw* raw, const Reader& reader) {
  return 2.0 * static_cast<double>(reader.by_value(raw[kM])) *
         static_cast<double>(reader.by_value(raw[kN])) *
         static_cast<double>(reader.by_value(raw[kK]));
}

// Adds one call. False if the original must run the batch: gemm's normal form does not accept the
// call, or the call has nothing to multiply. Such a call would not be remote on its own either.
bool add(Batch& batch, const Entry& entry, const Descriptor& routine, Integers integers,
         const GemmRaw& raw) {
  NormalForm form(entry, routine, integers);
  if (!form.read(raw.data(), nullptr) || routine.trivial(form.arguments())) return false;
  std::copy_n(form.arguments(), routine.kinds.size(), batch.calls.emplace_back().items);
  return true;
}

// The arguments of one group. Those that differ from call to call are set later.
GemmRaw group_of(const Raw* raw, const Reader& reader, std::int64_t group) {
  GemmRaw gemm;
  gemm[kLayout] = raw[kLayout];
  for (const int at : {kTransA, kTransB})
    gemm[at] = static_cast<const std::int32_t*>(raw[at].pointer)[group];
  for (const int at : {kM, kN, kK, kLda, kLdb, kLdc}) gemm[at] = reader.integer(raw[at], group);
  for (const int at : {kAlpha, kBeta}) gemm[at] = reader.scalar(raw[at], group);
  return gemm;
}

// The operations of an average call. The batch is remote only if its calls would be.
double average_flops(const Raw* raw, const Reader& reader) {
  double flops = 0;
  double calls = 0;
  const std::int64_t groups = reader.by_value(raw[kGroupCount]);
  for (std::int64_t g = 0; g < groups; ++g) {
    const auto size = static_cast<double>(reader.integer(raw[kGroupSize], g));
    flops += size * flops_of(group_of(raw, reader, g).data(), reader);
    calls += size;
  }
  return calls > 0 ? flops / calls : 0;
}

bool unpack_groups(const Entry& entry, const Descriptor& routine, Integers integers, const Raw* raw,
                   Batch& batch) {
  const Reader reader(routine.precision, integers);
  const std::int64_t groups = reader.by_value(raw[kGroupCount]);
  std::int64_t call = 0;
  for (std::int64_t g = 0; g < groups; ++g) {
    GemmRaw gemm = group_of(raw, reader, g);
    for (std::int64_t end = call + reader.integer(raw[kGroupSize], g); call < end; ++call) {
      for (const int at : {kA, kB, kC}) gemm[at] = static_cast<void* const*>(raw[at].pointer)[call];
      if (!add(batch, entry, routine, integers, gemm)) return false;
    }
  }
  return true;
}

GemmRaw gemm_of_strided(const Raw* raw) {
  GemmRaw gemm;
  for (int at = kLayout; at <= kLda; ++at) gemm[at] = raw[at];
  gemm[kB] = raw[kStridedB];
  gemm[kLdb] = raw[kStridedB + 1];
  gemm[kBeta] = raw[kStridedBeta];
  gemm[kC] = raw[kStridedC];
  gemm[kLdc] = raw[kStridedC + 1];
  return gemm;
}

// The distances between the operands of neighbouring calls.
struct Strides {
  std::int64_t a;
  std::int64_t b;
  std::int64_t c;
};

// False if operands of neighbouring calls overlap, because libraries differ in such cases. One
// input for all calls is usual.
bool are_apart(const Strides& strides, const GemmRaw& gemm, const Reader& reader) {
  constexpr std::int32_t kColumnMajor = 102;
  constexpr std::int32_t kNoTrans = 111;
  const auto at = [&](int i) { return reader.by_value(gemm[static_cast<std::size_t>(i)]); };
  const auto is = [&](int i, std::int32_t value) {
    return static_cast<std::int32_t>(gemm[static_cast<std::size_t>(i)].integer) == value;
  };
  const bool by_columns = is(kLayout, kColumnMajor);
  const auto apart = [](std::int64_t stride, std::int64_t ld, std::int64_t lines) {
    std::int64_t least = 0;
    return !__builtin_mul_overflow(ld, lines, &least) && stride >= least;
  };
  return (strides.a == 0 ||
          apart(strides.a, at(kLda), at(by_columns == is(kTransA, kNoTrans) ? kK : kM))) &&
         (strides.b == 0 ||
          apart(strides.b, at(kLdb), at(by_columns == is(kTransB, kNoTrans) ? kN : kK))) &&
         apart(strides.c, at(kLdc), at(by_columns ? kN : kM));
}

bool unpack_strided(const Entry& entry, const Descriptor& routine, Integers integers,
                    const Raw* raw, Batch& batch) {
  const Reader reader(routine.precision, integers);
  const std::int64_t calls = reader.by_value(raw[kBatchSize]);
  GemmRaw gemm = gemm_of_strided(raw);
  const Strides strides{reader.by_value(raw[kStrideA]), reader.by_value(raw[kStrideB]),
                        reader.by_value(raw[kStrideC])};
  if (!are_apart(strides, gemm, reader)) return false;
  for (std::int64_t i = 0; i < calls; ++i) {
    gemm[kA] = reader.moved(raw[kStridedA], i * strides.a);
    gemm[kB] = reader.moved(raw[kStridedB], i * strides.b);
    gemm[kC] = reader.moved(raw[kStridedC], i * strides.c);
    if (!add(batch, entry, routine, integers, gemm)) return false;
  }
  return true;
}

using Unpack = bool (*)(const Entry&, const Descriptor&, Integers, const Raw*, Batch&);

// No object with a destructor may be alive while the original refuses arguments: see take_call().
[[gnu::noinline]] bool take_legal(const Entry& entry, const Descriptor& routine, Integers integers,
                                  void* function, const Raw* raw, Unpack unpack) noexcept {
  try {
    Batch batch;
    if (!unpack(entry, routine, integers, raw, batch) || batch.calls.empty()) return false;
    Call call(routine, batch.calls, function);
    if (call.leaves() && call.run(batch.calls)) return true;
    batch.calls.clear();
    call.begin_local();
    (void)entry.invoke(function, raw, nullptr);
    return true;
  } catch (const std::bad_alloc&) {
    return false;
  }
}

using Average = double (*)(const Raw*, const Reader&);

void take(const Entry& entry, const Raw* raw, const void* caller, Average average, Unpack unpack) {
  void* function = original(entry.symbol, caller);
  const Integers integers =
      entry.integers == Integers::unasked ? integers_of(entry.symbol, function) : entry.integers;
  const Descriptor& routine = routines::all()[std::size_t{entry.row.descriptor} + entry.precision];
  const bool known = integers != Integers::unknown;
  if (known && !is_small(average(raw, Reader(routine.precision, integers))) &&
      take_legal(entry, routine, integers, function, raw, unpack))
    return;
  (void)entry.invoke(function, raw, nullptr);
}

}  // namespace

void take_grouped_batch(const Entry& entry, const Raw* arguments, const void* caller) {
  take(entry, arguments, caller, average_flops, unpack_groups);
}

void take_strided_batch(const Entry& entry, const Raw* arguments, const void* caller) {
  take(entry, arguments, caller, flops_of, unpack_strided);
}

}  // namespace ob::interpose
