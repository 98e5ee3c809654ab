// Package format defines what all parts of Pianola share: the Event, the table
// of operations, canonical flags, the Header with its threads and its fileset,
// and the Reader and Writer through which events flow.
//
//	recorder → script → compile → trace → replay → log → profile
//
// Each arrow is a Reader feeding a Writer. The text form of an event is in
// package format/script, the binary form in package format/bin. Both derive
// from the table in ops.go, as do the recorder's filter, the replayer's
// dispatch and the profile's classes. To add an operation, add a row.
//
// The package imports the standard library only. Its tables are read-only
// after initialisation and may be used concurrently; an Event or a Header
// belongs to one goroutine at a time.
package format
