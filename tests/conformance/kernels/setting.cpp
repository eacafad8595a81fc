#include "conformance/kernels/setting.hpp"

#include <future>
#include <utility>

namespace ob::test {

ModuleId KernelTest::load(const std::string& source, const std::string& options) {
  auto loaded = device().load_module({{{SourceKind::portable, source, ""}}, options}, {});
  EXPECT_TRUE(loaded.ok()) << loaded.status().message();
  return loaded.ok() ? *loaded : ModuleId{};
}

ModuleReport KernelTest::report_of(ModuleSource source, ModuleId* id) {
  std::promise<ModuleReport> promise;
  auto loaded = device().load_module(
      std::move(source), [&](const ModuleReport& report) { promise.set_value(report); });
  EXPECT_TRUE(loaded.ok()) << loaded.status().message();
  if (!loaded.ok()) return {loaded.status(), {}, {}};
  if (id != nullptr) *id = *loaded;
  return promise.get_future().get();
}

ModuleReport KernelTest::report_of(const std::string& source, const std::string& options) {
  return report_of(ModuleSource{{{SourceKind::portable, source, ""}}, options});
}

Status KernelTest::launch(QueueId on, ModuleId module, const char* kernel, const Extents& groups,
                          const Extents& group_size, const std::vector<KernelArgument>& arguments) {
  return device().launch(on, {module, kernel, groups, group_size, arguments});
}

Status KernelTest::run(ModuleId module, const char* kernel, const Extents& groups,
                       const Extents& group_size, const std::vector<KernelArgument>& arguments) {
  return outcome(launch(queue(), module, kernel, groups, group_size, arguments));
}

QueueId KernelTest::another_queue() {
  auto made = device().create_queue();
  EXPECT_TRUE(made.ok()) << made.status().message();
  return made.ok() ? *made : QueueId{};
}

std::vector<double> KernelTest::doubles(std::size_t count) {
  std::vector<double> numbers(count);
  for (double& x : numbers) x = uniform(-2, 2);
  return numbers;
}

void expect_failure(const Status& status, Code code, const std::string& words) {
  EXPECT_EQ(status.code(), code) << status.message();
  EXPECT_NE(status.message().find(words), std::string::npos) << status.message();
}

}  // namespace ob::test
