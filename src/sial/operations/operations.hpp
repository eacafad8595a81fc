#pragma once
// Operations on blocks in host memory.
#include "sial/code/opcode.hpp"
#include "sial/operations/gemm.hpp"
#include "sial/operations/scratch.hpp"
#include "sial/operations/view.hpp"
namespace ob::sial {
void fill(const View& d, double s, Assign how);
void copy(const View& d, const ConstView& b, double factor, Assign how, Scratch& scratch);
void add(const View& d, const ConstView& b1, const ConstView& b2, Scratch& scratch);
void subtract(const View& d, const ConstView& b1, const ConstView& b2, Scratch& scratch);
void outer(const View& d, const ConstView& b1, const ConstView& b2, Assign how, Scratch& scratch);
void contract(const View& d, const ConstView& b1, const ConstView& b2, Assign how, Gemm& gemm, Scratch& scratch);
double inner_product(const ConstView& b1, const ConstView& b2);
}
