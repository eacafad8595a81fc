// Calls whose operands overlap: refused if the routine changes one of them, otherwise legal.

#include <gtest/gtest.h>

#include "device/host_call.hpp"
#include "device/host_memory.hpp"

namespace ob {
namespace {

class OperandOverlapTest : public testing::Test {
 protected:
  static constexpr std::uint64_t kBufferBytes = 8192;

  BufferId buffer() { return memory_.allocate(kBufferBytes).value(); }

  // A call of order 3, with flags that make most operands referenced, each in its own buffer.
  void prepare(const Descriptor& routine, Argument* arguments) {
    for (std::size_t i = 0; i < routine.kinds.size(); ++i) {
      const std::string_view values = routine.values[i];
      switch (routine.kinds[i]) {
        case Kind::flag: arguments[i].flag = values.find('V') < 4 ? 'V' : values.front(); break;
        case Kind::dim: arguments[i].dim = 3; break;
        case Kind::scalar:
        case Kind::real_scalar: arguments[i].scalar = {1, 0}; break;
        case Kind::matrix: arguments[i].device = {buffer(), 0, 8}; break;
        case Kind::strided: arguments[i].device = {buffer(), 0, 1}; break;
        default: arguments[i].device = {buffer(), 0, 0};
      }
    }
  }
  Code resolve(const Descriptor& routine, const Argument* arguments) {
    HostCall call;
    return resolve_call(memory_, routine, arguments, call).code();
  }

  HostMemory memory_{64 << 20};
};

bool has_elements(const Operand& operand) { return operand.rows > 0 && operand.cols > 0; }
bool changes(const Operand& operand) { return operand.written || operand.consumed; }

TEST_F(OperandOverlapTest, NoOperandOfAnyRoutineMayOverlapOneThatChanges) {
  int refused = 0;
  for (const Descriptor& routine : routines::all()) {
    Argument arguments[kMaxArguments];
    prepare(routine, arguments);
    ASSERT_EQ(resolve(routine, arguments), Code::ok) << routine.name;
    const Operands operands = routine.operands(arguments);
    for (const Operand& one : operands.span()) {
      for (const Operand& other : operands.span()) {
        if (one.argument == other.argument) continue;
        const DeviceOperand own = arguments[one.argument].device;
        arguments[one.argument].device.buffer = arguments[other.argument].device.buffer;
        const bool illegal =
            has_elements(one) && has_elements(other) && (changes(one) || changes(other));
        refused += illegal ? 1 : 0;
        EXPECT_EQ(resolve(routine, arguments), illegal ? Code::invalid_argument : Code::ok)
            << routine.name << ": " << routine.argument_names[one.argument] << " on "
            << routine.argument_names[other.argument];
        arguments[one.argument].device.offset_bytes = kBufferBytes / 2;  // beside the other one
        EXPECT_EQ(resolve(routine, arguments), Code::ok) << routine.name;
        arguments[one.argument].device = own;
      }
    }
    for (std::size_t i = 0; i < routine.kinds.size(); ++i) {
      if (is_memory(routine.kinds[i])) (void)memory_.free(arguments[i].device.buffer);
    }
  }
  EXPECT_GT(refused, 1000);
}

// A 6 x 6 array of doubles with blocks of 3 x 3.
class BlocksTest : public OperandOverlapTest {
 protected:
  DeviceOperand block(std::uint64_t row, std::uint64_t column) const {
    return {array_, (row + column * 6) * 8, 6};
  }
  const BufferId array_ = buffer();
};

TEST_F(BlocksTest, BlocksOfOneArrayAreLegalOperands) {
  const Descriptor& dgemm = *routines::find("dgemm");
  Argument gemm[kMaxArguments];
  prepare(dgemm, gemm);
  gemm[6].device = block(3, 0);
  gemm[7].device = block(0, 3);
  gemm[9].device = block(3, 3);
  EXPECT_EQ(resolve(dgemm, gemm), Code::ok);
  for (const DeviceOperand& c : {block(2, 3), block(3, 2), block(2, 2)}) {  // row 2 or column 2
    gemm[9].device = c;
    EXPECT_EQ(resolve(dgemm, gemm), Code::invalid_argument);
  }
  gemm[7].device = gemm[6].device;  // both are read
  gemm[9].device = block(3, 3);
  EXPECT_EQ(resolve(dgemm, gemm), Code::ok);

  const Descriptor& dtrsm = *routines::find("dtrsm");
  Argument trsm[kMaxArguments];
  prepare(dtrsm, trsm);
  for (const DeviceOperand& b : {block(3, 0), block(0, 3), block(3, 3)}) {
    trsm[7].device = block(0, 0);
    trsm[8].device = b;
    EXPECT_EQ(resolve(dtrsm, trsm), Code::ok);
  }
}

TEST_F(BlocksTest, RowsOfOneArrayAreLegalOperands) {
  const Descriptor& dswap = *routines::find("dswap");
  Argument swap[kMaxArguments];
  prepare(dswap, swap);
  swap[1].device = {array_, 0, 6};
  swap[2].device = {array_, 8, 6};
  EXPECT_EQ(resolve(dswap, swap), Code::ok);
  swap[2].device = {array_, 48, -6};
  EXPECT_EQ(resolve(dswap, swap), Code::invalid_argument);
}

TEST_F(BlocksTest, TheMessageNamesBothOperands) {
  const Descriptor& dgetrf = *routines::find("dgetrf");
  Argument arguments[kMaxArguments];
  prepare(dgetrf, arguments);
  arguments[3].device = {arguments[2].device.buffer, 8, 0};
  HostCall call;
  const Status status = resolve_call(memory_, dgetrf, arguments, call);
  EXPECT_EQ(status.code(), Code::invalid_argument);
  EXPECT_NE(status.message().find("ipiv of dgetrf overlaps argument a"), std::string::npos)
      << status.message();
}

}  // namespace
}  // namespace ob
