#include "client/device_info.hpp"

namespace ob::client {

DeviceInfo device_info(Connection& connection) {
  const wire::Welcome& welcome = connection.welcome();
  DeviceInfo info;
  info.backend = welcome.backend;
  info.description = welcome.description + " at " + connection.address();
  info.memory_bytes = welcome.memory_bytes;
  info.host_visible = welcome.host_visible != 0 && connection.stream().shares_memory();
  info.gflops_double = welcome.gflops_double;
  info.machine = welcome.machine;
  info.processors = welcome.processors;
  info.accuracies = welcome.accuracies;
  info.routine_rates = connection.facts().routine_rates;
  return info;
}

}  // namespace ob::client
