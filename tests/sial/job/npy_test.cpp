#include "sial/job/npy.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <iterator>

#include "support/hex.hpp"
#include "support/random.hpp"
#include "support/temporary_folder.hpp"

namespace ob::sial {
namespace {

// A file with a header text, padded as the caller says, and data.
std::string npy_file(const std::string& header, const std::vector<std::byte>& data,
                     int version = 1) {
  std::string file = "\x93NUMPY";
  file += static_cast<char>(version);
  file += '\0';
  for (int i = 0; i < (version == 1 ? 2 : 4); ++i)
    file += static_cast<char>(header.size() >> (8 * i) & 0xff);
  file += header;
  for (const std::byte byte : data) file += static_cast<char>(byte);
  return file;
}

class Npy : public ::testing::Test {
 protected:
  Result<NpyArray> read(const std::string& bytes) {
    std::ofstream(path_, std::ios::binary) << bytes;
    return read_npy(path_);
  }
  void expect_refused(const std::string& bytes, const std::string& words) {
    const auto array = read(bytes);
    ASSERT_FALSE(array.ok()) << words;
    EXPECT_NE(array.status().message().find(words), std::string::npos) << array.status().message();
    EXPECT_TRUE(array.status().message().starts_with(path_));
  }
  std::string content() const {
    std::ifstream in(path_, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  }
  test::TemporaryFolder folder_;
  std::string path_ = folder_.file("a.npy");
};

// 1.0 and -2.5
const std::vector<std::byte> kTwo =
    test::from_hex("00 00 00 00 00 00 f0 3f 00 00 00 00 00 00 04 c0");

TEST_F(Npy, BothVersionsAndManySpellings) {
  for (const char* header :
       {"{'descr': '<f8', 'fortran_order': False, 'shape': (2,), }\n",
        "{'shape':(2,),'fortran_order':True,'descr':\"<f8\"}",
        "  { 'descr' : '<f8' , 'fortran_order' : False , 'shape' : ( 2 , ) }   \n"}) {
    for (const int version : {1, 2}) {
      const auto array = read(npy_file(header, kTwo, version));
      ASSERT_TRUE(array.ok()) << array.status().message();
      const auto& found = std::get<DoubleArray>(*array);
      EXPECT_EQ(found.shape, std::vector<std::int64_t>{2});
      EXPECT_EQ(found.data, (std::vector<double>{1.0, -2.5}));
    }
  }
}

TEST_F(Npy, IntegersOfBothSizes) {
  const auto narrow = read(npy_file("{'descr': '<i4', 'fortran_order': False, 'shape': (2,)}",
                                    test::from_hex("01 00 00 00 fe ff ff ff")));
  ASSERT_TRUE(narrow.ok()) << narrow.status().message();
  EXPECT_EQ(std::get<IntArray>(*narrow).data, (std::vector<std::int64_t>{1, -2}));
  const auto wide = read(npy_file("{'descr': '<i8', 'fortran_order': False, 'shape': (1, 1)}",
                                  test::from_hex("00 00 00 00 00 00 00 80")));
  ASSERT_TRUE(wide.ok()) << wide.status().message();
  EXPECT_EQ(std::get<IntArray>(*wide).data, std::vector<std::int64_t>{INT64_MIN});
}

// numpy.save() of numpy.asfortranarray([[1, -2.5], [1, -2.5]]) writes this header.
TEST_F(Npy, WritesWhatNumpyWrites) {
  ASSERT_TRUE(write_npy(path_, DoubleArray{{2, 2}, {1.0, 1.0, -2.5, -2.5}}).ok());
  std::string header = "{'descr': '<f8', 'fortran_order': True, 'shape': (2, 2), }";
  header.append(128 - 10 - 1 - header.size(), ' ');
  std::vector<std::byte> data(kTwo.begin(), kTwo.begin() + 8);
  data.insert(data.end(), kTwo.begin(), kTwo.end());
  data.insert(data.end(), kTwo.begin() + 8, kTwo.end());
  EXPECT_EQ(content(), npy_file(header + "\n", data));
}

TEST_F(Npy, COrderBecomesColumnMajor) {
  auto random = test::fresh_random();
  for (int round = 0; round < 100; ++round) {
    std::vector<std::int64_t> shape;
    std::size_t count = 1;
    for (int rank = test::uniform(random, 0, 4); rank > 0; --rank) {
      shape.push_back(test::uniform(random, 0, 5));
      count *= static_cast<std::size_t>(shape.back());
    }
    std::vector<std::int64_t> c_order(count);
    for (std::size_t at = 0; at < count; ++at) c_order[at] = static_cast<std::int64_t>(at);
    const auto result = from_c_order(c_order, shape);
    // Element by element: its indices, from its place in C order.
    for (std::size_t at = 0; at < count; ++at) {
      std::size_t rest = at, place = 0, stride = count;
      for (std::size_t d = shape.size(); d-- > 0;) {
        const auto extent = static_cast<std::size_t>(shape[d]);
        stride /= extent;
        place += rest % extent * stride;
        rest /= extent;
      }
      EXPECT_EQ(result[place], static_cast<std::int64_t>(at));
    }
  }
}

TEST_F(Npy, WrittenArraysComeBack) {
  const DoubleArray doubles{{2, 3}, {1, 2, 3, INFINITY, -0.0, 1e-300}};
  ASSERT_TRUE(write_npy(path_, doubles).ok());
  auto array = read_npy(path_);
  ASSERT_TRUE(array.ok()) << array.status().message();
  EXPECT_EQ(std::get<DoubleArray>(*array), doubles);
  for (const IntArray& ints :
       {IntArray{{}, {7}}, IntArray{{0, 4}, {}}, IntArray{{1, 1, 3}, {-1, 0, INT64_MAX}}}) {
    ASSERT_TRUE(write_npy(path_, ints).ok());
    array = read_npy(path_);
    ASSERT_TRUE(array.ok()) << array.status().message();
    EXPECT_EQ(std::get<IntArray>(*array), ints);
  }
}

TEST_F(Npy, LongShapeNeedsVersion2) {
  const IntArray array{std::vector<std::int64_t>(30000, 1), {5}};
  ASSERT_TRUE(write_npy(path_, array).ok());
  EXPECT_EQ(content()[6], 2);
  const auto again = read_npy(path_);
  ASSERT_TRUE(again.ok()) << again.status().message();
  EXPECT_EQ(std::get<IntArray>(*again), array);
}

TEST_F(Npy, WrongFilesAreRefused) {
  const std::string right = "{'descr': '<f8', 'fortran_order': False, 'shape': (2,)}";
  expect_refused("", "not a NumPy file");
  expect_refused("something else", "not a NumPy file");
  expect_refused(npy_file(right, kTwo, 3), "format version 3");
  expect_refused(npy_file(right, kTwo).substr(0, 40), "the header is cut");
  expect_refused(npy_file("   ", kTwo), "the header is unreadable");
  expect_refused(npy_file("", kTwo), "the header is too short");
  expect_refused(npy_file(right, kTwo) + "x", "the file is cut or has extra bytes");
  expect_refused(npy_file(right, {}), "the file is cut or has extra bytes");
  for (const char* header :
       {"{'descr': '<f8', 'fortran_order': False}", "{'descr': '<f8', 'shape': (2,)}",
        "{'fortran_order': False, 'shape': (2,)}", "{'descr': '<f8' 'shape': (2,)}",
        "{'descr': '<f8', 'fortran_order': 0, 'shape': (2,)}",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (-2,)}",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (2, 3}",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (2,), 'more': 1}",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (2,)} x", "(2,)"})
    expect_refused(npy_file(header, kTwo), "the header is unreadable");
}

TEST_F(Npy, OtherElementsAreRefused) {
  const std::string rest = ", 'fortran_order': False, 'shape': (2,)}";
  for (const char* descr : {"'>f8'", "'<f4'", "'<c16'", "'|b1'", "'<u8'"})
    expect_refused(npy_file("{'descr': " + std::string(descr) + rest, kTwo), "elements have type");
  expect_refused(npy_file("{'descr': [('a', '<f8')]" + rest, kTwo), "elements are records");
}

TEST_F(Npy, HugeShapesAllocateNothing) {
  const std::string head = "{'descr': '<f8', 'fortran_order': False, 'shape': (";
  expect_refused(npy_file(head + "4611686018427387904, 8)}", kTwo), "too large");
  expect_refused(npy_file(head + "99999999999999999999,)}", kTwo), "unreadable");
  expect_refused(npy_file(head + "100000000000,)}", kTwo), "is cut or has extra bytes");
}

TEST_F(Npy, MissingFile) {
  const auto array = read_npy(folder_.file("none.npy"));
  ASSERT_FALSE(array.ok());
  EXPECT_EQ(array.status().code(), Code::unavailable);
  EXPECT_EQ(write_npy(folder_.file("none/a.npy"), IntArray{{}, {1}}).code(), Code::unavailable);
}

}  // namespace
}  // namespace ob::sial
