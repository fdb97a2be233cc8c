#include "host/daemon.hpp"

#include "host/api/server.hpp"
#include "host/config/instance.hpp"
#include "host/config/logging.hpp"
#include "host/config/notify.hpp"
#include "host/egress_wiring.hpp"
#include "host/guest/guest_link.hpp"
#include "host/host_memory.hpp"
#include "host/journal/database.hpp"
#include "host/libvirt/connection.hpp"
#include "host/machine/capabilities.hpp"
#include "host/sandbox/process_watch.hpp"
#include "host/sandbox/service_impl.hpp"
#include "host/sandbox/spawn.hpp"
#include "host/storage/local_disks.hpp"
#include "host/storage/secret_box.hpp"
#include "host/storage/vfs_folders.hpp"
#include "host/vault.hpp"

#include <chrono>
#include <optional>
#include <signal.h>
#include <thread>

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <spdlog/spdlog.h>

namespace host {

namespace asio = boost::asio;
using namespace std::chrono_literals;
using protocol::Result;

namespace {

// Several runs may be starting while others are being taken down; each occupies one for a second or
// so, or for as long as a QEMU that hangs. Idle ones cost next to nothing.
constexpr std::size_t worker_threads = 24;
// libvirtd may be starting beside us.
constexpr int libvirt_attempts = 30;
// While there is no image yet; a build puts one there sooner or later.
constexpr auto image_pause = 2'000ms;

Result<std::unique_ptr<sandbox::Hypervisor>> connect_libvirt(
    const config::Config& config, const protocol::InstallationId& installation) {
    for (int attempt = 1;; ++attempt) {
        auto connected = libvirt::connect(config.libvirt_uri, installation);
        if (connected || attempt == libvirt_attempts ||
            connected.error().kind() != protocol::Kind::unavailable) {
            return connected;
        }
        if (attempt == 1) {
            spdlog::warn("waiting for libvirt error={}", connected.error().describe());
        }
        std::this_thread::sleep_for(1s);
    }
}

machine::AcceleratorChoice choice_of(config::Accelerator accelerator) {
    switch (accelerator) {
        case config::Accelerator::automatic:
            return machine::AcceleratorChoice::automatic;
        case config::Accelerator::kvm:
            return machine::AcceleratorChoice::kvm;
        case config::Accelerator::tcg:
            return machine::AcceleratorChoice::tcg;
    }
    return machine::AcceleratorChoice::automatic;
}

// Blocking: boots a probe machine where KVM is to be used and was not tried since the host's boot.
Result<sandbox::Platform> find_platform(const config::Config& config,
                                        const sandbox::BootImage& image) {
    machine::ProbeInputs inputs;
    inputs.kernel = image.kernel.value;
    inputs.initrd = image.initrd.value;
    inputs.cache_file = config.runtime + "/accelerator.json";
    inputs.deadline = std::chrono::seconds(config.kvm_patience_seconds);
    TRY(const auto accelerator, machine::choose_accelerator(choice_of(config.accelerator), inputs));
    const auto transport = machine::choose_transport();
    sandbox::Platform platform;
    platform.accelerator = accelerator.accelerator;
    platform.accelerator_reason = accelerator.reason;
    platform.transport = transport.transport;
    platform.transport_reason = transport.reason;
    return platform;
}

sandbox::Settings settings_of(const config::Config& config) {
    sandbox::Settings settings;
    settings.memory_bytes = config.memory_bytes;
    settings.cpus = config.cpus;
    settings.live_runs = config.live_runs;
    settings.child_runs = config.child_runs;
    settings.host_memory_reserve_bytes = config.memory_reserve_bytes;
    settings.host_disk_reserve_bytes = config.disk_reserve_bytes;
    settings.ended_runs_retention_ms =
        std::chrono::milliseconds(std::chrono::hours(config.retention_hours)).count();
    settings.stored_output_bytes = config.stored_output_bytes;
    settings.uid_first = config.uid_first;
    settings.uid_count = config.uid_count;
    return settings;
}

boost::json::object describe_host(const std::string& libvirt_uri, sandbox::Disks& disks) {
    boost::json::object report;
    report["version"] = CAPSULE_VERSION;
    if (const auto versions = libvirt::versions(libvirt_uri)) {
        report["libvirt"] = versions->libvirt;
        report["qemu"] = versions->qemu;
    }
    if (const auto image = disks.image("")) {
        report["image"] = image->name;
        report["imageVersion"] = image->version;
    } else {
        report["image"] = nullptr;
        report["imageReason"] = image.error().message();
    }
    return report;
}

// For its kernel and initrd, which all images share: a capsule may name an image while the standard
// one has not been built.
Result<sandbox::BootImage> any_image(sandbox::Disks& disks) {
    auto standard = disks.image("");
    if (standard) return standard;
    TRY(const auto images, disks.images());
    for (const auto& image : images) {
        if (auto found = disks.image(image.version)) return found;
    }
    return standard;
}

// What a machine is tried out with must be whole: half a kernel, on its way into the store, would
// look like a host whose KVM does not work.
Result<void> verify_kernel_and_initrd(sandbox::Disks& disks, sandbox::BootImage image) {
    std::erase_if(image.files, [&](const sandbox::FileDigest& file) {
        return file.path.value == image.base_disk.value;
    });
    return disks.verify(image);
}

class Daemon {
  public:
    explicit Daemon(const config::Config& config)
        : config_(config),
          pool_(worker_threads),
          server_stopped_(loop_.get_executor()),
          signals_(loop_) {}
    // Blocking calls still running use what is below.
    ~Daemon() { pool_.join(); }

    Result<void> make();
    void run();

  private:
    Result<void> make_parts(sandbox::Parts& parts);
    void observe();
    asio::awaitable<void> choose_platform();
    asio::awaitable<void> stop();
    asio::awaitable<void> stop_server();

    const config::Config& config_;
    // Destroyed in reverse: the loop goes last, after everything that posts to it.
    asio::io_context loop_{1};
    asio::thread_pool pool_;
    std::optional<journal::Database> database_;
    std::unique_ptr<storage::LocalDisks> disks_;
    std::unique_ptr<storage::VfsFolders> vfs_;
    std::unique_ptr<sandbox::Workers> workers_;
    std::unique_ptr<sandbox::Clock> clock_;
    std::shared_ptr<egress::EgressProcess> egress_;
    std::shared_ptr<sandbox::ServiceImpl> service_;
    std::unique_ptr<sandbox::Hypervisor> hypervisor_;
    std::unique_ptr<api::Server> server_;
    sandbox::Condition server_stopped_;
    asio::signal_set signals_;
    bool stopping_ = false;
    bool serving_ = true;
};

Result<void> Daemon::make() {
    TRY(database_, journal::Database::open(config_.database()));
    disks_ = std::make_unique<storage::LocalDisks>(config_.state, config_.images, config_.image);
    TRY_VOID(disks_->prepare());
    vfs_ = std::make_unique<storage::VfsFolders>(config_.vfs());
    TRY_VOID(vfs_->prepare());
    TRY(hypervisor_, connect_libvirt(config_, database_->installation()));
    workers_ = sandbox::make_workers(pool_);
    TRY(clock_, sandbox::make_system_clock(loop_.get_executor()));

    sandbox::Parts parts(loop_.get_executor());
    TRY_VOID(make_parts(parts));
    service_ = std::make_shared<sandbox::ServiceImpl>(std::move(parts));
    observe();
    TRY_VOID(service_->open());

    api::ServerOptions options;
    options.socket_path = config_.socket();
    options.socket_group = config_.socket_group;
    options.listen = config_.listen;
    options.vfs_root = config_.vfs();
    server_ = std::make_unique<api::Server>(loop_.get_executor(), pool_, *service_, options);
    return server_->start();
}

Result<void> Daemon::make_parts(sandbox::Parts& parts) {
    TRY(auto box, storage::SecretBox::open(config_.key));
    parts.database = &*database_;
    parts.hypervisor = hypervisor_.get();
    parts.disks = disks_.get();
    parts.workers = workers_.get();
    parts.clock = clock_.get();
    parts.guests = [executor = loop_.get_executor()](const protocol::RunId& run,
                                                     const sandbox::GuestAddress& address,
                                                     sandbox::GuestCallbacks callbacks) {
        return guest::make_guest(executor, run, address, std::move(callbacks));
    };
    parts.vault = make_vault(std::make_shared<storage::SecretBox>(std::move(box)));
    parts.vfs.create = [this](const std::string& folder) { return vfs_->create(folder); };
    parts.vfs.remove = [this](const std::string& folder) { return vfs_->remove(folder); };
    parts.memory = read_host_memory;
    parts.watch_process = [executor = loop_.get_executor()](pid_t pid, std::function<void()> died) {
        return sandbox::watch_process(executor, pid, std::move(died));
    };
    parts.describe_host = [this] { return describe_host(config_.libvirt_uri, *disks_); };
    parts.settings = settings_of(config_);
    // The `mt` inside speaks the same API, with the rights of whoever started the run.
    parts.api_tunnel = [this](const model::RunRecord& run, const protocol::Tunnel&,
                              std::shared_ptr<sandbox::TunnelStream> stream) {
        sandbox::Principal principal;
        principal.name = "run:" + run.id.str();
        principal.inside = run.id;
        principal.default_namespace = run.capsule.space;
        principal.may_administer = false;
        server_->serve_stream(std::move(stream), std::move(principal));
    };
    TRY(egress_, start_egress(loop_.get_executor(), config_));
    TRY(parts.egress_tunnel, egress_handler(egress_, *disks_, config_));
    return {};
}

// libvirt's thread only copies and posts.
void Daemon::observe() {
    const std::weak_ptr<sandbox::ServiceImpl> weak = service_;
    hypervisor_->observe([this, weak](const sandbox::MachineEvent& event) {
        asio::post(loop_, [weak, event] {
            if (const auto service = weak.lock()) service->on_machine_event(event);
        });
    });
    hypervisor_->on_pause([this, weak](const protocol::RunId& run, bool paused) {
        asio::post(loop_, [weak, run, paused] {
            if (const auto service = weak.lock()) service->on_machine_paused(run, paused);
        });
    });
    hypervisor_->on_reconnect([this, weak] {
        asio::post(loop_, [weak] {
            if (const auto service = weak.lock()) service->on_reconnect();
        });
    });
}

asio::awaitable<void> Daemon::choose_platform() {
    sandbox::Condition nothing(loop_.get_executor());
    std::string trouble;
    while (!stopping_) {
        auto find = [disks = disks_.get()] { return any_image(*disks); };
        const auto image = co_await sandbox::on_workers(*workers_, std::move(find));
        if (!image) {
            co_await nothing.wait_until(*clock_, clock_->boottime_ms() + image_pause.count());
            continue;
        }
        auto verify = [disks = disks_.get(), image = *image] {
            return verify_kernel_and_initrd(*disks, image);
        };
        const auto whole = co_await sandbox::on_workers(*workers_, std::move(verify));
        if (!whole) {
            if (whole.error().message() != trouble) {
                trouble = whole.error().message();
                spdlog::error("no machine can be started error={}", trouble);
                service_->set_platform(protocol::fail(whole.error()));
            }
            co_await nothing.wait_until(*clock_, clock_->boottime_ms() + image_pause.count());
            continue;
        }
        auto choose = [config = &config_, image = *image] { return find_platform(*config, image); };
        auto platform = co_await sandbox::on_workers(*workers_, std::move(choose));
        if (platform) {
            spdlog::info("machines run on accelerator={} transport={} reason={}",
                         to_string(platform->accelerator), to_string(platform->transport),
                         platform->accelerator_reason);
        } else {
            spdlog::error("no accelerator error={}", platform.error().describe());
        }
        service_->set_platform(std::move(platform));
        co_return;
    }
}

asio::awaitable<void> Daemon::stop() {
    stopping_ = true;
    config::notify_manager("STOPPING=1");
    spdlog::info("stopping; runs stay alive");
    // Side by side: the server waits for requests that wait for the service.
    sandbox::spawn(loop_.get_executor(), "stop", stop_server());
    co_await service_->close();
    while (serving_) co_await server_stopped_.wait();
    egress_->close();
    loop_.stop();
}

asio::awaitable<void> Daemon::stop_server() {
    co_await server_->stop();
    serving_ = false;
    server_stopped_.wake_all();
}

void Daemon::run() {
    // Writing to a client that has gone is an error of that write, not of the daemon.
    ::signal(SIGPIPE, SIG_IGN);
    ::signal(SIGHUP, SIG_IGN);
    signals_.add(SIGTERM);
    signals_.add(SIGINT);
    signals_.async_wait([this](boost::system::error_code error, int) {
        if (!error) sandbox::spawn(loop_.get_executor(), "stop", stop());
    });
    sandbox::spawn(loop_.get_executor(), "platform", choose_platform());
    config::notify_manager("READY=1");
    spdlog::info("serving socket={} version={}", config_.socket(), CAPSULE_VERSION);
    loop_.run();
}

}  // namespace

Result<void> serve(const config::Config& config) {
    config::set_up_logging(config.log_level);
    TRY(const auto instance, config::Instance::claim(config.state, config.runtime));
    Daemon daemon(config);
    TRY_VOID(daemon.make());
    daemon.run();
    return {};
}

}  // namespace host
