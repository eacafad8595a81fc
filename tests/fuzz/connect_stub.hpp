#pragma once
// Programs that link connect_stub.cpp open no connection: its transport::connect() returns the
// stream that set_next_stream() was given.

#include <memory>

#include "transport/stream.hpp"

namespace ob::fuzz {

/// Sets the stream that the next transport::connect() returns; later calls return unavailable.
void set_next_stream(std::unique_ptr<transport::Stream> stream);

}  // namespace ob::fuzz
