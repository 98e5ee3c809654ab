package check

import (
	"encoding/xml"
	"io"
)

// The elements of JUnit reports, with the attributes that all readers accept.
type (
	suites struct {
		XMLName  xml.Name `xml:"testsuites"`
		Name     string   `xml:"name,attr"`
		Tests    int      `xml:"tests,attr"`
		Failures int      `xml:"failures,attr"`
		Errors   int      `xml:"errors,attr"`
		Suites   []suite  `xml:"testsuite"`
	}
	suite struct {
		Name     string     `xml:"name,attr"`
		Tests    int        `xml:"tests,attr"`
		Failures int        `xml:"failures,attr"`
		Errors   int        `xml:"errors,attr"`
		Skipped  int        `xml:"skipped,attr"`
		Cases    []testcase `xml:"testcase"`
		Output   string     `xml:"system-out,omitempty"`
	}
	testcase struct {
		Name    string  `xml:"name,attr"`
		Class   string  `xml:"classname,attr"`
		Skipped *remark `xml:"skipped"`
		Failure *remark `xml:"failure"`
		Output  string  `xml:"system-out,omitempty"`
	}
	remark struct {
		Message string `xml:"message,attr"`
		Type    string `xml:"type,attr,omitempty"`
	}
)

// WriteJUnit writes the outcomes as a JUnit report with one test case per check. A
// check without a result is skipped. name is the name of the test suite, and text its
// output.
func WriteJUnit(w io.Writer, name, text string, outcomes []Outcome) error {
	s := suite{Name: name, Tests: len(outcomes), Failures: count(outcomes, Failed), Output: text}
	for i := range outcomes {
		o := &outcomes[i]
		one := testcase{Name: o.Check, Class: name}
		switch o.State {
		case Failed:
			one.Failure = &remark{Message: o.Message(), Type: "check"}
		case Inconclusive, Unknown:
			one.Skipped = &remark{Message: string(o.State) + ": " + o.Message()}
			s.Skipped++
		default:
			one.Output = o.Message()
		}
		s.Cases = append(s.Cases, one)
	}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	e := xml.NewEncoder(w)
	e.Indent("", "  ")
	if err := e.Encode(suites{Name: name, Tests: s.Tests, Failures: s.Failures, Suites: []suite{s}}); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}
