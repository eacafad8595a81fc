#include "sial/job/import_dat.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <fstream>

#include "sial/job/read_job.hpp"
#include "sial/job/write_job.hpp"
#include "support/random.hpp"
#include "support/temporary_folder.hpp"

namespace ob::sial {
namespace {

// Writes the older form.
class Dat {
 public:
  Dat& number(std::int64_t value) { return bits(static_cast<std::uint64_t>(value), 4); }
  Dat& real(double value) { return bits(std::bit_cast<std::uint64_t>(value), 8); }
  Dat& text(const std::string& text) {
    number(static_cast<std::int64_t>(text.size()) + 1);
    for (const char letter : text) bits(static_cast<unsigned char>(letter), 1);
    return bits(0, 1);
  }
  Dat& ints(const std::vector<int>& numbers) {
    number(static_cast<std::int64_t>(numbers.size()));
    for (const int value : numbers) number(value);
    return *this;
  }
  Dat& reals(const std::vector<double>& numbers) {
    number(static_cast<std::int64_t>(numbers.size()));
    for (const double value : numbers) real(value);
    return *this;
  }
  std::vector<std::byte> bytes;

 private:
  Dat& bits(std::uint64_t value, int size) {
    for (int i = 0; i < size; ++i) bytes.push_back(static_cast<std::byte>(value >> (8 * i)));
    return *this;
  }
};

Dat head() { return Dat().number(23121991).number(1); }

std::vector<std::byte> sample() {
  Dat dat = head();
  dat.number(2).text("scf.sialx").text("ccsd.sialx");
  dat.number(2).text("NORB").number(2).text("nelec").number(-10);
  dat.number(1).text("scf_conv").real(1e-9);
  dat.number(4).number(1001).ints({4, 3}).number(1004).ints({5}).number(1005).ints({1, 1});
  dat.number(1007).ints({2});
  dat.number(1).text("ca").number(2).ints({2, 3}).reals({1, 2, 3, 4, 5, 6});
  dat.number(1).text("centre").number(1).ints({2}).ints({7, -8});
  dat.number(1).text("SCF").number(1).text("basis").text("6-31G");
  return dat.bytes;
}

Result<Job> parse(const std::vector<std::byte>& bytes) { return parse_dat(bytes, "/jobs/old.dat"); }

void expect_refused(const Dat& dat, const std::string& words) {
  const auto job = parse(dat.bytes);
  ASSERT_FALSE(job.ok()) << words;
  EXPECT_TRUE(job.status().message().starts_with("/jobs/old.dat: ")) << job.status().message();
  EXPECT_NE(job.status().message().find(words), std::string::npos) << job.status().message();
}

TEST(ImportDat, EverythingArrives) {
  const auto job = parse(sample());
  ASSERT_TRUE(job.ok()) << job.status().message();
  EXPECT_EQ(job->name, "old");
  EXPECT_EQ(job->programs, (std::vector<std::string>{"scf.sialx", "ccsd.sialx"}));
  EXPECT_EQ(job->ints, (std::map<std::string, std::int64_t>{{"norb", 2}, {"nelec", -10}}));
  EXPECT_EQ(job->scalars.at("scf_conv"), 1e-9);
  const std::map<std::string, std::vector<std::int64_t>> tables{{"ao", {4, 3}}, {"mob", {5}}};
  EXPECT_EQ(job->segments, tables);
  EXPECT_EQ(job->arrays.at("ca"), (DoubleArray{{2, 3}, {1, 2, 3, 4, 5, 6}}));
  EXPECT_EQ(job->int_arrays.at("centre"), (IntArray{{2}, {7, -8}}));
  EXPECT_EQ(std::get<std::string>(job->config.at("scf").at("basis")), "6-31G");
}

TEST(ImportDat, EveryCutIsFound) {
  const auto file = sample();
  for (std::size_t size = 0; size < file.size(); ++size)
    EXPECT_FALSE(parse({file.begin(), file.begin() + static_cast<std::ptrdiff_t>(size)}).ok())
        << size;
}

TEST(ImportDat, WrongFilesAreRefused) {
  expect_refused(Dat().number(1).number(1), "not 23121991");
  expect_refused(Dat().number(23121991).number(2), "version 2");
  expect_refused(head().number(-1), "a list of -1 entries");
  expect_refused(head().number(0x7fffffff), "entries does not fit the file");
  expect_refused(head().number(1).number(0), "NUL at its end");
  expect_refused(head().number(1).number(2).number(0x7878), "NUL at its end");
  const auto empty = [] { return head().number(0).number(0).number(0); };
  expect_refused(empty().number(0).number(0).number(0).number(0), "no programs");
  expect_refused(empty().number(1).number(1000).ints({1}), "segment table 1000 is unknown");
  expect_refused(empty().number(1).number(1001).ints({0}), "a segment has 0 elements");
  const auto array = [&] { return empty().number(0).number(1).text("a"); };
  expect_refused(array().number(1).ints({2}).reals({1}), "does not fit its shape");
  expect_refused(array().number(2).ints({1}).reals({1}), "does not fit its shape");
  expect_refused(array().number(1).ints({-1}).reals({1}), "does not fit its shape");
  expect_refused(array().number(4).ints({65536, 65536, 65536, 65536}).reals({}),
                 "does not fit its shape");
  auto longer = sample();
  longer.push_back(std::byte{0});
  EXPECT_FALSE(parse(longer).ok());
}

TEST(ImportDat, DamagedBytesDoNoHarm) {
  auto random = test::fresh_random();
  const auto file = sample();
  for (int round = 0; round < 20000; ++round) {
    auto damaged = file;
    for (int hits = test::uniform(random, 1, 3); hits > 0; --hits) {
      damaged[test::uniform(random, std::size_t{0}, file.size() - 1)] =
          static_cast<std::byte>(test::uniform(random, 0, 255));
    }
    const auto job = parse(damaged);
    if (!job.ok()) continue;
    for (const auto& [name, array] : job->arrays) {
      std::int64_t product = 1;
      for (const std::int64_t extent : array.shape) product *= extent;
      EXPECT_EQ(product, static_cast<std::int64_t>(array.data.size()));
    }
  }
}

void expect_equal(const Job& one, const Job& other) {
  EXPECT_EQ(one.name, other.name);
  EXPECT_EQ(one.programs, other.programs);
  EXPECT_EQ(one.plugins, other.plugins);
  EXPECT_EQ(one.ints, other.ints);
  EXPECT_EQ(one.scalars, other.scalars);
  EXPECT_EQ(one.segments, other.segments);
  EXPECT_EQ(one.subsegments, other.subsegments);
  EXPECT_EQ(one.arrays, other.arrays);
  EXPECT_EQ(one.int_arrays, other.int_arrays);
  EXPECT_EQ(one.config, other.config);
  EXPECT_EQ(one.run, other.run);
}

TEST(WriteJob, ImportedJobComesBackFromItsToml) {
  const test::TemporaryFolder folder;
  const auto job = parse(sample());
  ASSERT_TRUE(job.ok());
  ASSERT_TRUE(write_job(folder.file("new.toml"), *job).ok());
  const auto again = read_job(folder.file("new.toml"));
  ASSERT_TRUE(again.ok()) << again.status().message();
  expect_equal(*again, *job);
}

TEST(WriteJob, EverythingComesBack) {
  const test::TemporaryFolder folder;
  Job job;
  job.name = "all";
  job.programs = {"a \"b\".sial", "c\\d\n\x7f.sial", "\xc3\xa4"};
  job.plugins = {"p.so"};
  job.ints = {{"n", INT64_MIN}, {"lib.n", INT64_MAX}};
  job.scalars = {{"a", 0.1}, {"b", -1e300}, {"c", 5e-324}, {"d", 3}, {"e", -INFINITY}};
  job.segments = {{"ao", {1, 2}}, {"my.table", {}}};
  job.subsegments = {{"ao", 7}};
  job.arrays["big"] = {{13, 5}, std::vector<double>(65, 0.3)};
  job.arrays["lib.none"] = {{0, 4}, {}};
  job.arrays["point"] = {{}, {2.5}};
  job.int_arrays["long"] = {{70}, std::vector<std::int64_t>(70, -1)};
  job.config["lib.p"] = {
      {"Key 1", std::string("v")}, {"k2", 1.0}, {"k3", std::int64_t{1}}, {"k4", false}};
  job.run.workers = 2, job.run.servers = 0, job.run.worker_memory = 100, job.run.server_memory = 1;
  job.run.spill = "s", job.run.state = "t", job.run.prefetch = "auto", job.run.schedule = "static";
  job.run.placement = "hash", job.run.place = "host", job.run.races = "iteration";
  job.run.mpi = "mpich", job.run.deterministic = true, job.run.drop_cache = false;
  job.run.check = true, job.run.strict = false, job.run.checkpoint_s = 0.5, job.run.liveness_s = 30;
  job.run.prefetch_lines = {{"a.sial:7", 3}};
  ASSERT_TRUE(write_job(folder.file("all.toml"), job).ok());
  auto again = read_job(folder.file("all.toml"));
  ASSERT_TRUE(again.ok()) << again.status().message();
  expect_equal(*again, job);
  job.run.prefetch = "0";
  const auto other = parse_job(job_text(job), folder.file("x.toml"));
  ASSERT_TRUE(other.ok()) << other.status().message();
  EXPECT_EQ(other->run.prefetch, "0");
}

TEST(WriteJob, FolderThatIsMissing) {
  Job job;
  job.name = "a", job.programs = {"a.sial"};
  EXPECT_EQ(write_job("/none/a.toml", job).code(), Code::unavailable);
  EXPECT_EQ(import_dat("/none/a.dat").status().code(), Code::unavailable);
}

}  // namespace
}  // namespace ob::sial
