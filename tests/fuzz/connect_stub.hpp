#pragma once
// Replaces transport::connect(). Programs that link connect_stub.cpp open no connection; they get
// the stream that was given to set_next_stream().

#include <memory>

#include "transport/stream.hpp"

namespace ob::fuzz {

/// Sets the stream that the next transport::connect() returns; later calls return unavailable.
void set_next_stream(std::unique_ptr<transport::Stream> stream);

}  // namespace ob::fuzz
