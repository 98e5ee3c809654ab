package device

import (
	"context"
	"fmt"
	"io"
	"math"
	"slices"

	"pianola/format"
	"pianola/internal/table"
)

// NewFile fits a model to samples, with the page cache that they met, and holds each of them
// out in turn, or each half of a single recording. about describes the samples. Cancelling ctx
// ends the fit, which takes minutes for many samples.
func NewFile(ctx context.Context, samples []Sample, c Cache, about []format.Meta) (*File, error) {
	if one, ok := samples[0].(*Recording); ok && len(samples) == 1 {
		first, second := one.Halves()
		samples = []Sample{first, second}
	}
	fitted, err := Fit(ctx, samples, c)
	if err != nil {
		return nil, err
	}
	f := &File{Model: *fitted}
	for _, m := range about {
		f.Meta = append(f.Meta, Remark(m))
	}
	f.HeldOut, err = HoldOut(ctx, samples, c)
	return f, err
}

// About returns remarks for the file of a model: which part of the recording with a header was
// used, and on which device it was made.
func (s *Recording) About(h *format.Header) []format.Meta {
	meta := []format.Meta{{Key: "from recording", Value: fmt.Sprintf("%s: %d calls that reach the device", s.name, len(s.calls))}}
	for _, key := range []string{format.MetaMount, format.MetaDevice, format.MetaCPU, format.MetaKernel} {
		if v, ok := h.Value(key); ok {
			meta = append(meta, format.Meta{Key: "recording's " + key, Value: v})
		}
	}
	return meta
}

// Text returns the parameters of the model as a table.
func (f *Fitted) Text() string {
	rows := [][]string{{"", "latency", "requests/s", "bandwidth MB/s"}}
	for i, d := range []*Direction{&f.Read, &f.Write} {
		for k, a := range []*Access{&d.Random, &d.Sequential} {
			rows = append(rows, []string{
				[]string{"read", "write"}[i] + ", " + []string{"random", "sequential"}[k],
				microseconds(a.Latency), table.Fixed(a.IOPS, 0), table.Fixed(d.Bandwidth/1e6, 1),
			})
		}
	}
	text := table.Format(rows, table.FirstLeft)
	text += fmt.Sprintf("flush: %s and %.2f requests; commit: %s, %.2f requests and %.2f for each block of metadata\n",
		microseconds(f.Sync.Flush), f.Sync.FlushRequests, microseconds(f.Sync.Commit), f.Sync.CommitFixed, f.Sync.CommitBlock)
	if f.Shared {
		text += "reads and writes share the requests and the bandwidth\n"
	}
	if f.Burst > 0 {
		text += fmt.Sprintf("an idle device saves up %s\n", microseconds(f.Burst))
	}
	return text
}

func microseconds(seconds float64) string { return table.Fixed(seconds*1e6, 1) + " µs" }

// WriteHeldOut writes predictions beside measurements, and the overall error. what names the
// first column.
func WriteHeldOut(w io.Writer, what string, list []HeldOut) error {
	rows := [][]string{{what, "class", "calls", "measured s", "model s", "off"}}
	var sum, off float64
	var each []float64
	for _, h := range list {
		rows = append(rows, []string{format.Visible(h.Name), h.Class, fmt.Sprint(h.Calls), table.Fixed(h.Measured, 3), table.Fixed(h.Predicted, 3), fmt.Sprintf("%+.1f%%", 100*h.Error())})
		sum += h.Measured
		off += math.Abs(h.Predicted - h.Measured)
		each = append(each, math.Abs(h.Error()))
	}
	text := table.Format(rows, table.FirstLeft)
	if sum > 0 {
		slices.Sort(each)
		text += fmt.Sprintf("off by %s %% in the median, %s %% of the measured time\n", table.Fixed(100*each[len(each)/2], 1), table.Fixed(100*off/sum, 1))
	}
	_, err := io.WriteString(w, text)
	return err
}
