#include "routines/rate_family.hpp"

#include <algorithm>
#include <iterator>

namespace ob {
namespace {

constexpr MeasuredRoutine kMeasured[] = {
    {RateFamily::lu, "dgetrf", ""},
    {RateFamily::cholesky, "dpotrf", "L"},
    {RateFamily::qr, "dgeqrf", ""},
    {RateFamily::symmetric_eigen, "dsyevd", "VL"},
    {RateFamily::singular_values, "dgesdd", "S"},
    {RateFamily::general_eigen, "dgeev", "NV"},
};

struct Member {
  std::string_view base;
  RateFamily family;
};

// Routines that do most of their work in the measured one, or in the same kernels.
constexpr Member kMembers[] = {
    {"getrf", RateFamily::lu},
    {"gesv", RateFamily::lu},
    {"potrf", RateFamily::cholesky},
    {"posv", RateFamily::cholesky},
    {"geqrf", RateFamily::qr},
    {"gelqf", RateFamily::qr},
    {"gels", RateFamily::qr},
    {"ormqr", RateFamily::qr},
    {"unmqr", RateFamily::qr},
    {"ormlq", RateFamily::qr},
    {"unmlq", RateFamily::qr},
    {"orgqr", RateFamily::qr},
    {"ungqr", RateFamily::qr},
    {"orglq", RateFamily::qr},
    {"unglq", RateFamily::qr},
    {"syev", RateFamily::symmetric_eigen},
    {"heev", RateFamily::symmetric_eigen},
    {"syevd", RateFamily::symmetric_eigen},
    {"heevd", RateFamily::symmetric_eigen},
    {"syevr", RateFamily::symmetric_eigen},
    {"heevr", RateFamily::symmetric_eigen},
    {"sygvd", RateFamily::symmetric_eigen},
    {"hegvd", RateFamily::symmetric_eigen},
    {"gesvd", RateFamily::singular_values},
    {"gesdd", RateFamily::singular_values},
    {"geev", RateFamily::general_eigen},
    {"geevx", RateFamily::general_eigen},
    {"gees", RateFamily::general_eigen},
    {"geesx", RateFamily::general_eigen},
};

}  // namespace

RateFamily rate_family(const Descriptor& routine) noexcept {
  const auto* const found = std::find_if(std::begin(kMembers), std::end(kMembers),
                                         [&](const Member& m) { return m.base == routine.base; });
  return found == std::end(kMembers) ? RateFamily::none : found->family;
}

RateFamily rate_family(FftKind kind) noexcept {
  return kind == FftKind::r2r ? RateFamily::none : RateFamily::transform;
}

std::span<const MeasuredRoutine> measured_routines() noexcept { return kMeasured; }

}  // namespace ob
