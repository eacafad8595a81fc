// Runs ordinary FFTW programs without and with the preloaded entry points, and compares the
// results.

#include <gtest/gtest.h>

#include <string>

#include "interpose/fftw_outcome.hpp"

namespace {

using ob::interpose::Outcome;
using ob::interpose::preloaded;
using ob::interpose::run;

class FftwPreload : public testing::TestWithParam<const char*> {
 protected:
  std::string program(const std::string& name) const {
    return std::string(GetParam()) + " " + name;
  }
};

constexpr const char* kCases[] = {"basic",     "many",    "new_array", "null",
                                  "lifecycle", "threads", "unfit"};

// Results equal those of the native run bit by bit, including NULLs, in three cases: no transform
// passes the gate, all run locally, or every remote run fails.
TEST_P(FftwPreload, LocalRunsAreNativeBitForBit) {
  for (const char* name : kCases) {
    const Outcome native = run(program(name));
    EXPECT_EQ(native.status, 0) << name << "\n" << native.text;
    for (const char* mode : {"gate", "local", "fail"}) {
      SCOPED_TRACE(std::string(name) + " " + mode);
      Outcome with = run(preloaded(OB_STANDIN_LIBRARY, mode, program(name)));
      EXPECT_EQ(with.status, 0);
      EXPECT_EQ(with.text, native.text);
      ASSERT_EQ(with.count.count("execute"), 1U);
      if (std::string(mode) == "gate") {
        EXPECT_EQ(with.count["local"], 0);
        EXPECT_EQ(with.count["decide"], 1);
      }
      if (std::string(mode) == "fail") {
        EXPECT_EQ(with.count["execute"], with.count["executes"]);
        EXPECT_GE(with.count["local"], with.count["executes"]);
      }
      if (std::string(mode) == "local") {
        EXPECT_EQ(with.count["execute"], 0);
        EXPECT_EQ(with.count["ahead"], 0);
      }
    }
  }
}

// The program compares its results with the definition of the DFT. Its exit status covers arrays,
// strides and the rules for transforms in place.
TEST_P(FftwPreload, RemoteRunsAreRight) {
  for (const char* name : kCases) {
    SCOPED_TRACE(name);
    Outcome with = run(preloaded(OB_STANDIN_LIBRARY, "remote", program(name)));
    EXPECT_EQ(with.status, 0) << with.text;
    EXPECT_EQ(with.count["execute"], with.count["executes"]);
    const std::string which(name);
    if (which == "null") continue;
    EXPECT_EQ(with.count["ahead"], with.count["plans"]);
    if (which == "unfit") continue;
    EXPECT_GT(with.count["execute"], 0);
    EXPECT_EQ(with.count["local"], 0);
  }
}

TEST_P(FftwPreload, NullMeansNullAndBrokenRulesStayNative) {
  for (const char* name : {"null", "unfit"}) {
    const Outcome native = run(program(name));
    for (const char* mode : {"remote", "learn"}) {
      EXPECT_EQ(run(preloaded(OB_STANDIN_LIBRARY, mode, program(name))).text, native.text)
          << name << " " << mode;
    }
  }
  Outcome unfit = run(preloaded(OB_STANDIN_LIBRARY, "remote", program("unfit")));
  EXPECT_EQ(unfit.count["execute"], 0);
  EXPECT_EQ(unfit.count["local"], 3);
}

TEST_P(FftwPreload, LearningAsksAtEveryExecute) {
  Outcome with = run(preloaded(OB_STANDIN_LIBRARY, "learn", program("new_array")));
  EXPECT_EQ(with.status, 0) << with.text;
  EXPECT_GT(with.count["execute"], 0);
  EXPECT_GT(with.count["local"], 0);
  EXPECT_GT(with.count["rehearse"], 0) << "and each of these ran locally, too";
  EXPECT_EQ(with.count["execute"] + with.count["local"], with.count["executes"]);
}

bool kept(const Outcome& outcome, const std::string& what) {
  return outcome.text.find(what + " keeps its arrays: 1") != std::string::npos;
}

TEST_P(FftwPreload, PlansThatGoOutAreNotMeasuredHere) {
  const Outcome native = run(program("measure"));
  EXPECT_EQ(native.status, 0) << native.text;
  const Outcome local = run(preloaded(OB_STANDIN_LIBRARY, "local", program("measure")));
  const Outcome remote = run(preloaded(OB_STANDIN_LIBRARY, "remote", program("measure")));
  const Outcome asked = run("env OUTBOARD_NATIVE_PLAN=as-asked " +
                            preloaded(OB_STANDIN_LIBRARY, "remote", program("measure")));
  for (const char* what : {"measure", "patient", "exhaustive"}) {
    EXPECT_FALSE(kept(native, what)) << what;
    EXPECT_FALSE(kept(local, what)) << what;
    EXPECT_FALSE(kept(asked, what)) << what;
    EXPECT_TRUE(kept(remote, what)) << what;
  }
  EXPECT_EQ(local.status, 0) << local.text;
  EXPECT_EQ(remote.status, 0) << remote.text;
  EXPECT_EQ(asked.status, 0) << asked.text;
}

TEST_P(FftwPreload, BeforeMainAndAfterIt) {
  for (const char* mode : {"local", "remote"}) {
    Outcome with =
        run("env OB_OUTSIDE_MAIN=1 " + preloaded(OB_STANDIN_LIBRARY, mode, program("nothing")));
    EXPECT_EQ(with.status, 0) << with.text;
    EXPECT_NE(with.text.find("before main"), std::string::npos);
    EXPECT_NE(with.text.find("after main"), std::string::npos);
    EXPECT_EQ(with.count[std::string(mode) == "local" ? "local" : "execute"], 2);
  }
}

INSTANTIATE_TEST_SUITE_P(Precisions, FftwPreload,
                         testing::Values(OB_PROGRAM_DOUBLE, OB_PROGRAM_SINGLE),
                         [](const auto& param) {
                           return std::string(param.index == 0 ? "double" : "single");
                         });

TEST(FftwScopes, APluginsOwnLibraryIsFound) {
  const std::string command = OB_HOST " " OB_PLUGIN;
  EXPECT_EQ(run(command).status, 0);
  for (const char* mode : {"local", "remote", "fail"}) {
    Outcome with = run(preloaded(OB_STANDIN_LIBRARY, mode, command));
    EXPECT_EQ(with.status, 0) << mode << "\n" << with.text;
    const std::string which(mode);
    EXPECT_EQ(with.count["local"], which == "remote" ? 0 : 1) << mode;
    EXPECT_EQ(with.count["execute"], which == "local" ? 0 : 1) << mode;
  }
}

}  // namespace
