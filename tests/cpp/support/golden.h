// Golden files: text in sections, each opened by a line "==== <name>". With NUMLIFT_UPDATE_GOLDEN=1
// a comparison rewrites the file instead; the difference is then reviewed as any change is.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace numlift::testing {

struct GoldenSection {
  std::string name, text;  // the text ends with a line break unless it is empty
};

// `relative` is below tests/golden.
inline std::filesystem::path golden_path(const std::string& relative) {
  return std::filesystem::path(NUMLIFT_TEST_DATA) / "golden" / relative;
}

inline std::vector<std::filesystem::path> golden_files(const std::string& relative_folder) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(golden_path(relative_folder))) {
    if (entry.path().extension() == ".txt") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

inline std::vector<GoldenSection> read_golden(const std::filesystem::path& path) {
  std::vector<GoldenSection> sections;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("==== ")) {
      sections.push_back({line.substr(5), ""});
    } else if (!sections.empty()) {
      sections.back().text += line + "\n";
    }
  }
  return sections;
}

inline std::string golden_text(const std::vector<GoldenSection>& sections) {
  std::string text;
  for (const GoldenSection& section : sections) {
    text += "==== " + section.name + "\n" + section.text;
    if (!section.text.empty() && section.text.back() != '\n') text += "\n";
  }
  return text;
}

inline void expect_golden(const std::filesystem::path& path,
                          const std::vector<GoldenSection>& actual) {
  const char* update = std::getenv("NUMLIFT_UPDATE_GOLDEN");
  if (update != nullptr && std::string(update) == "1") {
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << golden_text(actual);
    return;
  }
  EXPECT_EQ(golden_text(actual), golden_text(read_golden(path)))
      << "in " << path << "; NUMLIFT_UPDATE_GOLDEN=1 rewrites it";
}

}  // namespace numlift::testing
