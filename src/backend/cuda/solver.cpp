#include "backend/cuda/solver.hpp"

#include <algorithm>
#include <string>
#include <unordered_map>
#include <vector>

#include "backend/cuda/row_parameters.hpp"
#include "base/contract.hpp"

namespace ob::cuda {
namespace {

using SolverFunction = cusolverStatus_t (*)(const SolverTable& table, cusolverDnHandle_t handle,
                                            RowParameters& row);

template <auto kFunction>
cusolverStatus_t call_solver(const SolverTable& table, cusolverDnHandle_t handle,
                             RowParameters& row) {
  if (table.*kFunction == nullptr) return CUSOLVER_STATUS_NOT_SUPPORTED;
  return call_with(table.*kFunction, handle, row);
}

// True if the function's dimensions are `int`.
template <class Status, class... Parameters>
constexpr bool is_narrow(Status (*)(Parameters...)) {
  return (std::is_same_v<Parameters, int> || ...);
}

struct SolverRow {
  std::string_view name;
  SolverFunction ask;  // queries the workspace; nullptr: the function needs none
  SolverFunction run;
  bool narrow;
};

#define OB_CUDA_ROW(routine, question, function)                                         \
  {#routine, &call_solver<&SolverTable::question>, &call_solver<&SolverTable::function>, \
   is_narrow(decltype(&::function){})},
#define OB_CUDA_PLAIN_ROW(routine, function) \
  {#routine, nullptr, &call_solver<&SolverTable::function>, false},
constexpr SolverRow kSolverRows[] = {OB_CUSOLVER_ROWS(OB_CUDA_ROW)
                                         OB_CUSOLVER_PLAIN_ROWS(OB_CUDA_PLAIN_ROW)};
#undef OB_CUDA_ROW
#undef OB_CUDA_PLAIN_ROW

const SolverRow* find_row(const Descriptor& routine) {
  static const auto rows = [] {
    std::unordered_map<std::uint32_t, const SolverRow*> found;
    for (const SolverRow& row : kSolverRows) {
      if (const Descriptor* known = routines::find(row.name)) found[known->id] = &row;
    }
    return found;
  }();
  const auto found = rows.find(routine.id);
  return found == rows.end() ? nullptr : found->second;
}

Status check_integers(const Descriptor& routine, const Argument* arguments) {
  for (std::size_t i = 0; i < routine.kinds.size(); ++i) {
    const Kind kind = routine.kinds[i];
    const std::int64_t value = kind == Kind::dim ? arguments[i].dim
                               : has_ld(kind)    ? arguments[i].host.ld
                                                 : 0;
    if (value <= INT32_MAX) continue;
    return {Code::unsupported,
            std::string(routine.name) + ": " + std::string(routine.argument_names[i]) + " = " +
                std::to_string(value) + " is beyond cuSOLVER's 32-bit integers; cut the problem"};
  }
  return {};
}

// A call of one row.
class Run {
 public:
  Run(StreamContext& context, const Descriptor& routine, const Argument* arguments,
      const SolverRow& row)
      : context_(context),
        routine_(routine),
        arguments_(arguments),
        row_(row),
        operands_(routine.operands(arguments)) {}

  Result<std::int64_t> run() {
    if (row_.narrow) OB_RETURN_IF_ERROR(check_integers(routine_, arguments_));
    OB_ASSIGN_OR_RETURN(table_, context_.libraries.solver());
    OB_ASSIGN_OR_RETURN(handle_, context_.handles.solver());
    OB_ASSIGN_OR_RETURN(extras_.params, context_.handles.solver_params());
    OB_RETURN_IF_ERROR(allocate());
    if (row_.narrow) OB_RETURN_IF_ERROR(allocate_pivots());
    RowParameters row(routine_, arguments_, operands_, extras_);
    OB_RETURN_IF_ERROR(table_->check(row_.run(*table_, handle_, row), routine_.name));
    Status widened = widen_pivots();
    if (widened.ok()) return info();
    (void)context_.synchronize();  // the workspace on the host is freed with this object
    return widened;
  }

 private:
  Status allocate() {
    RowWanted wanted;
    if (row_.ask != nullptr) {
      RowParameters row(routine_, arguments_, operands_, extras_, &wanted);
      OB_RETURN_IF_ERROR(table_->check(row_.ask(*table_, handle_, row), routine_.name));
    }
    const auto elements = static_cast<std::size_t>(std::max(0, wanted.work_elements));
    extras_.work_elements = wanted.work_elements;
    extras_.device_bytes =
        std::max(wanted.device_bytes, elements * element_bytes(routine_.precision));
    extras_.host_bytes = wanted.host_bytes;
    host_work_.resize(wanted.host_bytes);
    extras_.host_work = host_work_.data();
    constexpr std::size_t kInfoBytes = 256;
    OB_ASSIGN_OR_RETURN(std::byte * memory,
                        context_.work.device_bytes(kInfoBytes + extras_.device_bytes));
    extras_.info = reinterpret_cast<int*>(memory);
    extras_.device_work = memory + kInfoBytes;
    return {};
  }

  const Operand* pivots() const {
    for (const Operand& operand : operands_.span()) {
      if (routine_.kinds[operand.argument] == Kind::index_vector) return &operand;
    }
    return nullptr;
  }

  Status allocate_pivots() {
    if (pivots() == nullptr) return {};
    OB_ASSIGN_OR_RETURN(std::byte * memory,
                        context_.work.device_bytes(pivots()->rows * sizeof(int)));
    extras_.pivots = reinterpret_cast<int*>(memory);
    return {};
  }

  Status widen_pivots() const {
    if (extras_.pivots == nullptr) return {};
    OB_ASSIGN_OR_RETURN(const Kernels* kernels, context_.handles.kernels(context_.device));
    const auto count = static_cast<long long>(pivots()->rows);
    return kernels->launch(context_.stream, "ob_widen", count, count, extras_.pivots,
                           arguments_[pivots()->argument].host.data);
  }

  Result<std::int64_t> info() const {
    OB_ASSIGN_OR_RETURN(const PinnedBlock block, context_.pinned.take(sizeof(int)));
    const Runtime& runtime = context_.runtime();
    OB_RETURN_IF_ERROR(
        runtime.check(runtime.cudaMemcpyAsync(block.data(), extras_.info, sizeof(int),
                                              cudaMemcpyDeviceToHost, context_.stream),
                      "reading info"));
    OB_RETURN_IF_ERROR(context_.synchronize());
    const int value = *block.as<int>();
    if (value >= 0) return std::int64_t{value};
    return Status(Code::unsupported, std::string(routine_.name) + ": cuSOLVER refuses parameter " +
                                         std::to_string(-value));
  }

  StreamContext& context_;
  const Descriptor& routine_;
  const Argument* const arguments_;
  const SolverRow& row_;
  const Operands operands_;
  const SolverTable* table_ = nullptr;
  cusolverDnHandle_t handle_ = nullptr;
  RowExtras extras_;
  std::vector<std::byte> host_work_;
};

}  // namespace

bool solver_has(const Descriptor& routine) noexcept { return find_row(routine) != nullptr; }

Result<std::int64_t> run_solver(StreamContext& context, const Descriptor& routine,
                                const Argument* arguments) {
  OB_EXPECT(solver_has(routine));
  return Run(context, routine, arguments, *find_row(routine)).run();
}

}  // namespace ob::cuda
