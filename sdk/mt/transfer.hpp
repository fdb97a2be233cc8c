#pragma once
// Transfer: files and whole folders between this machine and a VFS. What is in a VFS was perhaps
// written by a guest: its names never lead out of the target folder, its links are not followed.

#include "sdk/cpp/client.hpp"

#include <chrono>
#include <string>

namespace mt {

using protocol::Result;

struct TransferTotals {
    TransferTotals() = default;
    std::uint64_t files = 0, folders = 0, bytes = 0, left_out = 0;
};

// Progress on standard error when that is a terminal.
class TransferProgress {
  public:
    explicit TransferProgress(bool show) : show_(show) {}
    ~TransferProgress();
    void begin(const std::string& name, std::optional<std::uint64_t> size);
    void advance(std::uint64_t bytes);

  private:
    void draw();

    bool show_;
    bool drawn_ = false;
    std::string name_;
    std::optional<std::uint64_t> size_;
    std::uint64_t done_ = 0;
    std::chrono::steady_clock::time_point last_{};
};

class Transfer {
  public:
    Transfer(sdk::Client& client, std::string space, std::string vfs, bool show_progress);

    // `source`: a file, a folder or "-"; targets as `mt vfs put --help` describes.
    Result<void> put(const std::string& source, const std::string& target);
    Result<void> get(const std::string& path, const std::string& target);

    const TransferTotals& totals() const { return totals_; }

  private:
    Result<void> put_stream(int fd, const std::string& name, const std::string& target,
                            std::optional<std::uint64_t> size);
    Result<void> put_file(const std::string& source, const std::string& target);
    Result<void> put_folder(const std::string& source, const std::string& target);
    Result<void> get_file(const std::string& path, const std::string& target);
    Result<void> get_folder(const std::string& path, const std::string& target);
    Result<void> get_to_output(const std::string& path);
    void leave_out(const std::string& name, std::string_view why);

    sdk::Client& client_;
    std::string space_, vfs_;
    TransferProgress progress_;
    TransferTotals totals_;
};

// Paths in a VFS: "/a/b", without "//" and a final "/".
std::string join_path(const std::string& folder, const std::string& name);
std::string last_part(const std::string& path);
// False for "", ".", "..", and names with '/' or a zero byte.
bool is_plain_file_name(const std::string& name);

}  // namespace mt
