// A process 1 for tests of the images: loads the modules, mounts the root disk and runs in it the script that lies in
// the initrd as /mt. Says which signal asked it to end the machine, and ends it.
#define _GNU_SOURCE
#include <fcntl.h>
#include <net/if.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static void end_machine(int signal_number) {
    const char* name = signal_number == SIGTERM ? "TERM" : signal_number == SIGUSR1 ? "USR1" : "USR2";
    printf("process 1: signal %s\n", name);
    sync();
    reboot(signal_number == SIGTERM ? RB_AUTOBOOT : RB_POWER_OFF);
}

static void load_modules(void) {
    FILE* order = fopen("/modules/order", "r");
    char name[100];
    char path[200];
    while (order && fscanf(order, "%99s", name) == 1) {
        snprintf(path, sizeof path, "/modules/%s", name);
        int file = open(path, O_RDONLY | O_CLOEXEC);
        if (syscall(SYS_finit_module, file, "", 0) != 0) {
            printf("process 1: cannot load %s: %m\n", name);
        }
        close(file);
    }
}

static void copy_file(const char* from, const char* to) {
    static char buffer[65536];
    int in = open(from, O_RDONLY | O_CLOEXEC);
    int out = open(to, O_WRONLY | O_CREAT | O_CLOEXEC, 0755);
    ssize_t size = read(in, buffer, sizeof buffer);
    if (size < 0 || write(out, buffer, (size_t)size) != size) {
        printf("process 1: cannot copy %s: %m\n", from);
    }
    close(in);
    close(out);
}

static void mount_kernel_file_systems(void) {
    mount("proc", "/proc", "proc", 0, "");
    mount("sys", "/sys", "sysfs", 0, "");
    mount("dev", "/dev", "devtmpfs", 0, "");
    mount("run", "/run", "tmpfs", 0, "mode=755");
}

static void bring_loopback_up(void) {
    struct ifreq request = {.ifr_name = "lo", .ifr_flags = IFF_UP | IFF_RUNNING};
    int socket_file = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    ioctl(socket_file, SIOCSIFFLAGS, &request);
    close(socket_file);
}

int main(void) {
    setvbuf(stdout, NULL, _IOLBF, 0);
    load_modules();
    mount("dev", "/dev", "devtmpfs", 0, "");
    for (int tries = 0; mount("/dev/vda", "/newroot", "ext4", MS_NOATIME, "") != 0; ++tries) {
        if (tries == 500) {
            printf("process 1: cannot mount /dev/vda: %m\n");
            reboot(RB_POWER_OFF);
        }
        usleep(20000);
    }
    copy_file("/mt", "/newroot/root/script");
    if (chdir("/newroot") != 0 || mount(".", "/", NULL, MS_MOVE, NULL) != 0 || chroot(".") != 0) {
        printf("process 1: cannot change the root: %m\n");
        reboot(RB_POWER_OFF);
    }
    mount_kernel_file_systems();
    bring_loopback_up();
    signal(SIGTERM, end_machine);
    signal(SIGUSR1, end_machine);
    signal(SIGUSR2, end_machine);
    if (fork() == 0) {
        execl("/bin/bash", "bash", "-l", "/root/script", (char*)NULL);
        _exit(127);
    }
    for (;;) {
        if (wait(NULL) < 0) {
            pause();
        }
    }
}
