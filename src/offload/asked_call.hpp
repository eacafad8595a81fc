#pragma once
// A call that the user asks about in words.

#include <string>
#include <string_view>

#include "offload/routine_records.hpp"
#include "routines/argument.hpp"
#include "routines/descriptor.hpp"
#include "routines/fft.hpp"

namespace ob::offload {

/// A routine with sizes. Flags have the first value of the table, alpha is 1, beta is 0.
struct AskedCall {
  std::string_view name;
  RoutineRecord* record = nullptr;
  const Descriptor* routine = nullptr;  ///< nullptr: an FFT
  CallArguments arguments;
  FftPlan plan;
  std::string wrong;  ///< not empty: the mistake in the request
};

/// Reads the user's text: name "dgemm" with sizes "2000" or "m=2000,n=64"; name "fftw c2c" with
/// sizes "1048576", "512x512" or "256*100".
AskedCall read_asked_call(RoutineRecords& records, std::string_view name, std::string_view sizes);

}  // namespace ob::offload
