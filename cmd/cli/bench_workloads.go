package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"pianola/experiment"
	"pianola/format"
	"pianola/format/provenance"
	"pianola/internal/console"
	"pianola/workloads"
)

// workloads returns the workloads that a text names, as subjects. They are replayed in a
// new directory on each root.
func (e *experimenter) workloads(text string) (subjects []*experiment.Subject, err error) {
	cards, err := e.cards(text)
	if err != nil {
		return nil, err
	}
	if len(e.roots) == 0 {
		e.roots = []experiment.Root{{Name: "here", Dir: "."}}
	}
	experiment.NameRoots(e.roots)
	var places []string
	for _, r := range e.roots {
		dir, err := e.place(r.Dir, cards)
		if err != nil {
			return nil, err
		}
		places = append(places, dir)
	}
	for _, card := range cards {
		s := e.subject(card.Trace())
		s.Name, s.Workload, s.Roots = card.Name, true, nil
		for i, r := range e.roots {
			s.Roots = append(s.Roots, experiment.Root{Name: r.Name, Dir: filepath.Join(places[i], card.Name)})
		}
		s.Weight = max(card.Figures.RunSeconds, 0.001) * float64(e.Runs*len(e.roots))
		subjects = append(subjects, s)
	}
	return subjects, nil
}

// cards returns the cards of the workloads that a text names.
func (e *experimenter) cards(text string) (cards []*workloads.Card, err error) {
	all, err := cardsOf(e.Context)
	if err != nil || text == "all" {
		return all, err
	}
	if text == "quick" {
		cards = slices.DeleteFunc(all, func(one *workloads.Card) bool { return !one.Quick })
		if len(cards) == 0 {
			err = usage(e.Context, "--workload: none of the workloads is quick; name some")
		}
		return cards, err
	}
	for name := range strings.SplitSeq(text, ",") {
		i := slices.IndexFunc(all, func(one *workloads.Card) bool { return one.Name == name })
		if i < 0 {
			return nil, usage(e.Context, "--workload: no workload %q; pianola workload list shows them", name)
		}
		if !slices.Contains(cards, all[i]) {
			cards = append(cards, all[i])
		}
	}
	return cards, nil
}

// manyFiles is the minimum number of files of a workload that takes clearly longer on an
// ext4 without a journal.
const manyFiles = 1000

// place makes the directory of workloads in a root, which may be missing or hold other
// files.
func (e *experimenter) place(root string, cards []*workloads.Card) (dir string, err error) {
	if _, err := os.Stat(root); errors.Is(err, os.ErrNotExist) {
		if err := os.Mkdir(root, 0o777); err != nil {
			return "", fmt.Errorf("--root: %w", err)
		}
		e.made = append(e.made, root)
	}
	if dir, err = os.MkdirTemp(root, "pianola-bench-"); err != nil {
		return "", console.WithHint(err, "--root chooses another directory")
	}
	e.made = append(e.made, dir)
	h := format.Header{Meta: provenance.Dir(dir, true)}
	mount, _ := h.Value(format.MetaMount)
	if strings.HasSuffix(mount, ","+provenance.NoJournal) && slices.ContainsFunc(cards, func(c *workloads.Card) bool { return c.Figures.Files >= manyFiles }) {
		console.Warn("bench: %s is on ext4 without a journal: files are made several times as slowly for minutes after others were removed, as each run removes its own", root)
	}
	return dir, nil
}

// removeMade removes the directories of workloads, from which each experiment has removed
// its files.
func (e *experimenter) removeMade() {
	for _, dir := range slices.Backward(e.made) {
		if err := os.Remove(dir); err != nil {
			console.Warn("bench: %v", err)
		}
	}
}
