// Modules that do not compile, wrong launches, and limits. A failure sticks to its queue, and
// leaves everything else alone.

#include <mutex>

#include "conformance/kernels/setting.hpp"

namespace ob::test {
namespace {

class KernelFailureTest : public KernelTest {
 protected:
  static constexpr const char* kFill =
      "__kernel void fill(__global int* out, int value, uint n) {\n"
      "  const uint i = get_global_id(0);\n"
      "  if (i < n) out[i] = value;\n"
      "}\n";
  static constexpr int kValue = 7;
  static constexpr std::uint32_t kCount = 16;
  std::vector<KernelArgument> right(BufferId out) const {
    return {memory(out), number(kValue), number(kCount)};
  }
};

TEST_P(KernelFailureTest, TheCompilersWordsComeBack) {
  ModuleId module;
  const ModuleReport report = report_of(
      {{{SourceKind::portable,
         "__kernel void f(__global int* out) {\n  out[0] = 1;\n  out[1] = not_declared;\n}\n", ""}},
       ""},
      &module);
  expect_failure(report.status, Code::build_failed, "not_declared");
  EXPECT_NE(report.log.find("not_declared"), std::string::npos) << report.log;
  const bool has_line =
      report.log.find(":3:") != std::string::npos || report.log.find("(3)") != std::string::npos;
  EXPECT_TRUE(has_line) << "not the line of the source:\n" << report.log;
  EXPECT_LE(report.log.size(), kMostLogBytes);
  EXPECT_TRUE(report.kernels.empty());
  const BufferId out = allocate(Bytes(64, kPoison));
  expect_failure(run(module, "f", {1, 1, 1}, {1, 1, 1}, {memory(out)}), Code::build_failed,
                 "the module of kernel f");
  EXPECT_TRUE(outcome(Status()).ok());  // synchronize has cleared it
  EXPECT_TRUE(run(load(kFill), "fill", {1, 1, 1}, {16, 1, 1}, right(out)).ok());
  EXPECT_EQ(contents<int>(out, 16), std::vector<int>(16, 7));
}

// OpenCL C has a function step().
TEST_P(KernelFailureTest, NamesOfBuiltInFunctionsAreTaken) {
  if (GetParam().name == "cuda") return;  // there is no such function
  const ModuleReport report = report_of("__kernel void step(__global int* out) { out[0] = 1; }");
  expect_failure(report.status, Code::build_failed, "another name");
}

TEST_P(KernelFailureTest, OurParsersWordsComeBack) {
  const ModuleReport report = report_of("__kernel void f(size_t n) {}");
  expect_failure(report.status, Code::build_failed, "size_t");
  expect_failure(report_of("#include \"/etc/hostname\"").status, Code::build_failed, "#include");
}

TEST_P(KernelFailureTest, WrongSourcesAreRefusedAtOnce) {
  const auto refused = [&](ModuleSource source) {
    return device().load_module(std::move(source), {}).status().code();
  };
  EXPECT_EQ(refused({}), Code::invalid_argument);
  EXPECT_EQ(refused({{{SourceKind::portable, std::string(kMostSourceBytes + 1, ' '), ""}}, ""}),
            Code::invalid_argument);
  EXPECT_EQ(refused({{{SourceKind::portable, kFill, ""}}, "-I/etc"}), Code::invalid_argument);
}

TEST_P(KernelFailureTest, WrongLaunchesDoNothing) {
  const ModuleId module = load(kFill);
  const BufferId out = allocate(Bytes(64, kPoison));
  const double wide = 1;
  struct Wrong {
    const char* kernel;
    Extents groups, size;
    std::vector<KernelArgument> arguments;
    const char* words;
  };
  auto swapped = right(out);
  std::swap(swapped[0], swapped[1]);
  auto beyond = right(out);
  beyond[0] = memory(out, 32, 33);
  auto odd = right(out);
  odd[0] = memory(out, 2);
  auto absent = right(out);
  absent[0] = memory(BufferId{4711});
  auto large = right(out);
  large[1] = number(wide);
  auto few = right(out);
  few.pop_back();
  const Wrong cases[] = {{"fill", {1, 1, 1}, {16, 1, 1}, swapped, "argument 0"},
                         {"fill", {1, 1, 1}, {16, 1, 1}, beyond, "reach beyond"},
                         {"fill", {1, 1, 1}, {16, 1, 1}, odd, "multiple"},
                         {"fill", {1, 1, 1}, {16, 1, 1}, absent, "4711"},
                         {"fill", {1, 1, 1}, {16, 1, 1}, large, "4 bytes, not 8"},
                         {"fill", {1, 1, 1}, {16, 1, 1}, few, "it takes 3"},
                         {"fill", {0, 1, 1}, {16, 1, 1}, right(out), "nothing"},
                         {"fill", {1, 1, 1}, {1u << 20, 1, 1}, right(out), "groups"},
                         {"full", {1, 1, 1}, {16, 1, 1}, right(out), "fill"}};
  for (const Wrong& wrong : cases) {
    // A client refuses some at once.
    const Status submitted =
        launch(queue(), module, wrong.kernel, wrong.groups, wrong.size, wrong.arguments);
    if (!submitted.ok()) {
      expect_failure(submitted, Code::invalid_argument, wrong.words);
      continue;
    }
    // A right one behind it is skipped.
    ASSERT_TRUE(launch(queue(), module, "fill", {1, 1, 1}, {16, 1, 1}, right(out)).ok());
    const QueueReport report = device().synchronize(queue());
    expect_failure(report.status, Code::invalid_argument, wrong.words);
    EXPECT_EQ(download(out, 64), Bytes(64, kPoison)) << wrong.words;
  }
  EXPECT_FALSE(launch(QueueId{4711}, module, "fill", {1, 1, 1}, {16, 1, 1}, right(out)).ok());
  EXPECT_TRUE(run(module, "fill", {1, 1, 1}, {16, 1, 1}, right(out)).ok());
  EXPECT_EQ(contents<int>(out, 16), std::vector<int>(16, 7));
}

TEST_P(KernelFailureTest, MuchLocalMemoryIsRefused) {
  const ModuleId module = load(
      "__kernel void f(OB_LOCAL_ARG(int, tile), __global int* out) {\n"
      "  OB_LOCAL_BIND(int, tile);\n"
      "  tile[get_local_id(0)] = 1; out[0] = tile[0];\n"
      "}\n");
  const BufferId out = allocate(Bytes(4, kPoison));
  expect_failure(run(module, "f", {1, 1, 1}, {1, 1, 1}, {local(UINT32_MAX), memory(out)}),
                 Code::invalid_argument, "local memory");
  EXPECT_TRUE(run(module, "f", {1, 1, 1}, {8, 1, 1}, {local(32), memory(out)}).ok());
}

TEST_P(KernelFailureTest, ModulesAreCounted) {
  std::vector<ModuleId> modules;
  for (std::size_t i = 0; i < kMostModules; ++i) modules.push_back(load(kFill));
  const auto refused = device().load_module({{{SourceKind::portable, kFill, ""}}, ""}, {});
  ASSERT_FALSE(refused.ok());
  expect_failure(refused.status(), Code::out_of_memory, "256 modules");
  // Those that are not compiled yet need not be.
  for (const ModuleId module : modules) EXPECT_TRUE(device().unload_module(module).ok());
  EXPECT_FALSE(device().unload_module(modules[0]).ok());
  const BufferId out = allocate(Bytes(64, kPoison));
  EXPECT_TRUE(run(load(kFill), "fill", {1, 1, 1}, {16, 1, 1}, right(out)).ok());
}

TEST_P(KernelFailureTest, AnUnloadedModuleStillReports) {
  ModuleId first = load(kFill);
  std::vector<Code> codes;
  std::mutex mutex;
  for (int i = 0; i < 5; ++i) {
    const auto loaded = device().load_module({{{SourceKind::portable, kFill, ""}}, ""},
                                             [&](const ModuleReport& report) {
                                               const std::lock_guard lock(mutex);
                                               codes.push_back(report.status.code());
                                             });
    ASSERT_TRUE(loaded.ok());
    ASSERT_TRUE(device().unload_module(*loaded).ok());
  }
  const BufferId out = allocate(Bytes(64, kPoison));
  ASSERT_TRUE(run(first, "fill", {1, 1, 1}, {16, 1, 1}, right(out)).ok());
  // This module is compiled after them.
  ASSERT_TRUE(run(load(kFill), "fill", {1, 1, 1}, {16, 1, 1}, right(out)).ok());
  const std::lock_guard lock(mutex);
  ASSERT_EQ(codes.size(), 5u);
  for (const Code code : codes) EXPECT_TRUE(code == Code::ok || code == Code::build_failed);
}

OB_OVER_KERNEL_DEVICES(KernelFailureTest);

}  // namespace
}  // namespace ob::test
