#include "host/sandbox/hypervisor.hpp"

namespace host::sandbox {

std::string_view to_string(Accelerator accelerator) {
    switch (accelerator) {
        case Accelerator::tcg:
            return "tcg";
        case Accelerator::kvm:
            return "kvm";
    }
    return "unknown";
}

std::string_view to_string(Transport transport) {
    switch (transport) {
        case Transport::serial:
            return "serial";
        case Transport::vsock:
            return "vsock";
    }
    return "unknown";
}

}  // namespace host::sandbox
