// A plug-in in C++: it fills a block of a Hilbert matrix. The global numbers of the first elements
// tell where in the matrix the block lies.
#include <outboard/sial.hpp>

namespace {

void fill(outboard::sial::Call& call, outboard::sial::Arguments arguments) {
  outboard::sial::Argument& block = arguments[0];
  if (block.rank != 2) throw std::invalid_argument("hilbert_block fills blocks of rank 2");
  const std::int64_t shift = call.find_int("shift").value_or(0);
  for (std::int64_t j = 0; j < block.extents[1]; ++j) {
    for (std::int64_t i = 0; i < block.extents[0]; ++i) {
      const auto sum = static_cast<double>(block.first[0] + i + block.first[1] + j - 1 + shift);
      block.at(i, j) = 1 / sum;
    }
  }
}

}  // namespace

OUTBOARD_SIAL_PLUGIN({"hilbert_block", "w", fill});
