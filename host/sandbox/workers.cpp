#include "host/sandbox/workers.hpp"

namespace host::sandbox {

namespace {

class ThreadWorkers final : public Workers {
  public:
    explicit ThreadWorkers(boost::asio::thread_pool& pool) : pool_(pool) {}
    void post(std::function<void()> work) override { boost::asio::post(pool_, std::move(work)); }

  private:
    boost::asio::thread_pool& pool_;
};

}  // namespace

std::unique_ptr<Workers> make_workers(boost::asio::thread_pool& pool) {
    return std::make_unique<ThreadWorkers>(pool);
}

}  // namespace host::sandbox
