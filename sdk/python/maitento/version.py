"""The version of this package; it is that of the capsule host (CMakeLists.txt), which a test compares."""

VERSION = "0.1.0"
