package layer

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// Handles of MPI are integers, and addresses in a library that has the symbol of Open MPI.
func TestForms(t *testing.T) {
	l, err := Load("mpi")
	require.NoError(t, err)
	forms := l.Forms()
	require.Len(t, forms, 2)
	require.Equal(t, l.Functions, forms[formHeader])
	number := func(c string, size int) Value { return Value{C: c, Kind: Int, Size: size} }
	address := func(c string) Value { return Value{C: c, Kind: Pointer, Size: 8} }
	for form, handle := range []func(string) Value{
		formHeader:   func(c string) Value { return number(c, 4) },
		formPointers: address,
	} {
		functions := map[string]*Function{}
		for i, f := range forms[form] {
			require.Equal(t, l.Functions[i].Name, f.Name)
			functions[f.Name] = f
		}
		pointed := func(function, arg string) Value {
			a := functions[function].arg(arg)
			require.Equal(t, Pointer, a.Kind)
			return *a.To
		}
		irecv := functions["MPI_Irecv"]
		require.Equal(t, number("int", 4), irecv.arg("count").Value)
		require.Equal(t, handle("MPI_Comm"), irecv.arg("comm").Value)
		require.Equal(t, handle("MPI_Datatype"), irecv.arg("datatype").Value)
		require.Equal(t, handle("MPI_Request"), pointed("MPI_Irecv", "request"))
		require.Equal(t, handle("MPI_Request"), pointed("MPI_Waitall", "array_of_requests"))
		require.Equal(t, number("int", 4), pointed("MPI_Waitall", "array_of_statuses"))
		require.Equal(t, handle("MPI_Comm"), pointed("MPI_Comm_dup", "newcomm"))
		require.Equal(t, address("MPI_File"), functions["MPI_File_sync"].arg("fh").Value)
	}
	stdio, err := Load("stdio")
	require.NoError(t, err)
	require.Len(t, stdio.Forms(), 1)
}

// A library's form depends on its symbols. One that only uses the symbol does not have it.
func TestFormOfLibrary(t *testing.T) {
	cc, err := exec.LookPath("cc")
	if err != nil {
		t.Skip("no C compiler")
	}
	l, err := Load("mpi")
	require.NoError(t, err)
	dir := t.TempDir()
	for text, want := range map[string]int{
		"int MPI_Init(void) { return 0; }": formHeader,
		"extern char ompi_mpi_comm_world[8]; int MPI_Init(void) { return ompi_mpi_comm_world[0]; }":   formHeader,
		"char ompi_mpi_comm_world[8]; int MPI_Init(void) { return 0; }":                               formPointers,
		"static char ompi_mpi_comm_world[8]; int MPI_Init(void) { return ompi_mpi_comm_world[0]++; }": formPointers,
	} {
		source, library := filepath.Join(dir, "mpi.c"), filepath.Join(dir, "libmpi.so")
		require.NoError(t, os.WriteFile(source, []byte(text), 0o600))
		out, err := exec.Command(cc, "-shared", "-fPIC", "-o", library, source).CombinedOutput()
		require.NoError(t, err, "%s", out)
		lib, err := l.Open(library)
		require.NoError(t, err)
		require.Len(t, lib.Places, 1)
		require.Equal(t, want, lib.Form, text)
	}
}
