#include "backend/opencl/row_parameters.hpp"

#include <string>
#include <vector>

#include "backend/opencl/tested.hpp"

namespace ob::opencl {
namespace {

// The parameters that functions with CLBlast's types receive.
struct Seen {
  std::string flags;
  std::vector<std::size_t> sizes;
  std::vector<cl_mem> buffers;
  std::vector<double> scalars;
};
Seen seen;

void see(CLBlastLayout p) { seen.flags += p == CLBlastLayoutColMajor ? 'c' : '?'; }
void see(CLBlastTranspose p) {
  seen.flags += p == CLBlastTransposeNo ? 'N' : p == CLBlastTransposeYes ? 'T' : 'C';
}
void see(CLBlastTriangle p) { seen.flags += p == CLBlastTriangleUpper ? 'U' : 'L'; }
void see(CLBlastSide p) { seen.flags += p == CLBlastSideLeft ? 'l' : 'r'; }
void see(CLBlastDiagonal p) { seen.flags += p == CLBlastDiagonalUnit ? 'u' : 'n'; }
void see(std::size_t p) { seen.sizes.push_back(p); }
void see(cl_mem p) { seen.buffers.push_back(p); }
void see(double p) { seen.scalars.push_back(p); }
void see(float p) { seen.scalars.push_back(p); }
void see(cl_float2 p) { seen.scalars.insert(seen.scalars.end(), {p.s[0], p.s[1]}); }
void see(cl_double2 p) { seen.scalars.insert(seen.scalars.end(), {p.s[0], p.s[1]}); }
void see(cl_command_queue* /*p*/) {}
void see(cl_event* p) { EXPECT_EQ(p, nullptr); }

template <class... P>
CLBlastStatusCode take_down(P... parameters) {
  (see(parameters), ...);
  return CLBlastSuccess;
}
template <class... P>
auto recorder(CLBlastStatusCode (*)(P...)) {
  return &take_down<P...>;
}

class RowParametersTest : public OnDevice {
 protected:
  void SetUp() override {
    OnDevice::SetUp();
    if (IsSkipped()) return;
    auto made = ClMemory::create(cl(), accelerator());
    ASSERT_TRUE(made.ok()) << made.status().message();
    memory_ = std::move(*made);
    for (std::byte*& data : data_) {
      const auto obtained = memory_->obtain(65536);
      ASSERT_TRUE(obtained.ok());
      data = *obtained;
    }
  }
  void TearDown() override {
    for (std::byte* const data : data_) {
      if (data != nullptr) memory_->give_back(data);
    }
  }

  /// Returns the parameters that a function of CLBlast receives from a call of `routine`. The
  /// flags, dimensions, scalars and leading dimensions of the call come from these lists; its
  /// operands lie `offset` elements into one buffer after the other.
  template <class Function>
  Seen given(Function* like, const char* name, std::string flags, std::vector<std::int64_t> dims,
             std::vector<Complex> scalars, std::vector<std::int64_t> lds, std::size_t offset) {
    const Descriptor& routine = *routines::find(std::string_view(name));
    Argument arguments[kMaxArguments];
    std::size_t flag = 0;
    std::size_t dim = 0;
    std::size_t scalar = 0;
    std::size_t operand = 0;
    for (std::size_t i = 0; i < routine.kinds.size(); ++i) {
      switch (routine.kinds[i]) {
        case Kind::flag: arguments[i].flag = flags[flag++]; break;
        case Kind::dim: arguments[i].dim = dims[dim++]; break;
        case Kind::scalar:
        case Kind::real_scalar: arguments[i].scalar = scalars[scalar++]; break;
        default:
          arguments[i].host = {data_[operand] + offset * element_bytes(routine.precision),
                               lds[operand]};
          ++operand;
          break;
      }
    }
    seen = {};
    RowParameters row(*memory_, routine, arguments, nullptr);
    EXPECT_EQ(call_with(recorder(like), row), CLBlastSuccess);
    return seen;
  }
  cl_mem buffer(std::size_t i) const { return memory_->place(data_[i]).buffer; }

 private:
  std::unique_ptr<ClMemory> memory_;
  std::byte* data_[3] = {};
};

using Sizes = std::vector<std::size_t>;
using Scalars = std::vector<double>;

TEST_F(RowParametersTest, GemmKeepsItsOrder) {
  const Seen got = given(decltype(&::CLBlastDgemm){}, "dgemm", "NC", {2, 3, 4},
                         {{1.5, 0}, {2.5, 0}}, {20, 30, 40}, 7);
  EXPECT_EQ(got.flags, "cNT");  // column-major; real numbers
  EXPECT_EQ(got.sizes, (Sizes{2, 3, 4, 7, 20, 7, 30, 7, 40}));
  EXPECT_EQ(got.scalars, (Scalars{1.5, 2.5}));
  EXPECT_EQ(got.buffers, (std::vector<cl_mem>{buffer(0), buffer(1), buffer(2)}));
}

TEST_F(RowParametersTest, ComplexScalarsAndConjugates) {
  const Seen got = given(decltype(&::CLBlastZgemm){}, "zgemm", "CT", {2, 3, 4}, {{1, 2}, {3, 4}},
                         {20, 30, 40}, 3);
  EXPECT_EQ(got.flags, "cCT");
  EXPECT_EQ(got.sizes, (Sizes{2, 3, 4, 3, 20, 3, 30, 3, 40}));
  EXPECT_EQ(got.scalars, (Scalars{1, 2, 3, 4}));
}

TEST_F(RowParametersTest, RealScalarsOfHermitianUpdates) {
  const Seen got = given(decltype(&::CLBlastCher2k){}, "cher2k", "LN", {5, 6}, {{1, 2}, {3, 0}},
                         {10, 11, 12}, 0);
  EXPECT_EQ(got.flags, "cLN");
  EXPECT_EQ(got.scalars, (Scalars{1, 2, 3}));
  EXPECT_EQ(got.sizes, (Sizes{5, 6, 0, 10, 0, 11, 0, 12}));
}

TEST_F(RowParametersTest, TrianglesSidesAndDiagonals) {
  const Seen got = given(decltype(&::CLBlastStrsm){}, "strsm", "RUTU", {5, 6}, {{2, 0}}, {9, 8}, 1);
  EXPECT_EQ(got.flags, "crUTu");
  EXPECT_EQ(got.sizes, (Sizes{5, 6, 1, 9, 1, 8}));
}

}  // namespace
}  // namespace ob::opencl
