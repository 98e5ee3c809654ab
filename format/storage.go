package format

// FromStorage reports whether a read of so many bytes took so long that it waited for
// storage. A read from the page cache takes 1 to 5 µs, plus about a nanosecond per 2
// bytes copied. The fastest flash takes at least 10 µs, most flash 50 to 100 µs
// (docs/internals/diagnosis.md).
func FromStorage(nanos, bytes int64) bool { return nanos >= 20_000+bytes/2 }
