#pragma once
// The checks of `mt doctor`, one function each. Blocking. Used by doctor.cpp only.

#include "host/machine/capabilities.hpp"

#include <string>

namespace host::machine {

Check passed(std::string name, std::string detail);
Check warned(std::string name, std::string detail, std::string fix);
Check failed(std::string name, std::string detail, std::string fix);

// ---- the host itself (host_checks.cpp) ----
Check check_processor();
Check check_memory(sandbox::Accelerator accelerator);
Check check_disk(const std::string& state_folder);
Check check_egress(const std::string& program);

// ---- virtualization (platform_checks.cpp) ----
// Fills in what the checks after it need.
Check check_kvm(const std::string& images, std::chrono::seconds patience,
                AcceleratorReport& report);
Check check_accelerator(const AcceleratorReport& report);
Check check_transport(const TransportReport& report);
Check check_vsock_neighbours(const TransportReport& report);
Check check_libvirt();
Check check_apparmor();
Check check_virtiofsd();
Check check_images(const std::string& images, const std::string& standard);

// ---- all of it at once (capsule_check.cpp) ----
// Boots a machine through libvirt until its agent answers, and removes it.
Check check_capsule(const DoctorOptions& options, const AcceleratorReport& accelerator,
                    const TransportReport& transport);

}  // namespace host::machine
