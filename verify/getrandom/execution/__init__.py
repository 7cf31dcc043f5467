"""What compiled code does under QEMU on histories of calls, and which properties that breaks."""
