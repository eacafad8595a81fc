#pragma once

#include "base/fd.hpp"

namespace ob::transport::detail {

using ob::Fd;
using ob::out_of_the_way;

}  // namespace ob::transport::detail
