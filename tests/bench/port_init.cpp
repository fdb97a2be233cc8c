// The /init of the output baseline: `cat FILE > PORT` with nothing in between. Makes a file in
// memory and copies it to the machine's first virtio-serial port, as cat(1) does. Runs until it is
// ended from outside.
#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

namespace {

constexpr std::size_t piece_bytes = 128u << 10;
constexpr std::size_t file_pieces = 2048;  // 256 MiB, as run.py expects

bool write_all(int fd, const char* bytes, std::size_t size) {
    while (size > 0) {
        const ssize_t count = write(fd, bytes, size);
        if (count <= 0) return false;
        bytes += count;
        size -= static_cast<std::size_t>(count);
    }
    return true;
}

}  // namespace

int main() {
    mkdir("/dev", 0755);
    mount("devtmpfs", "/dev", "devtmpfs", 0, nullptr);
    std::vector<char> piece(piece_bytes, 'x');
    const int file = open("/file", O_RDWR | O_CREAT, 0600);
    for (std::size_t i = 0; i < file_pieces; ++i) {
        if (!write_all(file, piece.data(), piece.size())) return 1;
    }
    lseek(file, 0, SEEK_SET);
    int port = -1;
    while ((port = open("/dev/vport0p1", O_WRONLY)) < 0) usleep(10'000);
    for (ssize_t count = 0; (count = read(file, piece.data(), piece.size())) > 0;) {
        if (!write_all(port, piece.data(), static_cast<std::size_t>(count))) return 1;
    }
    for (;;) pause();
}
