package page

import (
	"io"

	"pianola/compare"
	"pianola/coverage"
	"pianola/format"
)

// Lab is what a page shows about an experiment.
type Lab struct {
	Meta       []format.Meta // the remarks of the recording
	Conclusion string        // in a line
	Coverage   coverage.Account
	Figures    any // of lab.Report.Document
}

// WriteLab writes a page about an experiment.
func WriteLab(w io.Writer, l *Lab) error {
	h := format.Header{Meta: l.Meta}
	command, _ := h.Value(format.MetaCommand)
	command = plain(command)
	return loadLab().write(w, "laboratory", command, map[string]any{
		"conclusion": l.Conclusion,
		"coverage":   l.Coverage.String(),
		"withheld":   l.Coverage.Withheld() != "",
		"confidence": compare.Confidence,
		"figures":    l.Figures,
	})
}
