package page

import (
	"io"

	"pianola/format"
	"pianola/format/coverage"
)

// Experiment is what a page shows about an experiment.
type Experiment struct {
	Meta     []format.Meta     // the remarks of the recording, if there is but one
	Coverage *coverage.Account // of it
	Figures  any               // of experiment.Report.Document
}

// WriteExperiment writes a page about an experiment.
func WriteExperiment(w io.Writer, e *Experiment) error {
	command, where := heading([]Run{{Meta: e.Meta}})
	data := map[string]any{"figures": e.Figures}
	if e.Coverage != nil {
		data["coverage"] = e.Coverage.String()
	}
	return loadExperiment().write(w, "experiment", command, where, data)
}
