#pragma once
// PageCarrier: data frames whose payload goes from a pipe into a virtio-serial port as pages,
// without passing through this program. tee(2) lets a pipe of its own refer to the same pages
// after each frame's header, and splice(2) hands all of them to the port at once, which a write(2)
// does for 32 KiB at a time. The pages become the port's if the first pipe has been read by then,
// and are copied otherwise. Source: drivers/char/virtio_console.c, port_fops_splice_write.
//
// Threading: none; one owner.

#include "protocol/base/unique_fd.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <sys/types.h>

namespace protocol {

class PageCarrier {
  public:
    // As splice(2) with SPLICE_F_NONBLOCK. Tests give their own.
    using Splice = ssize_t (*)(int from, int to, std::size_t bytes);

    // nullopt: the system gives no such pipe.
    static std::optional<PageCarrier> make();
    static std::optional<PageCarrier> make(Splice splice);

    // Adds a frame: `header`, then the next `bytes` that `pipe` holds, which it still holds then.
    // False: it could not be added whole, and nothing that was loaded may be sent.
    bool load(std::string_view header, int pipe, std::size_t bytes);
    void unload();
    bool empty() const { return loaded_ == 0; }

    enum class Sent : std::uint8_t {
        all,
        none,    // the port takes nothing now
        part,    // `rest` must follow before anything else
        broken,  // a part, and the rest is lost
    };
    // Afterwards it is empty, whatever became of it.
    Sent send(int port, std::string& rest);

  private:
    PageCarrier(UniqueFd read_end, UniqueFd write_end, Splice splice)
        : read_end_(std::move(read_end)), write_end_(std::move(write_end)), splice_(splice) {}
    std::string take_all();

    UniqueFd read_end_, write_end_;
    Splice splice_;
    std::size_t loaded_ = 0;
};

}  // namespace protocol
