#pragma once
// Writing a generated file, or ending the build.

#include <cstdlib>
#include <fstream>
#include <iostream>
#include <string>

namespace pages {

inline void write_file(const std::string& path, const std::string& text) {
    std::ofstream file(path, std::ios::binary | std::ios::trunc);
    file << text;
    file.close();
    if (file) return;
    std::cerr << "cannot write " << path << '\n';
    std::exit(1);
}

}  // namespace pages
