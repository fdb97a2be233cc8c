// Runs a fuzz target over files and folders, without libFuzzer: the checked-in corpus as a unit
// test.

#include "tests/fuzz/fuzz.hpp"

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace {

void run(const std::filesystem::path& file) {
    std::ifstream stream(file, std::ios::binary);
    const std::string bytes(std::istreambuf_iterator<char>(stream), {});
    // libFuzzer's type; char may alias it.
    LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
}

}  // namespace

int main(int count, char** arguments) {
    int files = 0;
    for (int at = 1; at < count; ++at) {
        for (const auto& entry : std::filesystem::directory_iterator(arguments[at])) {
            run(entry.path());
            ++files;
        }
    }
    std::printf("%d files\n", files);
    return files > 0 ? 0 : 1;
}
