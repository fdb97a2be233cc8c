# Provisions a disk in a machine: the same scripts as images/build.sh runs in a folder. build.sh here makes the inputs
# (the disk to start from, kernel and initrd to boot it with, a key, the scripts) and calls this with their paths.
# Written for Packer 1.6.6 of Debian 12, which has the QEMU builder built in; works without KVM.

variable "profile" {
  type        = string
  description = "Folder of images/profiles."
}

variable "accelerator" {
  type        = string
  default     = "tcg"
  description = "kvm, or tcg where no KVM boots a guest."
}

variable "inputs" {
  type        = string
  description = "Folder with start.qcow2, vmlinux, initrd.cpio, key and provision.tar."
}

variable "output" {
  type        = string
  description = "Folder that is made and gets disk.qcow2."
}

variable "memory" {
  type    = number
  default = 1024
}

variable "timeout" {
  type        = string
  default     = "20m"
  description = "How long the machine may take until it can be signed in to."
}

source "qemu" "capsule" {
  accelerator  = var.accelerator
  machine_type = "q35"
  memory       = var.memory
  cpus         = 1
  headless     = true

  disk_image       = true
  iso_url          = "${var.inputs}/start.qcow2"
  iso_checksum     = "none"
  skip_resize_disk = true
  disk_interface   = "virtio"
  disk_cache       = "unsafe"
  format           = "qcow2"
  net_device       = "virtio-net"
  output_directory = var.output
  vm_name          = "disk.qcow2"

  # no_timer_check: on a busy host an emulated timer comes too late for the kernel's check of it.
  qemuargs = [
    ["-kernel", "${var.inputs}/vmlinux"],
    ["-initrd", "${var.inputs}/initrd.cpio"],
    ["-append", "console=ttyS0 quiet panic=-1 no_timer_check"],
    ["-serial", "file:${var.inputs}/console.log"],
    ["-device", "virtio-rng-pci"],
    ["-device", "virtio-net,netdev=user.0"],
    ["-no-reboot", ""],
  ]

  ssh_username           = "root"
  ssh_private_key_file   = "${var.inputs}/key"
  ssh_timeout            = var.timeout
  ssh_handshake_attempts = 200

  # Asks process 1, which is packer/machine/init: it makes the file system clean and switches off.
  shutdown_command = "kill -s USR2 1"
  shutdown_timeout = "5m"
}

build {
  sources = ["source.qemu.capsule"]

  provisioner "file" {
    source      = "${var.inputs}/provision.tar"
    destination = "/run/builder/provision.tar"
  }

  # The scripts do not know where they run. What they need of this machine's settings is in the environment.
  provisioner "shell" {
    inline = [
      "tar -xf /run/builder/provision.tar -C /run/builder",
      ". /run/builder/environment",
      "bash /run/builder/provision/run.sh ${var.profile}",
    ]
    inline_shebang      = "/bin/bash -eu"
    remote_folder       = "/run/builder"
    skip_clean          = true
    start_retry_timeout = "5m"
  }
}
