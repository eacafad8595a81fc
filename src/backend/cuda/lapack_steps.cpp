#include "backend/cuda/lapack_steps.hpp"

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>

#include "backend/cuda/blas.hpp"
#include "backend/cuda/solver.hpp"

namespace ob::cuda {
namespace {

// Submits one transposition of a matrix of one type.
template <auto kFunction, class Number>
cublasStatus_t transpose_as(const BlasTable& table, cublasHandle_t handle, std::int64_t m,
                            std::int64_t n, HostOperand a, HostOperand b) {
  Number one{};
  Number zero{};
  if constexpr (std::is_floating_point_v<Number>) {
    one = 1;
  } else {
    one.x = 1;
  }
  auto* const to = static_cast<Number*>(b.data);
  // The second summand has the factor 0 and is not read, but its pointer must be valid.
  return (table.*kFunction)(handle, CUBLAS_OP_C, CUBLAS_OP_N, n, m, &one,
                            static_cast<const Number*>(a.data), a.ld, &zero, to, b.ld, to, b.ld);
}

}  // namespace

LapackSteps::Info LapackSteps::solve(const SubCall& call) {
  return run_solver(context_, call.routine(), call.arguments());
}

LapackSteps::Info LapackSteps::solve_row(const Argument* arguments) {
  return run_solver(context_, routine_, arguments);
}

Status LapackSteps::multiply(const SubCall& call) {
  return run_blas(context_, call.routine(), call.arguments());
}

Result<PinnedBlock> LapackSteps::read(const void* source, std::uint64_t bytes) {
  OB_ASSIGN_OR_RETURN(PinnedBlock block, context_.pinned.take(bytes));
  const Runtime& runtime = context_.runtime();
  OB_RETURN_IF_ERROR(runtime.check(
      runtime.cudaMemcpyAsync(block.data(), source, bytes, cudaMemcpyDeviceToHost, context_.stream),
      "reading a result"));
  OB_RETURN_IF_ERROR(context_.synchronize());
  return block;
}

Result<HostOperand> LapackSteps::copy_diagonal(std::int64_t n, HostOperand a) {
  OB_ASSIGN_OR_RETURN(const HostOperand diagonal, matrix(n, 1));
  OB_RETURN_IF_ERROR(multiply(
      SubCall(routine_, "copy").dim(n).operand(a.data, a.ld + 1).operand(diagonal.data, 1)));
  return diagonal;
}

Status LapackSteps::set_diagonal(std::int64_t n, HostOperand diagonal, bool real, HostOperand a) {
  if (n == 0) return {};
  const std::size_t element = element_bytes(routine_.precision);
  const std::size_t part = real ? real_bytes(routine_.precision) : element;
  const std::size_t pitch = static_cast<std::size_t>(a.ld + 1) * element;
  const auto count = static_cast<std::size_t>(n);
  const Runtime& runtime = context_.runtime();
  OB_RETURN_IF_ERROR(
      runtime.check(runtime.cudaMemcpy2DAsync(a.data, pitch, diagonal.data, part, part, count,
                                              cudaMemcpyDeviceToDevice, context_.stream),
                    "writing a diagonal"));
  if (part == element) return {};
  auto* const imaginary = static_cast<std::byte*>(a.data) + part;
  return runtime.check(runtime.cudaMemset2DAsync(imaginary, pitch, 0, part, count, context_.stream),
                       "clearing the imaginary parts of a diagonal");
}

LapackSteps::Info LapackSteps::first_zero(std::int64_t n, HostOperand a) {
  OB_ASSIGN_OR_RETURN(const std::vector<bool> zeros, zero_elements(n, a));
  for (std::int64_t i = 0; i < n; ++i) {
    if (zeros[static_cast<std::size_t>(i)]) return i + 1;
  }
  return std::int64_t{0};
}

Result<std::vector<bool>> LapackSteps::zero_elements(std::int64_t n, HostOperand a) {
  const std::uint64_t bytes = static_cast<std::uint64_t>(n) * element_bytes(routine_.precision);
  OB_ASSIGN_OR_RETURN(const HostOperand diagonal, copy_diagonal(n, a));
  OB_ASSIGN_OR_RETURN(const PinnedBlock block, read(diagonal.data, bytes));
  const int parts = SubCall::is_complex(routine_.precision) ? 2 : 1;
  const auto zeros_among = [&](const auto* numbers) {
    std::vector<bool> zeros;
    for (std::int64_t i = 0; i < n; ++i) {
      zeros.push_back(std::all_of(numbers + i * parts, numbers + (i + 1) * parts,
                                  [](auto part) { return part == 0; }));
    }
    return zeros;
  };
  return real_bytes(routine_.precision) == 4 ? zeros_among(block.as<float>())
                                             : zeros_among(block.as<double>());
}

LapackSteps::Info LapackSteps::first_zero_pivot(char uplo, std::int64_t n, HostOperand a,
                                                HostOperand pivots) {
  OB_ASSIGN_OR_RETURN(const std::vector<bool> zeros, zero_elements(n, a));
  OB_ASSIGN_OR_RETURN(const PinnedBlock block,
                      read(pivots.data, static_cast<std::uint64_t>(n) * sizeof(std::int64_t)));
  const auto* const pivot = block.as<std::int64_t>();
  for (std::int64_t step = 0; step < n; ++step) {  // the upper form is eliminated from the end
    const std::int64_t k = uplo == 'U' ? n - 1 - step : step;
    if (zeros[static_cast<std::size_t>(k)] && pivot[k] > 0) return k + 1;
  }
  return std::int64_t{0};
}

template <class Real>
Status LapackSteps::sort_as(std::int64_t n, void* values, HostOperand a) {
  const std::uint64_t bytes = static_cast<std::uint64_t>(n) * sizeof(Real);
  OB_ASSIGN_OR_RETURN(const PinnedBlock block, read(values, bytes));
  Real* const w = block.as<Real>();
  const auto has_no_order = [](Real value) { return value != value; };
  if (std::is_sorted(w, w + n) || std::any_of(w, w + n, has_no_order)) return {};
  std::vector<std::int64_t> order(static_cast<std::size_t>(n));
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [w](std::int64_t left, std::int64_t right) { return w[left] < w[right]; });
  if (a.data != nullptr) {
    OB_ASSIGN_OR_RETURN(const HostOperand copied, matrix(n, n));
    OB_RETURN_IF_ERROR(copy(n, n, a, copied));
    for (std::int64_t column = 0; column < n; ++column) {
      OB_RETURN_IF_ERROR(
          copy(n, 1, at(copied, 0, order[static_cast<std::size_t>(column)]), at(a, 0, column)));
    }
  }
  std::sort(w, w + n);
  const Runtime& runtime = context_.runtime();
  OB_RETURN_IF_ERROR(runtime.check(
      runtime.cudaMemcpyAsync(values, w, bytes, cudaMemcpyHostToDevice, context_.stream),
      "writing eigenvalues"));
  return context_.synchronize();
}

Status LapackSteps::sort_eigenvalues(std::int64_t n, void* values, HostOperand a) {
  return real_bytes(routine_.precision) == 4 ? sort_as<float>(n, values, a)
                                             : sort_as<double>(n, values, a);
}

Status LapackSteps::conjugate_transpose(std::int64_t m, std::int64_t n, HostOperand a,
                                        HostOperand b) {
  OB_ASSIGN_OR_RETURN(const BlasTable* table, context_.libraries.blas());
  OB_ASSIGN_OR_RETURN(cublasHandle_t handle, context_.handles.blas());
  OB_RETURN_IF_ERROR(table->check(table->cublasSetPointerMode(handle, CUBLAS_POINTER_MODE_HOST),
                                  "cublasSetPointerMode"));
  const auto transpose = [&] {
    switch (routine_.precision) {
      case Precision::s:
        return transpose_as<&BlasTable::cublasSgeam_64, float>(*table, handle, m, n, a, b);
      case Precision::d:
        return transpose_as<&BlasTable::cublasDgeam_64, double>(*table, handle, m, n, a, b);
      case Precision::c:
        return transpose_as<&BlasTable::cublasCgeam_64, cuComplex>(*table, handle, m, n, a, b);
      default:
        return transpose_as<&BlasTable::cublasZgeam_64, cuDoubleComplex>(*table, handle, m, n, a,
                                                                         b);
    }
  };
  return table->check(transpose(), "geam");
}

Status LapackSteps::set_identity(std::int64_t n, HostOperand a) {
  OB_ASSIGN_OR_RETURN(const Kernels* kernels, context_.handles.kernels(context_.device));
  const long long size = n;
  return kernels->launch(context_.stream, std::string("ob_identity_") + routine_.name.front(),
                         n * n, size, size, a.data, static_cast<long long>(a.ld));
}

Status LapackSteps::copy(std::int64_t m, std::int64_t n, HostOperand a, HostOperand b) {
  const std::uint64_t element = element_bytes(routine_.precision);
  const auto bytes = [&](std::int64_t count) { return static_cast<std::size_t>(count) * element; };
  const Runtime& runtime = context_.runtime();
  return runtime.check(runtime.cudaMemcpy2DAsync(b.data, bytes(b.ld), a.data, bytes(a.ld), bytes(m),
                                                 static_cast<std::size_t>(n),
                                                 cudaMemcpyDeviceToDevice, context_.stream),
                       "copying a matrix");
}

Status LapackSteps::clear(std::int64_t m, std::int64_t n, HostOperand a) {
  if (m == 0 || n == 0) return {};
  const std::uint64_t element = element_bytes(routine_.precision);
  const Runtime& runtime = context_.runtime();
  return runtime.check(runtime.cudaMemset2DAsync(a.data, static_cast<std::size_t>(a.ld) * element,
                                                 0, static_cast<std::size_t>(m) * element,
                                                 static_cast<std::size_t>(n), context_.stream),
                       "clearing a matrix");
}

Result<HostOperand> LapackSteps::matrix(std::int64_t m, std::int64_t n) {
  const auto elements = static_cast<std::uint64_t>(m) * static_cast<std::uint64_t>(n);
  OB_ASSIGN_OR_RETURN(std::byte * data,
                      context_.work.device_bytes(elements * element_bytes(routine_.precision)));
  return HostOperand{data, std::max<std::int64_t>(1, m)};
}

}  // namespace ob::cuda
