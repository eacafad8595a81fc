// Super-instructions that print blocks, and that write them into files and read them back.

#include <algorithm>
#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "sial/builtins/arguments.hpp"
#include "sial/builtins/builtins.hpp"

namespace ob::sial {
namespace {

std::string number_text(double value) {
  char text[64];
  std::snprintf(text, sizeof text, "%.14f", value);
  return text;
}

// Returns "name[1,2]", or "name[1.2]" for files.
std::string block_name(const CallArgument& argument, char between) {
  std::string name = argument.name;
  for (unsigned d = 0; d < argument.view.rank; ++d) {
    name += (d == 0 ? '[' : between) + std::to_string(argument.segments[d]);
  }
  return argument.view.rank == 0 ? name : name + "]";
}

void print_text_of(const CallContext& context, const std::string& text) {
  if (context.print) context.print(text);
}

// Prints the elements in storage order, one column of the block per line.
Status print_elements_of(CallContext& context, Arguments arguments) {
  OB_ASSIGN_OR_RETURN(const View block, block_argument(arguments, 0));
  std::string text = block_name(arguments[0], ',') + "\n";
  const std::int64_t rows = block.rank > 0 ? block.extents[0] : 1;
  std::int64_t row = 0;
  for_each_element(block, [&](const auto&, double element) {
    text += "  " + number_text(element);
    if (++row < rows) return;
    text += "\n";
    row = 0;
  });
  print_text_of(context, text);
  return {};
}

// Prints each element behind its place in the whole array.
Status print_elements_and_places(CallContext& context, Arguments arguments) {
  OB_ASSIGN_OR_RETURN(const View block, block_argument(arguments, 0));
  std::string text = block_name(arguments[0], ',') + "\n";
  for_each_element(block, [&](const auto& at, double element) {
    for (unsigned d = 0; d < block.rank; ++d) {
      text += "  " + std::to_string(arguments[0].first_elements[d] + at[d]);
    }
    text += "  " + number_text(element) + "\n";
  });
  print_text_of(context, text);
  return {};
}

Status file_problem(const std::filesystem::path& file, const std::string& what) {
  return {Code::unavailable, file.string() + " " + what};
}

std::filesystem::path file_of(const CallContext& context, const CallArgument& argument,
                              const char* ending) {
  return context.folder / (block_name(argument, '.') + ending);
}

// Writes rank, extents and elements. The file appears when it is complete, because several workers
// may write the same one.
Status write_elements(CallContext& context, Arguments arguments) {
  OB_ASSIGN_OR_RETURN(const View block, block_argument(arguments, 0));
  const std::filesystem::path file = file_of(context, arguments[0], ".blk");
  const std::filesystem::path part = file.string() + "." + std::to_string(context.rank) + ".part";
  std::error_code failed;
  std::filesystem::create_directories(context.folder, failed);
  std::vector<std::int64_t> head{block.rank};
  head.insert(head.end(), block.extents.begin(), block.extents.begin() + block.rank);
  const std::vector<double> elements = elements_of(block);
  std::ofstream out(part, std::ios::binary | std::ios::trunc);
  out.write(reinterpret_cast<const char*>(head.data()),
            static_cast<std::streamsize>(head.size() * sizeof head[0]));
  out.write(reinterpret_cast<const char*>(elements.data()),
            static_cast<std::streamsize>(elements.size() * sizeof elements[0]));
  out.close();
  if (out) std::filesystem::rename(part, file, failed);
  if (out && !failed) return {};
  std::filesystem::remove(part, failed);
  return file_problem(file, "cannot be written; check its folder and the space on the disk");
}

Status read_elements(CallContext& context, Arguments arguments) {
  OB_ASSIGN_OR_RETURN(const View block, block_argument(arguments, 0));
  const std::filesystem::path file = file_of(context, arguments[0], ".blk");
  std::ifstream in(file, std::ios::binary);
  if (!in) return file_problem(file, std::string("cannot be opened (") + strerror(errno) + ")");
  std::vector<std::int64_t> head(block.rank + 1);
  in.read(reinterpret_cast<char*>(head.data()),
          static_cast<std::streamsize>(head.size() * sizeof head[0]));
  if (!in || head[0] != block.rank ||
      !std::equal(head.begin() + 1, head.end(), block.extents.begin())) {
    return file_problem(file, "holds a block of another shape");
  }
  std::vector<double> elements(static_cast<std::size_t>(block.elements()));
  in.read(reinterpret_cast<char*>(elements.data()),
          static_cast<std::streamsize>(elements.size() * sizeof elements[0]));
  if (!in || in.peek() != std::ifstream::traits_type::eof()) {
    return file_problem(file, "has another size than the block");
  }
  store_elements(block, elements);
  return {};
}

// Reads the places and the value of one line. Returns false if it has another form.
bool read_line(const std::string& line, const View& block, std::int64_t& offset, double& value) {
  std::istringstream words(line);
  offset = 0;
  for (unsigned d = 0; d < block.rank; ++d) {
    std::int64_t place = 0;
    if (!(words >> place) || place < 1 || place > block.extents[d]) return false;
    offset += (place - 1) * block.strides[d];
  }
  std::string rest;
  return words >> value && !(words >> rest);
}

// Lines of text: the places in the block, from 1, and the value. The other elements are 0.
Status read_text_elements(CallContext& context, Arguments arguments) {
  OB_ASSIGN_OR_RETURN(const View block, block_argument(arguments, 0));
  const std::filesystem::path file = file_of(context, arguments[0], ".txt");
  std::ifstream in(file);
  if (!in) return file_problem(file, std::string("cannot be opened (") + strerror(errno) + ")");
  std::vector<std::pair<std::int64_t, double>> found;
  std::int64_t number = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    std::int64_t offset = 0;
    double value = 0;
    if (!read_line(line, block, offset, value)) {
      return file_problem(file, "line " + std::to_string(number) + " is not `" +
                                    std::to_string(block.rank) + " places and a value`");
    }
    found.emplace_back(offset, value);
  }
  for (const auto& [offset, value] : found) block.data[offset] = value;
  return {};
}

}  // namespace

void add_block_output(SuperFunctions& functions) {
  functions["print_block"] = {"r", print_elements_of};
  functions["print_static_array"] = {"r", print_elements_of};
  functions["print_block_and_index"] = {"r", print_elements_and_places};
  functions["write_block_to_file"] = {"r", write_elements};
  functions["read_block_from_file"] = {"w", read_elements};
  functions["read_block_from_text_file"] = {"w", read_text_elements};
}

}  // namespace ob::sial
