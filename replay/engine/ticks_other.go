//go:build !amd64

package engine

const hasTicks = false

func ticks() uint64 { return 0 }
