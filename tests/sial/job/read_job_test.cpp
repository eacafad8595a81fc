#include "sial/job/read_job.hpp"

#include <gtest/gtest.h>

#include <fstream>

#include "sial/job/nearest_name.hpp"
#include "sial/job/npy.hpp"
#include "sial/job/size_text.hpp"
#include "support/temporary_folder.hpp"

namespace ob::sial {
namespace {

constexpr const char* kHead = "sial_job = 1\nprograms = [\"a.sial\"]\n";

Result<Job> parse(const std::string& text) { return parse_job(text, "/jobs/water.toml"); }

Job parsed(const std::string& text) {
  auto job = parse(kHead + text);
  EXPECT_TRUE(job.ok()) << job.status().message();
  return job.ok() ? *job : Job();
}

// `text` follows the two lines of kHead.
void expect_refused(const std::string& text, const std::string& words) {
  const auto job = parse(kHead + text);
  ASSERT_FALSE(job.ok()) << words;
  const std::string message = job.status().message();
  EXPECT_TRUE(message.starts_with("/jobs/water.toml:")) << message;
  EXPECT_NE(message.find(words), std::string::npos) << message << "\nexpected: " << words;
}

TEST(ReadJob, EverythingOfTheExample) {
  const auto job = parse(R"(
sial_job = 1
name = "water"
programs = ["scf.sial", "mp2.sial"]
plugins = ["libintegrals.so", "my_blocks.py"]
[ints]
norb = 6
Lib.NOCC = 2
[scalars]
threshold = 1.0e-8
two = 2
[segments]
ao = [8, 8, 8, 8, 8, 5]
[subsegments]
ao = 3
[arrays]
hcore = { shape = [2, 2], data = [1, 2.5, 3, 4] }
rows = { data = [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]] }
[int_arrays]
centre = { data = [1, 1, 2] }
[config.scf]
basis = "6-31G"
Cycles = 30
mixing = 0.5
direct = true
[run]
workers = 3
servers = 1
worker_memory = "512M"
server_memory = 1000000
spill = "/tmp/spill"
prefetch = 4
prefetch_lines = { "scf.sial:12" = 0 }
schedule = "guided"
deterministic = true
checkpoint = 600
)");
  ASSERT_TRUE(job.ok()) << job.status().message();
  EXPECT_EQ(job->name, "water");
  EXPECT_EQ(job->folder, "/jobs");
  EXPECT_EQ(job->programs, (std::vector<std::string>{"scf.sial", "mp2.sial"}));
  EXPECT_EQ(job->plugins, (std::vector<std::string>{"libintegrals.so", "my_blocks.py"}));
  EXPECT_EQ(job->ints, (std::map<std::string, std::int64_t>{{"norb", 6}, {"lib.nocc", 2}}));
  EXPECT_EQ(job->scalars, (std::map<std::string, double>{{"threshold", 1e-8}, {"two", 2}}));
  EXPECT_EQ(job->segments.at("ao"), (std::vector<std::int64_t>{8, 8, 8, 8, 8, 5}));
  EXPECT_EQ(job->subsegments.at("ao"), 3);
  EXPECT_EQ(job->arrays.at("hcore"), (DoubleArray{{2, 2}, {1, 2.5, 3, 4}}));
  EXPECT_EQ(job->arrays.at("rows"), (DoubleArray{{2, 3}, {1, 4, 2, 5, 3, 6}}));
  EXPECT_EQ(job->int_arrays.at("centre"), (IntArray{{3}, {1, 1, 2}}));
  const std::map<std::string, ConfigValue> config{
      {"basis", "6-31G"}, {"Cycles", std::int64_t{30}}, {"mixing", 0.5}, {"direct", true}};
  EXPECT_EQ(job->config.at("scf"), config);
  RunDefaults run;
  run.workers = 3, run.servers = 1, run.worker_memory = 512 << 20, run.server_memory = 1000000;
  run.spill = "/tmp/spill", run.prefetch = "4", run.schedule = "guided";
  run.deterministic = true, run.checkpoint_s = 600;
  run.prefetch_lines = {{"scf.sial:12", 0}};
  EXPECT_EQ(job->run, run);
}

TEST(ReadJob, NameIsThatOfTheFileByDefault) {
  EXPECT_EQ(parsed("").name, "water");
  EXPECT_EQ(parsed("name = 'other-1.b'").name, "other-1.b");
  for (const char* name : {"''", "'..'", "'a/b'", "'-x'", "'\xc3\xa4'", "3"})
    expect_refused(std::string("name = ") + name, ":3: 'name' is no name");
}

TEST(ReadJob, UnknownKeysAreRefusedWithTheNearest) {
  expect_refused("intz = 3", ":3: unknown key 'intz' (a job has no such key) write 'ints'");
  expect_refused("zebra = 3", "use one of sial_job, name, programs");
  expect_refused("[run]\nworker = 3",
                 ":4: unknown key 'worker' ([run] has no such key) write 'workers'");
  expect_refused("[arrays]\na = { fiel = 'a.npy', data = [1] }", "write 'file'");
}

TEST(ReadJob, WrongHeadsAreRefused) {
  for (const char* text :
       {"", "programs = ['a']", "sial_job = 2\nprograms = ['a']",
        "sial_job = '1'\nprograms = ['a']", "sial_job = 1", "sial_job = 1\nprograms = []",
        "sial_job = 1\nprograms = 'a'", "sial_job = 1\nprograms = [1]",
        "sial_job = 1\nprograms = ['']", "sial_job = \n"}) {
    const auto job = parse(text);
    ASSERT_FALSE(job.ok()) << text;
    EXPECT_EQ(job.status().code(), Code::invalid_argument);
  }
}

TEST(ReadJob, WrongValuesAreRefused) {
  expect_refused("[ints]\nn = 1.0", ":4: int 'n' has no integer");
  expect_refused("[ints]\nn = true", "int 'n' has no integer");
  expect_refused("[ints]\nlib.n = '1'", "int 'lib.n' has no integer");
  expect_refused("ints = 3", "'ints' is no table");
  expect_refused("[ints]\nn = 1\nN = 2", "'n' is named twice");
  expect_refused("[scalars]\nx = '1'", "scalar 'x' has no number");
  expect_refused("[segments]\nao = 3", "segment table 'ao' is wrong");
  expect_refused("[segments]\nao = [3, 0]", "segment table 'ao' is wrong");
  expect_refused("[segments]\nao = [3, 1.5]", "segment table 'ao' is wrong");
  expect_refused("[segments]\nao = [9223372036854775807, 5]", "segment table 'ao' is wrong");
  expect_refused("[segments]\nao = [4]\n[subsegments]\nao = 0", "no number of subsegments");
  expect_refused("[segments]\nao = [4]\n[subsegments]\nam = 2", "write 'ao'");
  expect_refused("config = 1", "'config' is no table");
  expect_refused("[config]\nscf = 1", "'scf' has no keys");
  expect_refused("[config.scf]\nlist = [1]", "'list' has no single value");
  expect_refused("plugins = 'a.so'", "'plugins' is no list of names");
}

TEST(ReadJob, WrongArraysAreRefused) {
  const auto refused = [](const std::string& value, const std::string& words) {
    SCOPED_TRACE(value);
    expect_refused("[arrays]\na = " + value, words);
  };
  refused("[1, 2]", "array 'a' is no table");
  refused("{ shape = [2] }", "array 'a' has no data");
  refused("{ data = 3 }", "array 'a' has no data");
  refused("{ data = ['x'] }", "wrong type");
  refused("{ data = [true] }", "wrong type");
  refused("{ data = [1, 2], shape = [3] }", "array 'a' has 2 elements");
  refused("{ data = [1, 2], shape = [2, 0] }", "array 'a' has 2 elements");
  refused("{ data = [1, 2], shape = [] }", "shape of array 'a' is wrong");
  refused("{ data = [1, 2], shape = [-1] }", "shape of array 'a' is wrong");
  refused("{ data = [1], shape = [1, 1, 1, 1, 1, 1, 1, 1, 1] }", "shape of array 'a' is wrong");
  refused("{ data = [1], shape = [4611686018427387904, 4] }", "array 'a' has 1 elements");
  refused("{ data = [[1, 2], [3]] }", "different lengths");
  refused("{ data = [[1, 2], 3] }", "different lengths");
  refused("{ data = [1, [2]] }", "wrong type");
  refused("{ data = [[1, 2], [3, 4]], shape = [4] }", "has another shape");
  refused("{ data = [[[[[[[[[1]]]]]]]]] }", "too many dimensions");
  refused("{ file = 'none.npy' }", ":4: array 'a': /jobs/none.npy: cannot be read");
  refused("{ file = 'none.npy', shape = [2] }", "array 'a' is unclear");
  refused("{ file = 3 }", "array 'a' is unclear");
  expect_refused("[int_arrays]\na = { data = [1.0] }", "it is an integer");
}

TEST(ReadJob, NestedAndFlatDataAreTheSameArray) {
  const Job job = parsed(
      "[arrays]\na = { data = [[[1], [2], [3]], [[4], [5], [6]]] }\n"
      "b = { shape = [2, 3, 1], data = [1, 4, 2, 5, 3, 6] }\n"
      "lib.c = { data = [] }");
  EXPECT_EQ(job.arrays.at("a"), job.arrays.at("b"));
  EXPECT_EQ(job.arrays.at("lib.c"), (DoubleArray{{0}, {}}));
}

TEST(ReadJob, ArraysInFilesLieBesideTheJob) {
  const test::TemporaryFolder folder;
  const DoubleArray array{{2, 2}, {1, 2, 3, 4}};
  ASSERT_TRUE(write_npy(folder.file("a.npy"), array).ok());
  ASSERT_TRUE(write_npy(folder.file("i.npy"), IntArray{{1}, {3}}).ok());
  const auto read = [&](const std::string& text) {
    std::ofstream(folder.file("job.toml")) << kHead << text;
    return read_job(folder.file("job.toml"));
  };
  const auto job = read("[arrays]\na = { file = 'a.npy' }\n[int_arrays]\ni = { file = 'i.npy' }");
  ASSERT_TRUE(job.ok()) << job.status().message();
  EXPECT_EQ(job->arrays.at("a"), array);
  EXPECT_EQ(job->int_arrays.at("i").data, std::vector<std::int64_t>{3});
  EXPECT_EQ(job->name, "job");
  const auto wrong = read("[arrays]\ni = { file = 'i.npy' }");
  ASSERT_FALSE(wrong.ok());
  EXPECT_NE(wrong.status().message().find("elements of a wrong type"), std::string::npos);
  EXPECT_EQ(read_job(folder.file("none.toml")).status().code(), Code::unavailable);
}

TEST(ReadJob, WrongRunDefaultsAreRefused) {
  for (const char* line : {"workers = 0",
                           "workers = 1.5",
                           "servers = -1",
                           "worker_memory = 0",
                           "worker_memory = '5Q'",
                           "spill = ''",
                           "prefetch = -1",
                           "prefetch = 'none'",
                           "prefetch_lines = 3",
                           "prefetch_lines = { a = 1 }",
                           "prefetch_lines = { 'a:' = 1 }",
                           "prefetch_lines = { ':1' = 1 }",
                           "prefetch_lines = { 'a:1' = 'x' }",
                           "schedule = 'fast'",
                           "placement = 1",
                           "place = 'gpu'",
                           "races = 'all'",
                           "mpi = 'other'",
                           "deterministic = 1",
                           "check = 'yes'",
                           "checkpoint = -1",
                           "checkpoint = nan",
                           "liveness = -1"}) {
    SCOPED_TRACE(line);
    expect_refused(std::string("[run]\n") + line, "has a wrong value");
  }
}

TEST(ReadJob, BrokenTomlNamesTheLine) {
  expect_refused("[ints\n", ":3: no TOML");
  expect_refused("[ints]\nn = 1\nn = 2", ":5: no TOML");
  expect_refused("\xff", ": no TOML");
  expect_refused(std::string("[\x02ints]\nn = 1"), ":3: no TOML");
  expect_refused("[ =ints]", ":3: no TOML");
  expect_refused("\xc3\xa4 = 1", ":3: no TOML");
  expect_refused("[a\xc3\xa2]", ":3: no TOML");
  expect_refused("a = " + std::string(100000, '['), ": no TOML");
}

TEST(NearestName, IsTheLikelyOne) {
  EXPECT_EQ(nearest_name("intz", {"ints", "int_arrays"}), "ints");
  EXPECT_EQ(nearest_name("segment", {"segments", "subsegments"}), "segments");
  EXPECT_EQ(nearest_name("zebra", {"ints", "run"}), "");
  EXPECT_EQ(nearest_name("x", {}), "");
  EXPECT_EQ(nearest_name(std::string(100000, 'x'), {std::string(100000, 'y')}), "");
}

TEST(SizeText, ReadsSizes) {
  EXPECT_EQ(parse_size_text("512M"), 512 << 20);
  EXPECT_EQ(parse_size_text("4GiB"), std::int64_t{4} << 30);
  EXPECT_EQ(parse_size_text("2KB"), 2048);
  EXPECT_EQ(parse_size_text("8388607T"), std::int64_t{8388607} << 40);
  for (const char* text : {"", "0", "-1", "M", "5Q", "5iB", "5Mi", "5 M", "8388608T", "1e6"})
    EXPECT_FALSE(parse_size_text(text)) << text;
}

}  // namespace
}  // namespace ob::sial
