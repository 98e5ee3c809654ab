package bin

// Version 1 has the first six kinds of parts. Only its index differs: the
// number of the kind takes the place of tag and flags, so a row has one word
// less.

const indexWidth1 = indexWidth - 1

var tags1 = [...]string{"head", "slen", "strs", "recs", "durs", "wait"}

// parsePart1 is parsePart for the first words of a row of version 1.
func parsePart1(r [indexWidth]uint64) (p part, ok bool) {
	if r[0] >= uint64(len(tags1)) {
		return part{}, false
	}
	tag := tags1[r[0]]
	return parsePart([...]uint64{tagWord(tag), flagRequired, r[1], r[2], r[3], r[4]})
}
