# The Debian package: `cpack -G DEB` in the build folder, built on the release it is for. The files
# in debian/ are what dpkg runs and asks.
set(PACKAGE_MAINTAINER "capsule host maintainers <maintainers@capsule-host.invalid>" CACHE STRING
    "Who answers for the package: NAME <ADDRESS>")

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME capsule-host)
set(CPACK_PACKAGE_CONTACT ${PACKAGE_MAINTAINER})
set(CPACK_STRIP_FILES ON)
# With it absolute destinations (/etc) end up in the package, too.
set(CPACK_SET_DESTDIR ON)
set(CPACK_INSTALL_PREFIX /usr)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE
    GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)

set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
set(CPACK_DEBIAN_PACKAGE_SECTION admin)
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
set(CPACK_DEBIAN_PACKAGE_DESCRIPTION
"run commands in throwaway Linux machines
A capsule is a recipe: which packages, users, file systems and secrets a
machine has, and which commands run when it starts. Starting one gives a
virtual machine of its own (QEMU through libvirt) that takes commands until
they are done, it is stopped, or its time is up.
.
This package has the daemon capsuled, the command line mt, and what makes the
images that capsules boot from out of the Debian mirror of this machine.")
# Libraries are found out from the programs. virtiofsd is a package of its own from Debian 13 on and
# part of QEMU before.
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
string(JOIN ", " CPACK_DEBIAN_PACKAGE_DEPENDS
    "adduser"
    "debconf (>= 0.5) | debconf-2.0"
    "init-system-helpers (>= 1.54)"
    "libvirt-clients"
    "libvirt-daemon-system"
    "qemu-system-x86"
    "qemu-utils"
    "virtiofsd | qemu-system-common (<< 1:8)")
# What making images needs; they can also be brought from another machine.
string(JOIN ", " CPACK_DEBIAN_PACKAGE_RECOMMENDS
    "e2fsprogs" "kmod" "libguestfs-tools" "mmdebstrap" "python3" "zstd")
# The client for Python runs where Debian's Python is (3.11 or newer in both releases); the daemon does without.
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "bash-completion")

set(debian ${CMAKE_CURRENT_LIST_DIR}/debian)
set(CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA
    ${debian}/conffiles ${debian}/postinst ${debian}/postrm ${debian}/prerm ${debian}/templates)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)

include(CPack)
