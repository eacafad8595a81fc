#include "backend/cuda/row_parameters.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "backend/cuda/sub_call.hpp"

namespace ob::cuda {
namespace {

// The parameters that functions with NVIDIA's types receive.
struct Seen {
  std::string flags;
  std::vector<std::int64_t> integers;
  std::vector<const void*> pointers;
  std::vector<double> scalars;
  std::vector<cudaDataType> types;
};
Seen seen;

void see(cublasOperation_t p) { seen.flags += "NTC"[p]; }
void see(cublasFillMode_t p) { seen.flags += p == CUBLAS_FILL_MODE_UPPER ? 'U' : 'L'; }
void see(cublasSideMode_t p) { seen.flags += p == CUBLAS_SIDE_LEFT ? 'l' : 'r'; }
void see(cublasDiagType_t p) { seen.flags += p == CUBLAS_DIAG_UNIT ? 'u' : 'n'; }
void see(cusolverEigMode_t p) { seen.flags += p == CUSOLVER_EIG_MODE_VECTOR ? 'v' : 'o'; }
void see(cusolverEigType_t p) { seen.integers.push_back(p); }
void see(signed char p) { seen.flags += static_cast<char>(p); }
void see(cudaDataType p) { seen.types.push_back(p); }
void see(std::int64_t p) { seen.integers.push_back(p); }
void see(int p) { seen.integers.push_back(p); }
void see(std::size_t p) { seen.integers.push_back(static_cast<std::int64_t>(p)); }
void see(const void* p) { seen.pointers.push_back(p); }

template <class Status, class Handle, class... Parameters>
Status take_down(Handle /*handle*/, Parameters... parameters) {
  (see(parameters), ...);
  return Status{};
}
template <class Status, class Handle, class... Parameters>
auto recorder(Status (*)(Handle, Parameters...)) {
  return &take_down<Status, Handle, Parameters...>;
}

// Returns the parameters that one of NVIDIA's functions receives from such a call.
template <class Function>
Seen given(Function* like, const SubCall& call, const RowExtras& extras = {},
           RowWanted* wanted = nullptr) {
  seen = {};
  const Operands operands = call.routine().operands(call.arguments());
  RowParameters row(call.routine(), call.arguments(), operands, extras, wanted);
  auto* const function = recorder(like);
  [&]<class Status, class Handle, class... P>(Status (*f)(Handle, P...)) {
    EXPECT_EQ(call_with(f, Handle{}, row), Status{});
  }(function);
  return seen;
}

const Descriptor& of(const char* name) { return *routines::find(std::string_view(name)); }
std::byte memory[64];
void* at(int place) { return memory + place; }
using Integers = std::vector<std::int64_t>;
using Pointers = std::vector<const void*>;

TEST(RowParameters, GemmKeepsItsOrder) {
  SubCall call = SubCall(of("dgemm"), "gemm").flag('N').flag('C').dim(2).dim(3).dim(4).one();
  call.operand(at(1), 20).operand(at(2), 30).one().operand(at(3), 40);
  const Seen got = given(decltype(&::cublasDgemm_64){}, call);
  EXPECT_EQ(got.flags, "NT");  // a routine of real numbers
  EXPECT_EQ(got.integers, (Integers{2, 3, 4, 20, 30, 40}));
  ASSERT_EQ(got.pointers.size(), 5u);
  EXPECT_EQ(got.pointers[1], at(1));
  EXPECT_EQ(got.pointers[2], at(2));
  EXPECT_EQ(got.pointers[4], at(3));
}

cublasStatus_t scalars_of_her2k(cublasHandle_t, cublasFillMode_t, cublasOperation_t, std::int64_t,
                                std::int64_t, const cuComplex* alpha, const cuComplex*,
                                std::int64_t, const cuComplex*, std::int64_t, const float* beta,
                                cuComplex*, std::int64_t) {
  seen.scalars = {alpha->x, alpha->y, *beta};
  return CUBLAS_STATUS_SUCCESS;
}

TEST(RowParameters, ScalarsAreConvertedToTheFunctionsTypes) {
  static_assert(std::is_same_v<decltype(&scalars_of_her2k), decltype(&::cublasCher2k_64)>);
  const Descriptor& routine = of("cher2k");
  Argument a[kMaxArguments];
  a[0].flag = 'U';
  a[1].flag = 'C';
  a[2].dim = a[3].dim = 5;
  a[4].scalar = {1.5, -2};
  a[5].host = a[6].host = {at(0), 5};
  a[7].scalar = {0.25, 0};
  a[8].host = {at(8), 5};
  const Operands operands = routine.operands(a);
  RowParameters row(routine, a, operands);
  seen = {};
  call_with(&scalars_of_her2k, cublasHandle_t{}, row);
  EXPECT_EQ(seen.scalars, (std::vector<double>{1.5, -2, 0.25}));
}

TEST(RowParameters, TheOutOfPlaceTrmmIsInPlace) {
  SubCall call = SubCall(of("ztrmm"), "trmm").flag('R').flag('L').flag('C').flag('U').dim(6).dim(7);
  call.one().operand(at(1), 10).operand(at(2), 11);
  const Seen got = given(decltype(&::cublasZtrmm_64){}, call);
  EXPECT_EQ(got.flags, "rLCu");
  EXPECT_EQ(got.integers, (Integers{6, 7, 10, 11, 11}));
  EXPECT_EQ(Pointers(got.pointers.begin() + 1, got.pointers.end()),
            (Pointers{at(1), at(2), at(2)}));
}

TEST(RowParameters, ResultsAndIncrements) {
  Argument a[kMaxArguments];
  a[0].dim = 9;
  a[1].host = {at(4), -2};
  a[2].host = {at(5), 3};
  a[3].host = {at(6), 0};
  const Descriptor& routine = of("zdotc");
  const Operands operands = routine.operands(a);
  RowParameters row(routine, a, operands);
  seen = {};
  call_with(recorder(decltype(&::cublasZdotc_64){}), cublasHandle_t{}, row);
  EXPECT_EQ(seen.integers, (Integers{9, -2, 3}));
  EXPECT_EQ(seen.pointers, (Pointers{at(4), at(5), at(6)}));
}

TEST(RowParameters, TypedSolversGetWorkspaceAndInfoAtTheEnd) {
  SubCall call = SubCall(of("zungqr"), "orgqr", "ungqr").dim(8).dim(7).dim(6);
  call.operand(at(1), 9).operand(at(2)).info();
  int info = 0;
  RowExtras extras;
  extras.device_work = memory + 40;
  extras.work_elements = 123;
  extras.info = &info;
  const Seen got = given(decltype(&::cusolverDnZungqr){}, call, extras);
  EXPECT_EQ(got.integers, (Integers{8, 7, 6, 9, 123}));
  EXPECT_EQ(got.pointers, (Pointers{at(1), at(2), at(40), &info}));
  RowWanted wanted;
  const Seen asked = given(decltype(&::cusolverDnZungqr_bufferSize){}, call, {}, &wanted);
  EXPECT_EQ(asked.integers, (Integers{8, 7, 6, 9}));
  EXPECT_EQ(asked.pointers, (Pointers{at(1), at(2), &wanted.work_elements}));
}

TEST(RowParameters, FunctionsMayLeaveArgumentsOut) {
  SubCall call = SubCall(of("dsytrf"), "sytrf").flag('L').dim(8);
  call.operand(at(1), 9).operand(at(2)).info();
  int info = 0;
  int pivots = 0;
  RowExtras extras;
  extras.info = &info;
  extras.pivots = &pivots;
  const Seen got = given(decltype(&::cusolverDnDsytrf){}, call, extras);
  EXPECT_EQ(got.flags, "L");
  EXPECT_EQ(got.pointers, (Pointers{at(1), &pivots, nullptr, &info}));
  RowWanted wanted;
  const Seen asked = given(decltype(&::cusolverDnDsytrf_bufferSize){}, call, {}, &wanted);
  EXPECT_EQ(asked.flags, "");
  EXPECT_EQ(asked.integers, (Integers{8, 9}));
  SubCall bidiagonal = SubCall(of("dgebrd"), "gebrd").dim(8).dim(7).operand(at(1), 9);
  bidiagonal.operand(at(2)).operand(at(3)).operand(at(4)).operand(at(5)).info();
  const Seen shapes = given(decltype(&::cusolverDnDgebrd_bufferSize){}, bidiagonal, {}, &wanted);
  EXPECT_EQ(shapes.integers, (Integers{8, 7}));
  EXPECT_EQ(shapes.pointers, (Pointers{&wanted.work_elements}));
}

TEST(RowParameters, DataTypesAreThoseOfTheOperands) {
  SubCall call = SubCall(of("cheevd"), "syevd", "heevd").flag('V').flag('U').dim(8);
  call.operand(at(1), 9).operand(at(2)).info();
  int info = 0;
  RowExtras extras;
  extras.device_work = memory + 40;
  extras.host_work = memory + 41;
  extras.device_bytes = 1000;
  extras.host_bytes = 2000;
  extras.info = &info;
  const Seen got = given(decltype(&::cusolverDnXsyevd){}, call, extras);
  EXPECT_EQ(got.flags, "vU");
  EXPECT_EQ(got.types, (std::vector<cudaDataType>{CUDA_C_32F, CUDA_R_32F, CUDA_C_32F}));
  EXPECT_EQ(got.integers, (Integers{8, 9, 1000, 2000}));
  EXPECT_EQ(got.pointers, (Pointers{nullptr, at(1), at(2), at(40), at(41), &info}));
  RowWanted wanted;
  const Seen asked = given(decltype(&::cusolverDnXsyevd_bufferSize){}, call, {}, &wanted);
  EXPECT_EQ(asked.types, got.types);
  EXPECT_EQ(asked.pointers,
            (Pointers{nullptr, at(1), at(2), &wanted.device_bytes, &wanted.host_bytes}));
}

TEST(RowParameters, PivotsAreNoRealNumbersAlthoughAsLarge) {
  SubCall call = SubCall(of("zgetrf"), "getrf").dim(8).dim(5);
  call.operand(at(1), 9).operand(at(2)).info();
  RowWanted wanted;
  const Seen asked = given(decltype(&::cusolverDnXgetrf_bufferSize){}, call, {}, &wanted);
  EXPECT_EQ(asked.types, (std::vector<cudaDataType>{CUDA_C_64F, CUDA_C_64F}));
}

TEST(RowParameters, SingularValuesHaveAMatrixOrNone) {
  SubCall call = SubCall(of("dgesvd"), "gesvd").flag('S').flag('N').dim(8).dim(5);
  call.operand(at(1), 9).operand(at(2)).operand(at(3), 10).operand(nullptr, 5).info();
  const Seen got = given(decltype(&::cusolverDnXgesvd){}, call);
  EXPECT_EQ(got.flags, "SN");
  EXPECT_EQ(got.integers, (Integers{8, 5, 9, 10, 5, 0, 0}));
  EXPECT_EQ(got.types.size(), 5u);
}

}  // namespace
}  // namespace ob::cuda
