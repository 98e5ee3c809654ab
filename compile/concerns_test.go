package compile

import (
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"
)

// No concern has another one, so none can touch the state of another.
func TestConcernsAreApart(t *testing.T) {
	m := newModel(Options{}, &learned{}, nil)
	require.Greater(t, len(m.concerns), 8)
	all := map[reflect.Type]bool{}
	for _, c := range m.concerns {
		all[reflect.TypeOf(c)] = true
	}
	for of := range all {
		for i := range of.Elem().NumField() {
			field := of.Elem().Field(i)
			require.False(t, all[field.Type], "%v has %s", of, field.Name)
		}
	}
	for i := range reflect.TypeFor[pass]().NumField() {
		field := reflect.TypeFor[pass]().Field(i)
		require.False(t, all[field.Type], "pass has %s", field.Name)
	}
}
