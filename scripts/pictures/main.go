// Command pictures takes pictures of a page of Pianola in a browser.
//
//	go run ./scripts/pictures PAGE DIR
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

// pictures are what DIR gets, in the light or in the dark: the window, or one
// element of the page.
var pictures = []struct{ name, scheme, element string }{
	{"page.png", "light", ""},
	{"heat.png", "dark", "#heat"},
}

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: pictures PAGE DIR")
		os.Exit(2)
	}
	if err := take(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "pictures:", err)
		os.Exit(1)
	}
}

func take(page, dir string) error {
	page, err := filepath.Abs(page)
	if err != nil {
		return err
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.NoSandbox, chromedp.DisableGPU)
	allocator, stop := chromedp.NewExecAllocator(context.Background(), options...)
	defer stop()
	ctx, cancel := chromedp.NewContext(allocator)
	defer cancel()
	for _, p := range pictures {
		if err := chromedp.Do(ctx, chromedp.EmulateViewport(width, height)); err != nil {
			return err
		}
		scheme := emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: p.scheme}}}
		if _, err := chromedp.Call(ctx, emulation.SetEmulatedMedia, scheme); err != nil {
			return err
		}
		if err := chromedp.Do(ctx, chromedp.Navigate("file://"+page), chromedp.WaitVisible(chromedp.CSS("#heat canvas"))); err != nil {
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
