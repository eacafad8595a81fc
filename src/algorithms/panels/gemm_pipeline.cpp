#include "algorithms/panels/gemm_pipeline.hpp"

#include <algorithm>
#include <vector>

#include "algorithms/gemm_arguments.hpp"
#include "algorithms/panels/op_matrix.hpp"
#include "algorithms/panels/pipeline.hpp"
#include "algorithms/panels/result_landing.hpp"
#include "algorithms/residency/placed_operand.hpp"

namespace ob::algorithms {
namespace {

using namespace gemm_argument;

PlacedOperand placed(const Descriptor& gemm, const Argument* arguments, const Operands& all,
                     Position position) {
  const auto operands = all.span();
  const auto at = std::find_if(operands.begin(), operands.end(),
                               [&](const Operand& o) { return o.argument == position; });
  return placed_operand(gemm, *at, arguments[position].host);
}

OpMatrix op_matrix(const Descriptor& gemm, const Argument* arguments, const Operands& all,
                   Position position, Position flag) {
  const bool is_transposed = arguments[flag].flag != 'N' && arguments[flag].flag != 'n';
  return {placed(gemm, arguments, all, position), is_transposed};
}

class Product {
 public:
  Product(const CallContext& context, const ProductSchedule& schedule)
      : gemm_(context.routine),
        arguments_(context.arguments),
        schedule_(schedule),
        shape_(product_shape(gemm_, arguments_)),
        operands_(gemm_.operands(arguments_)),
        a_(op_matrix(gemm_, arguments_, operands_, kA, kTransA)),
        b_(op_matrix(gemm_, arguments_, operands_, kB, kTransB)),
        c_(placed(gemm_, arguments_, operands_, kC)),
        landing_(c_.data, c_.home),
        a_parts_(schedule.a.size()),
        b_parts_(schedule.b.size()),
        pipeline_(context) {}

  Status run() {
    return pipeline_.run(
        needed_bytes(), [this] { return submit(); }, [this] { commit(); });
  }

 private:
  double needed_bytes() const {
    const double c = static_cast<double>(shape_.m) * static_cast<double>(shape_.n);
    return bytes_sent(shape_) + c * shape_.element_bytes;
  }

  Status submit() {
    OB_RETURN_IF_ERROR(place_c());
    for (const ProductStep& step : schedule_.steps) {
      switch (step.kind) {
        case ProductStep::Kind::send_a:
          OB_RETURN_IF_ERROR(pipeline_.place(a_.placed(schedule_.a[step.a]), a_parts_[step.a]));
          break;
        case ProductStep::Kind::send_b:
          OB_RETURN_IF_ERROR(pipeline_.place(b_.placed(schedule_.b[step.b]), b_parts_[step.b]));
          break;
        case ProductStep::Kind::multiply: OB_RETURN_IF_ERROR(multiply(step)); break;
        case ProductStep::Kind::fetch: OB_RETURN_IF_ERROR(fetch(step.c)); break;
      }
    }
    return {};
  }

  // With beta = 0 the product is all of C, and its copy stays on the device for later calls.
  // Otherwise the product is only a summand of C, and no later call can use its copy.
  Status place_c() {
    if (!c_.read) return pipeline_.place(c_, c_part_);
    OB_RETURN_IF_ERROR(pipeline_.allocate(extent_bytes(c_.there), c_part_));
    return landing_.wait();
  }

  Status multiply(const ProductStep& step) {
    Argument arguments[kMaxArguments];
    std::copy_n(arguments_, gemm_.kinds.size(), arguments);
    const Block& a = schedule_.a[step.a];
    const Block& b = schedule_.b[step.b];
    arguments[kM].dim = static_cast<std::int64_t>(step.c.rows);
    arguments[kN].dim = static_cast<std::int64_t>(step.c.cols);
    arguments[kK].dim = static_cast<std::int64_t>(a.cols);
    arguments[kBeta].scalar = {step.adds ? 1.0 : 0.0, 0};
    arguments[kA].device = {a_parts_[step.a].buffer, a_.offset_bytes(a, step.c.row - a.row),
                            a_.ld(a)};
    arguments[kB].device = {b_parts_[step.b].buffer, 0, b_.ld(b)};
    arguments[kC].device = {c_part_.buffer, landing_.dense(step.c).offset_bytes,
                            static_cast<std::int64_t>(c_.there.ld)};
    return pipeline_.call(gemm_, arguments);
  }

  Status fetch(const Block& c) {
    return pipeline_.fetch(c_part_.buffer, landing_.dense(c), landing_.landing(c));
  }

  void commit() {
    if (c_.read) landing_.add(gemm_.precision, arguments_[kBeta].scalar, false);
  }

  const Descriptor& gemm_;
  const Argument* const arguments_;
  const ProductSchedule& schedule_;
  const ProductShape shape_;
  const Operands operands_;
  const OpMatrix a_;
  const OpMatrix b_;
  const PlacedOperand c_;
  ResultLanding landing_;
  std::vector<Pipeline::Part> a_parts_;
  std::vector<Pipeline::Part> b_parts_;
  Pipeline::Part c_part_;
  Pipeline pipeline_;  // last: destroyed before the memory that reads may still write to
};

}  // namespace

ProductShape product_shape(const Descriptor& gemm, const Argument* arguments) {
  ProductShape shape;
  shape.m = static_cast<std::uint64_t>(arguments[kM].dim);
  shape.n = static_cast<std::uint64_t>(arguments[kN].dim);
  shape.k = static_cast<std::uint64_t>(arguments[kK].dim);
  shape.element_bytes = element_bytes(gemm.precision);
  shape.flop_per_term = gemm.precision == Precision::c || gemm.precision == Precision::z ? 8 : 2;
  return shape;
}

std::vector<PlacedOperand> product_operands(const Descriptor& gemm, const Argument* arguments,
                                            const ProductSchedule& schedule) {
  const Operands operands = gemm.operands(arguments);
  const OpMatrix a = op_matrix(gemm, arguments, operands, kA, kTransA);
  const OpMatrix b = op_matrix(gemm, arguments, operands, kB, kTransB);
  std::vector<PlacedOperand> found;
  for (const Block& block : schedule.a) found.push_back(a.placed(block));
  for (const Block& block : schedule.b) found.push_back(b.placed(block));
  return found;
}

Status offload_product(const CallContext& context, const ProductSchedule& schedule) {
  return Product(context, schedule).run();
}

}  // namespace ob::algorithms
