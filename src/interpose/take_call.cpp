// Implements take_call() of entry.hpp.

#include "interpose/call.hpp"
#include "interpose/entry.hpp"
#include "interpose/normal_form.hpp"
#include "interpose/shared_product.hpp"

namespace ob::interpose {
namespace {

struct Answer {
  bool taken = false;  ///< false: the original must still run
  std::int64_t info = 0;
};

// Runs legal calls, locally or remotely. This is a separate function so that no object with a
// destructor is alive while an illegal call runs in the original. The program's xerbla may throw or
// jump through the frames of this library.
[[gnu::noinline]] Answer take_legal(const Entry& entry, const Descriptor& routine,
                                    Integers integers, void* function, const Raw* raw,
                                    void* value) {
  NormalForm form(entry, routine, integers);
  if (!form.read(raw, value)) return {};
  Call call(routine, form.arguments(), function);
  if (call.share() > 0 && form.prepare() &&
      run_shared(call, routine, function, integers, form.arguments())) {
    return {true, form.write_back()};
  }
  if (call.leaves() && form.prepare() && call.run(form.arguments())) {
    const std::int64_t info = form.write_back();
    // The original also answers the question about its workspace.
    if (form.has_lengths()) form.query(function, raw);
    return {true, info};
  }
  if (call.is_rehearsed() && form.prepare()) call.rehearse(form.arguments());
  form.release();
  call.begin_local();
  return {true, entry.invoke(function, raw, value)};
}

}  // namespace

std::int64_t take_call(const Entry& entry, const Raw* arguments, const void* caller, void* value) {
  void* function = original(entry.symbol, caller);
  const Integers integers =
      entry.integers == Integers::unasked ? integers_of(entry.symbol, function) : entry.integers;
  if (integers != Integers::unknown) {
    const Descriptor& routine =
        routines::all()[std::size_t{entry.row.descriptor} + entry.precision];
    const Answer answer = take_legal(entry, routine, integers, function, arguments, value);
    if (answer.taken) return answer.info;
  }
  return entry.invoke(function, arguments, value);
}

}  // namespace ob::interpose
