#pragma once
// Programs that link connect_seam.cpp connect to nobody: transport::connect() is ours.

#include <memory>

#include "transport/stream.hpp"

namespace ob::fuzz {

/// What the next transport::connect() returns; further ones are unavailable.
void set_next_stream(std::unique_ptr<transport::Stream> stream);

}  // namespace ob::fuzz
