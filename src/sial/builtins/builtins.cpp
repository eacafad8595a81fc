#include "sial/builtins/builtins.hpp"

namespace ob::sial {

SuperFunctions builtin_functions(const std::shared_ptr<Lapack>& lapack) {
  SuperFunctions functions;
  add_block_output(functions);
  add_fills(functions);
  add_element_functions(functions);
  add_worker_functions(functions);
  add_matrix_functions(functions, lapack);
  add_diis(functions, lapack);
  return functions;
}

}  // namespace ob::sial
