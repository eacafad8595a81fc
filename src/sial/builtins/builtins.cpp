#include "sial/builtins/builtins.hpp"

namespace ob::sial {
namespace {

Status get_my_rank(CallContext& context, std::span<CallArgument> arguments) {
  *arguments[0].scalar = context.rank;
  return {};
}

}  // namespace

SuperFunctions builtin_functions() { return {{"get_my_rank", {"w", get_my_rank}}}; }

}  // namespace ob::sial
