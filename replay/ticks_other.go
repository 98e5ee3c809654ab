//go:build !amd64

package replay

const hasTicks = false

func ticks() uint64 { return 0 }
