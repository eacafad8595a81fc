// The extrapolation of an iteration from its history.
// Source: Pulay, Convergence acceleration of iterative sequences, Chem. Phys. Lett. 73 (1980)

#include <algorithm>
#include <cmath>
#include <numeric>

#include "sial/builtins/arguments.hpp"
#include "sial/builtins/builtins.hpp"

namespace ob::sial {
namespace {

// The history in an array of numbers: how many pairs it has, which place the next pair takes, and
// pairs of vector and error.
class DiisHistory {
 public:
  DiisHistory(std::vector<double>& numbers, std::size_t length)
      : numbers_(numbers), length_(length), places_((numbers.size() - 2) / (2 * length)) {}

  std::size_t count() const { return static_cast<std::size_t>(numbers_[0]); }
  bool valid() const {
    const auto whole = [&](double number, std::size_t bound) {
      return number >= 0 && number <= static_cast<double>(bound) && number == std::floor(number);
    };
    return whole(numbers_[0], places_) && whole(numbers_[1], places_ - 1);
  }
  void append(const std::vector<double>& vector, const std::vector<double>& error) {
    const auto place = static_cast<std::size_t>(numbers_[1]);
    std::copy(vector.begin(), vector.end(), pair(place));
    std::copy(error.begin(), error.end(), pair(place) + length_);
    numbers_[0] = std::min(numbers_[0] + 1, static_cast<double>(places_));
    numbers_[1] = static_cast<double>((place + 1) % places_);
  }
  /// The i-th youngest; its error lies behind it.
  const double* youngest(std::size_t i) const {
    const auto next = static_cast<std::size_t>(numbers_[1]);
    return numbers_.data() + 2 + (next + places_ - 1 - i) % places_ * 2 * length_;
  }
  double product_of_errors(std::size_t i, std::size_t j) const {
    const double* const x = youngest(i) + length_;
    return std::inner_product(x, x + length_, youngest(j) + length_, 0.0);
  }

 private:
  double* pair(std::size_t place) { return numbers_.data() + 2 + place * 2 * length_; }

  std::vector<double>& numbers_;
  std::size_t length_;
  std::size_t places_;
};

// The factors of the `used` youngest pairs whose combined error is smallest; their sum is 1. Empty
// if the errors are linearly dependent.
std::vector<double> smallest_error(Lapack& lapack, const DiisHistory& history, std::size_t used) {
  const std::size_t n = used + 1;
  std::vector<double> matrix(n * n, 0.0);
  std::vector<double> side(n, 0.0);
  double scale = 0;
  for (std::size_t i = 0; i < used; ++i) {
    scale = std::max(scale, history.product_of_errors(i, i));
  }
  if (!(scale > 0)) return {};
  for (std::size_t i = 0; i < used; ++i) {
    for (std::size_t j = 0; j < used; ++j) {
      matrix[i + j * n] = history.product_of_errors(i, j) / scale;
    }
    matrix[i + used * n] = matrix[used + i * n] = -1;
  }
  side[used] = -1;
  const auto order = static_cast<std::int64_t>(n);
  if (!lapack.solve(order, 1, matrix.data(), side.data()).ok()) return {};
  side.resize(used);
  const bool finite =
      std::all_of(side.begin(), side.end(), [](double factor) { return std::isfinite(factor); });
  return finite ? side : std::vector<double>();
}

Status extrapolate(Lapack& lapack, Arguments arguments) {
  OB_ASSIGN_OR_RETURN(const View vector, block_argument(arguments, 0));
  OB_ASSIGN_OR_RETURN(const View error, block_argument(arguments, 1));
  OB_ASSIGN_OR_RETURN(const View past, block_argument(arguments, 2));
  OB_RETURN_IF_ERROR(check_same_extents(vector, error));
  const auto length = static_cast<std::size_t>(vector.elements());
  std::vector<double> numbers = elements_of(past);
  if (numbers.size() < 2 + 2 * length) {
    return {Code::invalid_argument, "argument 3 has " + std::to_string(numbers.size()) +
                                        " elements (one vector with its error needs " +
                                        std::to_string(2 + 2 * length) +
                                        "); declare a larger array"};
  }
  DiisHistory history(numbers, length);
  if (!history.valid()) {
    return {Code::invalid_argument,
            "argument 3 is no history (its first two elements are no counts); fill it with 0 "
            "before the first call"};
  }
  history.append(elements_of(vector), elements_of(error));
  std::vector<double> factors;
  for (std::size_t used = history.count(); used > 1 && factors.empty(); --used) {
    factors = smallest_error(lapack, history, used);
  }
  if (factors.empty()) factors = {1};
  std::vector<double> sum(2 * length, 0.0);
  for (std::size_t i = 0; i < factors.size(); ++i) {
    const double* const pair = history.youngest(i);
    for (std::size_t at = 0; at < 2 * length; ++at) sum[at] += factors[i] * pair[at];
  }
  const auto middle = sum.begin() + static_cast<std::ptrdiff_t>(length);
  store_elements(vector, {sum.begin(), middle});
  store_elements(error, {middle, sum.end()});
  store_elements(past, numbers);
  return {};
}

}  // namespace

void add_diis(SuperFunctions& functions, const std::shared_ptr<Lapack>& lapack) {
  functions["diis"] = {"uuu", [lapack](CallContext&, Arguments arguments) -> Status {
                         if (lapack == nullptr) {
                           return {Code::unavailable,
                                   "this machine has no LAPACK library; install the Debian "
                                   "package libopenblas0-pthread"};
                         }
                         return extrapolate(*lapack, arguments);
                       }};
}

}  // namespace ob::sial
