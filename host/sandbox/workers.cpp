#include "host/sandbox/workers.hpp"

#include <boost/asio/thread_pool.hpp>

namespace host::sandbox {

namespace {

class ThreadWorkers final : public Workers {
  public:
    explicit ThreadWorkers(std::size_t threads) : pool_(threads) {}
    ~ThreadWorkers() override { pool_.join(); }
    void post(std::function<void()> work) override { boost::asio::post(pool_, std::move(work)); }

  private:
    boost::asio::thread_pool pool_;
};

}  // namespace

std::unique_ptr<Workers> make_workers(std::size_t threads) {
    return std::make_unique<ThreadWorkers>(threads);
}

}  // namespace host::sandbox
