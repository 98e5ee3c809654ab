package page

import (
	"io"
)

// Suite is what a page shows about a suite of workloads.
type Suite struct {
	Facts      []string // a line about each storage system
	Conclusion string   // a line for each comparison
	Figures    any      // of suite.Report.Document
}

// WriteSuite writes a page about a suite.
func WriteSuite(w io.Writer, s *Suite) error {
	return loadSuite().write(w, "suite", "", map[string]any{"facts": s.Facts, "conclusion": s.Conclusion, "figures": s.Figures})
}
