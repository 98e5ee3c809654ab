package memfs

// largeFile is the flag that a 64-bit kernel gives every open file.
const largeFile = 0o100000
