#pragma once
// Places: a limited number of something (connections, waiting clients). Clients that are not local,
// over TCP or from inside a run, get three quarters of it, so that they cannot lock the operator
// out.

#include "host/sandbox/service.hpp"

#include <cstddef>

namespace host::api {

enum class Origin : bool { local, elsewhere };
inline Origin origin_of(const sandbox::Principal& principal) {
    return principal.name == "local" ? Origin::local : Origin::elsewhere;
}

class Places {
  public:
    explicit Places(std::size_t limit) : limit_(limit) {}
    bool take(Origin origin) {
        const bool full = used_ >= limit_;
        const bool share_full = origin == Origin::elsewhere && elsewhere_ >= limit_ - limit_ / 4;
        if (full || share_full) return false;
        ++used_;
        if (origin == Origin::elsewhere) ++elsewhere_;
        return true;
    }
    void give_back(Origin origin) {
        --used_;
        if (origin == Origin::elsewhere) --elsewhere_;
    }
    std::size_t used() const { return used_; }

  private:
    std::size_t limit_, used_ = 0, elsewhere_ = 0;
};

}  // namespace host::api
