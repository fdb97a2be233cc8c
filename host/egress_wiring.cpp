#include "host/egress_wiring.hpp"

#include "host/egress/package_sources.hpp"

#include <filesystem>
#include <map>

#include <spdlog/spdlog.h>

namespace host {

namespace {

constexpr char installed_program[] = "/usr/lib/capsule-host/capsule-egress";

// Package sources by image manifest. An image never changes under its own path.
class ImageSources {
  public:
    explicit ImageSources(sandbox::Disks& disks) : disks_(disks) {}

    std::vector<egress::PackageSource> of(const std::string& image) {
        auto found = disks_.image(image);
        if (!found) {
            spdlog::warn("no package sources for a run image={} error={}", image,
                         found.error().describe());
            return {};
        }
        const std::string& manifest = found->manifest.value;
        if (const auto known = known_.find(manifest); known != known_.end()) return known->second;
        auto sources = egress::sources_of_manifest(manifest);
        if (!sources) {
            spdlog::warn("no package sources for a run manifest={} error={}", manifest,
                         sources.error().describe());
            return {};
        }
        return known_.emplace(manifest, std::move(*sources)).first->second;
    }

  private:
    sandbox::Disks& disks_;
    std::map<std::string, std::vector<egress::PackageSource>> known_;
};

}  // namespace

std::string egress_program(const config::Config& config) {
    if (!config.egress_program.empty()) return config.egress_program;
    std::error_code error;
    const auto own = std::filesystem::read_symlink("/proc/self/exe", error);
    const auto beside = own.parent_path() / "capsule-egress";
    if (!error && std::filesystem::exists(beside, error)) return beside.string();
    return installed_program;
}

protocol::Result<std::shared_ptr<egress::EgressProcess>> start_egress(
    boost::asio::any_io_executor executor, const config::Config& config) {
    egress::EgressOptions options;
    options.program = egress_program(config);
    options.allowed_ranges = config.egress_ranges;
    return egress::EgressProcess::start(std::move(executor), std::move(options));
}

protocol::Result<sandbox::TunnelHandler> egress_handler(
    std::shared_ptr<egress::EgressProcess> process, sandbox::Disks& disks,
    const config::Config& config) {
    std::vector<egress::PackageSource> of_operator;
    for (const std::string& url : config.package_sources) {
        TRY(auto source, egress::parse_source(url));
        of_operator.push_back(std::move(source));
    }
    const auto sources = std::make_shared<ImageSources>(disks);
    return [process = std::move(process), sources, of_operator = std::move(of_operator)](
               const model::RunRecord& run, const protocol::Tunnel&,
               std::shared_ptr<sandbox::TunnelStream> stream) {
        const auto policy = egress::policy_of(run.definition.network,
                                              sources->of(run.definition.image), of_operator);
        process->tunnel(run.id, policy, std::move(stream));
    };
}

}  // namespace host
