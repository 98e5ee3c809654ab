// Command pictures takes pictures of pages of Pianola in a browser: one about the
// demo, and one about a program of several threads.
//
//	go run ./scripts/pictures DEMO THREADS DIR
package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

// The size of the window, in pixels.
const width, height = 1100, 1345

// pictures are what DIR gets, of the pages in the order of the command line, in
// the light or in the dark: the window, or one element of the page.
var pictures = []struct {
	name, scheme, element string
	page                  int
}{
	{"page.png", "light", "", 0},
	{"heat.png", "dark", "#heat", 0},
	{"timeline.png", "light", "#timeline", 1},
}

func main() {
	if len(os.Args) != 4 {
		fmt.Fprintln(os.Stderr, "usage: pictures DEMO THREADS DIR")
		os.Exit(2)
	}
	if err := take(os.Args[1:3], os.Args[3]); err != nil {
		fmt.Fprintln(os.Stderr, "pictures:", err)
		os.Exit(1)
	}
}

func take(pages []string, dir string) error {
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.NoSandbox, chromedp.DisableGPU)
	allocator, stop := chromedp.NewExecAllocator(context.Background(), options...)
	defer stop()
	ctx, cancel := chromedp.NewContext(allocator)
	defer cancel()
	for _, p := range pictures {
		page, err := filepath.Abs(pages[p.page])
		if err != nil {
			return err
		}
		if err := chromedp.Do(ctx, chromedp.EmulateViewport(width, height)); err != nil {
			return err
		}
		scheme := emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: p.scheme}}}
		if _, err := chromedp.Call(ctx, emulation.SetEmulatedMedia, scheme); err != nil {
			return err
		}
		if err := chromedp.Do(ctx, chromedp.Navigate("file://"+page), chromedp.WaitVisible(chromedp.CSS("#timeline canvas"))); err != nil {
			return err
		}
		shot := chromedp.CaptureScreenshot()
		if p.element != "" {
			shot = chromedp.Screenshot(chromedp.CSS(p.element))
		}
		png, err := chromedp.Run(ctx, shot)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, p.name), png, 0o644); err != nil {
			return err
		}
		fmt.Println(len(png), filepath.Join(dir, p.name))
	}
	return nil
}
