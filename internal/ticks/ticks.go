// Package ticks reads the processor's counter, which takes less time than the kernel's clock.
package ticks

import (
	"os"
	"strings"
)

// Counts reports whether the kernel keeps time by the counter that Now reads. Then the counter
// has one rate on all processors and never stops.
func Counts() bool {
	if !available {
		return false
	}
	source, err := os.ReadFile("/sys/devices/system/clocksource/clocksource0/current_clocksource")
	return err == nil && strings.TrimSpace(string(source)) == "tsc"
}
