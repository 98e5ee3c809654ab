// Command pool has four workers that write small files, and one goroutine that
// hands out the work and takes the results.
package main

import (
	"fmt"
	"os"
	"sync"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "pool:", err)
		os.Exit(1)
	}
}

func run() error {
	jobs, done := make(chan int), make(chan error)
	var workers sync.WaitGroup
	for range 4 {
		workers.Go(func() {
			for i := range jobs {
				done <- write(fmt.Sprint("file", i%50))
			}
		})
	}
	go func() {
		for i := range 2000 {
			jobs <- i
		}
		close(jobs)
		workers.Wait()
		close(done)
	}()
	var failed error
	for err := range done {
		if err != nil {
			failed = err
		}
	}
	return failed
}

// write writes a file, reads it, and computes a little.
func write(name string) error {
	if err := os.WriteFile(name, make([]byte, 8192), 0o600); err != nil {
		return err
	}
	data, err := os.ReadFile(name)
	sum := byte(0)
	for range 100 {
		for _, b := range data {
			sum += b
		}
	}
	if sum != 0 {
		return fmt.Errorf("%s is not as it was written", name)
	}
	return err
}
