#include "protocol/wire/messages.hpp"

#include <algorithm>

namespace protocol {

Result<int> agree_on_generation(const Hello& mine, const Hello& peer) {
    const int agreed = std::min(mine.generation_max, peer.generation_max);
    if (agreed < mine.generation_min || agreed < peer.generation_min) {
        const auto span = [](const Hello& hello) {
            return std::to_string(hello.generation_min) + " to " +
                   std::to_string(hello.generation_max);
        };
        return fail(Kind::unsupported, "no common protocol generation: this side speaks " +
                                           span(mine) + ", the peer " + span(peer));
    }
    return agreed;
}

}  // namespace protocol
