#include "sial/operations/contraction.hpp"

#include <algorithm>

namespace ob::sial {
namespace {

// Below this number of multiplications our own loops are faster than the start of a gemm.
constexpr std::int64_t kSmallProduct = 16 * 16 * 16;

// Copies B with its strides if D may overlap with it, so that a plan for B fits the copy.
Result<const double*> same_shape_apart(const View& d, const ConstView& b, Scratch::Use use,
                                       Scratch& scratch) {
  if (!may_overlap(d, b)) return b.data;
  std::int64_t span = 1;
  for (unsigned i = 0; i < b.rank; ++i) span += (b.extents[i] - 1) * b.strides[i];
  OB_ASSIGN_OR_RETURN(double* const memory, scratch.take(use, span));
  Axes<2> axes;
  for (unsigned i = 0; i < b.rank; ++i) {
    axes.insert({b.extents[i], {b.strides[i], b.strides[i]}});
  }
  CopyPlan(axes).run(memory, b.data, 1, false);
  return memory;
}

}  // namespace

ContractionPlan ContractionPlan::make(const View& d, const ConstView& b1, const ConstView& b2,
                                      const ContractionRates& rates) {
  ContractionPlan plan;
  plan.layout_ = ContractionLayout::choose(ContractionLabels::of(d, b1, b2), rates);
  for (const ContractionOperand operand : {kD, kB1, kB2}) {
    if (!plan.layout_.operands[operand].permuted) continue;
    plan.copies_[operand] = CopyPlan(plan.layout_.operands[operand].axes);
  }
  return plan;
}

Status ContractionPlan::run(double* d, const double* b1, const double* b2, Assign assign,
                            Gemm& gemm, Scratch& scratch) const {
  OB_EXPECT(assign != Assign::multiply);
  const auto& operands = layout_.operands;
  double* product = d;
  if (operands[kD].permuted) {
    OB_ASSIGN_OR_RETURN(product, scratch.take(Scratch::Use::destination, operands[kD].elements));
  }
  if (operands[kB1].permuted) {
    OB_ASSIGN_OR_RETURN(double* const copy,
                        scratch.take(Scratch::Use::first, operands[kB1].elements));
    copies_[kB1].run(copy, b1, 1, false);
    b1 = copy;
  }
  if (operands[kB2].permuted) {
    OB_ASSIGN_OR_RETURN(double* const copy,
                        scratch.take(Scratch::Use::second, operands[kB2].elements));
    copies_[kB2].run(copy, b2, 1, false);
    b2 = copy;
  }
  const double sign = assign == Assign::subtract ? -1 : 1;
  const bool add = assign != Assign::set;
  if (!operands[kD].permuted) {
    multiply(d, b1, b2, sign, add ? 1 : 0, gemm);
  } else {
    multiply(product, b1, b2, 1, 0, gemm);
    copies_[kD].run(d, product, sign, add);
  }
  return {};
}

void ContractionPlan::multiply(double* d, const double* b1, const double* b2, double alpha,
                               double beta, Gemm& gemm) const {
  LoopGemm loops;
  Gemm& chosen = layout_.m * layout_.n * layout_.k <= kSmallProduct ? loops : gemm;
  const std::array<const double*, 3> operands{nullptr, b1, b2};
  layout_.for_each_product([&](const ContractionProduct& product) {
    chosen.run(product.transa, product.transb, product.m, product.n, product.k, alpha,
               operands[product.a] + product.a_offset, product.lda,
               operands[product.b] + product.b_offset, product.ldb, product.later ? 1 : beta,
               d + product.c_offset, product.ldc);
  });
}

Status contract(const ContractionPlan& plan, const View& d, const ConstView& b1,
                const ConstView& b2, Assign assign, Gemm& gemm, Scratch& scratch) {
  OB_ASSIGN_OR_RETURN(const double* const first,
                      same_shape_apart(d, b1, Scratch::Use::alias_first, scratch));
  OB_ASSIGN_OR_RETURN(const double* const second,
                      same_shape_apart(d, b2, Scratch::Use::alias_second, scratch));
  return plan.run(d.data, first, second, assign, gemm, scratch);
}

Status contract(const View& d, const ConstView& b1, const ConstView& b2, Assign assign, Gemm& gemm,
                Scratch& scratch) {
  return contract(ContractionPlan::make(d, b1, b2), d, b1, b2, assign, gemm, scratch);
}

}  // namespace ob::sial
