#include "guest-agent/process/cgroup.hpp"

#include "guest-agent/system/small_file.hpp"
#include "protocol/base/unique_fd.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <fcntl.h>
#include <set>
#include <signal.h>
#include <sys/stat.h>
#include <tuple>
#include <unistd.h>
#include <utility>

namespace guest_agent {
namespace {

using protocol::Failure;
using protocol::Result;
using protocol::UniqueFd;

constexpr std::size_t process_list_limit = 1u << 20;

std::optional<std::uint64_t> number_after(std::string_view text, std::string_view key) {
    const auto at = text.find(key);
    if (at == std::string_view::npos) return std::nullopt;
    std::uint64_t value = 0;
    const char* start = text.data() + at + key.size();
    if (std::from_chars(start, text.data() + text.size(), value).ec != std::errc())
        return std::nullopt;
    return value;
}

class Cgroup;
using LivingCgroups = std::set<Cgroup*>;

class Cgroup final : public ProcessGroup {
  public:
    Cgroup(std::string path, UniqueFd directory, std::shared_ptr<LivingCgroups> living)
        : path_(std::move(path)), directory_(std::move(directory)), living_(std::move(living)) {
        living_->insert(this);
    }
    // A group that still has processes stays, and falls to kill_all() at the machine's end.
    ~Cgroup() override {
        living_->erase(this);
        remove();
    }

    int directory() const override { return directory_.get(); }

    void kill() override {
        // Fails only when the group is gone, and then there is nothing to kill.
        [[maybe_unused]] const auto result = write_kernel_file(path_ + "/cgroup.kill", "1");
    }

    void signal(int number) override {
        if (number == SIGKILL) return kill();
        const auto list = read_small_file(path_ + "/cgroup.procs", process_list_limit);
        if (!list) return;
        const char* at = list->data();
        const char* const end = at + list->size();
        while (at < end) {
            pid_t pid = 0;
            const auto parsed = std::from_chars(at, end, pid);
            // A pid could be another process by now only if that one was reaped here in between.
            if (parsed.ec == std::errc() && pid > 1) ::kill(pid, number);
            at = std::find(parsed.ptr, end, '\n') + 1;
        }
    }

    // What its end would give back, and nothing else can.
    std::uint64_t memory() const {
        const auto current = read_small_file(path_ + "/memory.current");
        const auto stat = read_small_file(path_ + "/memory.stat");
        if (!current || !stat) return 0;
        const std::uint64_t used = number_after(*current, "").value_or(0);
        return used - std::min(used, reclaimable_memory(*stat));
    }

    void kill_for_memory() {
        killed_for_memory_ = true;
        kill();
    }

    bool out_of_memory() const override {
        if (killed_for_memory_) return true;
        const auto events = read_small_file(path_ + "/memory.events");
        return events && number_after(*events, "oom_kill ").value_or(0) > 0;
    }

    std::optional<std::uint64_t> peak_memory() const override {
        const auto peak = read_small_file(path_ + "/memory.peak");
        if (!peak) return std::nullopt;
        return number_after(*peak, "");
    }

    bool remove() override {
        if (removed_) return true;
        removed_ = ::rmdir(path_.c_str()) == 0 || errno == ENOENT;
        return removed_;
    }

  private:
    std::string path_;
    UniqueFd directory_;
    std::shared_ptr<LivingCgroups> living_;
    bool removed_ = false;
    bool killed_for_memory_ = false;
};

class Cgroups final : public ProcessGroups {
  public:
    explicit Cgroups(std::string path) : path_(std::move(path)) {}

    Result<std::unique_ptr<ProcessGroup>> make(const std::string& name) override {
        const std::string path = path_ + "/" + name;
        if (::mkdir(path.c_str(), 0755) < 0) {
            return protocol::fail(Failure::from_errno("mkdir " + path, errno));
        }
        UniqueFd directory(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
        if (!directory) {
            const int number = errno;
            ::rmdir(path.c_str());
            return protocol::fail(Failure::from_errno("open " + path, number));
        }
        // Absent where the kernel has no memory controller; then nothing is killed as a whole
        // either.
        [[maybe_unused]] const auto whole = write_kernel_file(path + "/memory.oom.group", "1");
        if (pids_each_ > 0) {
            [[maybe_unused]] const auto own =
                write_kernel_file(path + "/pids.max", std::to_string(pids_each_));
        }
        return std::make_unique<Cgroup>(path, std::move(directory), living_);
    }

    Result<void> limit(std::uint64_t memory_max, std::uint32_t pids_max) override {
        if (memory_max == 0) {
            TRY(const std::string meminfo, read_small_file("/proc/meminfo"));
            memory_max = memory_for_commands(meminfo);
        }
        TRY_VOID(write_kernel_file(path_ + "/memory.max", std::to_string(memory_max)));
        memory_max_ = memory_max;
        // One command alone cannot keep the others from starting processes.
        pids_each_ = pids_max - pids_max / 8;
        return write_kernel_file(path_ + "/pids.max", std::to_string(pids_max));
    }

    void relieve_memory() override {
        // Whoever waits for pages while there are many of files is only reading a lot.
        const auto stat = read_small_file(path_ + "/memory.stat");
        if (!stat || reclaimable_memory(*stat) > memory_max_ / 8) return;
        Cgroup* largest = nullptr;
        std::uint64_t most = 0;
        for (Cgroup* one : *living_) {
            const std::uint64_t used = one->memory();
            if (used > most) std::tie(largest, most) = std::pair(one, used);
        }
        if (largest) largest->kill_for_memory();
    }

    void kill_all() override {
        [[maybe_unused]] const auto result = write_kernel_file(path_ + "/cgroup.kill", "1");
    }

  private:
    std::string path_;
    std::shared_ptr<LivingCgroups> living_ = std::make_shared<LivingCgroups>();
    std::uint64_t memory_max_ = 0;
    std::uint32_t pids_each_ = 0;  // 0: not limited yet
};

// One by one, so that a kernel without one of them still gives the others.
void enable(const std::string& path, std::initializer_list<std::string_view> controllers) {
    for (const auto controller : controllers) {
        [[maybe_unused]] const auto result =
            write_kernel_file(path + "/cgroup.subtree_control", "+" + std::string(controller));
    }
}

}  // namespace

std::uint64_t reclaimable_memory(std::string_view memory_stat) {
    const auto field = [&](std::string_view key) {
        // Each on its own line; `file` begins other names too.
        return number_after(memory_stat, "\n" + std::string(key) + " ").value_or(0);
    };
    const std::uint64_t file = field("file"), in_memory = field("shmem");
    return (file > in_memory ? file - in_memory : 0) + field("slab_reclaimable");
}

std::uint64_t memory_for_commands(std::string_view meminfo) {
    constexpr std::uint64_t kib = 1'024;
    constexpr std::uint64_t smallest_reserve = 32u << 20;
    const auto after = [&](std::string_view key) {
        const auto at = meminfo.find(key);
        if (at == std::string_view::npos) return std::uint64_t{0};
        const auto digit = meminfo.find_first_of("0123456789", at + key.size());
        if (digit == std::string_view::npos) return std::uint64_t{0};
        return number_after(meminfo.substr(digit), "").value_or(0) * kib;
    };
    const std::uint64_t total = after("MemTotal:");
    const std::uint64_t available = after("MemAvailable:");
    // Of what is available, not of the total: a full commands/ must not take the kernel's last
    // pages, or everything stalls in reclaim, the agent included.
    const std::uint64_t reserve = std::max(smallest_reserve, total / 16);
    return std::max(total / 2, available > reserve ? available - reserve : 0);
}

Result<std::unique_ptr<ProcessGroups>> open_cgroups(const std::string& root) {
    const std::string path = root + "/commands";
    // `cpu` for commands/ as one: however many processes commands have, the agent gets its share.
    enable(root, {"memory", "pids", "cpu"});
    if (::mkdir(path.c_str(), 0755) < 0 && errno != EEXIST) {
        return protocol::fail(Failure::from_errno("mkdir " + path, errno));
    }
    enable(path, {"memory", "pids"});
    return std::make_unique<Cgroups>(path);
}

}  // namespace guest_agent
