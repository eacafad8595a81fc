// cufft: plans and transforms.

#include <cufft.h>

#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "core/devices.hpp"
#include "core/faults.hpp"
#include "core/order.hpp"
#include "core/report.hpp"
#include "core/settings.hpp"
#include "cufft/plan.hpp"

using standin::Devices;
using standin::Report;
using standin::fft::Plan;

namespace {

constexpr const char* kKind = "cufft plan(s)";
std::mutex g_mutex;
std::map<cufftHandle, std::shared_ptr<Plan>>& plans() {
  static auto* const kPlans = new std::map<cufftHandle, std::shared_ptr<Plan>>;
  return *kPlans;
}

std::shared_ptr<Plan> find(const char* call, cufftHandle handle) {
  const std::lock_guard lock(g_mutex);
  const auto found = plans().find(handle);
  if (found != plans().end()) return found->second;
  Report::instance().violation(call, "no plan");
  return nullptr;
}

cufftResult enter(const char* call) {
  const int fault = standin::Faults::instance().next(call);
  if (standin::settings().no_driver) return CUFFT_SETUP_FAILED;
  if (fault == 0) return CUFFT_SUCCESS;
  return fault > 0 ? static_cast<cufftResult>(fault) : CUFFT_EXEC_FAILED;
}

#define STANDIN_CUFFT_PLAN(plan, handle)        \
  const cufftResult entered = enter(__func__);  \
  if (entered != CUFFT_SUCCESS) return entered; \
  const auto plan = find(__func__, handle);     \
  if (plan == nullptr) return CUFFT_INVALID_PLAN;

template <class Int>
std::vector<std::int64_t> list(const Int* values, int rank) {
  if (values == nullptr) return {};
  return {values, values + rank};
}

template <class Int>
Plan::Layout many(int rank, const Int* n, const Int* inembed, Int istride, Int idist,
                  const Int* onembed, Int ostride, Int odist, cufftType type, Int batch) {
  if (rank < 1 || rank > 3) return {};
  // If one of them is absent, both are ignored.
  const bool packed = inembed == nullptr || onembed == nullptr;
  return {list(n, rank),
          packed ? list<Int>(nullptr, rank) : list(inembed, rank),
          packed ? list<Int>(nullptr, rank) : list(onembed, rank),
          istride,
          idist,
          ostride,
          odist,
          batch,
          type};
}

cufftResult make(const char* call, cufftHandle handle, Plan::Layout layout, std::size_t* bytes) {
  const cufftResult entered = enter(call);
  if (entered != CUFFT_SUCCESS) return entered;
  const auto plan = find(call, handle);
  if (plan == nullptr || plan->made()) return CUFFT_INVALID_PLAN;
  const cufftResult result = plan->make(std::move(layout));
  if (result == CUFFT_SUCCESS && bytes != nullptr) *bytes = plan->work_bytes();
  return result;
}

cufftResult execute(const char* call, cufftHandle handle, cufftType type, void* in, void* out,
                    int sign) {
  const cufftResult entered = enter(call);
  if (entered != CUFFT_SUCCESS) return entered;
  const auto plan = find(call, handle);
  if (plan == nullptr) return CUFFT_INVALID_PLAN;
  if (!plan->made() || plan->type() != type || (sign != CUFFT_FORWARD && sign != CUFFT_INVERSE)) {
    Report::instance().violation(call, "a plan of another type, or none yet, or no direction");
    return CUFFT_INVALID_PLAN;
  }
  if (Devices::instance().sticky(plan->device()) != cudaSuccess) return CUFFT_EXEC_FAILED;
  return plan->execute(call, in, out, sign);
}

}  // namespace

extern "C" {

cufftResult cufftCreate(cufftHandle* handle) {
  const cufftResult entered = enter(__func__);
  if (entered != CUFFT_SUCCESS) return entered;
  static cufftHandle next = 1000;  // large, so that a forgotten small number is no valid handle
  const std::lock_guard lock(g_mutex);
  *handle = ++next;
  plans()[*handle] = std::make_shared<Plan>(Devices::current());
  Report::instance().born(kKind);
  return CUFFT_SUCCESS;
}

cufftResult cufftDestroy(cufftHandle handle) {
  const std::shared_ptr<Plan> plan = find(__func__, handle);
  if (plan == nullptr) return CUFFT_INVALID_PLAN;
  if (plan->device() != Devices::current())
    Report::instance().violation(__func__, "of another device");
  {
    const std::lock_guard lock(g_mutex);
    plans().erase(handle);
  }
  Report::instance().died(kKind);
  // CUDA, too, waits for work that uses the plan's memory.
  standin::Order::instance().synchronize_device(plan->device());
  return CUFFT_SUCCESS;
}

cufftResult cufftSetStream(cufftHandle handle, cudaStream_t stream) {
  STANDIN_CUFFT_PLAN(plan, handle);
  const auto found = Devices::instance().stream(stream);
  if (found == nullptr || (stream != nullptr && found->device() != plan->device())) {
    Report::instance().violation(__func__, "no stream of the plan's device");
    return CUFFT_INVALID_VALUE;
  }
  plan->stream = stream;
  return CUFFT_SUCCESS;
}

cufftResult cufftSetAutoAllocation(cufftHandle handle, int automatic) {
  STANDIN_CUFFT_PLAN(plan, handle);
  if (plan->made()) return CUFFT_INVALID_PLAN;
  plan->automatic = automatic != 0;
  return CUFFT_SUCCESS;
}

cufftResult cufftSetWorkArea(cufftHandle handle, void* area) {
  STANDIN_CUFFT_PLAN(plan, handle);
  standin::Access access(__func__, plan->device());
  access.region(area, plan->work_bytes(), plan->work_bytes(), 1, standin::Intent::write, 16);
  if (!access.ok()) return CUFFT_INVALID_VALUE;
  plan->work_area = area;
  return CUFFT_SUCCESS;
}

cufftResult cufftGetSize(cufftHandle handle, size_t* bytes) {
  STANDIN_CUFFT_PLAN(plan, handle);
  *bytes = plan->work_bytes();
  return CUFFT_SUCCESS;
}

cufftResult cufftMakePlanMany64(cufftHandle handle, int rank, long long* n, long long* inembed,
                                long long istride, long long idist, long long* onembed,
                                long long ostride, long long odist, cufftType type, long long batch,
                                size_t* bytes) {
  return make(__func__, handle,
              many(rank, n, inembed, istride, idist, onembed, ostride, odist, type, batch), bytes);
}

cufftResult cufftMakePlanMany(cufftHandle handle, int rank, int* n, int* inembed, int istride,
                              int idist, int* onembed, int ostride, int odist, cufftType type,
                              int batch, size_t* bytes) {
  return make(__func__, handle,
              many(rank, n, inembed, istride, idist, onembed, ostride, odist, type, batch), bytes);
}

cufftResult cufftPlanMany(cufftHandle* handle, int rank, int* n, int* inembed, int istride,
                          int idist, int* onembed, int ostride, int odist, cufftType type,
                          int batch) {
  const cufftResult created = cufftCreate(handle);
  if (created != CUFFT_SUCCESS) return created;
  return cufftMakePlanMany(*handle, rank, n, inembed, istride, idist, onembed, ostride, odist, type,
                           batch, nullptr);
}

cufftResult cufftPlan1d(cufftHandle* handle, int n, cufftType type, int batch) {
  return cufftPlanMany(handle, 1, &n, nullptr, 1, 0, nullptr, 1, 0, type, batch);
}

cufftResult cufftPlan2d(cufftHandle* handle, int n0, int n1, cufftType type) {
  int n[] = {n0, n1};
  return cufftPlanMany(handle, 2, n, nullptr, 1, 0, nullptr, 1, 0, type, 1);
}

cufftResult cufftPlan3d(cufftHandle* handle, int n0, int n1, int n2, cufftType type) {
  int n[] = {n0, n1, n2};
  return cufftPlanMany(handle, 3, n, nullptr, 1, 0, nullptr, 1, 0, type, 1);
}

cufftResult cufftExecC2C(cufftHandle handle, cufftComplex* in, cufftComplex* out, int direction) {
  return execute(__func__, handle, CUFFT_C2C, in, out, direction);
}
cufftResult cufftExecZ2Z(cufftHandle handle, cufftDoubleComplex* in, cufftDoubleComplex* out,
                         int direction) {
  return execute(__func__, handle, CUFFT_Z2Z, in, out, direction);
}
cufftResult cufftExecR2C(cufftHandle handle, cufftReal* in, cufftComplex* out) {
  return execute(__func__, handle, CUFFT_R2C, in, out, CUFFT_FORWARD);
}
cufftResult cufftExecD2Z(cufftHandle handle, cufftDoubleReal* in, cufftDoubleComplex* out) {
  return execute(__func__, handle, CUFFT_D2Z, in, out, CUFFT_FORWARD);
}
cufftResult cufftExecC2R(cufftHandle handle, cufftComplex* in, cufftReal* out) {
  return execute(__func__, handle, CUFFT_C2R, in, out, CUFFT_INVERSE);
}
cufftResult cufftExecZ2D(cufftHandle handle, cufftDoubleComplex* in, cufftDoubleReal* out) {
  return execute(__func__, handle, CUFFT_Z2D, in, out, CUFFT_INVERSE);
}

cufftResult cufftGetVersion(int* version) {
  *version = CUFFT_VERSION;
  return CUFFT_SUCCESS;
}

}  // extern "C"
