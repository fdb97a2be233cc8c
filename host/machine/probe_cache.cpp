#include "host/machine/probe_cache.hpp"

#include "protocol/wire/json_codec.hpp"

#include <cstdio>
#include <fstream>
#include <iterator>
#include <sys/stat.h>

#include <boost/describe.hpp>
#include <boost/json/serialize.hpp>
#include <fmt/format.h>

namespace host::machine {

struct ProbeRecord {
    ProbeRecord() = default;
    std::string key;
    bool works = false;
    std::string finding;
};
BOOST_DESCRIBE_STRUCT(ProbeRecord, (), (key, works, finding))

namespace {

std::string boot_id() {
    std::ifstream input("/proc/sys/kernel/random/boot_id");
    std::string id;
    std::getline(input, id);
    return id;
}

// A replaced file differs in inode or time, whatever its name.
std::string identity(const std::string& file) {
    struct stat status {};
    if (stat(file.c_str(), &status) != 0) return file + " missing";
    return fmt::format("{} {} {} {}.{:09}", file, status.st_ino, status.st_size,
                       status.st_mtim.tv_sec, status.st_mtim.tv_nsec);
}

}  // namespace

ProbeCache::ProbeCache(std::string file, const std::string& kernel, const std::string& initrd)
    : file_(std::move(file)),
      key_(fmt::format("{}; {}; {}; {}", boot_id(), identity(kernel), identity(initrd),
                       identity("/usr/bin/qemu-system-x86_64"))) {}

std::optional<KvmProbe> ProbeCache::read() const {
    std::ifstream input(file_, std::ios::binary);
    if (file_.empty() || !input) return std::nullopt;
    const std::string text{std::istreambuf_iterator<char>(input), std::istreambuf_iterator<char>()};
    const auto value = protocol::parse_json(text);
    if (!value) return std::nullopt;
    auto record = protocol::from_json<ProbeRecord>(*value);
    if (!record || record->key != key_) return std::nullopt;
    KvmProbe probe;
    probe.works = record->works;
    probe.finding = std::move(record->finding);
    return probe;
}

void ProbeCache::write(const KvmProbe& probe) const {
    if (file_.empty()) return;
    ProbeRecord record;
    record.key = key_;
    record.works = probe.works;
    record.finding = probe.finding;
    // Renamed into place: another process may be reading.
    const std::string temporary = file_ + ".new";
    std::ofstream output(temporary, std::ios::binary | std::ios::trunc);
    output << boost::json::serialize(protocol::to_json(record));
    output.close();
    if (!output || std::rename(temporary.c_str(), file_.c_str()) != 0)
        std::remove(temporary.c_str());
}

}  // namespace host::machine
