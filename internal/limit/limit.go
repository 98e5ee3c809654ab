// Package limit has the error of a trace that asks for more than a replay may use.
package limit

import "errors"

// Err is wrapped by each Error.
var Err = errors.New("limit exceeded")

// Error is an Err with the name of the limit, by which an option raises it.
type Error struct{ Name string }

func (e *Error) Error() string { return Err.Error() }
func (e *Error) Unwrap() error { return Err }

// Of returns the Error of a limit.
func Of(name string) error { return &Error{Name: name} }
